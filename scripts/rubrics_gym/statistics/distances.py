"""How far two mixes are apart, and how far a sample of one mix is from itself."""

from __future__ import annotations

import math
from collections.abc import Mapping


def total_variation(p: Mapping[str, float], q: Mapping[str, float]) -> float:
    """Share of mass to move, in percent: 50 * sum |p_k - q_k|, between 0 and 100. A bin that one mix lacks has share 0 there.

    The weights of each mix are normalised to one. Raises ValueError for an empty, negative or non-finite mix.
    """
    p, q = normalised(p), normalised(q)
    return 50 * math.fsum(abs(p.get(name, 0.0) - q.get(name, 0.0)) for name in sorted(p.keys() | q.keys()))


def noise_floor(p: Mapping[str, float], n: int) -> float:
    """Expected total variation, in percent, between a mix and a fresh sample of `n` draws from it.

    50 * sum sqrt(2 p_k (1 - p_k) / (pi n)): each share's error is taken as normal (mean absolute deviation of a normal).
    """
    if n <= 0:
        raise ValueError(f"a sample has at least one draw, got n = {n}")
    return 50 * math.fsum(math.sqrt(2 * share * (1 - share) / (math.pi * n)) for share in normalised(p).values())


def normalised(weights: Mapping[str, float]) -> dict[str, float]:
    """Weights divided by their sum. ValueError when there is nothing to divide, or a weight is negative or not finite."""
    if any(not math.isfinite(weight) or weight < 0 for weight in weights.values()):
        raise ValueError(f"weights must be finite and not negative: {dict(weights)}")
    total = math.fsum(weights.values())
    if total == 0:
        raise ValueError("a mix without any mass has no shares")
    return {name: weight / total for name, weight in weights.items()}
