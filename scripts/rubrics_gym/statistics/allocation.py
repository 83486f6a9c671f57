"""Dividing whole slots among bins in proportion to shares."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping


def largest_remainder(shares: Mapping[str, float], slots: int, capacity: Mapping[str, int] | None = None) -> dict[str, int]:
    """Hamilton's method: each bin gets the whole part of its quota, the slots left go to the largest remainders.

    `shares` are non-negative and need not sum to one; a bin without share gets nothing. Ties go to the larger share, then to the
    smaller name. A bin cannot hold more than its `capacity` (absent: unlimited); what it cannot hold is handed on, in the same
    order. The result sums to `slots`, or to all capacity there is. Raises ValueError for a negative or non-finite share.
    """
    if any(not math.isfinite(share) or share < 0 for share in shares.values()):
        raise ValueError(f"shares must be finite and not negative: {dict(shares)}")
    total = math.fsum(shares.values())
    if total == 0:
        return {}
    # Rounded, so that a quota such as 12 * 0.25 / 1.0000000000000002 keeps its whole part.
    quota = {name: round(slots * share / total, 9) for name, share in shares.items() if share > 0}
    room = {name: slots if capacity is None else capacity.get(name, 0) for name in quota}
    given = {name: min(math.floor(quota[name]), room[name]) for name in quota}
    left = min(slots, sum(room.values())) - sum(given.values())
    order = sorted(quota, key=lambda name: (math.floor(quota[name]) - quota[name], -shares[name], name))
    for name in itertools.cycle(order):
        if left == 0:
            break
        if given[name] < room[name]:
            given[name] += 1
            left -= 1
    return given
