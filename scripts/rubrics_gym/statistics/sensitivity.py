"""How far a contrast hangs on outcomes that were lost: intervals at the ends of what they allow, and how many would have to differ.

Arrays are outcomes of shape (clusters, repeats), NaN where lost. A lost outcome is never taken as a zero in silence: `as_failures` is a
reading of its own, because it is the published one.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from rubrics_gym.statistics.intervals import Interval, all_equal, paired_t

EXACT_FILLINGS = 20_000  # ways to distribute valid ones over the lost; more are searched greedily


@dataclass(frozen=True, slots=True)
class LostOutcomes:
    """A contrast under every reading of its lost outcomes.

    `observed` leaves them out; `as_failures` takes them at the lowest value in both arms; `against` and `in_favour` are the two extreme
    fillings for the first arm; `adverse` is the one of these that lies nearer to (or beyond) no effect; `identified` is Imbens and
    Manski's interval for the effect whatever the lost ones were.
    """

    lost_first: int
    lost_second: int
    observed: Interval
    as_failures: Interval
    against: Interval
    in_favour: Interval
    adverse: Interval
    identified: Interval


def lost_outcomes(first: ArrayLike, second: ArrayLike, confidence: float = 0.95, span: tuple[float, float] = (0.0, 1.0)) -> LostOutcomes:
    """The contrast under every reading of its lost outcomes; `span` is the range that an outcome can have."""
    a, b = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    low, high = span
    n = a.size + b.size

    def filled(in_first: float, in_second: float) -> np.ndarray:
        differences: np.ndarray = _filled(a, in_first).mean(axis=1) - _filled(b, in_second).mean(axis=1)
        return differences

    known = np.isfinite(a).any(axis=1) & np.isfinite(b).any(axis=1)
    seen = np.nanmean(a[known], axis=1) - np.nanmean(b[known], axis=1)
    against, in_favour = filled(low, high), filled(high, low)
    low_end, high_end = paired_t(against, confidence, n), paired_t(in_favour, confidence, n)
    observed = paired_t(seen, confidence, int(np.isfinite(a[known]).sum() + np.isfinite(b[known]).sum()))
    return LostOutcomes(
        lost_first=int(np.isnan(a).sum()),
        lost_second=int(np.isnan(b).sum()),
        observed=observed,
        as_failures=paired_t(filled(low, low), confidence, n),
        against=low_end,
        in_favour=high_end,
        adverse=low_end if (observed.estimate or 0.0) >= 0 else high_end,
        identified=imbens_manski(against, in_favour, confidence, n),
    )


def imbens_manski(lower: ArrayLike, upper: ArrayLike, confidence: float = 0.95, n: int | None = None) -> Interval:
    """Interval for an effect that is known only to lie between two means over clusters, shapes (clusters,) (Imbens and Manski 2004).

    [mean(lower) - c se(lower), mean(upper) + c se(upper)] with c such that T(c + width / max(se)) - T(-c) = confidence. T is Student's
    distribution with clusters - 1 degrees of freedom where the authors take the normal one: at 22 clusters that matters. With
    `lower` = `upper` it is the paired t interval. Its estimate is the middle of the two means.
    """
    from scipy.special import stdtr, stdtrit

    low, high = np.asarray(lower, dtype=float), np.asarray(upper, dtype=float)
    groups = len(low)
    count = groups if n is None else n
    if groups < 2 or (all_equal(low) and all_equal(high)):
        middle = float((low.mean() + high.mean()) / 2) if groups else None
        return Interval(middle, None, None, count, groups, "imbens_manski", confidence, "the spread of the bounds is unknown")
    errors = [float(ends.std(ddof=1)) / math.sqrt(groups) for ends in (low, high)]
    width = max(0.0, float(high.mean() - low.mean())) / max(errors)
    ends = [float(stdtrit(groups - 1, level)) for level in (confidence, 0.5 + confidence / 2)]  # one-sided and two-sided
    for _ in range(80):
        middle_c = sum(ends) / 2
        held = float(stdtr(groups - 1, middle_c + width) - stdtr(groups - 1, -middle_c))
        ends = [middle_c, ends[1]] if held < confidence else [ends[0], middle_c]
    c = sum(ends) / 2
    bottom, top = float(low.mean()) - c * errors[0], float(high.mean()) + c * errors[1]
    return Interval(float((low.mean() + high.mean()) / 2), bottom, top, count, groups, "imbens_manski", confidence)


@dataclass(frozen=True, slots=True)
class TippingPoint:
    """How many lost outcomes of one arm must have been valid for the interval to reach no effect.

    Starts from all lost ones taken as failures. `needed` is 0 when the interval holds 0 already, None when no filling brings it there.
    `arm` is the arm whose lost outcomes speak against the effect. `search`: exact over all fillings, or greedy.
    """

    needed: int | None
    lost: int
    arm: Literal["first", "second"]
    search: Literal["exact", "greedy"]


def tipping_point(first: ArrayLike, second: ArrayLike, confidence: float = 0.95) -> TippingPoint:
    """The smallest number of lost binary outcomes of the arm that seems worse which, had they been valid, bring the paired t interval to 0.

    The worst assignment to clusters is looked for: exactly while there are at most 20,000, else greedily (an upper end of the exact one).
    """
    a, b = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    start = _filled(a, 0.0).mean(axis=1) - _filled(b, 0.0).mean(axis=1)
    if start.mean() < 0:
        start, lost, size, arm = -start, np.isnan(a).sum(axis=1), a.shape[1], "first"
    else:
        lost, size, arm = np.isnan(b).sum(axis=1), b.shape[1], "second"
    at = np.flatnonzero(lost)
    exact = math.prod(int(count) + 1 for count in lost[at]) <= EXACT_FILLINGS
    fillings = _every_filling(lost[at]) if exact else _greedy_fillings(start, lost, at, size)
    for filling in fillings:
        differences = start.copy()
        differences[at] -= np.asarray(filling) / size
        if _reaches_zero(differences, confidence):
            return TippingPoint(int(sum(filling)), int(lost.sum()), arm, "exact" if exact else "greedy")  # type: ignore[arg-type]
    return TippingPoint(None, int(lost.sum()), arm, "exact" if exact else "greedy")  # type: ignore[arg-type]


def _every_filling(lost: np.ndarray) -> Iterator[tuple[int, ...]]:
    """All ways to call some of the lost valid, by their number."""
    return iter(sorted(itertools.product(*(range(int(count) + 1) for count in lost)), key=sum))


def _greedy_fillings(start: np.ndarray, lost: np.ndarray, at: np.ndarray, size: int) -> Iterator[tuple[int, ...]]:
    """One more valid at a time, each where it brings the lower end lowest."""
    filling = np.zeros(len(at), dtype=int)
    yield tuple(filling)
    for _ in range(int(lost.sum())):
        ends = {}
        for place in np.flatnonzero(filling < lost[at]):
            differences = start.copy()
            differences[at] -= (filling + (np.arange(len(at)) == place)) / size
            ends[place] = differences.mean() - 2 * differences.std(ddof=1) / math.sqrt(len(differences))
        filling[min(ends, key=lambda place: ends[place])] += 1
        yield tuple(filling)


def _reaches_zero(differences: np.ndarray, confidence: float) -> bool:
    interval = paired_t(differences, confidence)
    low = interval.estimate if interval.low is None else interval.low
    return low is None or low <= 0


def _filled(outcomes: np.ndarray, value: float) -> np.ndarray:
    full: np.ndarray = np.where(np.isnan(outcomes), value, outcomes)
    return full


@dataclass(frozen=True, slots=True)
class ImpliedLosses:
    """Lost outcomes of two arms that a published sensitivity range implies: the range is [estimate - second / n, estimate + first / n]."""

    first: int
    second: int


def implied_losses(estimate: float, low: float, high: float, planned: int) -> ImpliedLosses:
    """The lost counts behind a published range of a difference of two shares of `planned` outcomes each, all in percentage points.

    The published analysis scores lost ones as failures, so only the other arm's losses lower the estimate and only its own raise it.
    """
    step = 100 / planned
    return ImpliedLosses(round((high - estimate) / step), round((estimate - low) / step))
