"""Figures of failures, results and the judge. Every figure draws rows of a table, and says where they come from and how many there are."""

from __future__ import annotations

from collections.abc import Sequence

from rubrics_gym.report.drawing import INK, MUTED, SERIES, WARN, Cells, dot, figure, number, rows_axis


def failure_mix_figure(rows: Sequence[Cells], bins: int = 14) -> str:
    """Bars of the failure mix with their intervals, one group per bin and one bar per series, from rows of table `failure_mix`. SVG text.

    The `bins` bins with the largest share in any series are drawn; the title says how many are not.
    """
    series = list(dict.fromkeys(str(row["series"]) for row in rows))
    share = {(str(row["bin"]), str(row["series"])): number(row["share"]) or 0.0 for row in rows}
    interval = {(str(row["bin"]), str(row["series"])): (number(row["share_low"]), number(row["share_high"])) for row in rows}
    n = {str(row["series"]): (row["n"], row["series_kind"]) for row in rows}
    every = list(dict.fromkeys(str(row["bin"]) for row in rows))
    largest = set(sorted(every, key=lambda name: -max(share.get((name, one), 0.0) for one in series))[:bins])
    drawn = [name for name in every if name in largest]
    left_out = len(every) - len(drawn)
    title = "Failure mix: share of failures, and of rubrics" + (f" ({left_out} rarer kinds not drawn)" if left_out else "")
    with figure(height=1.0 + len(drawn) * (0.13 + 0.09 * max(1, len(series))), rows=rows, title=title) as (canvas, axes, out):
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
        rows_axis(axes, drawn)
        axes.set_xlabel("share, %")
        axes.set_xlim(left=0)
        if series:
            canvas.legend(loc="outside lower left", ncols=min(3, len(series)))
    return out.text


def validity_figure(rows: Sequence[Cells]) -> str:
    """A dot with its interval per arm, and a thin line for the bounds where outcomes are missing, from rows of table `arms`. SVG text."""
    title = "Valid submissions per arm"
    with figure(height=1.3 + 0.34 * len(rows), rows=rows, title=title) as (_, axes, out):
        for place, row in enumerate(rows):
            if int(row["finished"]) < int(row["planned"]):
                bounds = [100 * (number(row[name]) or 0.0) for name in ("bound_low", "bound_high")]
                axes.plot(bounds, [place + 0.22] * 2, color=WARN, linewidth=1.4, solid_capstyle="butt")
            dot(axes, place, row, "validity", "validity_low", "validity_high", 100, SERIES[0])
        rows_axis(axes, [f"{row['arm']}  ({row['valid']}/{row['finished']})" for row in rows])
        axes.set_xlim(-2, 102)
        axes.set_xlabel("valid of finished, %  ·  orange: bounds if outcomes are missing")
    return out.text


def precision_recall_figure(rows: Sequence[Cells]) -> str:
    """Precision and recall with their intervals, one line per judge and library, from rows of table `precision_recall`. SVG text.

    Drawn is the reading that leaves commands without a verdict out; the table has the others.
    """
    rows = [row for row in rows if row["reading"] == "excluded" and row["truth"] == "failed"]
    title = "Precision and recall of the judge against real execution"
    with figure(height=1.4 + 0.42 * len(rows), rows=rows, title=title) as (canvas, axes, out):
        for place, row in enumerate(rows):
            for name, offset, color in (("precision", -0.14, SERIES[0]), ("recall", 0.14, SERIES[1])):
                dot(axes, place + offset, row, name, f"{name}_low", f"{name}_high", 100, color)
        rows_axis(axes, [f"{_judge_name(row)}  (n={row['n']})" for row in rows])
        axes.set_xlim(-2, 102)
        axes.set_xlabel("precision: % of the flagged that failed\nrecall: % of the failed that were flagged")
        for name, color in (("precision", SERIES[0]), ("recall", SERIES[1])):
            axes.plot([], [], "o", color=color, markersize=6, label=name)
        if rows:
            canvas.legend(loc="outside lower left", ncols=2)
    return out.text


def contrasts_figure(rows: Sequence[Cells], endpoint: str = "valid") -> str:
    """A forest of paired differences with their intervals, and a thin line for the bounds where outcomes are missing, from rows of table
    `contrasts` (one endpoint). SVG text."""
    chosen = [row for row in rows if row["endpoint"] == endpoint]
    title = f"Differences between arms: {endpoint.replace('_', ' ')}"
    with figure(height=1.3 + 0.32 * len(chosen), rows=chosen, title=title) as (_, axes, out):
        axes.axvline(0, color=MUTED, linewidth=0.9)
        for place, row in enumerate(chosen):
            low, high = number(row["bound_low"]), number(row["bound_high"])
            if int(row["missing"]) and low is not None and high is not None:
                axes.plot([low, high], [place + 0.22] * 2, color=WARN, linewidth=1.4, solid_capstyle="butt")
            dot(axes, place, row, "estimate", "low", "high", 1, SERIES[0])
        rows_axis(axes, [f"{row['first']} − {row['second']}  (n={row['n']}, {row['clusters']} competitions)" for row in chosen])
        axes.set_xlabel(
            "difference, percentage points, paired by competition\nhollow: no interval  ·  orange: bounds if outcomes are missing"
        )
    return out.text


def _judge_name(row: Cells) -> str:
    library = str(row["library"] or "")
    return f"{row['judge']} · {library}" if library else str(row["judge"])
