"""Inference beside the primary interval: against scipy, statsmodels, published tables and closed forms, on ordinary and degenerate data."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rubrics_gym.statistics.bootstrap import bca, fixed_t, studentised, within_bootstrap
from rubrics_gym.statistics.effects import design, mde, power_of
from rubrics_gym.statistics.intervals import clopper_pearson, cluster_bootstrap, intra_class_correlation, paired_t, wilson
from rubrics_gym.statistics.mixed import log_likelihood, logistic_mixed, marginal_difference
from rubrics_gym.statistics.noise import NoiseShare, Repeated, noise_shares, run_spread, squares_of
from rubrics_gym.statistics.ranking import selection_gain, shrink
from rubrics_gym.statistics.resampling import cluster_counts, resampled_means
from rubrics_gym.statistics.sensitivity import imbens_manski
from rubrics_gym.statistics.sequential import boundaries, spent
from rubrics_gym.statistics.tests import benjamini_hochberg, fixed_sequence, non_inferiority, paired_t_test

RNG = np.random.default_rng(3)
DIFFERENCES = RNG.normal(0.1, 0.3, 22)
DEGENERATE = {"nothing": [], "one cluster": [0.5], "all equal": [0.25] * 6, "no events": [0.0] * 5, "all events": [1.0] * 5}


# ---------------------------------------------------------------- bootstrap


def test_counts_are_draws_with_replacement() -> None:
    counts = cluster_counts(7, 5000, 1)
    assert (counts.sum(axis=1) == 7).all()
    assert counts.mean() == pytest.approx(1) and counts.var() == pytest.approx(6 / 7, rel=0.05)  # multinomial: n p (1 - p)


def test_columns_share_their_clusters() -> None:
    """The resampled difference of two columns is the difference of their resampled means: contrasts of one draw are paired."""
    values = RNG.random((22, 3))
    means = resampled_means(values, 300, 5)
    assert means[:, 0] - means[:, 1] == pytest.approx(resampled_means((values[:, 0] - values[:, 1])[:, None], 300, 5)[:, 0])


@pytest.mark.parametrize(("ours", "method"), [(cluster_bootstrap, "percentile"), (bca, "BCa")])
def test_bootstrap_agrees_with_scipy(ours: object, method: str) -> None:
    """Two different random streams: the ends agree within the Monte-Carlo error of 40,000 draws."""
    from scipy.stats import bootstrap

    theirs = bootstrap(
        (DIFFERENCES,), np.mean, n_resamples=40_000, method=method, random_state=np.random.default_rng(0)
    ).confidence_interval
    mine = ours(DIFFERENCES, draws=40_000)  # type: ignore[operator]
    assert (mine.low, mine.high) == pytest.approx((theirs.low, theirs.high), abs=0.004)


def test_studentised_is_wider_than_percentile_and_near_t() -> None:
    t, percentile, ours = paired_t(DIFFERENCES), cluster_bootstrap(DIFFERENCES), studentised(DIFFERENCES, draws=20_000)
    assert percentile.high - percentile.low < ours.high - ours.low
    assert (ours.low, ours.high) == pytest.approx((t.low, t.high), abs=0.03)


@pytest.mark.parametrize("name", DEGENERATE)
@pytest.mark.parametrize("method", [paired_t, cluster_bootstrap, bca, studentised])
def test_degenerate_differences_have_no_interval_and_say_why(method: object, name: str) -> None:
    values = DEGENERATE[name]
    interval = method(values)  # type: ignore[operator]
    assert interval.low is None and interval.high is None and interval.note
    assert interval.estimate == (pytest.approx(np.mean(values)) if values else None)
    assert paired_t_test(values).p is None and non_inferiority(values, 0.1).shown is None


# ---------------------------------------------------------------- these competitions


def test_fixed_competitions_are_welch_when_there_is_one() -> None:
    from scipy.stats import ttest_ind

    a, b = RNG.normal(1, 0.2, (1, 6)), RNG.normal(0.8, 0.5, (1, 5))
    theirs = ttest_ind(a[0], b[0], equal_var=False).confidence_interval(0.95)
    mine = fixed_t(a, b)
    assert (mine.low, mine.high) == pytest.approx((theirs.low, theirs.high))


def test_fixed_competitions_ignore_differences_between_them() -> None:
    """A large constant effect per competition widens the interval about other competitions, not the one about these."""
    a, b = RNG.normal(0, 0.1, (12, 4)), RNG.normal(0, 0.1, (12, 4))
    shifted = a + np.linspace(-5, 5, 12)[:, None]
    plain, moved = fixed_t(a, b), fixed_t(shifted, b)
    assert moved.high - moved.low == pytest.approx(plain.high - plain.low)
    sampled = paired_t(shifted.mean(axis=1) - b.mean(axis=1))
    assert sampled.high - sampled.low > 5 * (moved.high - moved.low)
    resampled = within_bootstrap(shifted, b)
    assert resampled.high - resampled.low == pytest.approx((moved.high - moved.low) * math.sqrt(3 / 4), rel=0.15)


def test_one_repeat_cannot_tell_chance_from_effect() -> None:
    for method in (fixed_t, within_bootstrap):
        assert "one repeat" in method(np.ones((4, 1)), np.zeros((4, 1))).note
    missing = np.array([[1.0, np.nan, 0.0], [1.0, 1.0, 0.0], [np.nan] * 3])
    assert fixed_t(missing, np.array([[0.0, 1.0]] * 3)).clusters == 2


# ---------------------------------------------------------------- single rates with an effective n


def test_intra_class_correlation_is_the_one_way_analysis_of_variance() -> None:
    from statsmodels.formula.api import ols
    from statsmodels.stats.anova import anova_lm

    outcomes = RNG.binomial(1, RNG.beta(0.7, 0.5, 15)[:, None], (15, 4)).astype(float)
    data = pd.DataFrame({"y": outcomes.ravel(), "g": np.repeat(np.arange(15), 4).astype(str)})
    table = anova_lm(ols("y ~ g", data).fit())
    between, within = table["mean_sq"]
    assert intra_class_correlation(outcomes.sum(axis=1), [4] * 15) == pytest.approx((between - within) / (between + 3 * within))


@pytest.mark.parametrize(("won", "tried"), [([0, 0], [4, 4]), ([4, 4], [4, 4]), ([1], [4]), ([1, 0], [1, 1]), ([], [])])
def test_correlation_that_nothing_identifies(won: list[int], tried: list[int]) -> None:
    assert intra_class_correlation(won, tried) is None


def test_effective_n_of_full_correlation_is_the_clusters() -> None:
    for method in (wilson, clopper_pearson):
        assert method(40, 80, clusters=20, icc=1.0).low == pytest.approx(method(10, 20).low)
    assert intra_class_correlation([4, 0, 4, 0], [4] * 4) == 1.0


# ---------------------------------------------------------------- tests


@pytest.mark.parametrize("shift", [0.0, -0.1])
def test_t_test_and_non_inferiority_agree_with_scipy(shift: float) -> None:
    from scipy.stats import ttest_1samp

    assert paired_t_test(DIFFERENCES, shift).p == pytest.approx(ttest_1samp(DIFFERENCES, shift).pvalue)
    if shift:
        found = non_inferiority(DIFFERENCES, -shift)
        assert found.p == pytest.approx(ttest_1samp(DIFFERENCES, shift, alternative="greater").pvalue)
        assert found.shown == (paired_t(DIFFERENCES).low > shift)
    with pytest.raises(ValueError, match="positive difference"):
        non_inferiority(DIFFERENCES, -0.1)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
@settings(max_examples=40, deadline=None)
def test_families_of_p_values_agree_with_statsmodels(p_values: list[float]) -> None:
    from statsmodels.stats.multitest import multipletests

    assert benjamini_hochberg(p_values) == pytest.approx(list(multipletests(p_values, method="fdr_bh")[1]))


def test_a_fixed_sequence_stops_at_the_first_that_is_not_rejected() -> None:
    assert fixed_sequence([0.01, 0.2, 0.001]) == [0.01, 0.2, 0.2]
    assert fixed_sequence([0.01, None, 0.001]) == [0.01, None, None]
    assert benjamini_hochberg([0.04, None, 0.01]) == [0.04, None, 0.02]


# ---------------------------------------------------------------- mixed model


def test_the_likelihood_is_the_integral() -> None:
    """One cluster, 3 of 4 against 1 of 4, against adaptive quadrature."""
    from scipy.integrate import dblquad
    from scipy.special import expit
    from scipy.stats import norm

    b0, b1, level, effect = 0.3, 0.8, 1.1, 0.6

    def integrand(v: float, u: float) -> float:
        p, q = expit(b0 + u + (b1 + v) / 2), expit(b0 + u - (b1 + v) / 2)
        return float(p**3 * (1 - p) * q * (1 - q) ** 3 * norm.pdf(u, 0, level) * norm.pdf(v, 0, effect))

    theirs = math.log(dblquad(integrand, -8, 8, -6, 6)[0])
    assert log_likelihood([b0, b1, math.log(level), math.log(effect)], [3], [4], [1], [4]) == pytest.approx(theirs, abs=1e-4)


def test_without_spread_it_is_plain_logistic_regression() -> None:
    import statsmodels.api as sm

    a, b = np.array([[1, 1, 0, 1]] * 12, dtype=float), np.array([[1, 0, 0, 1]] * 12, dtype=float)
    fit = logistic_mixed(a, b)
    plain = sm.Logit(np.concatenate([a.ravel(), b.ravel()]), sm.add_constant(np.repeat([0.5, -0.5], 48))).fit(disp=0)
    assert fit.log_odds == pytest.approx(plain.params[1], abs=0.02)
    assert fit.difference.estimate == pytest.approx(0.25, abs=0.01)
    assert fit.p == pytest.approx(plain.pvalues[1], abs=0.01)


def test_it_recovers_what_was_simulated() -> None:
    rng = np.random.default_rng(11)
    level, effect = rng.normal(0, 1.5, 400), 1.0 + rng.normal(0, 0.8, 400)
    a = rng.binomial(1, 1 / (1 + np.exp(-(level + effect / 2)))[:, None], (400, 6))
    b = rng.binomial(1, 1 / (1 + np.exp(-(level - effect / 2)))[:, None], (400, 6))
    fit = logistic_mixed(a, b)
    truth = marginal_difference([0.0, 1.0, math.log(1.5), math.log(0.8)])
    assert fit.difference.low < truth < fit.difference.high
    assert (fit.log_odds, fit.sd_level) == (pytest.approx(1.0, abs=0.2), pytest.approx(1.5, abs=0.25))


@pytest.mark.parametrize("arm", [np.zeros((6, 4)), np.ones((6, 4)), np.full((6, 4), np.nan)])
def test_an_arm_without_variation_is_not_identified(arm: np.ndarray) -> None:
    fit = logistic_mixed(arm, RNG.binomial(1, 0.5, (6, 4)))
    assert fit.difference.estimate is None and fit.p is None and "not identified" in fit.difference.note


# ---------------------------------------------------------------- noise, ranking, looks, designs


def test_run_spread_of_pairs_is_the_published_formula() -> None:
    """s^2 = sum d^2 / (2 m); the floor's triple 7, 15, 9 alone has SD 4.16."""
    pairs = [(17, 16), (13, 14), (20, 17)]
    assert run_spread(pairs).sd == pytest.approx(math.sqrt((1 + 1 + 9) / 6))
    assert run_spread([(7, 15, 9)]).sd == pytest.approx(np.std([7, 15, 9], ddof=1))
    assert run_spread([(5,), ()]).sd is None
    from scipy.stats import chi2

    found = run_spread(pairs)
    assert found.low == pytest.approx(math.sqrt(11 / 2 / chi2.ppf(0.975, 3))) and found.freedom == 3


