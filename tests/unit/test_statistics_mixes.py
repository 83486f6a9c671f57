"""Intervals of shares and distances by tasks; agreement of two readers; a mix without the errors of who counted it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rubrics_gym.statistics.agreement import agreement, cohen_kappa, confusion, corrected_mix
from rubrics_gym.statistics.mixes import counts_of, distance_interval, distance_to_truth, share_intervals

RANDOM = np.random.default_rng(20261130)


def test_counts_of_tasks() -> None:
    assert counts_of([{"a": 2}, {"b": 1}, {}], ["a", "b"]).tolist() == [[2, 0], [0, 1], [0, 0]]
    assert counts_of([], ["a"]).shape == (0, 1)


def test_tasks_that_differ_widen_the_interval_of_a_share() -> None:
    alike = np.tile([5.0, 5.0], (12, 1))
    apart = np.array([[10.0, 0.0], [0.0, 10.0]] * 6)
    (same, _), (wide, _) = share_intervals(alike), share_intervals(apart)
    assert (same.estimate, same.low, same.high) == (0.5, None, None) and "zero variance" in same.note
    assert wide.low is not None and wide.low < 0.3 and wide.high is not None and wide.high > 0.7
    assert (wide.n, wide.clusters) == (120, 12)


def test_a_share_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    """Tasks with mixes of their own (Dirichlet) around a known one: the percentile interval covers a little less than 95% at 20 tasks."""
    truth, covered = np.array([0.6, 0.3, 0.1]), 0
    for trial in range(150):
        counts = np.array([RANDOM.multinomial(8, RANDOM.dirichlet(10 * truth)) for _ in range(20)], dtype=float)
        interval = share_intervals(counts, draws=400, seed=trial)[0]
        covered += interval.low is not None and interval.high is not None and interval.low <= truth[0] <= interval.high
    assert 0.85 <= covered / 150 <= 0.99


def test_nothing_one_task_and_a_bin_without_failures() -> None:
    nothing, single = share_intervals(np.zeros((3, 1)))[0], share_intervals(np.array([[3.0, 1.0]]))[0]
    assert (nothing.estimate, nothing.low, nothing.note) == (None, None, "nothing observed")
    assert (single.estimate, single.low, single.clusters) == (0.75, None, 1)
    absent = share_intervals(np.array([[3.0, 0.0]] * 20))[1]
    assert (absent.estimate, absent.low) == (0.0, 0.0) and absent.high == pytest.approx(1 - 0.05 ** (1 / 20))


def test_distance_of_equal_mixes_is_within_its_noise_and_of_different_ones_is_not() -> None:
    one, other = (RANDOM.multinomial(6, [0.5, 0.3, 0.2], size=25).astype(float) for _ in range(2))
    near, floor = distance_interval(one, other)
    assert near.estimate is not None and floor is not None and near.estimate < 2.5 * floor and near.low == 0
    far, floor = distance_interval(one, RANDOM.multinomial(6, [0.1, 0.1, 0.8], size=25).astype(float))
    assert far.estimate is not None and floor is not None and far.low is not None and far.low > floor
    assert far.low <= far.estimate <= far.high <= 100  # type: ignore[operator]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(st.integers(0, 5), min_size=3, max_size=3), min_size=2, max_size=5))
def test_a_distance_lies_in_its_interval_and_does_not_care_which_comes_first(rows: list[list[int]]) -> None:
    counts = np.array(rows, dtype=float)
    if counts[:1].sum() == 0 or counts[1:].sum() == 0:
        assert distance_interval(counts[:1], counts[1:], draws=50)[0].estimate is None
        return
    forth, back = distance_interval(counts[:1], counts[1:], draws=50)[0], distance_interval(counts[1:], counts[:1], draws=50)[0]
    assert forth.estimate == pytest.approx(back.estimate)
    assert distance_interval(counts, counts, draws=50)[0].estimate == 0


def test_distance_of_two_readings_of_the_same_things() -> None:
    truth = np.array([[4.0, 0.0], [0.0, 4.0], [2.0, 2.0]])
    same, floor = distance_to_truth(truth, truth)
    assert (same.estimate, same.low) == (0, 0) and same.high == pytest.approx(100 * (1 - 0.05 ** (1 / 3))) and floor > 0
    with pytest.raises(ValueError, match="both readings"):
        distance_to_truth(truth, np.zeros((3, 2)))


def test_kappa_by_hand() -> None:
    """20 yes-yes, 5 yes-no, 10 no-yes, 15 no-no: observed 0.7, by chance 0.5, kappa 0.4."""
    first = ["yes"] * 25 + ["no"] * 25
    second = ["yes"] * 20 + ["no"] * 5 + ["yes"] * 10 + ["no"] * 15
    table = confusion(first, second, ["yes", "no"])
    assert table.tolist() == [[20, 5], [10, 15]]
    assert cohen_kappa(table) == pytest.approx(0.4)
    found = agreement(first, second, [f"t{n % 10}" for n in range(50)])
    assert (found.observed.estimate, found.kappa.estimate) == (pytest.approx(0.7), pytest.approx(0.4))
    assert found.kappa.low is not None and found.kappa.low < 0.4 < found.kappa.high  # type: ignore[operator]
    assert (found.kappa.n, found.kappa.clusters) == (50, 10)


def test_kappa_where_there_is_nothing_to_disagree_about() -> None:
    assert cohen_kappa(confusion(["a"] * 3, ["a"] * 3, ["a"])) is None
    assert agreement([], [], []).observed.estimate is None
    assert agreement(["a", "b"], ["a", "b"], ["t", "t"]).kappa.estimate == 1
    with pytest.raises(ValueError, match="2 answers of one reader, 1"):
        confusion(["a", "b"], ["a"], ["a", "b"])
    with pytest.raises(ValueError, match="'c' is none of"):
        confusion(["a"], ["c"], ["a", "b"])


def test_a_mix_is_corrected_for_known_errors() -> None:
    """A classifier that reads a fifth of all `a` as `b` counts 48 and 52 where 60 and 40 are: with its errors known the truth comes back."""
    checked = np.array([[800.0, 200.0], [0.0, 1000.0]])
    assert corrected_mix(np.array([48.0, 52.0]), checked) == pytest.approx([0.6, 0.4], abs=0.002)
    assert corrected_mix(np.array([3.0, 1.0]), np.zeros((2, 2))) == pytest.approx([0.75, 0.25])
    with pytest.raises(ValueError, match="nothing was assigned"):
        corrected_mix(np.zeros(2), checked)


def test_a_corrected_mix_is_a_mix() -> None:
    for _ in range(20):
        shares = corrected_mix(RANDOM.integers(0, 9, 4) + np.array([1.0, 0, 0, 0]), RANDOM.integers(0, 5, (4, 4)).astype(float))
        assert shares.min() >= 0 and shares.sum() == pytest.approx(1)


def test_a_bin_with_every_failure_has_the_mirror_image_of_an_empty_one() -> None:
    every, none = share_intervals(np.array([[3.0, 0.0]] * 5))
    assert (every.estimate, every.high) == (1.0, 1.0) and every.low == pytest.approx(1 - none.high)
    assert none.high == pytest.approx(1 - 0.05 ** (1 / 5))


def test_readers_who_never_differed_are_not_certain_to_agree() -> None:
    found = agreement(["a", "b", "a", "b"], ["a", "b", "a", "b"], ["t", "t", "u", "u"])
    assert (found.observed.estimate, found.observed.high) == (1.0, 1.0) and found.observed.low == pytest.approx(0.05**0.5)
    assert (found.kappa.estimate, found.kappa.low) == (1.0, None) and "never differed" in found.kappa.note
