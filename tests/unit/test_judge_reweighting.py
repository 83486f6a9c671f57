"""Rates of a judge on another mix: by hand, against what a judge does on that mix, and what a mix does not identify."""

from __future__ import annotations

import numpy as np
import pytest
from tests.judge_cases import replayed, replayed_study

from rubrics_gym.judge.columns import Judged, judged
from rubrics_gym.judge.reweighting import PASSED, Reweighted, categories, failure_types, reweighted, shadow_mix

RECALL = {"crash": 0.9, "time_limit": 0.3}
FALSE_ALARMS = 0.1
HERE, THERE = {"crash": 0.3, "time_limit": 0.1}, {"crash": 0.05, "time_limit": 0.25}  # of all commands; the rest passes


def simulated(seed: int) -> Judged:
    return judged(replayed_study(seed, HERE, RECALL, FALSE_ALARMS))


def on(commands: Judged, mix: dict[str, float]) -> Reweighted:
    return reweighted(commands, failure_types(commands), "there", "failure type", mix)


def test_reweighting_by_hand() -> None:
    """Crashes: 2 of 2 flagged; time limits: 1 of 4. On a mix of equal parts recall is 5/8, as judged 3/6."""
    rows = [replayed(step % 2, step, "crash" if step < 2 else "time_limit", step < 3) for step in range(6)]
    rows += [replayed(step % 2, step, None, step == 6) for step in range(6, 10)]
    found = on(judged(rows), {"crash": 5.0, "time_limit": 5.0, PASSED: 10.0})
    assert (found.observed.estimate, found.recall.estimate, found.covered) == (0.5, 0.625, 1.0)
    assert found.precision.estimate == pytest.approx(0.5 * 0.625 / (0.5 * 0.625 + 0.5 * 0.25))
    assert found.effective == pytest.approx((2 * 2.5 + 4 * 1.25) ** 2 / (2 * 2.5**2 + 4 * 1.25**2)) and found.recall.n == 6


def test_recall_and_precision_on_another_mix_are_recovered_and_covered() -> None:
    """Known truth: 22 competitions x 40 commands, 60 studies; unweighted, recall would be 0.75 instead of 0.4."""
    there = THERE | {PASSED: 1 - sum(THERE.values())}
    alarms = sum(THERE[kind] * RECALL[kind] for kind in RECALL)
    truth = {"recall": alarms / sum(THERE.values()), "precision": alarms / (alarms + there[PASSED] * FALSE_ALARMS)}
    errors: dict[str, list[float]] = {name: [] for name in truth}
    held, sets = dict.fromkeys(truth, 0), 60
    for seed in range(sets):
        found = on(simulated(seed), there)
        for name, true in truth.items():
            rate = getattr(found, name)
            errors[name].append(rate.estimate - true)
            held[name] += rate.low <= true <= rate.high
    assert found.observed.estimate > 0.65
    for name in truth:
        assert abs(np.mean(errors[name])) < 0.02, name
        assert held[name] / sets >= 0.88, name  # 95% less two standard errors


def test_what_a_mix_does_not_identify_is_said_and_bounded() -> None:
    commands = simulated(1)
    half = on(commands, {"crash": 1.0, "never_judged": 1.0})
    assert (
        half.covered == 0.5
        and half.bound_low == pytest.approx(half.recall.estimate / 2)
        and half.bound_high == pytest.approx(half.bound_low + 0.5)
    )
    assert half.precision.estimate is None and "how many commands pass" in half.precision.note
    for mix in ({"never_judged": 2.0, PASSED: 3.0}, {PASSED: 1.0}, {}):
        nothing = on(commands, mix)
        assert nothing.recall.estimate is None and nothing.recall.note.startswith("not identified") and nothing.precision.estimate is None
        assert (nothing.bound_low, nothing.effective) == (None, 0.0)
    with pytest.raises(ValueError, match="there: the masses"):
        on(commands, {"crash": float("nan")})


def test_a_recall_that_no_competition_moves_has_the_interval_of_equal_ones() -> None:
    every = judged([replayed(task, 0, "crash", True) for task in range(6)])
    found = on(every, {"crash": 1.0})
    assert (found.recall.estimate, found.recall.high, found.recall.interval) == (1.0, 1.0, "clopper_pearson_clusters")
    assert found.recall.low == pytest.approx(0.025 ** (1 / 6))
    one = on(judged([replayed(0, 0, "crash", True)]), {"crash": 1.0})
    assert one.recall.low is None and "one cluster" in one.recall.note


def test_classes_are_the_types_or_the_categories_of_what_failed() -> None:
    commands = judged([replayed(0, 0, "crash", True), replayed(0, 1, None, True), replayed(0, 2, "time_limit", False)])
    assert failure_types(commands) == ["crash", PASSED, "time_limit"]
    assert categories(commands, {commands.commands[0]: "runtime:own_logic"}) == ["runtime:own_logic", PASSED, "unsorted"]
    assert shadow_mix([]) == {}
