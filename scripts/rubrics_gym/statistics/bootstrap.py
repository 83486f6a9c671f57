"""Bootstrap intervals beyond the percentile one, and what treats the competitions as fixed.

Which estimand? `intervals.paired_t`, `intervals.cluster_bootstrap`, `bca` and `studentised` take the clusters as a sample: the mean effect
over competitions of this kind. `fixed_t` and `within_bootstrap` take these very clusters as all there are: only the repeats are chance.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from rubrics_gym.statistics.bounds import paired_differences
from rubrics_gym.statistics.intervals import NO_SPREAD, NOTHING_OBSERVED, ONE_CLUSTER, Interval, all_equal
from rubrics_gym.statistics.resampling import cluster_counts

ONE_REPEAT = "a competition with one repeat: the spread between repeats is unknown"


def bca(differences: ArrayLike, confidence: float = 0.95, draws: int = 4000, seed: int = 0, n: int | None = None) -> Interval:
    """Bias-corrected and accelerated bootstrap of the mean over clusters, shape (clusters,) (Efron 1987).

    Draws that tie with the estimate count half in the bias correction; the acceleration is the jackknife's.
    """
    from scipy.special import ndtr, ndtri

    values, unknown = _clusters(differences, "bca", confidence, n)
    if unknown is not None:
        return unknown
    groups, estimate = len(values), float(values.mean())
    means = cluster_counts(groups, draws, seed) @ values / groups
    below = float((means < estimate).mean() + (means <= estimate).mean()) / 2
    bias = float(ndtri(min(max(below, 0.5 / draws), 1 - 0.5 / draws)))
    influence = values - estimate  # of leaving a cluster out, times (groups - 1)
    acceleration = float((influence**3).sum()) / (6 * float((influence**2).sum()) ** 1.5)
    z = np.asarray(ndtri([(1 - confidence) / 2, (1 + confidence) / 2]))
    levels = ndtr(bias + (bias + z) / (1 - acceleration * (bias + z)))
    low, high = np.quantile(means, levels)
    return Interval(estimate, float(low), float(high), groups if n is None else n, groups, "bca", confidence)


def studentised(differences: ArrayLike, confidence: float = 0.95, draws: int = 4000, seed: int = 0, n: int | None = None) -> Interval:
    """Bootstrap-t of the mean over clusters, shape (clusters,): each draw's mean in units of its own standard error (Efron 1981).

    Draws whose clusters are all equal have no standard error and are left out; with fewer than half of the draws left there is no interval.
    """
    values, unknown = _clusters(differences, "studentised_bootstrap", confidence, n)
    if unknown is not None:
        return unknown
    groups, estimate = len(values), float(values.mean())
    counts = cluster_counts(groups, draws, seed)
    means = counts @ values / groups
    spread = np.maximum(counts @ values**2 / groups - means**2, 0) * groups / (groups - 1)
    usable = spread > 1e-12 * float(values.var())
    count = groups if n is None else n
    if usable.mean() < 0.5:
        return Interval(estimate, None, None, count, groups, "studentised_bootstrap", confidence, "most resamples have no spread")
    ratios = (means[usable] - estimate) / np.sqrt(spread[usable] / groups)
    error = float(values.std(ddof=1)) / float(np.sqrt(groups))
    tail = (1 - confidence) / 2
    low, high = map(float, np.quantile(ratios, [tail, 1 - tail]))
    return Interval(estimate, estimate - high * error, estimate - low * error, count, groups, "studentised_bootstrap", confidence)


def fixed_t(first: ArrayLike, second: ArrayLike, confidence: float = 0.95) -> Interval:
    """Mean difference over *these* clusters, from outcomes of shape (clusters, repeats), NaN where not known.

    Var = sum over clusters and arms of s^2 / m, over clusters^2; Welch and Satterthwaite's degrees of freedom (Welch 1947). Clusters
    without a known outcome in an arm are left out. Says nothing about other competitions.
    """
    from scipy.special import stdtrit

    kind = "fixed_competitions_t"
    a, b = _paired(first, second)
    groups, n = len(a), int(np.isfinite(a).sum() + np.isfinite(b).sum())
    if groups == 0:
        return Interval(None, None, None, 0, 0, kind, confidence, NOTHING_OBSERVED)
    estimate = float(paired_differences(a, b).mean())
    sizes = np.concatenate([np.isfinite(a).sum(axis=1), np.isfinite(b).sum(axis=1)])
    if (sizes < 2).any():
        return Interval(estimate, None, None, n, groups, kind, confidence, ONE_REPEAT)
    parts = np.concatenate([np.nanvar(a, axis=1, ddof=1), np.nanvar(b, axis=1, ddof=1)]) / sizes
    if parts.sum() == 0:
        return Interval(estimate, None, None, n, groups, kind, confidence, "all repeats equal: their spread is unknown")
    freedom = float(parts.sum()) ** 2 / float((parts**2 / (sizes - 1)).sum())
    half = float(stdtrit(freedom, 0.5 + confidence / 2)) * float(np.sqrt(parts.sum())) / groups
    return Interval(estimate, estimate - half, estimate + half, n, groups, kind, confidence)


def within_bootstrap(first: ArrayLike, second: ArrayLike, confidence: float = 0.95, draws: int = 4000, seed: int = 0) -> Interval:
    """Percentile bootstrap of the mean difference over *these* clusters: repeats are drawn within each cluster and arm.

    Shapes as for `fixed_t`. A cell of m repeats has (m - 1) / m of the variance it should, so with few repeats it is too narrow.
    """
    kind = "fixed_competitions_bootstrap"
    a, b = _paired(first, second)
    groups, n = len(a), int(np.isfinite(a).sum() + np.isfinite(b).sum())
    if groups == 0:
        return Interval(None, None, None, 0, 0, kind, confidence, NOTHING_OBSERVED)
    estimate = float(paired_differences(a, b).mean())
    rng, total, spread = np.random.default_rng(seed), np.zeros(draws), False
    for sign, arm in ((1, a), (-1, b)):
        for outcomes in arm:
            known = outcomes[np.isfinite(outcomes)]
            if len(known) < 2:
                return Interval(estimate, None, None, n, groups, kind, confidence, ONE_REPEAT)
            spread = spread or not all_equal(known)
            total += sign * known[rng.integers(len(known), size=(draws, len(known)))].mean(axis=1)
    if not spread:
        return Interval(estimate, None, None, n, groups, kind, confidence, "all repeats equal: their spread is unknown")
    tail = (1 - confidence) / 2
    low, high = np.quantile(total / groups, [tail, 1 - tail])
    return Interval(estimate, float(low), float(high), n, groups, kind, confidence)


def _clusters(differences: ArrayLike, kind: str, confidence: float, n: int | None) -> tuple[np.ndarray, Interval | None]:
    """The differences, and the answer where they identify no interval."""
    values = np.asarray(differences, dtype=float)
    if values.ndim != 1 or not np.isfinite(values).all():
        raise ValueError(f"{kind}: expected one finite difference per cluster, got shape {values.shape}")
    count = len(values) if n is None else n
    if len(values) == 0:
        return values, Interval(None, None, None, count, 0, kind, confidence, NOTHING_OBSERVED)
    if len(values) == 1 or all_equal(values):
        note = ONE_CLUSTER if len(values) == 1 else NO_SPREAD
        return values, Interval(float(values.mean()), None, None, count, len(values), kind, confidence, note)
    return values, None


def _paired(first: ArrayLike, second: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """The clusters in which both arms have a known outcome."""
    a, b = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    if a.ndim != 2 or b.ndim != 2 or len(a) != len(b):
        raise ValueError(f"shapes {a.shape} and {b.shape}; expected (clusters, repeats) with the same clusters")
    both = np.isfinite(paired_differences(a, b))
    return a[both], b[both]
