"""Figures as SVG, byte-identical for identical rows: no date, fixed ids, text kept as text.

Every figure draws rows of a table, says where they come from and how many there are, and is marked `simulated` when they are.
The palette is one that the dashboard's style sheet knows by its colours, so that it can redraw them for a dark page.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, MUTED, GRID, ACCENT, WARN = "#1b2430", "#5b6675", "#d9dee5", "#2a5fa8", "#b3541e"
SERIES = ("#2a5fa8", "#d07a1f", "#3f8f6b", "#8a5aa5", "#b5485d", "#6b7f1e", "#5b6675", "#1f8a99")  # blue first: the pool

_STYLE: dict[str, Any] = {
    "svg.hashsalt": "rubrics-gym",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 9,
    "text.color": INK,
    "axes.edgecolor": GRID,
    "axes.labelcolor": MUTED,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "axes.grid": True,
    "axes.grid.axis": "x",
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.7,
    "xtick.color": MUTED,
    "ytick.color": INK,
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
}

Cells = Mapping[str, Any]  # one row: values, or the text cells of a CSV table


def failure_mix_figure(rows: Sequence[Cells], bins: int = 14) -> str:
    """Bars of the failure mix with their intervals, one group per bin and one bar per series, from rows of table `failure_mix`. SVG text.

    The `bins` bins with the largest share in any series are drawn; the title says how many are not.
    """
    series = list(dict.fromkeys(str(row["series"]) for row in rows))
    share = {(str(row["bin"]), str(row["series"])): _number(row["share"]) or 0.0 for row in rows}
    interval = {(str(row["bin"]), str(row["series"])): (_number(row["share_low"]), _number(row["share_high"])) for row in rows}
    n = {str(row["series"]): (row["n"], row["series_kind"]) for row in rows}
    every = list(dict.fromkeys(str(row["bin"]) for row in rows))
    largest = set(sorted(every, key=lambda name: -max(share.get((name, one), 0.0) for one in series))[:bins])
    drawn = [name for name in every if name in largest]
    left_out = len(every) - len(drawn)
    title = "Failure mix: share of failures, and of rubrics" + (f" ({left_out} rarer kinds not drawn)" if left_out else "")
    with _figure(height=1.0 + len(drawn) * (0.13 + 0.09 * max(1, len(series))), rows=rows, title=title) as (figure, axes, out):
        thickness = 0.82 / max(1, len(series))
        for place, name in enumerate(series):
            count, kind = n[name]
            offsets = [index + (place - (len(series) - 1) / 2) * thickness for index in range(len(drawn))]
            values = [100 * share.get((one, name), 0.0) for one in drawn]
            label = f"{name} ({count} {kind})"
            axes.barh(offsets, values, height=thickness * 0.92, color=SERIES[place % len(SERIES)], label=label, linewidth=0)
            for offset, one in zip(offsets, drawn, strict=True):
                low, high = interval.get((one, name), (None, None))
                if low is not None and high is not None:
                    axes.plot([100 * low, 100 * high], [offset, offset], color=INK, linewidth=0.9, solid_capstyle="butt")
        _rows_axis(axes, drawn)
        axes.set_xlabel("share, %")
        axes.set_xlim(left=0)
        if series:
            figure.legend(loc="outside lower left", ncols=min(3, len(series)))
    return out.text


def validity_figure(rows: Sequence[Cells]) -> str:
    """A dot with its interval per arm, and a thin line for the bounds where outcomes are missing, from rows of table `arms`. SVG text."""
    title = "Valid submissions per arm"
    with _figure(height=1.3 + 0.34 * len(rows), rows=rows, title=title) as (_, axes, out):
        for place, row in enumerate(rows):
            if int(row["finished"]) < int(row["planned"]):
                bounds = [100 * (_number(row[name]) or 0.0) for name in ("bound_low", "bound_high")]
                axes.plot(bounds, [place + 0.22] * 2, color=WARN, linewidth=1.4, solid_capstyle="butt")
            _dot(axes, place, row, "validity", "validity_low", "validity_high", 100, SERIES[0])
        _rows_axis(axes, [f"{row['arm']}  ({row['valid']}/{row['finished']})" for row in rows])
        axes.set_xlim(-2, 102)
        axes.set_xlabel("valid of finished, %  ·  orange: bounds if outcomes are missing")
    return out.text


def precision_recall_figure(rows: Sequence[Cells]) -> str:
    """Precision and recall with their intervals, one line per judge and library, from rows of table `precision_recall`. SVG text.

    Drawn is the reading that leaves commands without a verdict out; the table has the others.
    """
    rows = [row for row in rows if row["reading"] == "excluded"]
    title = "Precision and recall of the judge against real execution"
    with _figure(height=1.4 + 0.42 * len(rows), rows=rows, title=title) as (figure, axes, out):
        for place, row in enumerate(rows):
            for name, offset, color in (("precision", -0.14, SERIES[0]), ("recall", 0.14, SERIES[1])):
                _dot(axes, place + offset, row, name, f"{name}_low", f"{name}_high", 100, color, label=name if place == 0 else None)
        _rows_axis(axes, [f"{_judge_name(row)}  (n={row['n']})" for row in rows])
        axes.set_xlim(-2, 102)
        axes.set_xlabel("% of the flagged that failed (precision), of the failed that were flagged (recall)")
        if rows:
            figure.legend(loc="outside lower left", ncols=2)
    return out.text


def contrasts_figure(rows: Sequence[Cells], endpoint: str = "valid") -> str:
    """A forest of paired differences with their t intervals, from rows of table `contrasts` (one endpoint). SVG text."""
    chosen = [row for row in rows if row["endpoint"] == endpoint]
    title = f"Differences between arms: {endpoint.replace('_', ' ')}"
    with _figure(height=1.3 + 0.32 * len(chosen), rows=chosen, title=title) as (_, axes, out):
        axes.axvline(0, color=MUTED, linewidth=0.9)
        for place, row in enumerate(chosen):
            _dot(axes, place, row, "estimate", "low", "high", 1, SERIES[0])
        _rows_axis(axes, [f"{row['first']} − {row['second']}" for row in chosen])
        axes.set_xlabel("difference, percentage points (paired by competition; line: paired t interval)")
    return out.text


class _Output:
    """Where a finished figure's text goes."""

    text = ""


