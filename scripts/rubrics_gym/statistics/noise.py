"""How far two identical runs are apart, and which part of the machinery makes them so."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rubrics_gym.statistics.intervals import Interval, jackknife_t


@dataclass(frozen=True, slots=True)
class Spread:
    """A pooled standard deviation of identical runs with its chi-square interval, in the unit of the observations.

    `variance` is sum of squares over `freedom`; `groups` are the configurations that were run more than once, `n` their runs.
    None: nothing was run twice.
    """

    sd: float | None
    low: float | None
    high: float | None
    variance: float | None
    freedom: int
    groups: int
    n: int
    confidence: float
    kind: str = "chi_square"


def run_spread(groups: Iterable[Sequence[float]], confidence: float = 0.95) -> Spread:
    """Run-to-run standard deviation from groups of identical runs: squares about each group's mean, pooled over their degrees of freedom.

    For pairs this is sqrt(sum d^2 / (2 m)) over m pairs. Groups of one run say nothing and are left out. The interval takes runs as normal.
    """
    from scipy.special import chdtri

    repeated = [np.asarray(group, dtype=float) for group in groups if len(group) > 1]
    freedom = sum(len(group) - 1 for group in repeated)
    n = sum(len(group) for group in repeated)
    if freedom == 0:
        return Spread(None, None, None, None, 0, 0, 0, confidence)
    squares = sum(float(((group - group.mean()) ** 2).sum()) for group in repeated)
    tail = (1 - confidence) / 2
    low, high = (math.sqrt(squares / float(chdtri(freedom, level))) for level in (tail, 1 - tail))
    return Spread(math.sqrt(squares / freedom), low, high, squares / freedom, freedom, len(repeated), n, confidence)


Statistic = Callable[[np.ndarray], float | None]  # of the chosen clusters, shape (clusters,)
Repeated = Mapping[Any, Sequence[Sequence[float]]]  # cluster -> its groups of identical runs


@dataclass(frozen=True, slots=True)
class NoiseShare:
    """What one source contributes to the variance of full repeats, with delete-one-cluster jackknife intervals and a t quantile.

    `variance` is in squared units of the observations, `share` in [0, 1]; None where not identified, and `note` says why. `n` are the runs
    in groups of at least two, `clusters` the clusters that they come from.
    """

    source: str
    variance: float | None
    low: float | None
    high: float | None
    share: float | None
    share_low: float | None
    share_high: float | None
    n: int
    clusters: int
    note: str = ""
    kind: str = "jackknife_t"


def noise_shares(full: Repeated, parts: Mapping[str, Repeated], rest: str = "agent", confidence: float = 0.95) -> list[NoiseShare]:
    """Shares of the variance of full repeats: one per part that was repeated alone (the judge over one trajectory, the final run of one
    program), the rest, and the whole. All observations are of the same quantity.

    A variance is the squares about the means of groups of identical runs over their degrees of freedom, pooled over clusters. The parts are
    taken as independent of one another, so their variances add up to that of the whole with the rest. A share that comes out above 1 or
    below 0 is cut to it and said to be. A part whose repeats are all equal has no interval: its note says how often a difference may
    have been missed.
    """
    names = sorted({name for groups in (full, *parts.values()) for name, of in groups.items() if any(len(one) > 1 for one in of)}, key=str)
    whole = _Squares(full, names)
    own = {source: _Squares(groups, names) for source, groups in parts.items()}
    shares = [_share_of(source, squares, whole, confidence) for source, squares in own.items()]
    return [*shares, _rest_of(rest, list(own.values()), whole, confidence), _whole(whole, confidence)]


class _Squares:
    """Squares about group means and their degrees of freedom, per cluster, shapes (clusters,)."""

    def __init__(self, groups: Repeated, names: Sequence[Hashable]):
        of = [[np.asarray(group, dtype=float) for group in groups.get(name, ()) if len(group) > 1] for name in names]
        self.squares = np.array([sum(float(((group - group.mean()) ** 2).sum()) for group in mine) for mine in of], dtype=float)
        self.freedom = np.array([sum(len(group) - 1 for group in mine) for mine in of], dtype=float)
        self.n = sum(len(group) for mine in of for group in mine)
        self.groups = sum(map(len, of))

    @property
    def clusters(self) -> int:
        return int((self.freedom > 0).sum())

    def variance(self, chosen: np.ndarray) -> float | None:
        """Of the chosen clusters; None where nothing was repeated in them."""
        freedom = float(self.freedom[chosen].sum())
        return float(self.squares[chosen].sum()) / freedom if freedom else None


def _share_of(source: str, own: _Squares, whole: _Squares, confidence: float) -> NoiseShare:
    def share(chosen: np.ndarray) -> float | None:
        return _ratio(own.variance(chosen), whole.variance(chosen))

    every = np.ones(len(own.freedom), dtype=bool)
    variance = own.variance(every)
    if variance is None:
        return NoiseShare(source, None, None, None, None, None, None, 0, 0, "not identified: never repeated alone")
    note = _never_differed(own, confidence) if variance == 0 else ""
    estimate = share(every)
    if estimate is not None and estimate > 1:
        note = "more than the whole: cut to it"
    note = "; ".join(filter(None, [_why_no_whole(whole), note]))
    return _with_intervals(source, own.variance, share, own.n, own.clusters, note, confidence, every)


def _rest_of(rest: str, parts: Sequence[_Squares], whole: _Squares, confidence: float) -> NoiseShare:
    def left(chosen: np.ndarray) -> float | None:
        variances = [whole.variance(chosen), *(part.variance(chosen) for part in parts)]
        known = [variance for variance in variances if variance is not None]
        return known[0] - sum(known[1:]) if len(known) == len(variances) else None

    def share(chosen: np.ndarray) -> float | None:
        return _ratio(left(chosen), whole.variance(chosen))

    every = np.ones(len(whole.freedom), dtype=bool)
    estimate = left(every)
    if estimate is None or not parts:
        return NoiseShare(rest, None, None, None, None, None, None, 0, 0, "not identified: a part or the whole was never repeated")
    note = _why_no_whole(whole) or ("below nothing: cut to 0" if estimate < 0 else "")
    return _with_intervals(rest, left, share, whole.n, whole.clusters, note, confidence, every)


def _whole(whole: _Squares, confidence: float) -> NoiseShare:
    every = np.ones(len(whole.freedom), dtype=bool)
    found = _with_intervals(
        "full repeats", whole.variance, lambda _: None, whole.n, whole.clusters, _why_no_whole(whole), confidence, every
    )
    return found if not found.variance else replace(found, share=1.0, share_low=1.0, share_high=1.0)  # by definition


def _with_intervals(
    source: str, variance: Statistic, share: Statistic, n: int, clusters: int, note: str, confidence: float, every: np.ndarray
) -> NoiseShare:
    of_variance, of_share = (_jackknifed(statistic, every, confidence) for statistic in (variance, share))
    cut = [None if value is None else max(0.0, value) for value in (of_variance.estimate, of_variance.low, of_variance.high)]
    shares = [None if value is None else min(1.0, max(0.0, value)) for value in (of_share.estimate, of_share.low, of_share.high)]
    if not note and any(found.estimate is not None and found.low is None for found in (of_variance, of_share)):
        note = "interval not identified: fewer than two clusters were repeated, none moves the estimate, or without one there is none"
    return NoiseShare(source, cut[0], cut[1], cut[2], shares[0], shares[1], shares[2], n, clusters, note)


def _jackknifed(statistic: Statistic, every: np.ndarray, confidence: float) -> Interval:
    return jackknife_t(statistic(every), [statistic(np.arange(len(every)) != place) for place in range(len(every))], confidence)


def _ratio(part: float | None, whole: float | None) -> float | None:
    return None if part is None or not whole else part / whole


def _never_differed(own: _Squares, confidence: float) -> str:
    """What none of so many clusters says: the exact upper bound of the share of clusters in which a repeat would differ."""
    most = 1 - (1 - confidence) ** (1 / own.clusters)
    return (
        f"interval not identified: none of {own.groups} repeats differed, in {own.clusters} clusters; a difference may show in up to {100 * most:.0f}% "
        "of clusters"
    )


def _why_no_whole(whole: _Squares) -> str:
    every = np.ones(len(whole.freedom), dtype=bool)
    variance = whole.variance(every)
    if variance is None:
        return "not identified: nothing was repeated in full"
    return "" if variance else "not identified: full repeats are all equal"
