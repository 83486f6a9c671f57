"""What a design can see: the smallest effect that it would detect."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike


@dataclass(frozen=True, slots=True)
class DetectableEffect:
    """The smallest true mean difference that a paired t test of `clusters` detects with probability `power`; None: not identified."""

    effect: float | None
    clusters: int
    power: float
    confidence: float


def mde(differences: ArrayLike, power: float = 0.8, confidence: float = 0.95) -> DetectableEffect:
    """Minimum detectable effect of a two-sided paired t test, from the spread of the differences, shape (clusters,), in their unit.

    Solves P(T > t_crit) = power for the non-centrality of T, a non-central t with clusters - 1 degrees of freedom; the chance of
    a significant result on the wrong side is left out (below 1e-5 at 80% power).
    """
    from scipy.special import nctdtrinc, stdtrit

    values = np.asarray(differences, dtype=float)
    groups = len(values)
    if groups < 2 or np.ptp(values) == 0:
        return DetectableEffect(None, groups, power, confidence)
    critical = float(stdtrit(groups - 1, 0.5 + confidence / 2))
    noncentrality = float(nctdtrinc(groups - 1, 1 - power, critical))
    return DetectableEffect(noncentrality * float(values.std(ddof=1)) / float(np.sqrt(groups)), groups, power, confidence)
