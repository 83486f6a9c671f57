"""Lost outcomes: every reading by hand, the identified interval against its definition, the tipping point against brute force."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from rubrics_gym.statistics.intervals import paired_t
from rubrics_gym.statistics.sensitivity import imbens_manski, implied_losses, lost_outcomes, tipping_point

NAN = float("nan")


def arms(seed: int, lost: int, competitions: int = 10, effect: float = 0.35) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    level = rng.beta(0.7, 0.5, competitions)
    first = rng.binomial(1, np.clip(level + effect, 0, 1)[:, None], (competitions, 4)).astype(float)
    second = rng.binomial(1, level[:, None], (competitions, 4)).astype(float)
    second.ravel()[rng.choice(second.size, lost, replace=False)] = NAN
    return first, second


def test_every_reading_by_hand() -> None:
    """First 1, 1 | 0, lost; second 0, lost | 0, 0. Known only: 1 - 0 and 0 - 0; as failures 1 and 0; against 0.5 and 0; in favour 1, 0.5."""
    found = lost_outcomes([[1, 1], [0, NAN]], [[0, NAN], [0, 0]])
    assert (found.lost_first, found.lost_second) == (1, 1)
    assert [reading.estimate for reading in (found.observed, found.as_failures, found.against, found.in_favour)] == [0.5, 0.5, 0.25, 0.75]
    assert found.adverse == found.against


def test_nothing_lost_is_one_reading() -> None:
    first, second = arms(1, lost=0)
    found = lost_outcomes(first, second)
    plain = paired_t(first.mean(axis=1) - second.mean(axis=1), n=80)
    for reading in (found.as_failures, found.against, found.in_favour, found.adverse):
        assert (reading.low, reading.high) == pytest.approx((plain.low, plain.high))
    assert (found.identified.low, found.identified.high) == pytest.approx((plain.low, plain.high), abs=1e-6)


def test_imbens_manski_is_between_one_sided_and_two_sided() -> None:
    """Its factor solves the definition; with wide bounds it is the one-sided quantile."""
    from scipy.stats import t

    rng = np.random.default_rng(0)
    low = rng.normal(0, 0.3, 22)
    for width in (0.0, 0.02, 0.1, 5.0):
        found = imbens_manski(low, low + width)
        error = low.std(ddof=1) / np.sqrt(22)
        c = (low.mean() - found.low) / error
        assert t.cdf(c + width / error, 21) - t.cdf(-c, 21) == pytest.approx(0.95, abs=1e-9)
        assert found.high == pytest.approx(low.mean() + width + c * error)
    assert c == pytest.approx(t.ppf(0.95, 21), abs=1e-6)


@pytest.mark.parametrize("seed", range(6))
def test_the_tipping_point_is_the_smallest_by_brute_force(seed: int) -> None:
    first, second = arms(seed, lost=5)
    found = tipping_point(first, second)
    places = np.argwhere(np.isnan(second))
    smallest = None
    for number in range(len(places) + 1):
        for chosen in itertools.combinations(range(len(places)), number):
            filled = np.nan_to_num(second)
            for place in chosen:
                filled[tuple(places[place])] = 1.0
            interval = paired_t(first.mean(axis=1) - filled.mean(axis=1))
            if interval.low is None or interval.low <= 0:
                smallest = number
                break
        if smallest is not None:
            break
    assert (found.needed, found.lost, found.search) == (smallest, 5, "exact")
    mirrored = tipping_point(second, first)
    assert mirrored.needed == found.needed and (found.needed == 0 or {found.arm, mirrored.arm} == {"first", "second"})


def test_many_lost_are_searched_greedily_and_never_below_the_truth() -> None:
    first, second = arms(3, lost=60, competitions=60, effect=0.5)
    found = tipping_point(first, second)
    assert found.search == "greedy" and found.lost == 60 and (found.needed is None or found.needed > 0)


def test_a_certain_effect_never_tips() -> None:
    first, second = np.ones((8, 4)), np.zeros((8, 4))
    second[0, 0] = NAN
    second[3, 1] = 1
    assert tipping_point(first, second).needed is None


@pytest.mark.parametrize(
    ("estimate", "low", "high", "losses"), [(13.6, 6.8, 13.6, (0, 6)), (22.7, 17.0, 22.7, (0, 5)), (9.1, 3.4, 15.9, (6, 5))]
)
def test_the_published_ranges_imply_lost_finals(estimate: float, low: float, high: float, losses: tuple[int, int]) -> None:
    """Quota lost 0 finals, task-only 6, checks 5: the one solution of all three ranges at 88 planned each."""
    found = implied_losses(estimate, low, high, planned=88)
    assert (found.first, found.second) == losses
