"""What a task asks for, as the agent understands it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Column:
    """A column as the agent knows it from the first rows that it looked at. `kind`: number, number_text (1,234 or 5%), date or category."""

    name: str
    kind: str
    missing: bool = False


@dataclass(frozen=True)
class Table:
    """A file that the agent looked at."""

    path: str
    columns: tuple[Column, ...]

    def of_kind(self, *kinds: str) -> tuple[str, ...]:
        """Names of the columns of these kinds."""
        return tuple(column.name for column in self.columns if column.kind in kinds)

    @property
    def has_missing(self) -> bool:
        return any(column.missing for column in self.columns)


@dataclass(frozen=True)
class PredictionGoal:
    """Train on one file, predict another, write a submission like the sample.

    `output`: label, probability (of `positive`), probabilities (one column per class) or number.
    """

    train: Table
    test: str
    sample: str
    deliverable: str
    target: str
    ids: tuple[str, ...]
    outputs: tuple[str, ...]  # the columns of the submission that are to be filled
    output: str
    metric: str
    positive: str | None = None  # a Python literal
    rows: int = 0  # of the training file; 0 when unknown
    competition: bool = False

    @property
    def features(self) -> tuple[Column, ...]:
        taken = {self.target, *self.ids}
        return tuple(column for column in self.train.columns if column.name not in taken)

    @property
    def is_classification(self) -> bool:
        return self.output != "number"


@dataclass(frozen=True)
class Condition:
    """`column` `operator` value; `value` is a Python literal."""

    column: str
    operator: str
    value: str


@dataclass(frozen=True)
class Measure:
    """One value that a question asks for: a statistic over the rows that meet all conditions."""

    name: str
    statistic: str
    column: str | None = None
    against: str | None = None  # the other column of a correlation or a line; the grouping column of a top group
    where: tuple[Condition, ...] = ()
    decimals: int | None = None
    lowest: bool = False  # top group: the lowest instead of the highest


@dataclass(frozen=True)
class QuestionGoal:
    """Work out values and write them as lines `@name[value]`."""

    tables: tuple[Table, ...]
    deliverable: str
    measures: tuple[Measure, ...]
    competition: bool = False


@dataclass(frozen=True)
class Step:
    """One step of a pipeline over tables. Which fields are filled depends on `kind` (see analysis.py)."""

    kind: str
    columns: tuple[str, ...] = ()
    where: tuple[Condition, ...] = ()
    new: str | None = None
    operator: str | None = None
    right: str | None = None  # a column in double quotes, or a number
    table: str | None = None
    measures: tuple[tuple[str, str, str | None], ...] = ()  # new column, statistic, source column
    descending: tuple[bool, ...] = ()
    rows: int | None = None


@dataclass(frozen=True)
class ResultGoal:
    """Make one table out of the given files, by steps that start from the first."""

    tables: tuple[Table, ...]
    deliverable: str
    steps: tuple[Step, ...]
    columns: tuple[str, ...]
    decimals: int | None = None
    competition: bool = False


Goal = PredictionGoal | QuestionGoal | ResultGoal
