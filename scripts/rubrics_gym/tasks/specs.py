"""What resources/benchmarks/*.yaml say about tables and tasks, typed. Statement and answer are both made from these, so they cannot disagree."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from rubrics_gym.records.base import Record

Cell = int | float | str
Operator = Literal["==", "!=", ">", ">=", "<", "<="]
Condition = tuple[str, Operator, Cell]  # column, operator, value
Share = Annotated[float, Field(gt=0, lt=1)]


class TableSpec(Record):
    """A table inside an installed package, and how it is prepared, in this order: rename, where, drop_missing, recode, fields, distinct,
    sample, blank. `thousands` and `percent` say how a column is written to a file."""

    package: str
    path: str  # inside the package's folder
    sha256: str  # of the file as it ships
    licence: str
    origin: str
    about: str
    fields: dict[str, str]  # column (or a pattern such as "M*") -> description; these columns, in this order
    separator: str = ","
    quote: str = '"'
    skip_rows: int = 0
    names: tuple[str, ...] = ()  # of a file without a header
    rename: dict[str, str] = Field(default_factory=dict)
    where: tuple[Condition, ...] = ()
    drop_missing: tuple[str, ...] = ()
    recode: dict[str, dict[Cell, Cell]] = Field(default_factory=dict)
    distinct: bool = False
    sample: int | None = None  # rows
    thousands: tuple[str, ...] = ()  # columns written as text with a thousands separator
    percent: tuple[str, ...] = ()  # columns written as text with a percent sign
    blank: dict[str, Share] = Field(default_factory=dict)  # column -> share of cells that are made missing


Statistic = Literal[
    "mean", "median", "std", "sum", "count", "missing_percent", "distinct", "skewness", "correlation", "slope", "intercept", "top_group"
]


class Answer(Record):
    """One sub-answer: a statistic over the rows that meet all conditions."""

    name: str
    statistic: Statistic
    column: str = ""  # empty for a count of rows
    against: str = ""  # correlation and regression: the other column; top_group: the grouping column
    where: tuple[Condition, ...] = ()
    decimals: int | None = None  # None: text, or a whole number


class QuestionSpec(Record):
    table: str
    answers: tuple[Answer, ...]


class Filter(Record):
    """Keep the rows that meet all conditions."""

    step: Literal["filter"]
    where: tuple[Condition, ...]


class DropMissing(Record):
    step: Literal["drop_missing"]
    columns: tuple[str, ...]


class Join(Record):
    """Inner join with another file of the task."""

    step: Literal["join"]
    table: str
    by: str


class Derive(Record):
    """A new column from two others, or from one column and a number."""

    step: Literal["derive"]
    column: str
    left: str
    operator: Literal["+", "-", "*", "/"]
    right: str | float


class DatePart(Record):
    """A new whole-number column: the year or the month of a date column."""

    step: Literal["date_part"]
    column: str
    of: str
    part: Literal["year", "month"]


class Aggregate(Record):
    """One row per combination of `by`; new column -> (statistic, source column; None for a count of rows)."""

    step: Literal["aggregate"]
    by: tuple[str, ...]
    columns: dict[str, tuple[Literal["count", "mean", "median", "sum", "min", "max"], str | None]]


class Pivot(Record):
    """One row per value of `index`, one column per value of `columns`, filled with `values`."""

    step: Literal["pivot"]
    index: str
    columns: str
    values: str


class Sort(Record):
    """Sort by columns in turn, each in its own direction."""

    step: Literal["sort"]
    by: tuple[tuple[str, Literal["ascending", "descending"]], ...]


class Head(Record):
    step: Literal["head"]
    rows: int


Step = Annotated[Filter | DropMissing | Join | Derive | DatePart | Aggregate | Pivot | Sort | Head, Field(discriminator="step")]


class ResultFileSpec(Record):
    """A pipeline over one or more tables. Without `key` the order of the rows is checked; with it, rows are matched by these columns."""

    tables: tuple[str, ...]  # the first is where the pipeline starts
    goal: str
    steps: tuple[Step, ...]
    columns: tuple[str, ...]
    decimals: int
    key: tuple[str, ...] = ()


class PredictionSpec(Record):
    table: str
    goal: str
    target: str
    id: str  # name of the id column, which is made
    metric: str
    positive: str | None = None  # probability metrics: what target 1 means
    test_share: Share = 0.3


TaskSpec = QuestionSpec | ResultFileSpec | PredictionSpec
