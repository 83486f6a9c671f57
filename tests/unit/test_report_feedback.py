"""What an agent was shown and did, from made-up trajectories."""

from __future__ import annotations

import pytest
from tests.judge_cases import rubric

from rubrics_gym.failures.types import load_rules
from rubrics_gym.judge.sampling import outcome_flips, shadowed, weighted
from rubrics_gym.records.rubrics import RubricKind
from rubrics_gym.records.shadows import ShadowRun, ShadowState
from rubrics_gym.records.trajectory import (
    CheckEvent,
    CommandEvent,
    CommandKind,
    Event,
    FileEvent,
    FinalEvent,
    Route,
    StartEvent,
    VerdictEvent,
)
from rubrics_gym.records.verdicts import Criterion, Verdict
from rubrics_gym.report.feedback import alarm_rows, alarms, rubric_alarm_rows, sampled_row, sampled_verdicts, shown
from rubrics_gym.settings.study import Escalate

RULES = load_rules("resources/failure_types.yaml")
CRASH = rubric("A name that is not defined")
START = StartEvent(
    at="", unit="episodes/judged/0/packaged/a", attempt=1, benchmark="packaged", task="a", statement="", deliverable="submission.csv", seed=1, model="m",
    arm="judged", limits={}, protocol="1", code="c",
)  # fmt: skip


def verdict(step: int, flagged: bool, shown: str = "prediction") -> VerdictEvent:
    criteria = (Criterion(rubric_id=CRASH.id, title="t", applicable=True, violated=flagged),)
    return VerdictEvent(
        command="python final.py",
        step=step,
        index=0,
        verdict=Verdict(judge="j", library="l", criteria=criteria, flagged=flagged, predicted_reward=float(not flagged)),
        shown=shown,
    )


def command(
    step: int,
    route: Route = Route.PREDICTED,
    exit_code: int | None = None,
    text: str = "python final.py",
    kind: CommandKind = CommandKind.CODE_RUN,
) -> CommandEvent:
    return CommandEvent(
        step=step, index=0, text=text, kind=kind, route=route, exit_code=exit_code, duration_s=None if exit_code is None else 1.0
    )


def edit(step: int, text: str | None = "print(1)") -> FileEvent:
    return FileEvent(step=step, path="final.py", sha256=str(step), bytes=3, text=text)


def submit(step: int, route: Route = Route.EXECUTED) -> CommandEvent:
    return command(step, route, 0 if route is Route.EXECUTED else None, "submit", CommandKind.SUBMIT)


def final(exit_code: int | None, timed_out: bool = False) -> FinalEvent:
    return FinalEvent(exit_code=exit_code, timed_out=timed_out, cap_s=9, duration_s=1.0, deliverable_present=True)


def of(*events: Event) -> list[tuple[bool, bool | None, bool, bool | None, bool]]:
    found = alarms([START, *events], {CRASH.id: CRASH}, RULES)
    return [(one.flagged, one.failed, one.edited, one.passed, one.submitted) for one in found]


def test_a_true_alarm_that_is_ignored() -> None:
    """Flagged, submitted without a change, and the final run crashes: the alarm was true, and the agent handed in despite it."""
    assert of(verdict(1, True), command(1), submit(2), final(1)) == [(True, True, False, False, True)]


def test_a_false_alarm_after_which_the_program_is_spoilt() -> None:
    """The check before the change shows that it ran; after the change the final run crashes."""
    check = CheckEvent(step=1, index=0, reason="schedule", text="python final.py", exit_code=0, timed_out=False, duration_s=1.0)
    assert of(verdict(1, True), command(1), check, edit(2), submit(3), final(1)) == [(True, False, True, False, False)]


def test_an_edit_before_the_next_verdict_belongs_to_the_first() -> None:
    found = of(verdict(1, True), command(1), edit(2), verdict(3, False), command(3), submit(4), final(0))
    assert found == [(True, None, True, True, False), (False, False, False, True, True)]


