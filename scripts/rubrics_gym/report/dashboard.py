"""The dashboard: one self-contained HTML page from tables, figures, libraries and provenance.

Everything that a model or a task wrote is text to this page: it is escaped by the template, the figures are rebuilt from known elements,
and the content security policy admits the page's one script and one style sheet by their hashes and nothing else, from nowhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rubrics_gym.records.rubrics import LibraryManifest, Rubric
from rubrics_gym.report.headlines import headlines
from rubrics_gym.report.html import content_policy, template
from rubrics_gym.report.specs import FAILURE_MIX, SPECS
from rubrics_gym.report.svg import embeddable
from rubrics_gym.report.table_spec import FULL_COUNT, Column, TableSpec, Unit

RESOURCES = Path(__file__).parents[3] / "resources" / "dashboard"
ABOUT: dict[str, Any] = {  # what provenance may leave out
    "split": "", "commit": "", "config": "", "seed": "", "confidence": 0.95, "counts": {}, "models": {}, "versions": {},
    "arms": {}, "status": [], "pages": "",
}  # fmt: skip
NUMERIC = frozenset(Unit) - {Unit.TEXT, Unit.CODE, Unit.FLAG}

Cells = Mapping[str, str]  # one row of a CSV table


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell as the page shows it. `strip` holds estimate, low and high in [0, 1] for a small drawing; `sort` is what sorting reads."""

    text: str
    sort: str
    interval: str = ""
    numeric: bool = False
    code: bool = False
    strip: tuple[float, float, float] | None = None
    head: bool = False
    link: str = ""


@dataclass(frozen=True, slots=True)
class View:
    """One table as the page shows it."""

    name: str
    title: str
    caption: str
    note: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    simulated: bool
    sources: Sequence[str] = ()  # ids of the study or distributions that the rates belong to
    numeric: frozenset[str] = field(default_factory=frozenset)

    @property
    def long(self) -> bool:
        """Whether a reader wants to search it."""
        return len(self.rows) > 14


def build_dashboard(
    provenance: Mapping[str, Any],
    tables: Mapping[str, Sequence[Cells]],
    figures: Mapping[str, str],
    libraries: Sequence[tuple[LibraryManifest, Sequence[Rubric]]],
) -> str:
    """The HTML text of the dashboard. The same inputs give the same bytes.

    `tables` maps names of `specs.SPECS` (and others, shown as they are) to rows of text cells as `writing.read_table` gives them;
    `figures` maps failure_mix, validity, contrasts, precision_recall to SVG text. `provenance` is plain JSON; required: title, study,
    simulated (bool); optional: pages (folder of the pages of attempts, as a relative link), split, commit, config (YAML text), seed, confidence, counts (name -> number, in the order of the
    flow), models (role -> name), versions (package -> version), arms (name -> what it does), questions ([question, first arm, second
    arm], …), status (lines about what is missing or lost).
    """
    for key in ("title", "study", "simulated"):
        if key not in provenance:
            raise ValueError(f"build_dashboard: provenance lacks {key!r}; expected title, study and simulated")
    style, script = ((RESOURCES / name).read_text(encoding="utf-8") for name in ("style.css", "script.js"))
    pages = str(provenance.get("pages", ""))
    views = {name: _view(name, rows, pages) for name, rows in tables.items() if name != FAILURE_MIX.name}
    if FAILURE_MIX.name in tables:
        views[FAILURE_MIX.name] = mix_view(tables[FAILURE_MIX.name])
    return template(RESOURCES, "page.html.j2").render(
        about=ABOUT | dict(provenance),
        headlines=headlines(tables, provenance.get("questions", ())),
        tables=views,
        extra_tables=[view for name, view in views.items() if name not in SPECS],
        figures={
            name: embeddable(svg, name, f"Figure: {name.replace('_', ' ')}; its numbers are in the table below")
            for name, svg in figures.items()
        },
        libraries=[_card(manifest, rubrics) for manifest, rubrics in libraries],
        style=style,
        script=script,
        policy=content_policy(style, script),
    )


def _view(name: str, rows: Sequence[Cells], pages: str = "") -> View:
    spec = SPECS.get(name) or _unknown_spec(name, rows)
    shown = [column for column in spec.columns if column.shown and (not rows or column.name in rows[0])]
    shown = [column for column in shown if column.name not in ("note",) or any(row["note"] for row in rows)]
    return View(
        name=name,
        title=spec.title,
        caption=spec.caption,
        note=spec.note,
        columns=shown,
        rows=[[_cell(row, column, first=place == 0, pages=pages) for place, column in enumerate(shown)] for row in rows],
        simulated=_simulated(rows),
        sources=_sources(rows),
        numeric=frozenset(column.name for column in shown if column.unit in NUMERIC),
    )