@contextmanager
def _figure(height: float, rows: Sequence[Cells], title: str) -> Iterator[tuple[Figure, Axes, _Output]]:
    """A figure of one axes in the house style; afterwards its SVG text is in the output. Marks what is simulated, and what is empty."""
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    out = _Output()
    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(7.6, max(1.6, height)), layout="constrained")
        FigureCanvasSVG(figure)
        axes = figure.add_subplot()
        yield figure, axes, out
        figure.suptitle(title, x=0.01, ha="left", fontsize=10, fontweight="bold")
        if not rows:
            axes.text(0.5, 0.5, "nothing to draw", transform=axes.transAxes, ha="center", va="center", color=MUTED)
        if any(str(row["simulated"]).lower() == "true" for row in rows):
            figure.text(0.99, 0.98, "simulated", ha="right", va="top", color=WARN, fontweight="bold", fontsize=8.5)
        buffer = io.StringIO()
        no_dates = {"Date": None, "Creator": None, "Format": None, "Type": None, "Title": title}
        figure.savefig(buffer, format="svg", metadata=no_dates, transparent=True)
        out.text = buffer.getvalue()


def _rows_axis(axes: Axes, labels: Sequence[str]) -> None:
    """One line per label, the first on top, names free of mathematical markup."""
    axes.set_yticks(range(len(labels)), [label.replace("$", r"\$") for label in labels])
    axes.set_ylim(max(0.6, len(labels) - 0.4), -0.6)
    axes.grid(False, axis="y")


def _dot(axes: Axes, place: float, row: Cells, name: str, low: str, high: str, scale: float, color: str, label: str | None = None) -> None:
    """An estimate and its interval; hollow when the interval is not identified, a word when there is no estimate."""
    value, lower, upper = (_number(row[column]) for column in (name, low, high))
    if value is None:
        axes.annotate(f"{name}: not observed", (0.01, place), xycoords=("axes fraction", "data"), va="center", color=MUTED, fontsize=8)
        return
    if lower is not None and upper is not None:
        axes.plot([scale * lower, scale * upper], [place, place], color=color, linewidth=2.2, alpha=0.55, solid_capstyle="butt")
        axes.plot([scale * value], [place], "o", color=color, markersize=6, label=label)
    else:
        axes.plot([scale * value], [place], "o", markerfacecolor="none", markeredgecolor=color, markersize=6, label=label)


def _judge_name(row: Cells) -> str:
    library = str(row["library"] or "")
    return f"{row['judge']} · {library}" if library else str(row["judge"])


def _number(cell: Any) -> float | None:
    return None if cell is None or cell == "" else float(cell)
