"""Rows of a table that was handed in, in the order of the answers."""

from __future__ import annotations

from rubrics_gym.grading.submissions import InvalidSubmission, same_key

Row = dict[str, str]


def in_order_of(header: list[str], rows: list[Row], answers: list[Row], key: str) -> list[Row]:
    """The rows joined by id to the answers; as they are where rows have no ids: the submission lacks the column, or the answers repeat values in it.

    InvalidSubmission for another number of rows, and for missing, unknown or repeated ids.
    """
    if len(rows) != len(answers):
        raise InvalidSubmission(f"{len(rows)} rows; expected {len(answers)}")
    wanted = [same_key(answer[key]) for answer in answers] if answers and key in answers[0] else []
    if key not in header or len(header) < 2 or len(set(wanted)) != len(answers):
        return rows
    given = {same_key(row[key]): row for row in rows}
    unknown, missing = given.keys() - set(wanted), set(wanted) - given.keys()
    if unknown or missing:
        raise InvalidSubmission(f"{len(missing)} ids have no prediction and {len(unknown)} ids are not asked for, in {key!r}")
    return [given[name] for name in wanted]
