"""What a careful reader keeps of a program: its frames and models, and what happens to them and to files."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field, replace

from rubrics_gym.providers.simulated.judge.reading import Table


@dataclass(frozen=True)
class Frame:
    """A data frame, or one of its columns (`single`)."""

    table: Table | None
    columns: frozenset[str] | None
    missing: frozenset[str] = frozenset()
    text: frozenset[str] = frozenset()
    single: bool = False
    label: str | None = None  # name of the column, where single

    @property
    def rows(self) -> int | None:
        return None if self.table is None else self.table.rows

    def only(self, names: frozenset[str]) -> Frame:
        return replace(self, columns=names, missing=self.missing & names, text=self.text & names)

    def without(self, names: frozenset[str]) -> Frame:
        kept = None if self.columns is None else self.columns - names
        return replace(self, columns=kept, missing=self.missing - names, text=self.text - names)


@dataclass(frozen=True)
class Names:
    """A list of column names. `parts` is None where the program picks them by a rule that is not followed."""

    parts: frozenset[str] | None


@dataclass(frozen=True)
class Model:
    """An estimator, with every name and string in the expressions that made it."""

    tokens: frozenset[str]
    line: int


@dataclass(frozen=True)
class Use:
    """Something that a program does to a file or with a model."""

    line: int
    path: str | None = None
    frame: Frame | None = None
    model: Model | None = None
    node: ast.Call | None = None


@dataclass(frozen=True)
class ColumnUse:
    line: int
    name: str
    frame: Frame


@dataclass
class Story:
    """What happens in a program, in the order of its statements."""

    reads: list[Use] = field(default_factory=list)
    writes: list[Use] = field(default_factory=list)
    fits: list[Use] = field(default_factory=list)
    predictions: list[Use] = field(default_factory=list)
    columns: list[ColumnUse] = field(default_factory=list)
    frames: dict[int, Frame] = field(default_factory=dict)  # id of a syntax node -> the frame it stands for
    texts: dict[int, str] = field(default_factory=dict)  # id of a syntax node -> the string it stands for
