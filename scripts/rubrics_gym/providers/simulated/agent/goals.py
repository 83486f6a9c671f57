"""What a task asks for, as the agent understands it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Column:
    """A column as the agent knows it from the first rows that it looked at. `kind`: number, date, text or category."""

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
class Value:
    """One number or text to be worked out: code lines that end in an assignment to `variable`."""

    name: str
    variable: str
    code: str
    decimals: int | None
    imports: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()


@dataclass(frozen=True)
class QuestionGoal:
    """Work out values and write them as lines `@name[value]`."""

    tables: tuple[Table, ...]
    deliverable: str
    values: tuple[Value, ...]
    competition: bool = False


@dataclass(frozen=True)
class ResultGoal:
    """Make one table out of the given files. `code` ends in an assignment to `result`; `columns` are its columns in order."""

    tables: tuple[Table, ...]
    deliverable: str
    code: str
    columns: tuple[str, ...]
    decimals: int | None = None
    imports: tuple[str, ...] = ()
    competition: bool = False


Goal = PredictionGoal | QuestionGoal | ResultGoal
