"""Intervals for rates and differences whose observations come in clusters (competitions, tasks).

Every function returns an `Interval`: no number leaves this room without its n, its clusters and the name of its method.
Quantiles come from `scipy.special`, which imports several times faster than `scipy.stats`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rubrics_gym.statistics.resampling import resampled_means

NOTHING_OBSERVED = "nothing observed"
ONE_CLUSTER = "one cluster: its spread is unknown"
NOT_WITHOUT_ONE = "no interval: without one of the clusters it is not identified"
NO_SPREAD = "interval not identified: zero variance, all clusters equal"
ALL_EQUAL = "zero variance, all clusters equal: the interval is that of none of them differing, in place of t and bootstrap"


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate and its confidence interval, in the unit of the observations.

    `estimate` is None when nothing was observed; `low` and `high` are None when the data do not identify an interval, and `note`
    says why. `n` counts observations, `clusters` the units taken as independent, `kind` names the method.
    """

    estimate: float | None
    low: float | None
    high: float | None
    n: int
    clusters: int
    kind: str
    confidence: float
    note: str = ""


def wilson(successes: int, n: int, confidence: float = 0.95, clusters: int | None = None, icc: float = 0.0) -> Interval:
    """Wilson's score interval of a proportion (Wilson 1927).

    With `clusters` of m = n / clusters observations that share an intra-class correlation `icc`, the interval is the one of
    n / (1 + (m - 1) icc) independent observations (Kish's design effect). Without `clusters`, every observation is its own.
    """
    from scipy.special import ndtri

    _check_counts(successes, n)
    groups = n if clusters is None else clusters
    if n == 0:
        return Interval(None, None, None, 0, groups, "wilson", confidence, NOTHING_OBSERVED)
    share = successes / n
    effective = effective_n(n, groups, icc)
    z = float(ndtri(0.5 + confidence / 2))
    scale = 1 + z**2 / effective
    middle = (share + z**2 / (2 * effective)) / scale
    half = z / scale * float(np.sqrt(share * (1 - share) / effective + z**2 / (4 * effective**2)))
    # At 0 and n the bound is exactly the estimate; floating point alone would miss it by an ulp.
    low = 0.0 if successes == 0 else max(0.0, middle - half)
    high = 1.0 if successes == n else min(1.0, middle + half)
    return Interval(share, low, high, n, groups, "wilson", confidence)


def clopper_pearson(successes: int, n: int, confidence: float = 0.95, clusters: int | None = None, icc: float = 0.0) -> Interval:
    """Exact binomial interval of a proportion (Clopper and Pearson 1934).

    With `clusters` and `icc` it is that of the effective number of observations, as for `wilson` (Korn and Graubard 1998); the count
    of successes then need not be whole.
    """
    _check_counts(successes, n)
    groups = n if clusters is None else clusters
    if n == 0:
        return Interval(None, None, None, 0, groups, "clopper_pearson", confidence, NOTHING_OBSERVED)
    low, high = _clopper_pearson_of_share(successes / n, effective_n(n, groups, icc), confidence)
    return Interval(successes / n, low, high, n, groups, "clopper_pearson", confidence)


def effective_n(n: int, clusters: int, icc: float) -> float:
    """Independent observations that n correlated ones are worth: n / (1 + (n / clusters - 1) icc), Kish's design effect."""
    return n / (1 + (n / clusters - 1) * icc)


def intra_class_correlation(successes: ArrayLike, totals: ArrayLike) -> float | None:
    """Intra-class correlation of binary outcomes from counts per cluster, both of shape (clusters,), by analysis of variance, in [0, 1].

    (MSB - MSW) / (MSB + (m0 - 1) MSW) with m0 the adjusted mean size (Donner 1986); negative values are 0. None where nothing
    identifies it: fewer than two clusters, one observation in each, or no variation at all.
    """
    won, tried = _vector(successes), _vector(totals)
    won, tried = won[tried > 0], tried[tried > 0]
    n, groups = float(tried.sum()), len(tried)
    if groups < 2 or n <= groups:
        return None
    share, rates = float(won.sum()) / n, won / tried
    between = float((tried * (rates - share) ** 2).sum()) / (groups - 1)
    within = float((won * (1 - rates)).sum()) / (n - groups)
    size = (n - float((tried**2).sum()) / n) / (groups - 1)
    spread = between + (size - 1) * within
    return None if spread == 0 else min(1.0, max(0.0, (between - within) / spread))


def all_equal(values: np.ndarray) -> bool:
    """Whether values differ by rounding at most: 3/3 - 2/3 and 2/3 - 1/3 are one number."""
    return len(values) == 0 or bool(np.ptp(values) <= 1e-12 * max(1.0, float(np.abs(values).max())))


