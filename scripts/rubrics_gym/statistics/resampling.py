"""Drawing clusters with replacement, for many columns at a time: one matrix product instead of a loop over draws."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike


def cluster_counts(clusters: int, draws: int, seed: int) -> np.ndarray:
    """How often each of `clusters` is drawn in each of `draws` resamples of that many: shape (draws, clusters), rows sum to `clusters`."""
    picks = np.random.default_rng(seed).integers(clusters, size=(draws, clusters))
    places = picks + clusters * np.arange(draws)[:, None]
    counts: np.ndarray = np.bincount(places.ravel(), minlength=draws * clusters).reshape(draws, clusters).astype(float)
    return counts


def resampled_means(values: ArrayLike, draws: int, seed: int) -> np.ndarray:
    """Means of resampled clusters, shape (draws, columns), from values of shape (clusters, columns), finite.

    All columns see the same clusters in a draw, so that contrasts of columns of the result are paired. Repeats within a cluster
    are averaged before: the bootstrap of competitions "with all their repeats" depends on the data through competition means alone.
    """
    columns = np.asarray(values, dtype=float)
    if columns.ndim != 2 or not np.isfinite(columns).all():
        raise ValueError(f"resampled_means: expected finite values of shape (clusters, columns), got shape {columns.shape}")
    means: np.ndarray = cluster_counts(len(columns), draws, seed) @ columns / len(columns)
    return means
