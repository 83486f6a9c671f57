"""The figures of the source documents that can be checked, beside what this project's statistics make of them."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from rubrics_gym.report.writing import Row
from rubrics_gym.statistics.effects import design
from rubrics_gym.statistics.noise import Spread, run_spread
from rubrics_gym.statistics.ranking import selection_gain
from rubrics_gym.statistics.sensitivity import implied_losses

COMPETITIONS, REPEATS = 22, 4  # of the published controls
PLANNED = COMPETITIONS * REPEATS
SOURCE = "published:fixed-schedule-controls"
RUNS = "published:runs"
REBUILT = "paired_t_rebuilt"  # from a published percentile interval, not from data

Cells = Mapping[str, str]


def read_published(path: str | Path) -> list[dict[str, str]]:
    """Rows of a table in resources/published/ as text cells."""
    with open(path, encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def rebuilt_t(estimate: float, low: float, high: float, clusters: int = COMPETITIONS, confidence: float = 0.95) -> tuple[float, float]:
    """The paired t interval behind a published percentile bootstrap interval, in its unit; approximate.

    Half the interval over the normal quantile is the bootstrap's standard deviation; times sqrt(G / (G - 1)) the standard error; times the
    t quantile half the interval.
    """
    from scipy.special import ndtri, stdtrit

    level = 0.5 + confidence / 2
    error = (high - low) / (2 * float(ndtri(level))) * (clusters / (clusters - 1)) ** 0.5
    half = float(stdtrit(clusters - 1, level)) * error
    return estimate - half, estimate + half


def identical_runs(runs: Iterable[Cells]) -> tuple[Spread, Spread]:
    """Run-to-run spread in valid submissions: of finished pairs of identical runs, and with the floor's triple."""
    groups: dict[tuple[str, str], list[float]] = {}
    for run in runs:
        if int(run["finished"]) == COMPETITIONS:
            groups.setdefault((run["group"], run["arm"]), []).append(float(run["valid"]))
    repeated = [values for values in groups.values() if len(values) > 1]
    return run_spread(values for values in repeated if len(values) == 2), run_spread(repeated)


def published_rows(contrasts: Iterable[Cells], runs: Iterable[Cells]) -> list[Row]:
    """One row per published figure. Table `published_results`: as it was printed, and recomputed. The recomputed interval of a contrast is the
    paired t interval that its bootstrap interval implies; lost finals are those that its sensitivity range implies."""
    rows = [_contrast(row) for row in contrasts]
    pairs, with_floor = identical_runs(runs)
    for name, figure, spread in (
        ("run-to-run SD, pairs of identical runs", 1.35, pairs),
        ("the same, with the floor's three runs", 2.16, with_floor),
    ):
        rows.append(_row(name, "valid of 22", figure, recomputed=spread.sd, low=spread.low, high=spread.high, n=spread.n, clusters=spread.groups,
                         kind=spread.kind, source=RUNS))  # fmt: skip
    assert pairs.sd is not None
    gain = selection_gain(10, pairs.sd)
    rows.append(_row("lead of the best of ten equal libraries", "valid of 22", 2.1, recomputed=gain, n=pairs.n, clusters=pairs.groups, kind="order_statistic",
                     source=RUNS, note="by selection alone; printed without an interval"))  # fmt: skip
    for repeats, figure in ((1, 5.4), (2, 3.8), (4, 2.7), (8, 1.9)):
        plan = design(COMPETITIONS, repeats, pairs.sd)
        rows.append(_row(f"detectable with 80% power, {repeats} runs per arm", "valid of 22", figure, recomputed=plan.detectable * COMPETITIONS, n=pairs.n,
                         clusters=COMPETITIONS, kind="noncentral_t", source=RUNS, note="printed with normal quantiles, recomputed for a paired t, both without an interval"))  # fmt: skip
    return rows


def _contrast(row: Cells) -> Row:
    estimate, low, high = (float(row[name]) for name in ("estimate", "low", "high"))
    t_low, t_high = rebuilt_t(estimate, low, high)
    found = _row(f"{row['first']} − {row['second']}: {row['quantity'].replace('_', ' ')}", row["unit"], estimate, low, high, recomputed=estimate,
                 low=t_low, high=t_high, n=2 * PLANNED, clusters=COMPETITIONS, kind=REBUILT, source=SOURCE)  # fmt: skip
    if row["range_low"]:
        lost = implied_losses(estimate, float(row["range_low"]), float(row["range_high"]), PLANNED)
        found |= {
            "lost_first": lost.first,
            "lost_second": lost.second,
            "range_low": float(row["range_low"]),
            "range_high": float(row["range_high"]),
            "range_low_again": estimate - 100 * lost.second / PLANNED,
            "range_high_again": estimate + 100 * lost.first / PLANNED,
        }
    found["note"] = "holds 0" if t_low <= 0 <= t_high else "does not hold 0"
    if (low <= 0 <= high) != (t_low <= 0 <= t_high):
        found["note"] += ", unlike the printed interval"
    return found


def _row(name: str, unit: str, published: float, published_low: float | None = None, published_high: float | None = None, *,
         recomputed: float | None, low: float | None = None, high: float | None = None, n: int, clusters: int, kind: str, source: str, note: str = "") -> Row:  # fmt: skip
    empty: dict[str, Any] = dict.fromkeys(
        ("lost_first", "lost_second", "range_low", "range_high", "range_low_again", "range_high_again"), None
    )
    return {
        "figure": name, "unit": unit, "published": published, "published_low": published_low, "published_high": published_high,
        "recomputed": recomputed, "recomputed_low": low, "recomputed_high": high, **empty, "n": n, "clusters": clusters, "interval_kind": kind,
        "note": note or ("" if published_low is not None else "printed without an interval"), "study": source, "simulated": False,
    }  # fmt: skip
