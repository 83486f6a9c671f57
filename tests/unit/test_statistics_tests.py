"""Tests, detectable effects and bounds agree with scipy, with enumeration by hand, and with the published ranges."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from rubrics_gym.statistics.bounds import contrast_bounds, paired_differences, rate_bounds
from rubrics_gym.statistics.effects import mde
from rubrics_gym.statistics.tests import holm, mcnemar, sign_flip


def test_sign_flip_equals_enumeration_over_every_pattern() -> None:
    differences = np.random.default_rng(1).choice([-0.5, -0.25, 0.0, 0.25, 0.5, 0.75], size=9)
    patterns = [abs(np.dot(signs, differences)) for signs in product([-1, 1], repeat=9)]
    expected = np.mean(np.array(patterns) >= abs(differences.sum()) - 1e-12)
    assert sign_flip(differences).p == pytest.approx(expected)


@pytest.mark.parametrize(("clusters", "smallest"), [(4, 0.125), (5, 0.0625), (6, 0.03125)])
def test_the_smallest_possible_p_is_set_by_the_clusters(clusters: int, smallest: float) -> None:
    assert sign_flip([1.0] * clusters).p == smallest


def test_sign_flip_agrees_with_scipy() -> None:
    from scipy.stats import permutation_test

    differences = np.random.default_rng(4).normal(0.3, 1, size=12)
    theirs = permutation_test((differences,), np.sum, permutation_type="samples", n_resamples=np.inf)
    assert sign_flip(differences).p == pytest.approx(theirs.pvalue)


def test_sign_flip_of_many_clusters_is_seeded_and_near_the_t_test() -> None:
    from scipy.stats import ttest_1samp

    differences = np.random.default_rng(6).normal(0.2, 1, size=60)
    result = sign_flip(differences, draws=20_000, seed=9)
    assert result.kind == "sign_flip_monte_carlo" and result == sign_flip(differences, draws=20_000, seed=9)
    assert result.p == pytest.approx(ttest_1samp(differences, 0).pvalue, abs=0.02)


def test_sign_flip_without_effect_or_data() -> None:
    assert sign_flip([0.0, 0.0]).p == 1.0
    assert sign_flip([]).p is None


@pytest.mark.parametrize(("only_first", "only_second"), [(5, 1), (3, 3), (0, 8), (40, 25)])
def test_mcnemar_is_the_binomial_test_of_the_discordant(only_first: int, only_second: int) -> None:
    from scipy.stats import binomtest

    assert mcnemar(only_first, only_second).p == pytest.approx(binomtest(only_first, only_first + only_second).pvalue)


def test_mcnemar_without_discordant_units_tests_nothing() -> None:
    assert mcnemar(0, 0).p is None


def test_holm_by_hand_keeps_the_order_and_skips_what_was_not_tested() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.5, None, 0.01]) == [0.5, None, 0.02]
    assert holm([]) == []


def test_holm_agrees_with_statsmodels() -> None:
    from statsmodels.stats.multitest import multipletests

    p_values = list(np.random.default_rng(8).uniform(size=10) ** 2)
    assert holm(p_values) == pytest.approx(list(multipletests(p_values, method="holm")[1]))


def test_the_detectable_effect_is_detected_with_its_power() -> None:
    """80% of t tests on samples whose mean is the detectable effect are significant (4,000 sets: standard error 0.6 points)."""
    from scipy.stats import ttest_1samp

    rng = np.random.default_rng(2)
    spread = rng.normal(size=22)
    effect = mde(spread).effect
    samples = rng.normal(effect, spread.std(ddof=1), size=(4000, 22))
    assert np.mean(ttest_1samp(samples, 0, axis=1).pvalue < 0.05) == pytest.approx(0.8, abs=0.02)


def test_the_detectable_effect_agrees_with_statsmodels() -> None:
    from statsmodels.stats.power import TTestPower

    spread = np.random.default_rng(7).normal(size=10)
    expected = TTestPower().solve_power(nobs=10, alpha=0.05, power=0.8) * spread.std(ddof=1)
    assert mde(spread).effect == pytest.approx(expected, rel=1e-3)


def test_no_spread_identifies_no_detectable_effect() -> None:
    assert mde([0.2]).effect is None and mde([0.1, 0.1, 0.1]).effect is None


def test_rate_bounds_keep_the_planned_denominator() -> None:
    bounds = rate_bounds(successes=6, known=8, missing=2)
    assert (bounds.observed, bounds.low, bounds.high) == (0.75, 0.6, 0.8)
    assert rate_bounds(0, 0, 3) == type(bounds)(None, 0.0, 1.0, 0, 3)
    with pytest.raises(ValueError, match="not possible"):
        rate_bounds(4, 3, 0)


def test_contrast_bounds_give_the_published_sensitivity_range() -> None:
    """22 competitions x 4: with 0 and 6 lost finals, a difference of +13.6 points with lost scored 0 can be as low as +6.8."""
    first, second = np.zeros((22, 4)), np.zeros((22, 4))
    first.flat[:60] = 1  # 60 valid of 88
    second.flat[:48] = 1  # 48 valid of 88, 6 of the other 40 lost
    second.flat[48:54] = np.nan
    bounds = contrast_bounds(first, second)
    assert (round(100 * bounds.low, 1), round(100 * bounds.high, 1)) == (6.8, 13.6)
    assert (bounds.known, bounds.missing) == (170, 6)


def test_a_competition_without_outcome_in_one_arm_gives_no_difference() -> None:
    differences = paired_differences([[1, np.nan], [np.nan, np.nan]], [[0, 1], [1, 1]])
    assert differences[0] == 0.5 and np.isnan(differences[1])
    bounds = contrast_bounds([[1, np.nan], [np.nan, np.nan]], [[0, 1], [1, 1]])
    assert bounds.observed == 0.5 and bounds.low == -0.5 and bounds.high == 0.25
