"""A program as the agent holds it in mind: named parts in order, from which the text is written."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class Part:
    """One section of a program. `imports` are whole import lines that its text needs."""

    name: str
    text: str
    imports: tuple[str, ...] = ()


@dataclass(frozen=True)
class Program:
    """Parts in the order in which they stand; `in_main` puts everything below the imports into a function."""

    path: str
    parts: tuple[Part, ...]
    in_main: bool = False
    called: bool = True  # main() is called at the end of the file
    opening: str = ""  # docstring of the file
    _lines: dict[str, tuple[int, int]] = field(default_factory=dict, compare=False)

    def part(self, name: str) -> Part:
        """The part of that name (KeyError when there is none)."""
        return {part.name: part for part in self.parts}[name]

    def with_part(self, new: Part) -> Program:
        """The same program with one part rewritten."""
        return replace(self, parts=tuple(new if part.name == new.name else part for part in self.parts), _lines={})

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(part.name for part in self.parts)

    def text(self) -> str:
        """The file's text. Import lines come sorted as a person would: plain imports, then from-imports."""
        return _lay_out(self)[0]

    def part_at(self, line: int) -> str | None:
        """Name of the part that holds a line (counted from 1); "imports" for the import block, None for the rest."""
        for name, (first, last) in _lay_out(self)[1].items():
            if first <= line <= last:
                return name
        return None

    def parts_with(self, pattern: str) -> tuple[str, ...]:
        """Names of the parts whose text or imports match a regular expression."""
        return tuple(part.name for part in self.parts if re.search(pattern, "\n".join((*part.imports, part.text))))


_STANDARD = (
    "import csv",
    "import itertools",
    "import json",
    "import math",
    "import os",
    "import time",
    "import warnings",
    "from pathlib import Path",
)


def _import_block(parts: tuple[Part, ...]) -> list[str]:
    """Import lines as a person sorts them: the standard library, then plain imports, then from-imports with names of one module together."""
    lines = {line for part in parts for line in part.imports}
    names: dict[str, set[str]] = {}
    for line in lines:
        if found := re.fullmatch(r"from (\S+) import (.+)", line):
            names.setdefault(found.group(1), set()).update(found.group(2).split(", "))
    joined = [f"from {module} import {', '.join(sorted(items))}" for module, items in sorted(names.items())]
    plain = sorted(line for line in lines if line.startswith("import "))
    first = [line for line in (*plain, *joined) if line in _STANDARD]
    second = [line for line in (*plain, *joined) if line not in _STANDARD]
    return [*first, *([""] if first and second else []), *second]


def _lay_out(program: Program) -> tuple[str, dict[str, tuple[int, int]]]:
    """The text, and for each part its first and last line."""
    lines: list[str] = []
    places: dict[str, tuple[int, int]] = {}
    if program.opening:
        lines += [f'"""{program.opening}"""', ""]
    start = len(lines) + 1
    lines += _import_block(program.parts)
    places["imports"] = (start, len(lines))
    lines += [""]
    if program.in_main:
        lines += ["", "def main():"]
    for number, part in enumerate(part for part in program.parts if part.text):
        if number:
            lines.append("")
        start = len(lines) + 1
        lines += [("    " + line if line and program.in_main else line) for line in part.text.split("\n")]
        places[part.name] = (start, len(lines))
    if program.in_main and program.called:
        lines += ["", "", 'if __name__ == "__main__":', "    main()"]
    return "\n".join(lines) + "\n", places
