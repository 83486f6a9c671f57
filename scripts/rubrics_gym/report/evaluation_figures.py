"""Figures of the evaluation: runs per arm, curves of the judge, the funnel, time against validity, published beside recomputed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rubrics_gym.judge.exposure import STAGES
from rubrics_gym.report.drawing import ACCENT, MUTED, SERIES, WARN, Cells, dot, figure, number, rows_axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# column of table `exposure` -> what its shares are of
EXPOSED = {
    "failures": "held-out failures",
    "in_library": "library",
    "in_retrieved": "retrieved",
    "in_applicable": "applicable",
    "in_flagged": "flagged",
}


def runs_figure(rows: Sequence[Cells]) -> str:
    """A dot per run of every arm, its mean as a bar, the best possible as a line, from rows of table `arms`. SVG text.

    A hollow dot is a run with missing outcomes: it could be higher.
    """
    with figure(height=1.3 + 0.34 * len(rows), rows=rows, title="Valid submissions of each run") as (_, axes, out):
        for place, row in enumerate(rows):
            runs = [(int(valid), star) for valid, star in re.findall(r"(\d+)/\d+/\d+(\*?)", str(row["by_run"]))]
            for number_of_run, (valid, star) in enumerate(runs):
                offset = (number_of_run - (len(runs) - 1) / 2) * 0.14
                axes.plot([valid], [place + offset], "o", color=SERIES[0], markerfacecolor="none" if star else SERIES[0], markersize=6)
            if runs:
                mean = sum(valid for valid, _ in runs) / len(runs)
                axes.plot([mean, mean], [place - 0.33, place + 0.33], color=WARN, linewidth=1.6)
            else:
                axes.annotate("nothing known", (0.01, place), xycoords=("axes fraction", "data"), va="center", color=MUTED, fontsize=8)
            best = int(row["best_possible"]) / (str(row["by_run"]).count(",") + 1)
            axes.plot([best, best], [place - 0.42, place + 0.42], color=MUTED, linewidth=0.9, linestyle=":")
        rows_axis(axes, [f"{row['arm']}  ({row['planned']} planned)" for row in rows])
        axes.set_xlim(left=-0.5)
        axes.locator_params(axis="x", integer=True)
        axes.set_xlabel("valid in one run  ·  orange: mean of the runs\ndotted: best possible  ·  hollow: outcomes missing")
    return out.text


def reliability_figure(rows: Sequence[Cells]) -> str:
    """Share that failed against the mean score, one line per judge, from rows of table `calibration`. SVG text."""
    judges = list(dict.fromkeys(str(row["judge"]) for row in rows))
    with figure(height=4.2, rows=rows, title="Reliability of the judge's score") as (canvas, axes, out):
        axes.plot([0, 1], [0, 1], color=MUTED, linewidth=0.9, linestyle=":")
        for place, judge in enumerate(judges):
            mine = [row for row in rows if row["judge"] == judge and number(row["observed"]) is not None]
            color = SERIES[place % len(SERIES)]
            label = f"{judge} (n={sum(int(row['n']) for row in mine)})"
            points = [(float(row["mean_score"]), float(row["observed"])) for row in mine]
            if points:
                axes.plot(*zip(*points, strict=True), "o-", color=color, markersize=5, linewidth=1.2, label=label)
            for row in mine:
                low, high = number(row["observed_low"]), number(row["observed_high"])
                if low is not None and high is not None:
                    axes.plot([float(row["mean_score"])] * 2, [low, high], color=color, linewidth=1.6, alpha=0.35)
        axes.set_xlim(-0.02, 1.02)
        axes.set_ylim(-0.02, 1.02)
        axes.set_xlabel("mean score of a tenth: share of applicable criteria about execution that are violated")
        axes.set_ylabel("share that failed, with its interval")
        _legend(canvas, axes, rows)
    return out.text


def pr_curve_figure(rows: Sequence[Cells]) -> str:
    """Precision (with its interval) against recall at every score, one line per judge, from rows of table `pr_curve`. SVG text."""
    judges = list(dict.fromkeys(str(row["judge"]) for row in rows))
    with figure(height=4.2, rows=rows, title="Precision against recall, by the score from which a command is flagged") as (
        canvas,
        axes,
        out,
    ):
        for place, judge in enumerate(judges):
            mine = [
                row for row in rows if row["judge"] == judge and number(row["precision"]) is not None and number(row["recall"]) is not None
            ]
            if mine:
                recall, precision = [float(row["recall"]) for row in mine], [float(row["precision"]) for row in mine]
                label, color = f"{judge} (n={max(int(row['flagged']) for row in mine)})", SERIES[place % len(SERIES)]
                axes.plot(recall, precision, "o-", color=color, markersize=4, linewidth=1.2, label=label)
                for row in mine:
                    low, high = number(row["precision_low"]), number(row["precision_high"])
                    if low is not None and high is not None:
                        axes.plot([float(row["recall"])] * 2, [low, high], color=color, linewidth=1.2, alpha=0.25)
        axes.set_xlim(-0.02, 1.02)
        axes.set_ylim(-0.02, 1.02)
        axes.set_xlabel("recall  ·  the last point of a line flags everything: its precision is the share that failed")
        axes.set_ylabel("precision, with its interval")
        _legend(canvas, axes, rows)
    return out.text


def _legend(canvas: Figure, axes: Axes, rows: Sequence[Cells]) -> None:
    """The judges that have a line; a word where none has one."""
    drawn = len(axes.get_legend_handles_labels()[0])
    if drawn:
        canvas.legend(loc="outside lower left", ncols=min(3, drawn))
    elif rows:
        axes.text(0.5, 0.5, "nothing identified to draw", transform=axes.transAxes, ha="center", va="center", color=MUTED)


def funnel_figure(rows: Sequence[Cells], most: int = 16) -> str:
    """Of the commands that failed with each category, how many come to each stage under each judge, from rows of table `funnel`. SVG text.

    The `most` pairs of category and judge with the most failures are drawn; the title says how many are not.
    """
    judges = list(dict.fromkeys(str(row["judge"]) for row in rows))
    counts = {(str(row["category"]), str(row["judge"]), str(row["stage"])): int(row["count"]) for row in rows}
    pairs = {(str(row["category"]), str(row["judge"])) for row in rows}
    every = sorted(pairs, key=lambda pair: (-counts[*pair, "failed"], pair[0], judges.index(pair[1])))
    title = "Where each category is lost, by judge" + (f" ({len(every) - most} rarer ones not drawn)" if len(every) > most else "")
    with figure(height=1.4 + 0.5 * min(most, len(every)), rows=rows, title=title) as (canvas, axes, out):
        for place, pair in enumerate(every[:most]):
            for number_of_stage, stage in enumerate(STAGES):
                at = place + (number_of_stage - (len(STAGES) - 1) / 2) * 0.13
                label = stage.replace("_", " ") if place == 0 else None
                axes.barh([at], [counts[*pair, stage]], height=0.11, color=SERIES[number_of_stage], linewidth=0, label=label)
        rows_axis(axes, [f"{judge}: {category}  (n={counts[category, judge, 'failed']})" for category, judge in every[:most]])
        axes.set_xlabel("commands that failed with the category")
        axes.set_xlim(left=0)
        axes.locator_params(axis="x", integer=True)
        if rows:
            canvas.legend(loc="outside lower left", ncols=len(STAGES))
    return out.text


def exposure_figure(rows: Sequence[Cells], most: int = 24) -> str:
    """Mix of the held-out failures beside that of each library, and of what was retrieved, applicable and flagged from it, from rows of table
    `exposure`. SVG text.

    Of every judge the first run is drawn: its replay, where there is one. Of the pairs of failure and judge the `most` with the largest share
    at any stage are drawn; the title says how many are not.
    """
    runs = {(str(row["judge"]), str(row["run"])) for row in rows}
    run_of = dict(sorted(runs, key=lambda run: (run[1] != "replay", run[1]), reverse=True))  # the last one of a judge stays
    drawn = [row for row in rows if run_of[str(row["judge"])] == str(row["run"])]
    totals = {(judge, stage): sum(int(row[stage]) for row in drawn if str(row["judge"]) == judge) for judge in run_of for stage in EXPOSED}

    def shares(row: Cells) -> list[float]:
        counts = [(int(row[stage]), totals[str(row["judge"]), stage]) for stage in EXPOSED]
        return [100 * count / total if total else 0.0 for count, total in counts]

    kept = sorted(drawn, key=lambda row: (-max(shares(row)), str(row["bin"]), str(row["judge"])))[:most]
    order = list(dict.fromkeys(str(row["bin"]) for row in kept))
    kept.sort(key=lambda row: (order.index(str(row["bin"])), str(row["judge"])))
    title = "What reaches the judge, beside the failures" + (f" ({len(drawn) - most} smaller ones not drawn)" if len(drawn) > most else "")
    with figure(height=1.4 + 0.5 * len(kept), rows=rows, title=title) as (canvas, axes, out):
        for place, row in enumerate(kept):
            for number_of_stage, (stage, value) in enumerate(zip(EXPOSED, shares(row), strict=True)):
                label = EXPOSED[stage] if place == 0 else None
                at = place + (number_of_stage - (len(STAGES) - 1) / 2) * 0.13
                axes.barh([at], [value], height=0.11, color=SERIES[number_of_stage], linewidth=0, label=label)
        rows_axis(axes, [f"{row['judge']}: {row['bin']}  ({row['failures']} failures, {row['in_retrieved']} retrieved)" for row in kept])
        axes.set_xlabel("share of each, %")
        axes.set_xlim(left=0)
        if kept:
            canvas.legend(loc="outside lower left", ncols=3)
    return out.text


def time_validity_figure(arms: Sequence[Cells], times: Sequence[Cells]) -> str:
    """Validity against minutes of episode and final run, one point per arm with both intervals, from tables `arms` and `times`. SVG text."""
    minutes = {str(row["group"]): row for row in times if row["stage"] == "evaluate"}
    rows = [row for row in arms if str(row["arm"]) in minutes]
    with figure(height=4.0, rows=rows, title="Validity against recorded time") as (canvas, axes, out):
        for place, row in enumerate(rows):
            time, color = minutes[str(row["arm"])], SERIES[place % len(SERIES)]
            x, y = number(time["with_final_s"]), number(row["validity"])
            if x is None or y is None:
                continue
            ends = [number(time[f"with_final_s_{end}"]) for end in ("low", "high")]
            if None not in ends:
                axes.plot([max(0.0, end or 0.0) / 60 for end in ends], [100 * y] * 2, color=color, linewidth=1.4, alpha=0.4)
            ends = [number(row[f"validity_{end}"]) for end in ("low", "high")]
            if None not in ends:
                axes.plot([x / 60] * 2, [100 * (end or 0.0) for end in ends], color=color, linewidth=1.4, alpha=0.4)
            axes.plot([x / 60], [100 * y], "o", color=color, markersize=6, label=f"{row['arm']} (n={row['n']})".replace("$", r"\$"))
        axes.set_ylim(-3, 108)
        axes.set_xlim(left=0)
        axes.set_xlabel("minutes of episode and final run, mean over competitions")
        axes.set_ylabel("valid, %")
        if rows:
            canvas.legend(loc="outside lower left", ncols=3)
    return out.text


def published_figure(rows: Sequence[Cells]) -> str:
    """Published intervals of the validity contrasts above the paired t intervals that they imply, from rows of table `published_results`. SVG text."""
    chosen = [row for row in rows if row["unit"] == "pp"]
    with figure(height=1.4 + 0.5 * len(chosen), rows=chosen, title="Published contrasts of validity, and their paired t intervals") as (
        _,
        axes,
        out,
    ):
        axes.axvline(0, color=MUTED, linewidth=0.9)
        for place, row in enumerate(chosen):
            dot(
                axes,
                place - 0.15,
                row,
                "published",
                "published_low",
                "published_high",
                1,
                SERIES[1],
                label="published" if place == 0 else None,
            )
            dot(
                axes,
                place + 0.15,
                row,
                "recomputed",
                "recomputed_low",
                "recomputed_high",
                1,
                ACCENT,
                label="recomputed" if place == 0 else None,
            )
            low, high = number(row["range_low"]), number(row["range_high"])
            if low is not None and high is not None:
                axes.plot([low, high], [place + 0.33] * 2, color=WARN, linewidth=1.4)
        rows_axis(axes, [f"{row['figure']}  (n={row['n']})" for row in chosen])
        axes.set_xlabel("percentage points  ·  above: published bootstrap\nbelow: paired t  ·  thin: what lost finals allow")
    return out.text