def mean_t(cluster_means: ArrayLike, confidence: float = 0.95, n: int | None = None, kind: str = "cluster_t") -> Interval:
    """Student's t interval of the mean of cluster means, shape (clusters,): with equal cluster sizes the clustered standard
    error of Miller (2024), with the t quantile of clusters - 1 degrees of freedom.

    `n` is the number of observations behind the means, for the record (default: one per cluster).
    """
    from scipy.special import stdtrit

    means = _vector(cluster_means)
    count = len(means) if n is None else n
    if len(means) == 0:
        return Interval(None, None, None, count, 0, kind, confidence, NOTHING_OBSERVED)
    estimate = float(means.mean())
    if len(means) == 1:
        return Interval(estimate, None, None, count, 1, kind, confidence, ONE_CLUSTER)
    if all_equal(means):
        return Interval(estimate, None, None, count, len(means), kind, confidence, NO_SPREAD)
    error = float(means.std(ddof=1)) / float(np.sqrt(len(means)))
    half = float(stdtrit(len(means) - 1, 0.5 + confidence / 2)) * error
    return Interval(estimate, estimate - half, estimate + half, count, len(means), kind, confidence)


def jackknife_t(
    whole: float | None,
    without: Sequence[float | None],
    confidence: float = 0.95,
    n: int | None = None,
    within: tuple[float, float] = (-math.inf, math.inf),
    informed: int | None = None,
) -> Interval:
    """Delete-one-cluster jackknife of any statistic, with a t quantile (Efron and Tibshirani 1993, 11.5).

    `whole` is the statistic of all clusters, `without` that of all but one, for each; None where it is not identified. Where it is not
    without one of them, there is an estimate and no interval. The ends stay within the range that the statistic has. `informed` are the clusters
    that the least known part of the statistic was seen in: the quantile is theirs, where they are fewer than all.
    """
    from scipy.special import stdtrit

    groups = len(without)
    known = [value for value in without if value is not None]
    count = groups if n is None else n
    if whole is None:
        return Interval(None, None, None, count, groups, "jackknife_t", confidence, NOTHING_OBSERVED)
    least = groups if informed is None else min(groups, informed)
    if len(known) < groups or least < 2:
        note = ONE_CLUSTER if least < 2 else NOT_WITHOUT_ONE
        return Interval(whole, None, None, count, groups, "jackknife_t", confidence, note)
    pseudo = mean_t([groups * whole - (groups - 1) * value for value in known], confidence, count)
    if pseudo.low is None or pseudo.high is None or all_equal(np.array(known)):
        return Interval(whole, None, None, count, groups, "jackknife_t", confidence, NO_SPREAD)
    wider = float(stdtrit(least - 1, 0.5 + confidence / 2)) / float(stdtrit(groups - 1, 0.5 + confidence / 2))
    half = wider * (pseudo.high - pseudo.low) / 2
    return Interval(whole, max(within[0], whole - half), min(within[1], whole + half), count, groups, "jackknife_t", confidence)


def paired_t(differences: ArrayLike, confidence: float = 0.95, n: int | None = None, reach: tuple[float, float] | None = None) -> Interval:
    """t interval of the mean of paired differences of cluster means, shape (clusters,), in the unit of the differences.

    The clusters are taken as a sample from a population of such clusters. Where all are equal the variance is zero and t identifies nothing.
    With `reach`, the range that one difference can have, there is an interval all the same: none of so many clusters differs from the
    value d, so with Clopper and Pearson's upper bound u for that share the mean lies between d - u (d - lowest) and d + u (highest - d).
    """
    found = mean_t(differences, confidence, n, kind="paired_t")
    if reach is None or found.estimate is None or found.note != NO_SPREAD:
        return found
    _, most = _clopper_pearson_of_share(0.0, found.clusters, confidence)
    low, high = found.estimate - most * (found.estimate - reach[0]), found.estimate + most * (reach[1] - found.estimate)
    return Interval(found.estimate, low, high, found.n, found.clusters, "clopper_pearson_clusters", confidence, ALL_EQUAL)


def cluster_bootstrap(differences: ArrayLike, confidence: float = 0.95, draws: int = 4000, seed: int = 0, n: int | None = None) -> Interval:
    """Percentile bootstrap of the mean over clusters, shape (clusters,): clusters drawn with replacement, all their repeats with them.

    The companion of `paired_t`: with 22 clusters its 95% intervals cover about 92%, being some 9% too narrow. The same seed
    gives the same interval.
    """
    values = _vector(differences)
    count = len(values) if n is None else n
    kind = "cluster_bootstrap"
    if len(values) == 0:
        return Interval(None, None, None, count, 0, kind, confidence, NOTHING_OBSERVED)
    estimate = float(values.mean())
    if len(values) == 1 or all_equal(values):
        return Interval(estimate, None, None, count, len(values), kind, confidence, ONE_CLUSTER if len(values) == 1 else NO_SPREAD)
    tail = (1 - confidence) / 2
    low, high = np.quantile(resampled_means(values[:, None], draws, seed), [tail, 1 - tail])
    return Interval(estimate, float(low), float(high), count, len(values), kind, confidence)


