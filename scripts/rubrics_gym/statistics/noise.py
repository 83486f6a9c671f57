"""How far two identical runs are apart, and which part of the machinery makes them so."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rubrics_gym.statistics.intervals import Interval, all_equal, jackknife_t


@dataclass(frozen=True, slots=True)
class Spread:
    """A pooled standard deviation of identical runs with its chi-square interval, in the unit of the observations.

    `variance` is sum of squares over `freedom`; `groups` are the configurations that were run more than once, `n` their runs.
    None: nothing was run twice. Without an interval, where all runs of a configuration were alike, `note` says so.
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
    note: str = ""


def run_spread(groups: Iterable[Sequence[float]], confidence: float = 0.95) -> Spread:
    """Run-to-run standard deviation from groups of identical runs: squares about each group's mean, pooled over their degrees of freedom.

    For pairs this is sqrt(sum d^2 / (2 m)) over m pairs. Groups of one run say nothing and are left out. The interval takes runs as normal.
    """
    from scipy.special import chdtri

    repeated = [np.asarray(group, dtype=float) for group in groups if len(group) > 1]
    freedom = sum(len(group) - 1 for group in repeated)
    n = sum(len(group) for group in repeated)
    if freedom == 0:
        return Spread(None, None, None, None, 0, 0, 0, confidence, note="not identified: nothing was run twice")
    squares = sum(float(((group - group.mean()) ** 2).sum()) for group in repeated)
    if all(map(all_equal, repeated)):  # a squared distance of 0 would give the interval 0 to 0
        return Spread(
            0.0, None, None, 0.0, freedom, len(repeated), n, confidence, note="interval not identified: all identical runs are equal"
        )
    tail = (1 - confidence) / 2
    low, high = (math.sqrt(squares / float(chdtri(freedom, level))) for level in (tail, 1 - tail))
    return Spread(math.sqrt(squares / freedom), low, high, squares / freedom, freedom, len(repeated), n, confidence)


Statistic = Callable[[np.ndarray], float | None]  # of the chosen clusters, shape (clusters,)
Repeated = Mapping[Any, Sequence[Sequence[float]]]  # cluster -> its groups of identical runs


@dataclass(frozen=True, slots=True)
class Squares:
    """Squares about the means of identical runs and their degrees of freedom, by cluster. `repeated` are the clusters in which something was run more
    than once, `n` the runs in such groups, `groups` their number."""

    squares: Mapping[Any, float]
    freedom: Mapping[Any, float]
    repeated: frozenset[Any]
    n: int
    groups: int


def squares_of(repeated: Repeated) -> Squares:
    """Of groups of identical runs; groups of one run say nothing and are left out."""
    of = {name: [np.asarray(group, dtype=float) for group in groups if len(group) > 1] for name, groups in repeated.items()}
    return Squares(
        squares={name: sum(float(((group - group.mean()) ** 2).sum()) for group in groups) for name, groups in of.items()},
        freedom={name: float(sum(len(group) - 1 for group in groups)) for name, groups in of.items()},
        repeated=frozenset(name for name, groups in of.items() if groups),
        n=sum(len(group) for groups in of.values() for group in groups),
        groups=sum(map(len, of.values())),
    )


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


def noise_shares(full: Squares, parts: Mapping[str, Squares], rest: str = "agent", confidence: float = 0.95) -> list[NoiseShare]:
    """Shares of the variance of full repeats: one per part that was repeated alone (the judge over one trajectory, the final run of one
    program), the rest, and the whole. All observations are of the same quantity.

    A variance is the squares about the means of groups of identical runs over their degrees of freedom, pooled over clusters. The parts are
    taken as independent of one another, so their variances add up to that of the whole with the rest. A share that comes out above 1 or
    below 0 is cut to it and said to be. A part whose repeats are all equal has no interval: its note says how often a difference may
    have been missed. Of what was repeated in few clusters, the quantile is that of so few.
    """
    names = sorted({name for of in (full, *parts.values()) for name, freedom in of.freedom.items() if freedom}, key=str)
    whole = _OnClusters(full, names)
    own = {source: _OnClusters(of, names) for source, of in parts.items()}
    shares = [_share_of(source, squares, whole, confidence) for source, squares in own.items()]
    return [*shares, _rest_of(rest, list(own.values()), whole, confidence), _whole(whole, confidence)]


class _OnClusters:
    """Squares and degrees of freedom over the clusters that any source was repeated in, shapes (clusters,)."""

    def __init__(self, of: Squares, names: Sequence[Hashable]):
        self.squares = np.array([of.squares.get(name, 0.0) for name in names], dtype=float)
        self.freedom = np.array([of.freedom.get(name, 0.0) for name in names], dtype=float)
        self.n = of.n
        self.groups = of.groups
        self.clusters = len(of.repeated)

    def variance(self, chosen: np.ndarray) -> float | None:
        """Of the chosen clusters; None where nothing was repeated in them."""
        freedom = float(self.freedom[chosen].sum())
        return float(self.squares[chosen].sum()) / freedom if freedom else None

    @property
    def own(self) -> np.ndarray:
        """The clusters that the variance is of."""
        known: np.ndarray = self.freedom > 0
        return known


