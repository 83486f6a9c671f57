"""Total variation is a metric, agrees with published figures, and has the stated noise floor."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubrics_gym.statistics.distances import noise_floor, total_variation

MIXES = st.dictionaries(st.sampled_from("abcdef"), st.floats(0.01, 100), min_size=1)
# Failures of one real run on MLE-bench Lite: failed commands alone, and with the causes of wrong results.
TRACE = dict(
    time_limit=72,
    own_logic=20,
    missing_package=12,
    missing_values=9,
    api_changed=8,
    disk_full=2,
    output_missing=2,
    file_not_found=1,
    parameter=1,
    fabricated=1,
)
COMPLETE = TRACE | dict(no_baseline=15, output_format=3, wrong_metric=1)


@given(MIXES, MIXES, MIXES)
def test_total_variation_is_a_metric(p: dict[str, float], q: dict[str, float], r: dict[str, float]) -> None:
    assert total_variation(p, p) == pytest.approx(0, abs=1e-9)
    assert total_variation(p, q) == pytest.approx(total_variation(q, p))
    assert -1e-9 <= total_variation(p, q) <= 100 + 1e-9
    assert total_variation(p, r) <= total_variation(p, q) + total_variation(q, r) + 1e-9


def test_published_distance_between_trace_and_complete_target() -> None:
    assert total_variation(TRACE, COMPLETE) == pytest.approx(12.93, abs=0.005)


def test_disjoint_mixes_are_a_hundred_apart() -> None:
    assert total_variation({"a": 1}, {"b": 3}) == 100


def test_noise_floor_is_the_mean_distance_of_samples() -> None:
    dice = random.Random(7)
    names, weights = list(TRACE), list(TRACE.values())
    distances = []
    for _ in range(400):
        drawn = dice.choices(names, weights, k=128)
        distances.append(total_variation({name: drawn.count(name) for name in names}, TRACE))
    assert noise_floor(TRACE, 128) == pytest.approx(sum(distances) / len(distances), rel=0.08)


@pytest.mark.parametrize("mix", [{}, {"a": 0.0}, {"a": -1.0, "b": 2.0}, {"a": float("nan")}])
def test_what_is_no_mix_is_refused(mix: dict[str, float]) -> None:
    with pytest.raises(ValueError):
        total_variation(mix, {"a": 1})