def mix_view(rows: Sequence[Cells]) -> View:
    """The failure mix with one column per series: rows of table `failure_mix` turned about."""
    series = list(dict.fromkeys(row["series"] for row in rows))
    of = {(row["bin"], row["series"]): row for row in rows}
    first = {name: next(row for row in rows if row["series"] == name) for name in series}
    share = FAILURE_MIX.column("share")
    assert share is not None
    columns = [Column("bin", "Failure", Unit.CODE)]
    for name in series:
        row = first[name]
        help = f"{row['n']} {row['series_kind']} of {row['clusters']} tasks; interval: {row['interval_kind']}; {row['distribution']}"
        columns.append(Column(name, f"{name} (n = {row['n']} {row['series_kind']})", Unit.SHARE, help))
    body = []
    for bin in dict.fromkeys(row["bin"] for row in rows):
        cells = [Cell(bin, bin, code=True, head=True)]
        for name in series:
            cell = _cell(of[bin, name], share, first=False)
            count = of[bin, name]["count"]
            cells.append(Cell(f"{cell.text} ({count})" if cell.text else "–", cell.sort, cell.interval, True))
        body.append(cells)
    return View(
        FAILURE_MIX.name,
        FAILURE_MIX.title,
        FAILURE_MIX.caption,
        FAILURE_MIX.note,
        columns,
        body,
        _simulated(rows),
        _sources(rows),
        frozenset(series),
    )


def _cell(row: Cells, column: Column, first: bool, pages: str = "") -> Cell:
    raw = row.get(column.name, "")
    low, high = row.get(column.low, ""), row.get(column.high, "")
    interval = f"[{show(low, column.unit, bare=True)}, {show(high, column.unit, bare=True)}]" if low and high else ""
    if column.low and raw and not interval and row.get("interval_kind") != FULL_COUNT:
        interval = "no interval"
    strip = (float(raw), float(low), float(high)) if column.unit is Unit.SHARE and raw and low and high else None
    numeric = column.unit in NUMERIC
    blank = "not identified" if row.get(f"{column.name}_note", "").startswith("not identified") else "–"
    text = show(raw, column.unit) or (blank if numeric else "")
    if raw and row.get(column.to, raw) != raw:
        text = f"{show(raw, column.unit, bare=True)} to {show(row[column.to], column.unit)}"
    link = f"{pages}/{page_path(raw)}" if pages and column.name == "unit" and raw.startswith(("rollouts/", "episodes/")) else ""
    return Cell(text, raw, interval, numeric, column.unit is Unit.CODE, strip, head=first, link=link)


def page_path(unit: str) -> str:
    """Where the page of an attempt lies below the folder of pages."""
    return f"{unit}.html"


def show(raw: str, unit: Unit, bare: bool = False) -> str:
    """A CSV cell as a person reads it, with its unit unless `bare`. An empty cell stays empty: it is not a zero."""
    if not raw:
        return ""
    if unit is Unit.SHARE:
        return f"{100 * float(raw):.1f}" + ("" if bare else "%")
    if unit is Unit.POINTS:
        return f"{float(raw):+.1f}".replace("-", "−")
    if unit is Unit.P:
        return "<0.001" if float(raw) < 0.001 else f"{float(raw):.3f}"
    if unit is Unit.MICRODOLLARS:
        return f"${int(raw) / 1e6:,.4f}"
    if unit is Unit.NUMBER:
        return f"{float(raw):.2f}"
    if unit is Unit.SECONDS:
        return f"{float(raw):.1f}"
    if unit is Unit.COUNT:
        return f"{int(raw):,}"
    if unit is Unit.FLAG:
        return "yes" if raw == "true" else "no"
    return raw


def _card(manifest: LibraryManifest, rubrics: Sequence[Rubric]) -> dict[str, Any]:
    """What the card of a library shows."""
    facts = [("Recipe", str(manifest.recipe.get("recipe", "")))]
    if manifest.quota:
        facts.append(("Planned", f"{sum(line.planned for line in manifest.quota)}, written {sum(line.written for line in manifest.quota)}"))
        facts.append(("Nothing new to say about", ", ".join(line.bin for line in manifest.quota if line.stopped == "covered") or "none"))
    if manifest.target:
        facts.append(("Target", manifest.target))
    if manifest.distance is not None:
        before = f"{manifest.distance_before:.1f} → " if manifest.distance_before is not None else ""
        floor = f" (noise floor {manifest.noise_floor:.1f})" if manifest.noise_floor is not None else ""
        facts.append(("Distance to target, 0-100", f"{before}{manifest.distance:.1f}{floor}"))
    if manifest.binding_bin:
        facts.append(("Size limited by", manifest.binding_bin))
    if manifest.dropped_mass is not None:
        facts.append(("Target without a rubric", f"{100 * manifest.dropped_mass:.1f}%"))
    if (spread := manifest.order_spread) is not None:
        facts.append(("Kept by every order", f"{spread.always} of {len(rubrics)}; another order shares {100 * spread.shared:.0f}%"))
    if manifest.rejected:
        facts.append(("Rejected candidates", ", ".join(f"{reason} {count}" for reason, count in sorted(manifest.rejected.items()))))
    return {"manifest": manifest, "facts": facts, "rubrics": sorted(rubrics, key=lambda rubric: (-rubric.weight, rubric.title))}


def _unknown_spec(name: str, rows: Sequence[Cells]) -> TableSpec:
    """A table that this module does not know: its columns as they are called."""
    return TableSpec(
        name, name.replace("_", " ").capitalize(), "", tuple(Column(key, key.replace("_", " ")) for key in (rows[0] if rows else ()))
    )


def _simulated(rows: Sequence[Cells]) -> bool:
    return any(row.get("simulated") == "true" for row in rows)


def _sources(rows: Sequence[Cells]) -> list[str]:
    return list(dict.fromkeys(row[key] for row in rows for key in ("study", "distribution") if row.get(key)))
