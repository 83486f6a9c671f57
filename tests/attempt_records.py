"""A recorded attempt with everything that can be in one, for tests of what is made from records."""

from __future__ import annotations

import hashlib
from typing import Any

from rubrics_gym.records.grades import Grade
from rubrics_gym.records.outcomes import Outcome
from rubrics_gym.records.trajectory import (
    CheckEvent,
    CommandEvent,
    CommandKind,
    EndEvent,
    Event,
    FileEvent,
    FinalEvent,
    MessageEvent,
    Route,
    SnapshotEvent,
    StartEvent,
    ToolCallRecord,
    VerdictEvent,
    WorldEvent,
)
from rubrics_gym.records.verdicts import Criterion, Verdict

UNIT = "episodes/matched/0/packaged/some-task"
HOSTILE = '<script>alert(1)</script> & "quotes"'


def command(step: int, index: int, text: str, **changes: Any) -> CommandEvent:
    known: dict[str, Any] = {"kind": CommandKind.CODE_RUN, "route": Route.EXECUTED, "exit_code": 0, "duration_s": 1.0}
    if changes.get("route", Route.EXECUTED) is not Route.EXECUTED:
        known = {"kind": CommandKind.CODE_RUN}
    return CommandEvent(step=step, index=index, text=text, **known | changes)


def said(step: int, *lines: str, text: str = "thinking") -> MessageEvent:
    calls = tuple(ToolCallRecord(id=f"call_{step}_{number}", name="bash", arguments={"command": line}) for number, line in enumerate(lines))
    usage = {"input_tokens": 10, "output_tokens": 2, "cache_read_tokens": 1}
    return MessageEvent(step=step, role="assistant", text=text, tool_calls=calls, usage=usage, cost_microdollars=5)


def shown(step: int, text: str) -> MessageEvent:
    return MessageEvent(step=step, role="user", text=text)


def program(step: int, text: str) -> FileEvent:
    content = text.encode()
    return FileEvent(step=step, path="final.py", sha256=hashlib.sha256(content).hexdigest(), bytes=len(content), text=text)


def verdict(flagged: bool, title: str = "The package is missing") -> Verdict:
    criterion = Criterion(rubric_id="r1", title=title, text=title, applicable=True, violated=flagged, reason=HOSTILE)
    return Verdict(judge="matched", library="matched", criteria=(criterion,), predicted_reward=float(not flagged), flagged=flagged)


def attempt() -> list[Event]:
    """Turn 1 writes a program; turn 2 is predicted; turn 3 runs two commands in one call, one escalated; turn 4 submits."""
    world = WorldEvent(
        step=0, python="3.11", packages={"numpy": "2.0"}, limits={"command_s": 8}, files={"data/a.csv": 3}, data_profile="a table"
    )
    start = StartEvent(
        at="2026-01-01T00:00:00+00:00",
        unit=UNIT,
        attempt=1,
        benchmark="packaged",
        task="some-task",
        statement=f"Predict it. {HOSTILE}",
        deliverable="submission.csv",
        seed=1,
        model="simulated-agent-1",
        arm="matched",
        limits={"steps": 8},
        protocol="rubrics-gym/harness/1",
        code="c",
    )
    crash = f"Traceback (most recent call last):\nModuleNotFoundError: No module named 'xgboost'\n{HOSTILE}"
    return [
        start,
        MessageEvent(step=0, role="system", text="You are an engineer."),
        shown(0, f"Predict it. {HOSTILE}"),
        world,
        said(1, "cat > final.py"),
        command(1, 0, "cat > final.py", kind=CommandKind.EDIT),
        program(1, "import xgboost\nprint(1)\n"),
        shown(1, "[exit code 0]"),
        said(2, "python final.py"),
        VerdictEvent(step=2, index=0, command="python final.py", verdict=verdict(True), shown="flagged"),
        SnapshotEvent(step=2, index=0, text="python final.py", sha256="0" * 64),
        command(2, 0, "python final.py", route=Route.PREDICTED, shown="flagged"),
        shown(2, "[The command was not executed.]"),
        said(3, "python a.py; python final.py"),
        VerdictEvent(step=3, index=0, command="python a.py", verdict=verdict(False), shown=""),
        command(3, 0, "python a.py", output_tail="fine", output_bytes=4, output_sha256=hashlib.sha256(b"fine").hexdigest()),
        program(3, "import numpy\nprint(1)\n"),
        VerdictEvent(step=3, index=1, command="python final.py", verdict=verdict(False), shown="clean"),
        command(3, 1, "python final.py", route=Route.PREDICTED, shown="clean"),
        shown(3, "fine\n[The command was not executed.]"),
        CheckEvent(
            step=3, index=2, reason="schedule", text="python final.py", exit_code=None, timed_out=True, duration_s=8, output_tail="slow"
        ),
        said(4, "python b.py", "submit"),
        command(4, 0, "python b.py", exit_code=1, output_tail=crash, output_bytes=len(crash), output_sha256="1" * 64),
        command(4, 1, "submit", kind=CommandKind.SUBMIT),
        shown(4, crash),
        EndEvent(
            at="2026-01-01T00:01:00+00:00",
            reason="submitted",
            outcome=None,
            steps=4,
            commands=4,
            requests=4,
            cost_microdollars=20,
            wall_s=60.0,
            working_s=3.0,
        ),
    ]


FINAL = FinalEvent(exit_code=0, timed_out=False, cap_s=12, duration_s=2.0, output_tail="done", output_bytes=4, deliverable_present=True)
GRADE = Grade(
    benchmark="packaged",
    task="some-task",
    outcome=Outcome.VALID,
    metric="accuracy",
    greater_is_better=True,
    score=0.5,
    ended_wrong=True,
    reason=HOSTILE,
)
