"""Measures of predictions and scores that are no ratio of sums: discrimination and calibration, with intervals by the jackknife."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rubrics_gym.judge.rates import Rate, as_rate
from rubrics_gym.judge.views import View
from rubrics_gym.statistics.intervals import jackknife_t


@dataclass(frozen=True)
class _Histogram:
    """Counts of passed and failed commands at every distinct score, shapes (scores,), scores ascending; `tp`, `fp`, `fn`, `tn` beside."""

    scores: np.ndarray
    passed: np.ndarray
    failed: np.ndarray
    cells: tuple[int, int, int, int]


Statistic = Callable[[_Histogram], float | None]
BINS = 10


def by_jackknife(view: View, confidence: float) -> dict[str, Rate]:
    """Measures that are no ratio of sums, each with an interval by leaving out one competition at a time (statistics.intervals.jackknife_t).

    Commands enter through counts per distinct score, so that leaving a competition out is a subtraction.
    """
    used = np.flatnonzero(view.said)
    scores, places = np.unique(np.round(view.score[used], 9), return_inverse=True)
    clusters, failed = view.clusters[used], view.failed[used]
    cells = 2 * view.flagged[used] + failed  # 0 TN, 1 FN, 2 FP, 3 TP

    def counts(rows: np.ndarray | slice) -> np.ndarray:
        """Failed per score, passed per score, cells: side by side, so that they can be subtracted at once."""
        at, bad = places[rows], failed[rows]
        parts = (
            np.bincount(at[bad], minlength=len(scores)),
            np.bincount(at[~bad], minlength=len(scores)),
            np.bincount(cells[rows], minlength=4),
        )
        return np.concatenate(parts)

    def histogram(counted: np.ndarray) -> _Histogram:
        failed_at, passed_at, cell = np.split(counted, [len(scores), 2 * len(scores)])
        return _Histogram(scores, passed_at, failed_at, (int(cell[3]), int(cell[2]), int(cell[1]), int(cell[0])))

    every = counts(slice(None))
    order = np.argsort(clusters, kind="stable")
    edges = np.flatnonzero(np.diff(clusters[order])) + 1
    members = np.split(order, edges) if len(order) else []
    whole, without = histogram(every), [histogram(every - counts(member)) for member in members]
    n = len(used)
    return {
        name: as_rate(jackknife_t(one.of(whole), [one.of(rest) for rest in without], confidence, n, one.within), one.why_not)
        for name, one in MEASURES.items()
    }


def _mcc(counts: _Histogram) -> float | None:
    """Matthews correlation coefficient; None where a margin of the table is empty."""
    tp, fp, fn, tn = counts.cells
    margins = float(tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    return None if margins == 0 else (tp * tn - fp * fn) / margins**0.5


def _roc_auc(counts: _Histogram) -> float | None:
    """Chance that a command that failed has the higher score than one that did not; ties count half (Mann and Whitney 1947)."""
    pairs = float(counts.failed.sum()) * float(counts.passed.sum())
    if pairs == 0:
        return None
    below = np.cumsum(counts.passed) - counts.passed
    return float((counts.failed * (below + counts.passed / 2)).sum()) / pairs


def _average_precision(counts: _Histogram) -> float | None:
    """Sum of precision times gain in recall over the distinct scores, from the highest down (as scikit-learn defines it)."""
    failures = counts.failed.sum()
    if failures == 0 or counts.passed.sum() == 0:
        return None
    gained, total = counts.failed[::-1], np.cumsum((counts.failed + counts.passed)[::-1])
    hits = np.cumsum(gained)
    precision = np.divide(hits, total, out=np.zeros(len(hits)), where=total > 0)
    return float((gained * precision).sum() / failures)


def _brier(counts: _Histogram) -> float | None:
    """Mean squared distance of the score from what came of it (Brier 1950)."""
    n = counts.failed.sum() + counts.passed.sum()
    if n == 0:
        return None
    return float((counts.failed * (1 - counts.scores) ** 2 + counts.passed * counts.scores**2).sum() / n)


def _brier_skill(counts: _Histogram) -> float | None:
    """1 - Brier score / that of always saying the prevalence."""
    n = counts.failed.sum() + counts.passed.sum()
    prevalence = float(counts.failed.sum()) / n if n else 0.0
    brier = _brier(counts)
    return None if brier is None or prevalence in (0.0, 1.0) else 1 - brier / (prevalence * (1 - prevalence))


def _ece(counts: _Histogram) -> float | None:
    """Expected calibration error: mean over ten equal bins, weighted by commands, of |share that failed - mean score|."""
    n = counts.failed.sum() + counts.passed.sum()
    if n == 0:
        return None
    bins = np.minimum((counts.scores * BINS).astype(int), BINS - 1)
    both = counts.failed + counts.passed
    gap = np.bincount(bins, weights=counts.failed - both * counts.scores, minlength=BINS)
    return float(np.abs(gap).sum() / n)


def _calibration(counts: _Histogram) -> tuple[float, float] | None:
    """Slope and intercept of the outcome on the score by least squares; (1, 0) is calibrated. None where the score does not vary."""
    both = (counts.failed + counts.passed).astype(float)
    n = both.sum()
    if n == 0:
        return None
    mean, prevalence = float((both * counts.scores).sum() / n), float(counts.failed.sum() / n)
    spread = float((both * (counts.scores - mean) ** 2).sum())
    if spread < 1e-12 * n:
        return None
    slope = float((counts.scores - mean) @ (counts.failed - both * prevalence)) / spread
    return slope, prevalence - slope * mean


def _part(place: int) -> Statistic:
    def part(counts: _Histogram) -> float | None:
        fitted = _calibration(counts)
        return None if fitted is None else fitted[place]

    return part


class _Measure(NamedTuple):
    """A statistic, the range that it has, and why it may be undefined."""

    of: Statistic
    within: tuple[float, float]
    why_not: str


SHARE, ANY = (0.0, 1.0), (-math.inf, math.inf)
MEASURES = {
    "mcc": _Measure(_mcc, (-1.0, 1.0), "only one outcome or one prediction"),
    "roc_auc": _Measure(_roc_auc, SHARE, "only one outcome"),
    "average_precision": _Measure(_average_precision, SHARE, "only one outcome"),
    "brier": _Measure(_brier, SHARE, "no predictions"),
    "brier_skill": _Measure(_brier_skill, (-math.inf, 1.0), "only one outcome"),
    "ece": _Measure(_ece, SHARE, "no predictions"),
    "calibration_slope": _Measure(_part(0), ANY, "only one score"),
    "calibration_intercept": _Measure(_part(1), ANY, "only one score"),
}