def test_identical_runs_without_a_difference_have_no_interval() -> None:
    found = run_spread([(5, 5), (3, 3)])
    assert (found.sd, found.low, found.high) == (0.0, None, None) and "all identical runs are equal" in found.note


def grouped(values: np.ndarray) -> dict[int, list[list[float]]]:
    """Each row of a table is a group of identical runs of its own cluster."""
    return {place: [list(row)] for place, row in enumerate(values)}


def shares_of(full: Repeated, parts: dict[str, Repeated]) -> list[NoiseShare]:
    return noise_shares(squares_of(full), {name: squares_of(groups) for name, groups in parts.items()})


def test_noise_shares_recover_their_parts() -> None:
    rng = np.random.default_rng(2)
    judge, final, agent = 1.0, 2.0, 3.0
    full = rng.normal(0, math.sqrt(judge**2 + final**2 + agent**2), (800, 4))
    parts = {"judge": grouped(rng.normal(0, judge, (800, 4))), "harness": grouped(rng.normal(0, final, (800, 4)))}
    shares = {s.source: s for s in shares_of(grouped(full), parts)}
    for source, truth in (("judge", 1 / 14), ("harness", 4 / 14), ("agent", 9 / 14)):
        found = shares[source]
        assert found.share == pytest.approx(truth, abs=0.05) and found.share_low < truth < found.share_high
    assert (shares["judge"].n, shares["judge"].clusters) == (3200, 800)
    assert shares["full repeats"].share == 1.0


