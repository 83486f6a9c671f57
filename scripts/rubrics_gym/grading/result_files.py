"""Grading of result files: columns by name, rows in order or matched by a key, numbers within a tolerance."""

from __future__ import annotations

from pathlib import Path

from rubrics_gym.grading.submissions import InvalidSubmission, as_number, read_csv, same_key

Row = dict[str, str]
# a float that was meant to be one unit off may be a little more than that
SLACK = 1e-9


def correct_share(deliverable: Path, truth: list[Row], tolerance: float, key: list[str]) -> float:
    """Share of the columns that agree with the true ones in every row. Another number of rows makes all columns wrong.

    With `key`, rows are matched by these columns and their order does not matter. InvalidSubmission when the columns are other ones.
    """
    columns = list(truth[0])
    rows = read_csv(deliverable, columns)
    if not rows:
        raise InvalidSubmission(f"{deliverable.name} has a header and no rows")
    if len(rows) != len(truth):
        return 0.0
    if key:
        rows = _sorted(rows, key)
        truth = _sorted(truth, key)
    right = [all(_same(row[column], true[column], tolerance) for row, true in zip(rows, truth, strict=True)) for column in columns]
    return sum(right) / len(columns)


def _sorted(rows: list[Row], key: list[str]) -> list[Row]:
    return sorted(rows, key=lambda row: [same_key(row[column]) for column in key])


def _same(given: str, truth: str, tolerance: float) -> bool:
    if given == truth:
        return True
    number, expected = as_number(given), as_number(truth)
    if number is None or expected is None:
        return False
    # whole numbers are counts or years: they are right or wrong
    return abs(number - expected) <= (SLACK if _whole(truth) else tolerance + SLACK)


def _whole(text: str) -> bool:
    return text.lstrip("-").isdigit()
