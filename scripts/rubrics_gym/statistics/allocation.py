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


def systematic(shares: Mapping[str, float], slots: int, start: float) -> dict[str, int]:
    """Whole slots by systematic sampling: bin k gets the integers j with C_(k-1) <= j + start < C_k, C the running sum of the quotas.

    With `start` uniform in [0, 1) every bin gets its quota in expectation and never differs from it by a whole slot (Madow 1949). Bins are
    taken in the order of their names; the result sums to `slots`. Raises ValueError for a negative or non-finite share.
    """
    quota = quotas(shares, slots)
    given, below, total = {}, 0, 0.0
    for place, name in enumerate(sorted(quota)):
        total += quota[name]
        reached = slots if place == len(quota) - 1 else min(slots, math.ceil(round(total - start, 9)))
        given[name] = reached - below
        below = reached
    return given


def by_deficit(due: Mapping[str, float], slots: int, capacity: Mapping[str, int]) -> dict[str, int]:
    """One slot after the other to the bin that is furthest below what it is due, as long as its `capacity` lasts.

    Where `due` are quotas and capacity is ample this is largest_remainder. Where they are quotas plus what a bin was short of before, a bin
    with a quota of 0.2 gets a slot in every fifth call. Ties go to the larger claim, then to the smaller name. The result sums to `slots`, or
    to all capacity there is.
    """
    given = dict.fromkeys(due, 0)
    for _ in range(min(slots, sum(capacity.get(name, 0) for name in due))):
        open_bins = [name for name in due if given[name] < capacity.get(name, 0)]
        name = min(open_bins, key=lambda name: (round(given[name] - due[name], 9), -due[name], name))
        given[name] += 1
    return given


def quotas(shares: Mapping[str, float], slots: int) -> dict[str, float]:
    """Expected slots of every bin that has a share. They sum to `slots`. Raises ValueError for a negative or non-finite share."""
    if any(not math.isfinite(share) or share < 0 for share in shares.values()):
        raise ValueError(f"shares must be finite and not negative: {dict(shares)}")
    total = math.fsum(shares.values())
    return {name: slots * share / total for name, share in shares.items() if share > 0} if total else {}


def within_capacity(given: Mapping[str, int], quota: Mapping[str, float], capacity: Mapping[str, int]) -> dict[str, int]:
    """The same number of slots where no bin holds more than its `capacity`: what one cannot hold goes to the largest unmet quotas."""
    kept = {name: min(count, capacity.get(name, 0)) for name, count in given.items()}
    unmet = {name: quota.get(name, 0.0) - kept[name] for name in kept}
    room = {name: capacity.get(name, 0) - kept[name] for name in kept}
    more = by_deficit(unmet, sum(given.values()) - sum(kept.values()), room)
    return {name: kept[name] + more[name] for name in kept}
