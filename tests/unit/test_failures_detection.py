"""What counts as a failure, and what never does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rubrics_gym.failures.detection import NotExecuted, detect, error_step, failed_command, logged_command, output_of
from rubrics_gym.failures.types import load_rules
from rubrics_gym.records.trajectory import CommandEvent, CommandKind, Route, StartEvent

RULES = load_rules(Path(__file__).parents[2] / "resources/failure_types.yaml")
TRACEBACK = "Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\nKeyError: 'a'\n"


def start(**changes: Any) -> StartEvent:
    fields = dict(
        at="2026-01-01T00:00:00Z",
        unit="rollouts/pool/packaged/some-task/3",
        attempt=2,
        benchmark="packaged",
        task="some-task",
        statement="s",
        deliverable="answer.txt",
    )
    fields |= dict(seed=1, model="m", arm="execute", limits={}, protocol="1", code="c")
    return StartEvent(**(fields | changes))


def command(**changes: Any) -> CommandEvent:
    fields: dict[str, Any] = dict(step=1, index=0, text="python a.py", kind=CommandKind.CODE_RUN, route=Route.EXECUTED, exit_code=0)
    return CommandEvent(**(fields | changes))


def test_exit_code_decides_where_it_is_known() -> None:
    assert failed_command(command(exit_code=1), RULES)
    assert not failed_command(command(exit_code=0, output_tail=TRACEBACK), RULES)


@pytest.mark.parametrize(
    ("output", "failed"),
    [
        (TRACEBACK, True),
        ("Killed\n", True),
        ("command timed out\n", True),
        ("a.py: error: no such flag\n", True),
        ("mean absolute error: 3.2\n", False),
        ("done\n", False),
        ("", False),
    ],
)
def test_text_decides_where_no_exit_code_is_known(output: str, failed: bool) -> None:
    assert failed_command(command(exit_code=None, output_tail=output), RULES) is failed


def test_error_step_is_the_wider_rule() -> None:
    assert error_step(command(exit_code=0, output_tail=TRACEBACK), RULES)
    assert error_step(command(exit_code=2), RULES)
    assert not error_step(command(exit_code=0, output_tail="done"), RULES)


@pytest.mark.parametrize("route", [Route.PREDICTED, Route.WITHHELD, Route.HELD])
def test_commands_that_did_not_run_are_refused(route: Route) -> None:
    with pytest.raises(NotExecuted, match=route.value):
        failed_command(command(route=route, exit_code=None, output_tail=TRACEBACK), RULES)
    assert detect([start(), command(route=route, exit_code=None, output_tail=TRACEBACK)], RULES) == ((), ())


def test_only_code_runs_become_events() -> None:
    found = detect(
        [start(), command(kind=CommandKind.INSTALL, exit_code=1), command(step=2, exit_code=1, output_tail=TRACEBACK), command(step=3)],
        RULES,
    )
    (event,) = found.events
    assert (event.step, event.attempt, event.failure_type) == (2, 3, "own_logic")
    assert [(one.kind, one.failed, one.failure_type) for one in found.commands] == [
        ("install", True, "other"),
        ("code_run", True, "own_logic"),
        ("code_run", False, None),
    ]
    assert event.evidence == "KeyError: 'a'"


def test_a_masked_failure_is_recorded_beside_the_failures() -> None:
    found = detect(
        [start(), command(masked_pipe=True, output_tail=TRACEBACK), command(step=2, masked_pipe=True, output_tail="fine")], RULES
    )
    assert found.events == ()
    assert [(one.failed, one.masked, one.error_step) for one in found.commands] == [(False, True, True), (False, False, False)]


@pytest.mark.parametrize(
    ("text", "output", "exit_code", "failed"),
    [
        ("grep -r needle src", "", 1, False),
        ("ls data", "ls: cannot access 'data': No such file or directory", None, False),
        ("tail -n 5 run.log", TRACEBACK, None, False),
        ("cat > a.py <<'EOF'\nraise ValueError\nEOF", TRACEBACK, None, False),
        ("!head -n 3 a.py", TRACEBACK, None, False),
        ("!python a.py", TRACEBACK, None, True),
        ("%cd x\n!bash run.sh", "run.sh: line 2: python3: command not found\n", None, True),
        ("pip install x", "ERROR: No matching distribution found for x\n", None, True),
        ("pip install x", "ERROR: pip's dependency resolver does not currently take into account all the packages.\na 1 requires b>2, but you have b 1 which is incompatible.\nSuccessfully installed x-1\n", None, False),
        ("python a.py", "Exception ignored in: <function f at 0x1>\nTraceback (most recent call last):\n  File \"a.py\", line 1, in f\nTypeError: x\ndone\n", None, False),
        ("python a.py", "3 requests timed out and were repeated\nsaved\n", None, False),
        ("python a.py", "epoch 1\nKilled\n", None, True),
        ("python a.py", "EXECUTION TIMED OUT AFTER 30 SECONDS\n", None, True),
    ],
)  # fmt: skip
def test_commands_of_other_logs(text: str, output: str, exit_code: int | None, failed: bool) -> None:
    assert failed_command(logged_command(text, output, exit_code), RULES) is failed


def test_event_ids_tell_units_and_steps_apart() -> None:
    failing = [command(step=step, index=index, exit_code=1) for step in (1, 2) for index in (0, 1)]
    units = ["rollouts/a/packaged/t/0", "rollouts/a/packaged/t/1"]
    ids = [event.event_id for unit in units for event in detect([start(unit=unit), *failing], RULES).events]
    assert len(set(ids)) == len(ids) == 8


def test_a_trajectory_without_a_start_is_refused() -> None:
    with pytest.raises(ValueError, match="start event"):
        detect([command(exit_code=1)], RULES)


def test_head_and_tail_are_joined_without_doubling() -> None:
    assert output_of(command(output_head="abc", output_tail="abc")) == "abc"
    assert output_of(command(output_head="ab", output_tail="")) == "ab"
    assert output_of(command(output_head="begin", output_tail="end")) == "begin\nend"
