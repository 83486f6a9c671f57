"""Two finished studies beside each other: settings, requests, attempts and table cells that differ, as a page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rubrics_gym.records.files import iter_json_lines
from rubrics_gym.report.dashboard import RESOURCES
from rubrics_gym.report.flattening import leaves
from rubrics_gym.report.html import content_policy, template
from rubrics_gym.report.specs import SPECS
from rubrics_gym.report.table_spec import Unit
from rubrics_gym.report.writing import read_table

Cells = Mapping[str, str]
DESCRIPTIVE = {
    "note",
    "interval_kind",
    "study",
    "distribution",
    "by_run",
    "abstentions",
    "says",
    "change",
    "test",
    "state",
    "reason",
    "code",
    "twin",
}
MOST = 400  # differing cells of one table that the page lists


@dataclass(frozen=True)
class Finished:
    """A finished study: its merged configuration, its tables as text cells, and the keys of its requests by the unit that asked."""

    name: str
    settings: Mapping[str, Any]
    tables: Mapping[str, Sequence[Cells]]
    requests: Mapping[str, frozenset[str]]


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that differs; None where a study does not have it."""

    what: str
    first: str | None
    second: str | None


@dataclass
class Comparison:
    """Everything in which two studies differ."""

    first: str
    second: str
    settings: list[Difference] = field(default_factory=list)
    requests: list[Difference] = field(default_factory=list)
    attempts: list[Difference] = field(default_factory=list)
    tables: dict[str, list[Difference]] = field(default_factory=dict)
    equal_tables: list[str] = field(default_factory=list)
    shared_requests: int = 0


def read_finished(folder: str | Path) -> Finished:
    """A finished study from its results folder. Raises FileNotFoundError, with what to do, where it has no configuration or tables."""
    import yaml

    place = Path(folder)
    config = place / "run_config.yaml"
    if not config.exists() or not (place / "tables").is_dir():
        raise FileNotFoundError(f"{place}: no finished study (run_config.yaml and tables/ are missing); give the results folder of one.")
    requests: dict[str, set[str]] = {}
    for path in sorted(place.rglob("*requests.jsonl")):
        for line in iter_json_lines(path):
            requests.setdefault(line["unit"], set()).add(line["key"])
    return Finished(
        name=str(place),
        settings=yaml.safe_load(config.read_text(encoding="utf-8")),
        tables={path.stem: read_table(path) for path in sorted((place / "tables").glob("*.csv"))},
        requests={unit: frozenset(keys) for unit, keys in requests.items()},
    )


def compare(first: Finished, second: Finished) -> Comparison:
    """Everything in which two studies differ; what is equal is counted."""
    found = Comparison(first.name, second.name)
    found.settings = _differences(*({key: str(value) for key, value in leaves(study.settings).items()} for study in (first, second)))
    for unit in sorted(first.requests.keys() | second.requests.keys()):
        a, b = first.requests.get(unit, frozenset()), second.requests.get(unit, frozenset())
        found.shared_requests += len(a & b)
        if a != b:
            found.requests.append(
                Difference(unit, f"{len(a - b)} of its own" if a - b else None, f"{len(b - a)} of its own" if b - a else None)
            )
    found.attempts = _differences(*(_attempts(study.tables.get("attempts", ())) for study in (first, second)))
    for name in sorted((first.tables.keys() | second.tables.keys()) - {"attempts"}):
        cells = _differences(*(_cells(name, study.tables.get(name)) for study in (first, second)))
        if cells:
            found.tables[name] = cells
        else:
            found.equal_tables.append(name)
    return found


def comparison_page(found: Comparison) -> str:
    """The page as HTML text: self-contained, without a script; whatever a model wrote in a cell is text."""
    style = (RESOURCES / "style.css").read_text(encoding="utf-8")
    return template(RESOURCES, "comparison.html.j2").render(found=found, most=MOST, style=style, policy=content_policy(style, ""))


def _differences(first: Mapping[str, str], second: Mapping[str, str]) -> list[Difference]:
    names = list(dict.fromkeys([*first, *second]))
    return [Difference(name, first.get(name), second.get(name)) for name in names if first.get(name) != second.get(name)]


def _attempts(rows: Iterable[Cells]) -> dict[str, str]:
    return {f"{row['unit']}, attempt {row['attempt']}": " ".join(filter(None, [row["state"], row["reason"]])) for row in rows}


def _cells(name: str, rows: Sequence[Cells] | None) -> dict[str, str]:
    """Row and column -> text of a cell. A row is known by its words (not by its numbers); rows that share them are numbered."""
    if rows is None:
        return {}
    spec = SPECS.get(name)
    seen: Counter[str] = Counter()
    found: dict[str, str] = {}
    for row in rows:
        words = [
            cell
            for column, cell in row.items()
            if cell
            and column not in DESCRIPTIVE
            and not column.endswith(("_note", "_interval"))
            and _is_word(spec.column(column) if spec else None)
        ]
        key = " · ".join(words) or "row"
        seen[key] += 1
        place = key if seen[key] == 1 else f"{key} ({seen[key]})"
        found |= {f"{place}: {column}": cell for column, cell in row.items() if column != "study"}
    return found


def _is_word(column: Any) -> bool:
    return column is not None and column.unit in (Unit.TEXT, Unit.CODE)
