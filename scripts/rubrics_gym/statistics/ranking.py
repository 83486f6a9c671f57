"""Many arms at a time: means shrunken towards each other, the chance that each is the best, and what choosing the best does by chance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike


@dataclass(frozen=True, slots=True)
class Ranked:
    """One arm among others over the same clusters. `shrunken` and its interval are empirical Bayes; `best` is the chance of being the best."""

    mean: float
    shrunken: float | None
    low: float | None
    high: float | None
    best: float | None
    clusters: int
    kind: str
    note: str = ""


def shrink(means: ArrayLike, confidence: float = 0.95, draws: int = 20_000, seed: int = 0) -> list[Ranked]:
    """Empirical-Bayes means of arms from their cluster means, shape (clusters, arms), finite: every arm over the same clusters.

    Two-way analysis of variance without replication: the clusters' own level cancels, and the interaction's mean square is the noise of a
    difference. With MSA between arms and MSI of interaction, each arm's deviation from the grand mean is multiplied by
    B = max(0, 1 - c MSI / MSA), c = (f - 2) / f * (k - 3) / (k - 1) with f the interaction's degrees of freedom (Efron and Morris 1973; for
    k < 4 arms the second factor is 1). The posterior of a deviation is normal with variance B MSI / clusters. `best` counts, over
    seeded draws, how often an arm is on top; arms that are not told apart at all share it equally.
    """
    from scipy.special import ndtri

    table = np.asarray(means, dtype=float)
    if table.ndim != 2 or not np.isfinite(table).all():
        raise ValueError(f"shrink: expected finite cluster means of shape (clusters, arms), got shape {table.shape}")
    groups, arms = table.shape
    own = table.mean(axis=0) if groups else np.zeros(arms)
    if groups < 2 or arms < 2:
        note = "one cluster: its spread is unknown" if arms > 1 else "one arm: nothing to shrink to"
        return [Ranked(float(mean), None, None, None, None, groups, "empirical_bayes", note) for mean in own]
    grand = float(table.mean())
    residuals = table - table.mean(axis=1, keepdims=True) - own + grand
    freedom = (groups - 1) * (arms - 1)
    noise = float((residuals**2).sum()) / freedom
    between = groups * float(((own - grand) ** 2).sum()) / (arms - 1)
    if noise == 0:
        return [
            Ranked(float(mean), None, None, None, None, groups, "empirical_bayes", "no interaction: the noise is unknown") for mean in own
        ]
    correction = max(0.0, (freedom - 2) / freedom) * ((arms - 3) / (arms - 1) if arms > 3 else 1.0)
    weight = max(0.0, 1 - correction * noise / between) if between > 0 else 0.0
    shrunken = grand + weight * (own - grand)
    spread = float(np.sqrt(weight * noise / groups))
    if spread == 0:
        note = "the arms differ by no more than chance: all shrink to one mean"
        return [Ranked(float(mean), grand, None, None, 1 / arms, groups, "empirical_bayes", note) for mean in own]
    drawn = shrunken + spread * np.random.default_rng(seed).standard_normal((draws, arms))
    best = np.bincount(drawn.argmax(axis=1), minlength=arms) / draws
    half = float(ndtri(0.5 + confidence / 2)) * spread
    return [
        Ranked(
            float(own[arm]),
            float(shrunken[arm]),
            float(shrunken[arm]) - half,
            float(shrunken[arm]) + half,
            float(best[arm]),
            groups,
            "empirical_bayes",
        )
        for arm in range(arms)
    ]


def selection_gain(arms: int, sd: float) -> float:
    """Expected lead of the best of `arms` equal ones over their common mean, in the unit of `sd`, the standard deviation of one result.

    The expected maximum of normal draws, by quadrature of 1 - F^k about 0 (the layer-cake formula).
    """
    from scipy.integrate import quad
    from scipy.special import ndtr

    above = quad(lambda x: 1 - ndtr(x) ** arms, 0, 12)[0]
    below = quad(lambda x: ndtr(x) ** arms, -12, 0)[0]
    return float(sd * (above - below))
