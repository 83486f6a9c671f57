"""Slots divided by largest remainder."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubrics_gym.statistics.allocation import largest_remainder

SHARES = st.dictionaries(st.sampled_from("abcdefgh"), st.floats(0, 10), max_size=8)


@given(SHARES, st.integers(0, 30))
def test_slots_sum_to_what_there_is_and_stay_next_to_their_quota(shares: dict[str, float], slots: int) -> None:
    given_slots = largest_remainder(shares, slots)
    total = sum(shares.values())
    if total == 0:
        assert given_slots == {}
        return
    assert sum(given_slots.values()) == slots
    assert all(abs(count - slots * shares[name] / total) < 1 + 1e-6 for name, count in given_slots.items())


@given(SHARES, st.integers(0, 30), st.dictionaries(st.sampled_from("abcdefgh"), st.integers(0, 5)))
def test_no_bin_holds_more_than_it_can(shares: dict[str, float], slots: int, capacity: dict[str, int]) -> None:
    given_slots = largest_remainder(shares, slots, capacity)
    assert all(count <= capacity.get(name, 0) for name, count in given_slots.items())
    assert sum(given_slots.values()) == min(slots, sum(capacity.get(name, 0) for name, share in shares.items() if share > 0))


def test_a_small_share_gets_nothing_of_twelve() -> None:
    """A category with 0.20 of twelve slots gets none, as published."""
    shares = {"rare": 0.20, "crash": 10.1, "format": 0.9, "missing": 0.8}
    assert largest_remainder(shares, 12) == {"rare": 0, "crash": 10, "format": 1, "missing": 1}


def test_ties_go_to_the_larger_share_then_to_the_name() -> None:
    assert largest_remainder({"b": 1, "a": 1}, 1) == {"b": 0, "a": 1}
    assert largest_remainder({"a": 1, "b": 3}, 2) == {"a": 0, "b": 2}


@pytest.mark.parametrize("share", [-1.0, float("nan"), float("inf")])
def test_impossible_shares_are_refused(share: float) -> None:
    with pytest.raises(ValueError):
        largest_remainder({"a": share}, 3)
