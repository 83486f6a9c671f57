"""Intervals agree with published examples, with scipy, and with simulation; degenerate data give no false certainty."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rubrics_gym.statistics.intervals import clopper_pearson, cluster_bootstrap, jackknife_t, mean_t, paired_t, proportion, ratio, wilson


@pytest.mark.parametrize(("successes", "n"), [(0, 10), (1, 29), (15, 148), (81, 263), (10, 10)])
def test_wilson_and_clopper_pearson_agree_with_scipy(successes: int, n: int) -> None:
    from scipy.stats import binomtest

    for ours, method in ((wilson(successes, n), "wilson"), (clopper_pearson(successes, n), "exact")):
        theirs = binomtest(successes, n).proportion_ci(0.95, method=method)
        assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=1e-10)
        assert ours.estimate == successes / n and ours.n == n


def test_wilson_gives_the_published_example() -> None:
    """81 of 263: 0.2553 to 0.3662 (Newcombe 1998, table I, method 3)."""
    interval = wilson(81, 263)
    assert (round(interval.low, 4), round(interval.high, 4)) == (0.2553, 0.3662)


def test_correlated_observations_widen_wilson_to_the_effective_sample() -> None:
    assert wilson(40, 80, clusters=20, icc=1.0).low == pytest.approx(wilson(10, 20).low)
    assert wilson(40, 80, clusters=20, icc=0.0).low == pytest.approx(wilson(40, 80).low)


@given(st.integers(0, 60), st.integers(1, 60))
@settings(max_examples=60, deadline=None)
def test_single_rate_intervals_contain_the_rate_and_mirror(successes: int, n: int) -> None:
    successes = min(successes, n)
    for method in (wilson, clopper_pearson):
        one, other = method(successes, n), method(n - successes, n)
        assert 0 <= one.low <= one.estimate <= one.high <= 1
        assert one.low == pytest.approx(1 - other.high, abs=1e-9)


def test_nothing_observed_is_no_number() -> None:
    for interval in (wilson(0, 0), clopper_pearson(0, 0), mean_t([]), ratio([0, 0], [0, 0]), proportion([], [])):
        assert interval.estimate is None and interval.low is None and interval.high is None and interval.note


def test_impossible_counts_are_refused() -> None:
    with pytest.raises(ValueError, match="5 successes of 3"):
        wilson(5, 3)
    with pytest.raises(ValueError, match="no denominator"):
        ratio([1, 1], [0, 2])
    with pytest.raises(ValueError, match="finite"):
        paired_t([0.1, float("nan")])


def test_paired_t_agrees_with_scipy() -> None:
    from scipy.stats import ttest_rel

    rng = np.random.default_rng(3)
    first, second = rng.normal(size=22), rng.normal(size=22)
    theirs = ttest_rel(first, second).confidence_interval(0.9)
    ours = paired_t(first - second, confidence=0.9, n=176)
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high))
    assert (ours.n, ours.clusters, ours.kind) == (176, 22, "paired_t")


@pytest.mark.parametrize("values", [[0.25], [0.0, 0.0, 0.0], [0.5, 0.5]])
def test_equal_or_single_clusters_have_an_estimate_but_no_interval(values: list[float]) -> None:
    for interval in (paired_t(values), cluster_bootstrap(values)):
        assert interval.estimate == values[0] and interval.low is None and interval.high is None
        assert ("unknown" if len(values) == 1 else "zero variance") in interval.note


def test_bootstrap_agrees_with_scipy_and_repeats_under_its_seed() -> None:
    from scipy.stats import bootstrap

    differences = np.random.default_rng(5).normal(0.1, 0.3, size=22)
    ours = cluster_bootstrap(differences, draws=20_000, seed=1)
    theirs = bootstrap((differences,), np.mean, n_resamples=20_000, method="percentile", rng=np.random.default_rng(2)).confidence_interval
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.01)
    assert ours == cluster_bootstrap(differences, draws=20_000, seed=1)
    assert ours != cluster_bootstrap(differences, draws=20_000, seed=2)


def test_the_jackknife_of_a_mean_is_its_t_interval() -> None:
    values = np.array([0.1, 0.4, 0.35, 0.8, 0.2])
    without = [float(np.delete(values, place).mean()) for place in range(len(values))]
    ours, theirs = jackknife_t(float(values.mean()), without), mean_t(values)
    assert (ours.estimate, ours.low, ours.high) == pytest.approx((theirs.estimate, theirs.low, theirs.high))
    assert (ours.n, ours.clusters) == (5, 5)


def test_the_jackknife_stays_within_its_range_and_says_why_it_has_no_ends() -> None:
    wide = jackknife_t(0.9, [0.5, 0.95, 0.99], within=(0.0, 1.0))
    assert wide.high == 1.0 and wide.low is not None and 0.0 <= wide.low < 0.9
    assert jackknife_t(None, [None, 0.5]).estimate is None
    for whole, without, note in (
        (0.9, [0.8, None], "without one of the clusters"),
        (0.9, [0.8], "one cluster"),
        (0.9, [0.9, 0.9], "equal"),
    ):
        found = jackknife_t(whole, without)
        assert (found.estimate, found.low, found.high) == (0.9, None, None) and note in found.note


def test_ratio_with_equal_denominators_is_the_mean_of_cluster_shares() -> None:
    successes = np.array([3, 1, 4, 0, 2])
    ours, mean = ratio(successes, [4] * 5), mean_t(successes / 4)
    assert (ours.estimate, ours.low, ours.high) == pytest.approx((mean.estimate, mean.low, mean.high))


def test_ratio_by_hand() -> None:
    """R = 6/10; residuals 1 - 1.2, 2 - 3, 3 - 1.8; sum of squares 2.48; se = sqrt(3/2 * 2.48) / 10; t(2, .975) = 4.30265."""
    interval = ratio([1, 2, 3], [2, 5, 3])
    assert interval.estimate == pytest.approx(0.6)
    assert interval.high - interval.estimate == pytest.approx(4.302653 * np.sqrt(1.5 * 2.48) / 10, rel=1e-5)


def test_clusters_without_denominator_do_not_count() -> None:
    assert ratio([1, 2, 0], [2, 2, 0]) == ratio([1, 2], [2, 2])


@pytest.mark.parametrize(("successes", "expected"), [([0, 0, 0, 0], (0.0, 0.0, 0.602)), ([2, 2, 2, 2], (1.0, 0.398, 1.0))])
def test_no_or_all_events_never_give_certainty(successes: list[int], expected: tuple[float, float, float]) -> None:
    """0 of 4 clusters: the exact bound is 1 - 0.025^(1/4)."""
    interval = proportion(successes, [2] * 4)
    assert (interval.estimate, interval.low, interval.high) == pytest.approx(expected, abs=1e-3)
    assert interval.kind == "clopper_pearson_clusters" and interval.n == 8 and interval.clusters == 4


def test_proportion_stays_within_its_range() -> None:
    interval = proportion([4, 4, 3, 4], [4] * 4)
    assert interval.high == 1.0 and 0 <= interval.low < interval.estimate


def coverage(draw, truth: float, sets: int = 1500) -> float:
    """Share of intervals that hold the truth."""
    intervals = [draw() for _ in range(sets)]
    return float(np.mean([i.low is not None and i.low <= truth <= i.high for i in intervals]))


def test_paired_t_covers_in_the_design_of_the_study() -> None:
    """22 competitions x 4 repeats, U-shaped difficulty, no effect. 1,500 sets: the coverage has a standard error of 0.6 points."""
    rng = np.random.default_rng(11)

    def draw():
        difficulty = rng.beta(0.7, 0.5, 22)
        return paired_t((rng.binomial(4, difficulty) - rng.binomial(4, difficulty)) / 4)

    assert coverage(draw, 0.0) == pytest.approx(0.95, abs=0.02)


def test_ratio_covers_with_unequal_clusters() -> None:
    """A precision over 20 competitions with 1 to 30 flagged commands each and rates that differ between competitions."""
    rng = np.random.default_rng(12)

    def draw():
        flagged = rng.integers(1, 31, 20)
        return proportion(rng.binomial(flagged, rng.beta(6, 4, 20)), flagged)

    assert coverage(draw, 0.6) == pytest.approx(0.95, abs=0.03)