def test_noise_shares_hold_the_truth_in_a_study_of_binary_outcomes() -> None:
    """22 competitions x 4 repeats, each final run made once again: the agent writes a program that is valid with the competition's own
    chance, and a run of a valid program fails with 10%."""
    rng = np.random.default_rng(7)
    held = shares = 0.0
    chances, sets = rng.beta(2, 2, 22), 300
    whole, harness = np.mean(0.9 * chances * (1 - 0.9 * chances)), np.mean(chances * 0.9 * 0.1)
    for _ in range(sets):
        written = rng.random((22, 4)) < chances[:, None]
        runs = (written[..., None] & (rng.random((22, 4, 2)) < 0.9)).astype(float)
        full = {place: [list(of[:, 0])] for place, of in enumerate(runs)}
        again = {place: [list(pair) for pair in of] for place, of in enumerate(runs)}
        (found, *_) = shares_of(full, {"harness": again})
        shares += found.share / sets
        held += found.share_low <= harness / whole <= found.share_high if found.share_low is not None else 0
    assert shares == pytest.approx(harness / whole, abs=0.02)
    assert 0.90 <= held / sets <= 0.99


def test_noise_that_was_not_measured_is_not_identified() -> None:
    one, pair, equal = {"a": [[1.0]]}, {"a": [[0.0, 9.0]], "b": [[0.0, 3.0]]}, {"a": [[1.0, 1.0]], "b": [[0.0, 0.0]]}
    unknown = {s.source: s for s in shares_of(one, {"judge": pair})}
    assert unknown["judge"].variance == 22.5 and unknown["judge"].share is None
    assert all(unknown[source].share is None and "not identified" in unknown[source].note for source in ("judge", "agent", "full repeats"))
    never = {s.source: s for s in shares_of(pair, {"judge": one})}
    assert never["judge"].variance is None and "never repeated alone" in never["judge"].note and never["agent"].share is None
    cut = {s.source: s for s in shares_of({"a": [[1.0, 2.0]], "b": [[1.0, 1.0]]}, {"judge": pair})}
    assert cut["judge"].share == 1.0 and "cut" in cut["judge"].note and cut["agent"].share == 0.0
    quiet = {s.source: s for s in shares_of(pair, {"harness": equal})}
    assert quiet["harness"].share == 0.0 and quiet["harness"].share_high is None
    assert "none of 2 repeats differed, in 2 clusters" in quiet["harness"].note and "78%" in quiet["harness"].note  # 1 - 0.05 ** (1 / 2)
    still = {s.source: s for s in shares_of(equal, {"harness": equal})}
    assert still["harness"].share is None and "all equal" in still["harness"].note
    assert all(s.share is None for s in shares_of({}, {}))