def _share_of(source: str, own: _OnClusters, whole: _OnClusters, confidence: float) -> NoiseShare:
    def share(chosen: np.ndarray) -> float | None:
        return _ratio(own.variance(chosen), whole.variance(chosen))

    every = np.ones(len(own.freedom), dtype=bool)
    variance = own.variance(every)
    if variance is None or not own.clusters:
        return NoiseShare(source, None, None, None, None, None, None, 0, 0, "not identified: never repeated alone")
    note = _never_differed(own, confidence) if variance == 0 else ""
    estimate = share(every)
    if estimate is not None and estimate > 1:
        note = "more than the whole: cut to it"
    note = "; ".join(filter(None, [_why_no_whole(whole), note]))
    return _with_intervals(
        source,
        _jackknifed(own.variance, own.own, own.clusters, confidence),
        _jackknifed(share, every, min(own.clusters, whole.clusters), confidence),
        own,
        note,
    )


def _rest_of(rest: str, parts: Sequence[_OnClusters], whole: _OnClusters, confidence: float) -> NoiseShare:
    def left(chosen: np.ndarray) -> float | None:
        variances = [whole.variance(chosen), *(part.variance(chosen) for part in parts)]
        known = [variance for variance in variances if variance is not None]
        return known[0] - sum(known[1:]) if len(known) == len(variances) else None

    def share(chosen: np.ndarray) -> float | None:
        return _ratio(left(chosen), whole.variance(chosen))

    every = np.ones(len(whole.freedom), dtype=bool)
    estimate = left(every)
    if estimate is None or not parts or not all(part.clusters for part in parts):
        return NoiseShare(rest, None, None, None, None, None, None, 0, 0, "not identified: a part or the whole was never repeated")
    note = _why_no_whole(whole) or ("below nothing: cut to 0" if estimate < 0 else "")
    least = min(whole.clusters, *(part.clusters for part in parts))
    return _with_intervals(rest, _jackknifed(left, every, least, confidence), _jackknifed(share, every, least, confidence), whole, note)


def _whole(whole: _OnClusters, confidence: float) -> NoiseShare:
    variance = _jackknifed(whole.variance, whole.own, whole.clusters, confidence)
    nothing = Interval(None, None, None, 0, 0, "jackknife_t", confidence)
    found = _with_intervals("full repeats", variance, nothing, whole, _why_no_whole(whole))
    return found if not found.variance else replace(found, share=1.0, share_low=1.0, share_high=1.0)  # by definition


NO_INTERVAL = "interval not identified: fewer than two clusters were repeated, none moves the estimate, or without one there is none"
OUTSIDE = "interval not identified: all of it lies beyond what can be"


def _with_intervals(source: str, variance: Interval, share: Interval, of: _OnClusters, note: str) -> NoiseShare:
    """One source with its intervals, cut to what can be; `note` is what is known to limit it."""
    notes = [note] if note else []
    if "not identified" not in note and any(found.estimate is not None and found.low is None for found in (variance, share)):
        notes.append(NO_INTERVAL)
    ends = []
    for found, most in ((variance, math.inf), (share, 1.0)):
        estimate = None if found.estimate is None else min(most, max(0.0, found.estimate))
        if found.low is None or found.high is None:
            ends += [estimate, None, None]
        elif found.high < 0 or found.low > most:
            ends += [estimate, None, None]
            notes += [OUTSIDE] if OUTSIDE not in notes else []
        else:
            ends += [estimate, max(0.0, found.low), min(most, found.high)]
    return NoiseShare(source, ends[0], ends[1], ends[2], ends[3], ends[4], ends[5], of.n, of.clusters, "; ".join(notes))


def _jackknifed(statistic: Statistic, of: np.ndarray, informed: int, confidence: float) -> Interval:
    """The statistic of some clusters (boolean), with an interval by leaving out one of them at a time."""
    without = [statistic(of & (np.arange(len(of)) != place)) for place in np.flatnonzero(of)]
    return jackknife_t(statistic(of), without, confidence, informed=informed)


def _ratio(part: float | None, whole: float | None) -> float | None:
    return None if part is None or not whole else part / whole


def _never_differed(own: _OnClusters, confidence: float) -> str:
    """What none of so many clusters says: the exact upper bound of the share of clusters in which a repeat would differ."""
    most = 1 - (1 - confidence) ** (1 / own.clusters)
    return (
        f"interval not identified: none of {own.groups} repeats differed, in {own.clusters} clusters; a difference may show in up to {100 * most:.0f}% "
        "of clusters"
    )


def _why_no_whole(whole: _OnClusters) -> str:
    every = np.ones(len(whole.freedom), dtype=bool)
    variance = whole.variance(every)
    if variance is None:
        return "not identified: nothing was repeated in full"
    return "" if variance else "not identified: full repeats are all equal"
