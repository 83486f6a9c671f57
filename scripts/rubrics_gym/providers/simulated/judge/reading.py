"""What the simulated judge reads out of a rendered request. It knows nothing but these words."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field

from rubrics_gym.models.request import Request

_OPENING = re.compile(r"^<([a-z_]+)>$")
_TABLE = re.compile(r"^\W*(?P<path>\S+\.\w+)\W.*?(?P<rows>[\d,]+) rows", re.IGNORECASE)
_COLUMN = re.compile(
    r"^\s*[-*]?\s*(?P<name>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|\S.*?)\s*[:|]\s*"
    r"(?P<kind>(?:u?int|float|bool|object|str|string|category|datetime|text|number|integer|date|empty)\w*)(?P<rest>.*)$",
    re.IGNORECASE,
)
_TEXT_KINDS = ("object", "str", "string", "category", "text")


@dataclass(frozen=True)
class Column:
    name: str
    kind: str
    missing: int = 0

    @property
    def is_text(self) -> bool:
        return self.kind.lower().startswith(_TEXT_KINDS)


@dataclass(frozen=True)
class Table:
    """One data file as the profile describes it."""

    path: str
    rows: int
    columns: tuple[Column, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)


@dataclass(frozen=True)
class Reading:
    """The parts of one request. What the request does not show is None, or empty."""

    statement: str = ""
    command: str = ""
    programs: dict[str, str] = field(default_factory=dict)
    packages: dict[str, str] | None = None
    limits: dict[str, float] = field(default_factory=dict)
    files: frozenset[str] | None = None
    tables: tuple[Table, ...] = ()
    last_real_run: str | None = None
    rubrics: tuple[str, ...] = ()

    def table(self, path: str) -> Table | None:
        """The profile of a data file, by its path or, failing that, by its name."""
        exact = [table for table in self.tables if normal(table.path) == normal(path)]
        named = [table for table in self.tables if base(table.path) == base(path)]
        return next(iter(exact or named), None)


def read(request: Request) -> Reading:
    """Take the tagged passages of the user's turn apart."""
    passages: dict[str, list[str]] = {}
    for label, text in _passages("\n".join(message.text for message in request.messages if message.role == "user")):
        passages.setdefault(label, []).append(text)

    def one(label: str) -> str | None:
        return passages[label][0] if passages.get(label) else None

    packages, files = one("packages"), one("files")
    return Reading(
        statement=one("task") or "",
        command=one("command") or "",
        programs=dict(_program(text) for text in passages.get("program", [])),
        packages=None if packages is None else _packages(packages),
        limits=_numbers(one("limits") or ""),
        files=None if files is None else frozenset(normal(re.sub(r"\s*\(\d+ bytes\)$", "", line)) for line in files.splitlines() if line),
        tables=_tables(one("data_profile") or ""),
        last_real_run=one("last_real_run"),
        rubrics=tuple(passages.get("rubric", [])),
    )


def normal(path: str) -> str:
    """A path as an absolute one of the sandbox."""
    parts: list[str] = []
    for part in (path if path.startswith("/") else f"/workspace/{path}").split("/"):
        if part == "..":
            parts = parts[:-1]
        elif part not in ("", "."):
            parts.append(part)
    return "/" + "/".join(parts)


def base(path: str) -> str:
    return path.rsplit("/", 1)[-1]


def _passages(text: str) -> list[tuple[str, str]]:
    """(label, text) of every outermost tagged passage; a tag inside a passage is only its text."""
    passages, label, lines = [], "", list[str]()
    for line in text.split("\n"):
        opening = _OPENING.match(line)
        if not label and opening:
            label, lines = opening.group(1), []
        elif label and line == f"</{label}>":
            passages.append((label, "\n".join(lines)))
            label = ""
        elif label:
            lines.append(line)
    return passages


def _program(text: str) -> tuple[str, str]:
    path, _, source = text.partition("\n")
    return path.strip(), source


def _packages(text: str) -> dict[str, str]:
    pairs = (line.split("==", 1) for line in text.splitlines() if "==" in line)
    return {name.strip().lower().replace("_", "-"): version.strip() for name, version in pairs}


def _numbers(text: str) -> dict[str, float]:
    pairs = (re.match(r"\s*(.+?)\s*[:=]\s*([\d.]+)", line) for line in text.splitlines())
    return {pair.group(1).lower(): float(pair.group(2)) for pair in pairs if pair}


def _tables(text: str) -> tuple[Table, ...]:
    tables: list[tuple[str, int, list[Column]]] = []
    for line in text.splitlines():
        if heading := _TABLE.match(line):
            tables.append((heading["path"].strip("`'\":"), int(heading["rows"].replace(",", "")), []))
        elif tables and (column := _COLUMN.match(line)):
            tables[-1][2].append(_column(column))
    return tuple(Table(path, rows, tuple(columns)) for path, rows, columns in tables)


def _column(match: re.Match[str]) -> Column:
    name, rest = match["name"], match["rest"]
    if name[0] in "'\"":
        name = ast.literal_eval(name)
    missing = re.search(r"([\d,]+) missing|missing[:= ]+([\d,]+)", rest)
    count = int((missing.group(1) or missing.group(2)).replace(",", "")) if missing else 0
    return Column(name, "text" if "no number" in rest else match["kind"], count)