def test_a_part_that_was_repeated_in_two_clusters_has_the_certainty_of_two() -> None:
    rng = np.random.default_rng(3)
    full = grouped(rng.normal(0, 1, (22, 4)))
    two = {place: [[0.0, 1.0], [0.0, 0.8]] if place == 0 else [[0.0, 1.2], [0.0, 0.6]] for place in (0, 1)}
    found = {s.source: s for s in shares_of(full, {"harness": two})}["harness"]
    alone = {s.source: s for s in shares_of({}, {"harness": two})}["harness"]
    assert (found.variance, found.low, found.high, found.clusters) == (alone.variance, alone.low, alone.high, 2)
    few, many = shares_of(full, {"harness": two})[0], shares_of(full, {"harness": grouped(rng.normal(0, 0.6, (22, 2)))})[0]
    assert few.share_low == 0.0 and few.share_high == 1.0 and many.share_high < 1.0  # 1 degree of freedom beside 21


def test_equal_differences_are_equal_whatever_the_rounding() -> None:
    """3/3 - 2/3, 2/3 - 1/3 and 1/3 - 0 differ in their last bit; nothing may take that for a spread."""
    differences = [3 / 3 - 2 / 3, 2 / 3 - 1 / 3, 1 / 3 - 0.0]
    assert np.ptp(differences) > 0
    t = paired_t(differences)
    assert t.low is None and "zero variance" in t.note
    assert paired_t(differences, reach=(-1.0, 1.0)).kind == "clopper_pearson_clusters"
    assert mde(differences).effect is None and non_inferiority(differences, 0.1).p is None
    assert cluster_bootstrap(differences).low is None and imbens_manski(differences, differences).low is None


def test_the_best_of_ten_equal_libraries_leads_by_chance() -> None:
    """+2.1 valid at a run SD of 1.35: 1.5388 standard deviations (table of normal order statistics)."""
    assert selection_gain(10, 1.0) == pytest.approx(1.53875, abs=1e-4)
    assert selection_gain(2, 1.0) == pytest.approx(1 / math.sqrt(math.pi), abs=1e-6)
    assert round(selection_gain(10, 1.35), 1) == 2.1