def test_a_run_stopped_at_its_cap_says_nothing() -> None:
    assert of(verdict(1, True), command(1), submit(2), final(124, timed_out=True)) == [(True, None, False, None, True)]
    assert of(verdict(1, True), command(1), edit(1, text=None), submit(2), final(1))[0][1] is True  # a data file is no change of the code


def test_an_escalated_command_knows_its_truth() -> None:
    events = [START, verdict(1, False, shown=""), command(1, Route.EXECUTED, 1), verdict(2, True), command(2), submit(3), final(0)]
    sampled = sampled_verdicts(events, Escalate(clean=0.4), {CRASH.id: CRASH}, RULES)
    assert [(one.flagged, one.probability, one.ran, one.failed) for one in sampled] == [(False, 0.4, True, True), (True, 0.0, False, None)]
    row = sampled_row("judged", "escalated", weighted(sampled), outcome_flips([]), "s", True)
    assert row["precision"] is None and "flagged verdicts were never run" in row["precision_note"] and row["npv"] == 0.0
    counts = shown(events)
    assert (counts.verdicts, counts.flagged, counts.code_commands, counts.executed, counts.feedback) == (1, 1, 2, 1, 1)


def test_alarms_become_shares_with_their_counts() -> None:
    found = [*alarms([START, verdict(1, True), command(1), edit(2), submit(3), final(0)], {CRASH.id: CRASH}, RULES)] * 3
    rows = {(row["category"], row["question"]): row for row in alarm_rows("judged", "l", found, "s", True)}
    assert rows["all", "changes the code after a flag"]["share"] == 1.0 and rows["all", "changes the code after a flag"]["n"] == 3
    assert rows["runtime:own_logic", "next real run passes after a flag"]["count"] == 3
    assert rows["all", "submits as it is despite a true alarm"]["note"] == "not identified: no alarm is known to be true"


def test_a_rubric_whose_false_alarm_spoilt_a_program_comes_first() -> None:
    check = CheckEvent(step=1, index=0, reason="schedule", text="python final.py", exit_code=0, timed_out=False, duration_s=1.0)
    spoilt = [START, verdict(1, True), command(1), check, edit(2), verdict(3, True), command(3), submit(4), final(1)]
    (row,) = rubric_alarm_rows("judged", "l", alarms(spoilt, {CRASH.id: CRASH}, RULES), {CRASH.id: CRASH}, "s", True)
    assert (row["alarms"], row["true"], row["false"], row["unknown"], row["changed"]) == (2, 1, 1, 0, 1)
    assert row["harmed"] == 1  # the check passed before the change; after it the final run failed
    later = [START, verdict(1, True), command(1, Route.EXECUTED, 0), edit(2), submit(4), final(1)]
    (row,) = rubric_alarm_rows("judged", "l", alarms(later, {CRASH.id: CRASH}, RULES), {CRASH.id: CRASH}, "s", True)
    assert (row["false"], row["harmed"], row["title"]) == (1, 1, CRASH.title)


@pytest.mark.parametrize(
    ("state", "failed", "expected"),
    [(ShadowState.RAN, True, (True, True)), (ShadowState.UNKNOWN, None, (True, None)), (ShadowState.NOT_SAMPLED, None, (False, None))],
)
def test_shadow_runs_become_sampled_verdicts(state: ShadowState, failed: bool | None, expected: tuple[bool, bool | None]) -> None:
    run = ShadowRun(unit="u", benchmark="b", task="t", arm="judged", step=1, index=0, command="c", verdict=verdict(1, True).verdict, probability=0.5, draw=0.1,
                    state=state, failed=failed, unexecuted_before=0, cap_s=10)  # fmt: skip
    (one,) = shadowed([run, run.model_copy(update={"repeat": 1})], {CRASH.id: RubricKind.CRASH})
    assert (one.ran, one.failed) == expected and one.flagged is True and one.probability == 0.5
    flips = outcome_flips([run, run.model_copy(update={"repeat": 1, "failed": not failed})])
    assert (flips.estimate, flips.n) == ((1.0, 1) if failed is not None else (None, 0))
    (wrong,) = shadowed([run], {CRASH.id: RubricKind.WRONG_RESULT})
    assert wrong.flagged is False  # it predicts no failure
