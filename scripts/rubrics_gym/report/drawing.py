"""Drawing in the house style: SVG, byte-identical for identical rows (no date, fixed ids, text kept as text), marked `simulated` when it is.

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

STYLE: dict[str, Any] = {
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


class Output:
    """Where a finished figure's text goes."""

    text = ""


@contextmanager
def figure(height: float, rows: Sequence[Cells], title: str) -> Iterator[tuple[Figure, Axes, Output]]:
    """A figure of one axes in the house style; afterwards its SVG text is in the output. Marks what is simulated, and what is empty."""
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    out = Output()
    with matplotlib.rc_context(STYLE):
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


def rows_axis(axes: Axes, labels: Sequence[str]) -> None:
    """One line per label, the first on top, names free of mathematical markup."""
    axes.set_yticks(range(len(labels)), [label.replace("$", r"\$") for label in labels])
    axes.set_ylim(max(0.6, len(labels) - 0.4), -0.6)
    axes.grid(False, axis="y")


def dot(axes: Axes, place: float, row: Cells, name: str, low: str, high: str, scale: float, color: str, label: str | None = None) -> None:
    """An estimate and its interval; hollow when the interval is not identified, a word when there is no estimate."""
    value, lower, upper = (number(row[column]) for column in (name, low, high))
    if value is None:
        axes.annotate(f"{name}: not observed", (0.01, place), xycoords=("axes fraction", "data"), va="center", color=MUTED, fontsize=8)
        return
    if lower is not None and upper is not None:
        axes.plot([scale * lower, scale * upper], [place, place], color=color, linewidth=2.2, alpha=0.55, solid_capstyle="butt")
        axes.plot([scale * value], [place], "o", color=color, markersize=6, label=label)
    else:
        axes.plot([scale * value], [place], "o", markerfacecolor="none", markeredgecolor=color, markersize=6, label=label)


def number(cell: Any) -> float | None:
    return None if cell is None or cell == "" else float(cell)