def test_shrinking_is_efron_and_morris_and_equal_arms_share_the_best() -> None:
    table = RNG.normal(0, 0.3, (22, 8)) + RNG.normal(0, 2, (22, 1)) + np.linspace(0, 0.4, 8)
    found = shrink(table)
    grand, own = table.mean(), table.mean(axis=0)
    residuals = table - table.mean(axis=1, keepdims=True) - own + grand
    noise, between = (residuals**2).sum() / (21 * 7), 22 * ((own - grand) ** 2).sum() / 7
    weight = 1 - (145 / 147) * (5 / 7) * noise / between
    assert found[-1].shrunken == pytest.approx(grand + weight * (own[-1] - grand))
    assert sum(arm.best for arm in found) == pytest.approx(1)
    assert all(abs(arm.shrunken - grand) <= abs(arm.mean - grand) for arm in found)
    alike = shrink(np.array([[0.0, 1.0, 0.5], [1.0, 0.5, 0.0], [0.5, 0.0, 1.0]]))  # equal means, nothing but interaction
    assert [arm.best for arm in alike] == [1 / 3] * 3 and "no more than chance" in alike[0].note
    assert shrink(np.ones((5, 3)))[0].note and shrink(np.ones((1, 3)))[0].best is None


def test_two_arms_have_the_closed_form_chance_of_being_best() -> None:
    from scipy.stats import norm

    table = np.column_stack([RNG.normal(0.5, 0.2, 40), RNG.normal(0.3, 0.2, 40)])
    first, second = shrink(table, draws=200_000)
    sd = (first.high - first.low) / 2 / norm.ppf(0.975)
    assert first.best == pytest.approx(norm.cdf((first.shrunken - second.shrunken) / (sd * math.sqrt(2))), abs=0.005)


@pytest.mark.parametrize(
    ("spending", "published"),
    [("obrien_fleming", [4.877, 3.357, 2.680, 2.290, 2.031]), ("pocock", [2.438, 2.427, 2.410, 2.397, 2.386])],
)
def test_alpha_spending_gives_the_published_boundaries(spending: str, published: list[float]) -> None:
    """Five equal looks, two-sided 0.05 (Lan and DeMets's functions; Jennison and Turnbull 2000, tables 7.1 and 7.3)."""
    looks = boundaries([0.2, 0.4, 0.6, 0.8, 1.0], spending=spending)  # type: ignore[arg-type]
    assert [look.boundary for look in looks] == pytest.approx(published, abs=2e-3)
    assert looks[-1].spent == pytest.approx(0.05)


def test_looks_hold_the_error_in_simulation() -> None:
    looks = boundaries([0.3, 0.7, 1.0])
    steps = np.random.default_rng(1).normal(0, np.sqrt([0.3, 0.4, 0.3]), (40_000, 3)).cumsum(axis=1)
    crossed = np.abs(steps / np.sqrt([0.3, 0.7, 1.0])) > [look.boundary for look in looks]
    assert crossed.any(axis=1).mean() == pytest.approx(0.05, abs=0.004)
    assert crossed[:, :2].any(axis=1).mean() == pytest.approx(spent(0.7), abs=0.003)
    with pytest.raises(ValueError, match="increasing"):
        boundaries([0.5, 0.5])


def test_a_design_has_the_published_detectable_effects() -> None:
    """Run SD 1.35 to 2.16 valid of 22; the published figures use normal quantiles (2.8), a t test needs 5% more."""
    for repeats, published in {1: (5.4, 8.5), 2: (3.8, 6.0), 4: (2.7, 4.3), 8: (1.9, 3.0)}.items():
        for sd, figure in zip((1.35, 2.16), published, strict=True):
            plan = design(22, repeats, sd)
            assert 2.8016 * plan.standard_error * 22 == pytest.approx(figure, abs=0.08)
            assert 1.03 < plan.detectable / (2.8016 * plan.standard_error) < 1.07
            assert power_of(plan, plan.detectable) == pytest.approx(0.8, abs=1e-3)


def test_power_agrees_with_statsmodels_and_with_the_data_based_effect() -> None:
    from statsmodels.stats.power import TTestPower

    plan = design(22, 4, 1.35, effect_sd=0.1)
    sd = plan.standard_error * math.sqrt(22)
    assert power_of(plan, 0.08) == pytest.approx(TTestPower().power(0.08 / sd, 22, 0.05), abs=1e-6)
    assert mde(DIFFERENCES).effect == pytest.approx(
        TTestPower().solve_power(nobs=22, alpha=0.05, power=0.8) * DIFFERENCES.std(ddof=1), rel=1e-4
    )
    with pytest.raises(ValueError, match="at least 2 tasks"):
        design(1, 4, 1.0)
