"""Replaying a judge over the commands of a recorded attempt."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.judge_cases import PROMPT, WordVectors, rubric

from rubrics_gym.failures.types import load_rules
from rubrics_gym.harness.view import JudgeView
from rubrics_gym.judge.actions import NotExecuted, judged_actions
from rubrics_gym.judge.judging import Judge, Lookup
from rubrics_gym.judge.replay import ReplayedVerdict, replay
from rubrics_gym.judge.verifying import rebuilt_requests
from rubrics_gym.libraries.retrieval import Index
from rubrics_gym.models.client import Answer
from rubrics_gym.models.request import Request, Response
from rubrics_gym.records.base import canonical_json
from rubrics_gym.records.files import read_records, write_json_lines
from rubrics_gym.records.trajectory import (
    CheckEvent,
    CommandEvent,
    CommandKind,
    Event,
    FileEvent,
    Route,
    StartEvent,
    VerdictEvent,
    WorldEvent,
)
from rubrics_gym.records.verdicts import JudgedAction, Verdict
from rubrics_gym.settings.study import JudgeModel, Retrieval, Sight

RULES = load_rules(Path(__file__).parents[2] / "resources/failure_types.yaml")
EVERYTHING = tuple(Sight)


def start() -> StartEvent:
    return StartEvent(
        at="2026-01-01T00:00:00Z",
        unit="episodes/quick/execute/0/packaged/some-task",
        attempt=1,
        benchmark="packaged",
        task="some-task",
        statement="Compute it.",
        deliverable="answer.txt",
        seed=1,
        model="m",
        arm="execute",
        limits={},
        protocol="p",
        code="c",
    )


def world(step: int = 0, **packages: str) -> WorldEvent:
    return WorldEvent(step=step, python="3.11", packages=packages, limits={"command_s": 8}, files={"data/a.csv": 3}, data_profile="a table")


def command(step: int, text: str, **changes: Any) -> CommandEvent:
    known: dict[str, Any] = {"index": 0, "kind": CommandKind.CODE_RUN, "route": Route.EXECUTED, "exit_code": 0, "duration_s": 1.0}
    return CommandEvent(step=step, text=text, **known | changes)


def program(step: int, text: str, path: str = "final.py") -> FileEvent:
    return FileEvent(step=step, path=path, sha256="0" * 64, bytes=len(text), text=text)


def attempt() -> list[Event]:
    crash = "Traceback (most recent call last):\n  File \"final.py\", line 1\nModuleNotFoundError: No module named 'xgboost'\n"
    return [
        start(),
        world(pandas="3.1"),
        command(1, "cat > final.py <<'E'\nimport xgboost\nE", kind=CommandKind.EDIT),
        program(1, "import xgboost\n"),
        command(2, "python final.py", exit_code=1, output_head=crash, output_tail=crash),
        command(3, "pip install xgboost", kind=CommandKind.INSTALL),
        world(3, pandas="3.1", xgboost="3.0"),
        program(4, "import xgboost\nprint(1)\n"),
        command(4, "python final.py", output_head="1\n", output_tail="1\n"),
        command(5, "python final.py", exit_code=None, timed_out=True),
    ]


def test_each_command_is_judged_with_the_state_just_before_it() -> None:
    seen: list[JudgedAction] = []

    def judge(action: JudgedAction) -> Verdict:
        seen.append(action)
        return Verdict(judge="j", library="l", flagged=False, predicted_reward=1.0)

    rows = replay(attempt(), judge, EVERYTHING, RULES)
    assert [(row.step, row.failed, row.previous_failed) for row in rows] == [(2, True, None), (4, False, True), (5, True, False)]
    assert [row.failure_type for row in rows] == ["missing_package", None, "time_limit"]
    assert [row.timed_out for row in rows] == [False, False, True]
    assert seen[0].programs == {"final.py": "import xgboost\n"} and seen[0].packages == {"pandas": "3.1"}
    assert seen[0].last_real_run is None
    assert seen[1].packages == {"pandas": "3.1", "xgboost": "3.0"}
    assert seen[1].last_real_run is not None and "ModuleNotFoundError" in seen[1].last_real_run.output_tail
    assert seen[1].programs == {"final.py": "import xgboost\nprint(1)\n"}
    assert all("ModuleNotFoundError" not in seen[0].model_dump_json() for _ in seen[:1])  # never the output of the command itself


def test_sight_is_limited_to_what_the_arm_sees() -> None:
    actions = [action for _, action in judged_actions(attempt(), ())]
    sighted = [action for _, action in judged_actions(attempt(), set(Sight))]
    assert len(actions) == len(sighted) > 1 and any(action.packages and action.last_real_run for action in sighted)
    assert all(action.packages is None and action.data_profile is None and action.last_real_run is None for action in actions)


@pytest.mark.parametrize("route", [Route.PREDICTED, Route.WITHHELD])
def test_a_command_that_was_not_executed_is_refused(route: Route) -> None:
    events = [*attempt(), command(6, "python other.py", route=route, exit_code=None, duration_s=None)]
    with pytest.raises(NotExecuted, match=r"step 6, command 0 was .*not executed"):
        list(judged_actions(events, EVERYTHING))


def test_a_trajectory_without_a_start_is_refused() -> None:
    with pytest.raises(ValueError, match="start event"):
        replay(attempt()[1:], lambda _: Verdict(judge="j", library=None), EVERYTHING, RULES)


def test_rows_survive_a_file(tmp_path: Path) -> None:
    rows = replay(attempt(), lambda _: Verdict(judge="j", library=None, abstained="budget"), EVERYTHING, RULES)
    write_json_lines(tmp_path / "rows.jsonl", rows)
    assert read_records(tmp_path / "rows.jsonl", ReplayedVerdict) == rows


RUBRIC = rubric("The package is not installed")


class Recording:
    """A client that answers the one rubric and the task criterion, and keeps what was asked."""

    def __init__(self) -> None:
        self.asked: list[Request] = []

    def ask(self, request: Request, occurrence: int = 0) -> Answer:
        self.asked.append(request)
        opinion = {"applicable": True, "violated": False, "reason": ""}
        answer = {"task_criterion": opinion, "rubrics": [{"number": 1, **opinion}]}
        return Answer(Response(text=json.dumps(answer)), "key", 0, "live")


def judged_attempt(sees: tuple[Sight, ...]) -> tuple[list[Event], list[Request]]:
    """An attempt in which every code command was judged, recorded as the harness records it, and the requests that were sent."""
    words, client = WordVectors(400), Recording()
    lookup = Lookup("matched", Index([RUBRIC], words.encode([RUBRIC.text])), words, 1, Retrieval.SIMILARITY)
    judge = Judge("j", client, JudgeModel(), PROMPT, 7, lookup)
    view, events = JudgeView(sees), []
    for event in attempt():
        if isinstance(event, CommandEvent) and event.kind is CommandKind.CODE_RUN:
            verdict = judge(view.action(event.text))
            events.append(VerdictEvent(step=event.step, index=event.index, command=event.text, verdict=verdict, shown=""))
            event = CommandEvent(step=event.step, index=event.index, text=event.text, kind=event.kind, route=Route.PREDICTED)
        events.append(event)
        view.observe(event)
    return events, client.asked


@pytest.mark.parametrize("sees", [(), EVERYTHING, tuple(Sight)])
def test_requests_are_built_again_from_the_record_byte_for_byte(sees: tuple[Sight, ...]) -> None:
    events, sent = judged_attempt(sees)
    rebuilt = list(rebuilt_requests(events, sees, PROMPT, JudgeModel(), 7, {RUBRIC.id: RUBRIC}))
    assert [canonical_json(one.request) for one in rebuilt] == [canonical_json(request) for request in sent]
    assert len(rebuilt) == 3 and all(one.same for one in rebuilt)


def test_a_request_that_differs_is_told() -> None:
    events, _ = judged_attempt(EVERYTHING)
    other_seed = list(rebuilt_requests(events, EVERYTHING, PROMPT, JudgeModel(), 8, {RUBRIC.id: RUBRIC}))
    assert not any(one.same for one in other_seed)
    with pytest.raises(KeyError):
        list(rebuilt_requests(events, EVERYTHING, PROMPT, JudgeModel(), 7, {}))


def test_a_diff_says_what_changed_since_the_last_judged_command() -> None:
    first, second, third = (action for _, action in judged_actions(attempt(), (Sight.CODE_DIFF,)))
    assert first.changes is not None and first.changes.splitlines()[:2] == ["--- /dev/null", "+++ final.py"]
    assert (
        second.changes is not None and "+print(1)" in second.changes.splitlines() and "+import xgboost" not in second.changes.splitlines()
    )
    assert third.changes == ""


def test_names_of_packages_without_their_versions() -> None:
    first, *_ = (action for _, action in judged_actions(attempt(), (Sight.WORLD_STATE_UNVERSIONED,)))
    assert first.packages == {"pandas": ""}


def test_a_real_check_is_a_real_run() -> None:
    check = CheckEvent(
        step=5, index=1, reason="schedule", text="python final.py", exit_code=1, timed_out=False, duration_s=1, output_tail="KeyError"
    )
    events = [*attempt(), check, command(6, "python final.py")]
    *_, last = (action for _, action in judged_actions(events, (Sight.LAST_REAL_RUN,)))
    assert last.last_real_run is not None and last.last_real_run.output_tail == "KeyError"
