"""What missing outcomes allow: a rate or a contrast as observed, and between which values it would lie if nothing were missing.

A missing outcome is never a zero. Nothing is assumed about why it is missing (worst-case bounds; Manski 1990).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike


@dataclass(frozen=True, slots=True)
class Bounds:
    """`observed` uses the known outcomes alone; `low` and `high` keep all planned ones, the missing taken at their extremes.

    For a rate, n = known + missing are outcomes; for a contrast they are outcomes of both arms together.
    """

    observed: float | None
    low: float | None
    high: float | None
    known: int
    missing: int


def rate_bounds(successes: int, known: int, missing: int) -> Bounds:
    """A rate of `successes` in `known` outcomes, with the bounds that `missing` more planned outcomes allow (all failures, all successes)."""
    if not 0 <= successes <= known or missing < 0:
        raise ValueError(f"{successes} successes of {known} known and {missing} missing outcomes: not possible counts")
    planned = known + missing
    if planned == 0:
        return Bounds(None, None, None, 0, 0)
    return Bounds(successes / known if known else None, successes / planned, (successes + missing) / planned, known, missing)


def contrast_bounds(first: ArrayLike, second: ArrayLike) -> Bounds:
    """Mean over clusters of (mean of first - mean of second), outcomes in [0, 1] of shape (clusters, repeats); NaN is missing.

    low takes the missing outcomes of `first` as 0 and of `second` as 1, high the reverse. `observed` is over the clusters
    where both arms have a known outcome. The arms may differ in repeats, not in clusters.
    """
    a, b = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    if a.ndim != 2 or b.ndim != 2 or len(a) != len(b):
        raise ValueError(f"contrast_bounds: shapes {a.shape} and {b.shape}; expected (clusters, repeats) with the same clusters")
    lost_a, lost_b = np.isnan(a), np.isnan(b)
    missing = int(lost_a.sum() + lost_b.sum())
    known = a.size + b.size - missing
    if a.size == 0 or b.size == 0:
        return Bounds(None, None, None, known, missing)
    differences = paired_differences(a, b)
    observed = float(np.nanmean(differences)) if np.isfinite(differences).any() else None
    low = float((np.where(lost_a, 0.0, a).mean(axis=1) - np.where(lost_b, 1.0, b).mean(axis=1)).mean())
    high = float((np.where(lost_a, 1.0, a).mean(axis=1) - np.where(lost_b, 0.0, b).mean(axis=1)).mean())
    return Bounds(observed, low, high, known, missing)


def paired_differences(first: ArrayLike, second: ArrayLike) -> np.ndarray:
    """Per cluster, mean of the known outcomes of `first` minus that of `second`, shape (clusters,); NaN where an arm has none."""
    differences: np.ndarray = _known_means(np.asarray(first, dtype=float)) - _known_means(np.asarray(second, dtype=float))
    return differences


def _known_means(outcomes: np.ndarray) -> np.ndarray:
    known = ~np.isnan(outcomes)
    counts = known.sum(axis=1)
    sums = np.where(known, outcomes, 0.0).sum(axis=1)
    means: np.ndarray = np.divide(sums, counts, out=np.full(len(outcomes), np.nan), where=counts > 0)
    return means
