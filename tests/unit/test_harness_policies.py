"""Arms as data: every arm of the sources by name, the historical switches, and what each field does to a command."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from rubrics_gym.harness.policies import Treatment, escalation, final_follows, hold_reason, treatments
from rubrics_gym.harness.router import classify
from rubrics_gym.records.verdicts import Verdict
from rubrics_gym.settings import loading
from rubrics_gym.settings.comparisons import describe
from rubrics_gym.settings.study import Arm, CodeRuns, Escalate, JudgeSettings, Limits, Sight, Study, Submit

TOP = Path(__file__).parents[2]
# the arms of the two source documents
NAMES = [
    "floor",
    "ceiling",
    "judge_only",
    "judge_world_state",
    "judge_installs_versions",
    "judge_escalate_clean",
    "judge_data_real_run",
    "final_harness",
    "submit_check",
    "scheduled_checks_only",
    "scheduled_task_only",
    "scheduled_library",
    "checks_every_change",
    "pure_prediction",
    "doubled_limits",
]
SWITCHES = [
    "CWM_WORLD_STATE",
    "CWM_ESCALATE",
    "CWM_DATA_SAMPLE",
    "CWM_REAL_MEMORY",
    "CWM_SUBMIT_VERIFY",
    "CWM_FEEDBACK_PREAMBLE",
    "MLE_FINAL_SCRIPT",
]


@pytest.fixture(scope="module")
def study() -> Study:
    with pytest.MonkeyPatch.context() as here:
        here.chdir(TOP)
        return loading.load_study(loading.read_file("config/arms.yaml"), "config/arms.yaml")


def judged(**fields: Any) -> Arm:
    return Arm(code_runs=CodeRuns.JUDGE, judge=JudgeSettings(), **fields)


def verdict(flagged: bool | None) -> Verdict:
    return Verdict(judge="j", library=None, flagged=flagged)


def test_every_arm_of_the_sources_is_there_and_runs(study: Study) -> None:
    assert set(NAMES) <= set(study.arms)
    assert set(study.evaluation.arms) == set(NAMES)
    assert len({describe(study.arms[name]) for name in NAMES}) == len(NAMES)  # no two arms say the same


def test_each_ablation_changes_one_thing(study: Study) -> None:
    def differences(first: str, second: str) -> set[str]:
        one, two = study.arms[first].model_dump(), study.arms[second].model_dump()
        changed = {key for key in one if one[key] != two[key]} - {"judge"}
        return changed | {f"judge.{key}" for key in one["judge"] if one["judge"][key] != two["judge"][key]}

    assert differences("judge_only", "judge_world_state") == {"judge.sees"}
    assert differences("judge_world_state", "judge_installs_versions") == {"judge.sees", "installs"}
    assert differences("judge_installs_versions", "judge_escalate_clean") == {"escalate"}
    assert differences("judge_escalate_clean", "judge_data_real_run") == {"judge.sees"}
    assert differences("judge_data_real_run", "final_harness") == {"escalate", "submit"}
    assert differences("scheduled_task_only", "scheduled_library") == {"judge.library"}
    assert differences("pure_prediction", "scheduled_library") == {"checks", "submit"}


def test_published_limits_change_limits_alone() -> None:
    with pytest.MonkeyPatch.context() as here:
        here.chdir(TOP)
        published = loading.load_study(loading.read_file("config/studies/published_limits.yaml"), "published")
    limits = published.evaluation.limits
    assert (limits.wall_s, limits.steps, limits.cost_usd, limits.command_s, limits.final_s) == (7200, 250, 3, 600, 1800)
    for arm in published.arms.values():
        assert arm.checks is None or arm.checks.cap_s in (180, 8)
        if arm.submit.run_final:
            assert arm.submit.cap_s == 180
    assert published.arms["scheduled_library"].checks is not None and published.arms["scheduled_library"].checks.cap_s == 180


def test_every_switch_of_the_historical_harness_is_a_row_of_fields_that_exist() -> None:
    page = (TOP / "docs" / "arms.md").read_text(encoding="utf-8")
    documented = (TOP / "config" / "README.md").read_text(encoding="utf-8")
    table = page.split("## Switches")[1].split("##")[0]
    for switch in SWITCHES:
        assert f"`{switch}" in table
    for field in re.findall(r"\| `((?:arms|evaluation)\.[\w.]+)` \|", page):
        assert f"`{field}`" in documented, field


@pytest.mark.parametrize(
    ("line", "bare", "always"),
    [
        ("pip install x", ["execute"], ["execute"]),
        ("cd /tmp && pip install x", ["execute", "judge"], ["execute", "execute"]),
        ("pip install x | tail -1", ["judge"], ["execute"]),
        ("python a.py", ["judge"], ["judge"]),
        ("ls", ["execute"], ["execute"]),
        ("submit", ["submit"], ["submit"]),
    ],
)
def test_installs_that_are_chained_or_piped_count_as_code_under_bare(line: str, bare: list[str], always: list[str]) -> None:
    (part,) = classify(line)
    assert treatments(judged(installs="bare"), part) == [Treatment(word) for word in bare]
    assert treatments(judged(), part) == [Treatment(word) for word in always]


def test_escalation_by_word_and_by_probability() -> None:
    assert Arm.model_validate({"code_runs": "judge", "escalate": "clean"}).escalate == Escalate(clean=1.0)
    assert Arm.model_validate({"code_runs": "judge", "escalate": "never"}).escalate == Escalate()
    arm = judged(escalate=Escalate(clean=1.0))
    assert escalation(arm, verdict(False), 1, 1, 0)[0]
    assert escalation(arm, verdict(True), 1, 1, 0) == (False, "")
    assert escalation(arm, verdict(None), 1, 1, 0) == (False, "")
    half = judged(escalate=Escalate(flagged=0.5))
    draws = [escalation(half, verdict(True), 1, step, 0) for step in range(400)]
    assert 150 < sum(runs for runs, _ in draws) < 250
    assert all("draw 0." in note for _, note in draws)
    assert draws == [escalation(half, verdict(True), 1, step, 0) for step in range(400)]


def test_final_follows_a_clean_command_that_ran() -> None:
    arm = judged(escalate=Escalate(clean=1.0, and_run="final.py"))
    assert final_follows(arm, verdict(False), True, ("train.py",), {"final.py"})
    assert not final_follows(arm, verdict(False), True, ("/workspace/final.py",), {"final.py"})  # that was it
    assert not final_follows(arm, verdict(False), True, ("train.py",), {"train.py"})  # there is none yet
    assert not final_follows(arm, verdict(True), True, ("train.py",), {"final.py"})
    assert not final_follows(arm, verdict(False), False, ("train.py",), {"final.py"})
    assert not final_follows(judged(escalate=Escalate(clean=1.0)), verdict(False), True, (), {"final.py"})


def test_a_submission_is_held_at_most_as_often_as_the_arm_says() -> None:
    arm = judged(submit=Submit(run_final=True, hold_on=("crash", "flag"), max_holds=2))
    assert hold_reason(arm, 0, True, None) and hold_reason(arm, 1, False, True)
    assert hold_reason(arm, 2, True, True) is None
    assert hold_reason(arm, 0, False, False) is None  # also a run that was stopped at its cap
    assert hold_reason(judged(submit=Submit(hold_on=("crash",))), 0, False, True) is None


def test_doubled_limits_leave_the_limits_per_command(study: Study) -> None:
    limits = Limits(wall_s=100, working_s=90, steps=30, tokens=1000, cost_usd=3.0)
    doubled = limits.scaled(study.arms["doubled_limits"].limits_factor)
    assert (doubled.wall_s, doubled.working_s, doubled.steps, doubled.tokens, doubled.cost_usd) == (200, 180, 60, 2000, 6.0)
    of_attempt = {"wall_s", "working_s", "steps", "tokens", "cost_usd"}
    assert doubled.model_dump(exclude=of_attempt) == limits.model_dump(exclude=of_attempt)
    assert limits.scaled(1) == limits


def test_the_judge_may_see_only_what_is_named() -> None:
    assert {sight.value for sight in Sight} >= {"world_state", "time_left", "data_profile", "last_real_run", "code_diff"}
