"""Rates of a judge on another mix: by hand, against what a judge does on that mix, and what a mix does not identify."""

from __future__ import annotations

import numpy as np
import pytest
from tests.judge_cases import replayed, replayed_study

from rubrics_gym.judge.columns import Judged, judged
from rubrics_gym.judge.reweighting import PASSED, Mix, Reweighted, categories, failed_commands, failure_types, reweighted, shadow_mix
from rubrics_gym.records.failures import Distribution, Share
from rubrics_gym.records.shadows import ShadowRun, ShadowState
from rubrics_gym.records.verdicts import Verdict

RECALL = {"crash": 0.9, "time_limit": 0.3}
FALSE_ALARMS = 0.1
HERE, THERE = {"crash": 0.3, "time_limit": 0.1}, {"crash": 0.05, "time_limit": 0.25}  # of all commands; the rest passes


def simulated(seed: int) -> Judged:
    return judged(replayed_study(seed, HERE, RECALL, FALSE_ALARMS))


def on(commands: Judged, mix: dict[str, float]) -> Reweighted:
    return reweighted(commands, failure_types(commands), "there", "failure type", Mix(mix))


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
    assert shadow_mix([], {}).masses == {}


def test_precision_is_not_stretched_over_classes_that_were_never_judged() -> None:
    """Nothing is known of how often the time-outs would be flagged, so not of how many of the flagged would be crashes."""
    found = on(simulated(1), {"crash": 1.0, "never_judged": 99.0, PASSED: 100.0})
    assert found.covered == 0.01 and found.recall.estimate is not None
    assert found.precision.estimate is None and "99% of the mix's failures are of classes that were never judged" in found.precision.note


def test_without_the_only_competition_of_a_class_the_recall_is_another_quantity() -> None:
    rows = [replayed(task, 0, "crash", task % 2 == 0) for task in range(6)] + [replayed(0, 1, "time_limit", False)]
    found = on(judged(rows), {"crash": 1.0, "time_limit": 1.0})
    assert found.recall.estimate == 0.25 and found.recall.low is None and "without one" in found.recall.note


def shadow(step: int, flagged: bool, failed: bool | None, chance: float, ran: bool = True) -> ShadowRun:
    state = ShadowState.NOT_SAMPLED if not ran else ShadowState.UNKNOWN if failed is None else ShadowState.RAN
    return ShadowRun(
        unit="episodes/judged/0/packaged/t", benchmark="packaged", task="t", arm="judged", step=step, index=0, command="python a.py",
        verdict=Verdict(judge="judged", library=None, flagged=flagged), probability=chance, draw=0.5, state=state, unexecuted_before=0,
        failed=failed, failure_type="crash" if failed else None, cap_s=10.0,
    )  # fmt: skip


def test_a_shadow_mix_without_the_clean_verdicts_is_not_known() -> None:
    flagged = [shadow(step, True, step % 2 == 0, 1.0) for step in range(20)]
    clean = [shadow(100 + step, False, None, 0.0, ran=False) for step in range(200)]
    blind = shadow_mix([*flagged, *clean], {})
    assert "clean verdicts were never run" in blind.unknown
    commands = judged([replayed(task, 0, "crash", True) for task in range(4)])
    line = reweighted(commands, failure_types(commands), "shadow", "failure type", blind)
    assert line.recall.estimate is None and line.precision.estimate is None and "clean verdicts were never run" in line.recall.note
    some = shadow_mix([*flagged, shadow(300, True, None, 1.0), *(shadow(100 + step, False, False, 0.1) for step in range(20))], {})
    assert (
        some.unknown == "" and some.masses == {"crash": 10.0, PASSED: pytest.approx(210.0)} and "1 shadow runs ended unknown" in some.note
    )


def test_causes_of_wrong_results_are_no_failed_commands() -> None:
    def mix(**counts: tuple[int, int]) -> Mix:
        shares = tuple(Share(bin=name, count=count, commands=commands, share=None) for name, (count, commands) in counts.items())
        return failed_commands(
            Distribution(id="d", collections=("pool",), target="complete", classifier="c", taxonomy_version="1", simulated=True, n_events=0, n_causes=0,
                         n_unclassified=0, n_tasks=1, shares=shares)
        )  # fmt: skip

    both = mix(missing_values=(90, 10), output_format=(5, 0))
    assert both.masses == {"missing_values": 10.0} and "85 causes" in both.note
    only = mix(missing_values=(90, 0))
    commands = judged([replayed(task, 0, "missing_values", True) for task in range(4)])
    assert (
        reweighted(commands, failure_types(commands), "d", "category", only).recall.note == "not identified: no command failed in this mix"
    )
