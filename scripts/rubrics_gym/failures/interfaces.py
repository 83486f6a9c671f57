"""Whether a name that a program asked of a library is one that some of its releases have: a changed interface, not an invented one.

Looks names up in the table of changes between releases (resources/api_changes.tsv, made by `api_history`) and in the list by hand of what
that table cannot see (resources/failure_types.yaml: Python itself, C extensions, libraries without a readable wheel).
"""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

PUBLIC_DEPTH = 3  # `pandas.io.json` is an interface that programs name; what lies deeper rarely is, and is not in the table
COVERED_DEPTH = 2  # of `pandas` and `pandas.io` the table also has what was added
# Where the name of a distribution is not the name of its package.
PACKAGES = {"scikit-learn": "sklearn", "pillow": "PIL", "scikit-image": "skimage", "imbalanced-learn": "imblearn", "tensorflow-cpu": "tensorflow",
            "pytorch-lightning": "pytorch_lightning", "sqlalchemy": "sqlalchemy"}  # fmt: skip


class Change(NamedTuple):
    """`items` of `owner` are in release `having` and not in release `lacking`, which is later if they were removed and earlier if they were added.

    kind      owner             items
    module    (none)            dotted names of modules
    name      dotted module     names that it offers
    attribute class             methods, properties and instance attributes, own or inherited
    parameter function          parameters; a method is written Class.method, by the class that defines it
    """

    library: str
    kind: str
    owner: str
    having: str
    lacking: str
    items: tuple[str, ...]


def read_changes(path: str | Path) -> list[Change]:
    """Read a table of changes. ValueError names the file and the line that has not six fields."""
    rows = []
    for number, line in enumerate(Path(path).read_text(encoding="utf-8").splitlines()[1:], 2):
        cells = line.split("\t")
        if len(cells) != len(Change._fields):
            raise ValueError(f"{path}, line {number}: {len(cells)} fields; expected {', '.join(Change._fields)}")
        library, kind, owner, having, lacking, items = cells
        rows.append(Change(library, kind, owner, having, lacking, tuple(items.split())))
    return rows


class Removed(NamedTuple):
    """Names that a class no longer has, or a function no longer takes."""

    of: re.Pattern[str]
    names: frozenset[str]


class Interfaces:
    """What changed in the interfaces of libraries, for looking up."""

    def __init__(self, table: Path, by_hand: dict[str, Any], added: dict[str, list[str]]):
        self._modules: set[str] = set()
        self._names: dict[str, set[str]] = defaultdict(set)  # name -> modules that had it or have it
        self._attributes: dict[str, set[str]] = defaultdict(set)  # attribute -> classes
        self._parameters: dict[str, dict[str, set[str]]] = defaultdict(
            lambda: defaultdict(set)
        )  # parameter -> last part of the function -> whole names
        self._packages_of: dict[str, set[str]] = defaultdict(set)  # function, by its last part and whole -> packages
        self._covered: set[str] = set()
        for change in read_changes(table):
            package = PACKAGES.get(change.library, change.library)
            self._covered.add(package)
            for item in change.items:
                if change.kind == "module":
                    self._modules.add(item)
                elif change.kind == "name":
                    self._names[item].add(change.owner)
                elif change.kind == "attribute":
                    self._attributes[item].add(change.owner)
                else:
                    self._parameters[item][change.owner.rsplit(".", 1)[-1]].add(change.owner)
                    self._packages_of[f"{change.owner}({item})"].add(package)
        self._modules |= set(by_hand["modules"])
        for module, names in (*by_hand["names"].items(), *added.items()):
            self._covered.add(module.split(".")[0])
            for name in names:
                self._names[name].add(module)
        self._removed_attributes = _removed(by_hand["attributes"])
        self._removed_parameters = _removed(by_hand["parameters"])

    def covers(self, module: str) -> bool:
        """Whether every public change of a module is known, so that a name which is not in the table was never there."""
        return module.split(".")[0] in self._covered and module.count(".") < COVERED_DEPTH and not re.search(r"(?:^|\.)_", module)

    def module(self, module: str) -> bool:
        """Whether some releases have a module (or a package above it that others have not)."""
        parts = module.split(".")
        return any(".".join(parts[:end]) in self._modules for end in range(1, len(parts) + 1))

    def name(self, module: str, name: str) -> bool:
        """Whether some releases of a module offer a name; a submodule counts."""
        return any(one in self._names.get(name, ()) or f"{one}.{name}" in self._modules for one in _aliases(module))

    def attribute(self, of: str, name: str) -> bool:
        """Whether objects of a class (its name, with or without its module) have an attribute in some releases."""
        short = of.rsplit(".", 1)[-1]
        return short in self._attributes.get(name, ()) or any(
            removed.of.fullmatch(of) and name in removed.names for removed in self._removed_attributes
        )

    def parameter(self, function: str, name: str, code: str = "") -> bool:
        """Whether some releases take a parameter. `function` is as Python names it: `f`, `Class.f` or a bare `__init__`, whose class must
        then be named in `code`, the line that called it."""
        *above, last = function.split(".")
        known = self._parameters.get(name, {}).get(last, set())
        if above:
            whole = f"{above[-1]}.{last}"
            return whole in known or self._by_hand(function, name)
        if last == "__init__":
            called = set(re.findall(r"(\w+)\s*\(", code))
            return any(one.split(".")[0] in called for one in known) or (
                any(self._by_hand(f"{one}.__init__", name) or self._by_hand(one, name) for one in called) if called else bool(known)
            )
        return bool(known) or self._by_hand(function, name)

    def package_of_parameter(self, function: str, name: str) -> str | None:
        """The package whose function it is, when only one has a function of that name with that parameter."""
        found = self._packages_of.get(f"{function}({name})", set())
        return next(iter(found)) if len(found) == 1 else None

    def _by_hand(self, function: str, name: str) -> bool:
        return any(removed.of.fullmatch(function) and name in removed.names for removed in self._removed_parameters)


def _aliases(module: str) -> tuple[str, ...]:
    """A module and the names under which the same module is known elsewhere."""
    if module.startswith("tensorflow.keras"):
        return module, module.removeprefix("tensorflow.")
    if ".api._v" in module:
        return module, re.sub(r"^(?:tensorflow|keras)\.api\._v\d\.", "", module), re.sub(r"\.api\._v\d", "", module)
    return (module,)


def _removed(rows: list[dict[str, Any]]) -> tuple[Removed, ...]:
    return tuple(Removed(re.compile(row["of"]), frozenset(str(name) for name in row["names"])) for row in rows)