def ratio(numerators: ArrayLike, denominators: ArrayLike, confidence: float = 0.95, n: int | None = None) -> Interval:
    """Ratio of two sums over clusters, both of shape (clusters,), with the delta method's standard error and a t quantile.

    R = sum(y) / sum(x); var(R) = G / (G - 1) * sum((y - R x)^2) / sum(x)^2 over the G clusters with x > 0, G - 1 degrees of
    freedom (the linearised ratio estimator; Cochran, Sampling Techniques, chapter 6). `n` is sum(x) unless given.
    """
    from scipy.special import stdtrit

    y, x = _vector(numerators), _vector(denominators)
    if y.shape != x.shape:
        raise ValueError(f"ratio: {len(y)} numerators for {len(x)} denominators; give one of each per cluster")
    if (x < 0).any():
        raise ValueError("ratio: a denominator is negative; denominators are sums of counts or weights")
    if (y[x == 0] != 0).any():
        raise ValueError("ratio: a cluster has a numerator but no denominator")
    y, x = y[x > 0], x[x > 0]
    total, groups = float(x.sum()), len(x)
    count = round(total) if n is None else n
    if groups == 0:
        return Interval(None, None, None, count, 0, "ratio_t", confidence, NOTHING_OBSERVED)
    estimate = float(y.sum()) / total
    residuals = y - estimate * x
    if groups == 1:
        return Interval(estimate, None, None, count, 1, "ratio_t", confidence, ONE_CLUSTER)
    if np.allclose(residuals, 0, atol=1e-12 * total):
        return Interval(estimate, None, None, count, groups, "ratio_t", confidence, NO_SPREAD)
    error = float(np.sqrt(groups / (groups - 1) * (residuals**2).sum())) / total
    half = float(stdtrit(groups - 1, 0.5 + confidence / 2)) * error
    return Interval(estimate, estimate - half, estimate + half, count, groups, "ratio_t", confidence)


def proportion(successes: ArrayLike, totals: ArrayLike, confidence: float = 0.95, n: int | None = None) -> Interval:
    """A proportion of observations in clusters: successes and totals are counts (or sums of weights) per cluster, shape (clusters,).
    `n` is the sum of the totals unless given.

    `ratio`, clipped to [0, 1]. Where no cluster differs from another (no events, all events, one share everywhere) the ratio
    estimator would claim certainty; the interval is then Clopper and Pearson's of as many observations as there are clusters,
    which treats the observations of a cluster as one.
    """
    won, tried = _vector(successes), _vector(totals)
    if (won > tried).any() or (won < 0).any():
        raise ValueError("proportion: successes must lie between 0 and the total of their cluster")
    sampled = ratio(won, tried, confidence, n)
    if sampled.estimate is None or sampled.note == ONE_CLUSTER:
        return sampled
    if sampled.low is None or sampled.high is None:
        return equal_clusters(sampled.estimate, sampled.n, sampled.clusters, confidence)
    return Interval(sampled.estimate, max(0.0, sampled.low), min(1.0, sampled.high), sampled.n, sampled.clusters, sampled.kind, confidence)


def equal_clusters(share: float, n: int, clusters: int, confidence: float = 0.95) -> Interval:
    """The interval of a share that is the same in every cluster: Clopper and Pearson's of as many observations as there are clusters."""
    low, high = _clopper_pearson_of_share(share, clusters, confidence)
    return Interval(share, low, high, n, clusters, "clopper_pearson_clusters", confidence)


def effective_weight(weights: ArrayLike) -> float:
    """Equally weighted observations that weighted ones are worth: (sum w)^2 / sum w^2 (Kish 1965); 0 for none."""
    values = np.asarray(weights, dtype=float)
    squares = float((values**2).sum())
    return float(values.sum()) ** 2 / squares if squares else 0.0


def _clopper_pearson_of_share(share: float, effective: float, confidence: float) -> tuple[float, float]:
    """Clopper and Pearson's bounds for a share of `effective` observations; the count of successes need not be whole."""
    from scipy.special import betaincinv

    tail, successes = (1 - confidence) / 2, share * effective
    low = float(betaincinv(successes, effective - successes + 1, tail)) if successes > 0 else 0.0
    high = float(betaincinv(successes + 1, effective - successes, 1 - tail)) if successes < effective else 1.0
    return low, high


def _vector(values: ArrayLike) -> np.ndarray:
    array = np.asarray(values, dtype=float)
    if array.ndim != 1:
        raise ValueError(f"expected one value per cluster, got an array of shape {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError("a cluster has no finite value; leave it out and count it, or use statistics.bounds")
    return array


def _check_counts(successes: int, n: int) -> None:
    if not 0 <= successes <= n:
        raise ValueError(f"{successes} successes of {n}: expected 0 <= successes <= n")
