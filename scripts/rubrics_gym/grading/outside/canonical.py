"""The canonical form of a submission: the rows and columns of the answers, joined by id, so that a grader that goes by position sees the right ones.

Some graders of MLE-bench take rows or columns in the order of the file, or do not look at ids. What a submission says does not depend on its order,
so the same grader is asked a second time about the canonical form.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd


class Defect(ValueError):
    """The submission is not one for this competition; the message says why, for people."""


@dataclass(frozen=True)
class Shape:
    """What a submission must look like. `ids` is empty where rows have no identity; then their order is taken as it is."""

    ids: tuple[str, ...]
    rows: Any  # Index of ids in the order of the answers, or None
    columns: tuple[str, ...]  # of the canonical form, where the submission has them
    required: tuple[str, ...]
    numeric: tuple[str, ...]  # columns of numbers
    filled: tuple[str, ...]  # columns that have no empty cell in the answers
    count: int


def shape_of(sample: pd.DataFrame, answers: Any) -> Shape:
    """The shape that the sample submission and the answers ask for.

    Ids are the columns that both have with the same values: one that alone is different in every row, or several that together are. Where the
    answers are no table, or do not share ids with the sample, the first column of the sample with no repetition is taken. Columns are the ids, then
    those of the answers in their order, then the others of the sample; the sample's are required.
    """
    table = answers if isinstance(answers, pd.DataFrame) else pd.DataFrame()
    shared = [name for name in sample.columns if name in table.columns]
    ids = _joint_ids(sample, table, shared) if len(sample) == len(table) else ()
    source = table if ids else sample
    ids = ids or _first_unique(sample)
    targets = [name for name in table.columns if name not in ids]
    columns = list(dict.fromkeys([*ids, *targets, *sample.columns]))
    known = [name for name in columns if name not in ids]
    return Shape(
        ids=ids,
        rows=_index(source, ids) if ids else None,
        columns=tuple(str(name) for name in columns),
        required=tuple(str(name) for name in sample.columns),
        numeric=tuple(name for name in known if name in sample.columns and _are_numbers(sample[name])),
        filled=tuple(name for name in known if name in sample.columns and not _reference(name, table, sample).isna().any()),
        count=len(source),
    )


def canonical(submission: pd.DataFrame, shape: Shape) -> pd.DataFrame:
    """The submission with the columns and rows of the shape; columns that nobody asked for are left out.

    Defect for missing columns, another number of rows, unknown, missing or repeated ids, missing predictions, and texts in place of numbers.
    """
    missing = [name for name in shape.required if name not in submission.columns]
    if missing:
        raise Defect(f"columns are missing: {_some(missing)}")
    rows = submission
    if shape.ids:
        rows = _joined(submission, shape)
    elif len(submission) != shape.count:
        raise Defect(f"{len(submission)} rows; expected {shape.count}")
    for name in shape.filled:
        empty = int(rows[name].isna().sum())
        if empty:
            raise Defect(f"{empty} predictions are missing in column {name!r}")
    for name in shape.numeric:
        if not _are_numbers(rows[name]):
            raise Defect(f"column {name!r} holds something other than numbers")
    kept: pd.DataFrame = rows[[name for name in shape.columns if name in rows.columns]].reset_index(drop=True)
    return kept


def _joined(submission: pd.DataFrame, shape: Shape) -> pd.DataFrame:
    given = _index(submission, shape.ids)
    repeated = int(given.duplicated().sum())
    if repeated:
        raise Defect(f"{repeated} ids occur more than once in {_some(shape.ids)}")
    places = given.get_indexer(shape.rows)
    missing = int((places < 0).sum())
    stray = len(given) - (len(shape.rows) - missing)
    if missing or stray:
        raise Defect(f"{missing} ids have no prediction and {stray} ids are not asked for, in {_some(shape.ids)}")
    ordered: pd.DataFrame = submission.iloc[places]
    return ordered


def _joint_ids(sample: pd.DataFrame, answers: pd.DataFrame, shared: list[str]) -> tuple[str, ...]:
    for name in shared:
        if sample[name].is_unique and _same_values(sample, answers, (name,)):
            return (name,)
    # a column that is the same in every row is the sample's placeholder
    several = tuple(name for name in shared if sample[name].nunique() > 1 and _same_values(sample, answers, (name,)))
    if several and not _index(sample, several).duplicated().any() and _same_values(sample, answers, several):
        return several
    return ()


def _same_values(sample: pd.DataFrame, answers: pd.DataFrame, names: tuple[str, ...]) -> bool:
    first, second = _index(sample, names), _index(answers, names)
    return bool(len(first) == len(second) and (first.value_counts() - second.value_counts()).eq(0).all())


def _first_unique(sample: pd.DataFrame) -> tuple[str, ...]:
    return next(((str(name),) for name in sample.columns[:1] if len(sample) > 1 and sample[name].is_unique), ())


def _index(frame: pd.DataFrame, names: tuple[str, ...]) -> Any:
    return pd.Index(frame[names[0]]) if len(names) == 1 else pd.MultiIndex.from_frame(frame[list(names)])


def _reference(name: str, answers: pd.DataFrame, sample: pd.DataFrame) -> Any:
    return answers[name] if name in answers.columns else sample[name]


def _are_numbers(column: Any) -> bool:
    return pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column)


def _some(names: Any) -> str:
    listed = ", ".join(repr(str(name)) for name in list(names)[:5])
    return listed if len(names) <= 5 else f"{listed}, … ({len(names)} in all)"
