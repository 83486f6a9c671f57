"""Slots divided by largest remainder."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rubrics_gym.statistics.allocation import by_deficit, largest_remainder, quotas, systematic, within_capacity

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


# ---------------------------------------------------------------- drawn, carried, handed on

weights = st.dictionaries(st.sampled_from("abcdef"), st.floats(0, 10), min_size=1).filter(lambda shares: sum(shares.values()) > 1e-6)


@settings(deadline=None, max_examples=60)
@given(weights, st.integers(0, 24), st.floats(0, 1, exclude_max=True))
def test_systematic_slots_sum_and_stay_within_one_of_their_quota(shares: dict[str, float], slots: int, start: float) -> None:
    given_slots, quota = systematic(shares, slots, start), quotas(shares, slots)
    assert sum(given_slots.values()) == slots and all(count >= 0 for count in given_slots.values())
    assert all(abs(given_slots[name] - quota[name]) < 1 + 1e-6 for name in quota)


def test_systematic_slots_are_their_quota_in_expectation() -> None:
    shares, draws = {"a": 0.5, "b": 0.37, "c": 0.13}, 1000
    total = Counter[str]()
    for number in range(draws):
        total.update(systematic(shares, 12, (number + 0.5) / draws))
    assert {name: count / draws for name, count in total.items()} == pytest.approx({"a": 6.0, "b": 4.44, "c": 1.56}, abs=0.01)


@settings(deadline=None, max_examples=60)
@given(weights, st.integers(0, 24))
def test_by_deficit_from_quotas_is_the_largest_remainder(shares: dict[str, float], slots: int) -> None:
    quota = quotas(shares, slots)
    assert sum(by_deficit(quota, slots, dict.fromkeys(quota, slots)).values()) == slots
    found, expected = by_deficit(quota, slots, dict.fromkeys(quota, slots)), largest_remainder(shares, slots)
    off = [name for name in expected if found[name] != expected[name]]
    assert all(abs(quota[name] % 1 - quota[other] % 1) < 1e-6 or quota[name] % 1 > 1 - 1e-6 for name in off for other in off)


@settings(deadline=None, max_examples=60)
@given(weights, st.integers(0, 24), st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 9)))
def test_handing_on_fills_all_there_is_and_passes_no_capacity(shares: dict[str, float], slots: int, capacity: dict[str, int]) -> None:
    wanted = largest_remainder(shares, slots)
    kept = within_capacity(wanted, quotas(shares, slots), capacity)
    assert all(kept[name] <= capacity.get(name, 0) for name in kept)
    assert sum(kept.values()) == min(sum(wanted.values()), sum(capacity.get(name, 0) for name in wanted))
