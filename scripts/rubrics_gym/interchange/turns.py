"""Our record as turns, for export: each message of the agent with its calls, what it was shown for each, and what became of its commands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from rubrics_gym.records.grades import Grade
from rubrics_gym.records.trajectory import (
    CheckEvent,
    CommandEvent,
    EndEvent,
    Event,
    FileEvent,
    FinalEvent,
    MessageEvent,
    Route,
    StartEvent,
    ToolCallRecord,
    VerdictEvent,
    WorldEvent,
)


class CallTurn(NamedTuple):
    """One tool call: the text that answered it (None: it ended the attempt), and the commands that it consisted of."""

    call: ToolCallRecord
    shown: str | None
    commands: tuple[CommandEvent, ...]
    verdicts: tuple[VerdictEvent, ...]

    @property
    def executed(self) -> bool:
        """Whether anything of it ran. A call without commands on record was answered by the harness."""
        return any(command.route is Route.EXECUTED for command in self.commands)


class Turn(NamedTuple):
    """A message and what belongs to it. Only the agent's have calls."""

    message: MessageEvent
    calls: tuple[CallTurn, ...] = ()
    checks: tuple[CheckEvent, ...] = ()
    files: tuple[FileEvent, ...] = ()


class Exported(NamedTuple):
    """Everything that an export of one attempt is made from."""

    start: StartEvent
    turns: tuple[Turn, ...]
    end: EndEvent | None
    grade: Grade | None = None
    final: FinalEvent | None = None
    world: WorldEvent | None = None  # as it was last


def exported(events: Sequence[Event], grade: Grade | None = None, final: FinalEvent | None = None) -> Exported:
    """Read one attempt for export. ValueError when it has no start."""
    start = next((event for event in events if isinstance(event, StartEvent)), None)
    if start is None:
        raise ValueError("a trajectory begins with a start event; this one has none: its file was cut or edited")
    end = next((event for event in reversed(events) if isinstance(event, EndEvent)), None)
    world = next((event for event in reversed(events) if isinstance(event, WorldEvent)), None)
    return Exported(start, tuple(_turns(events)), end, grade, final, world)


def _turns(events: Sequence[Event]) -> Iterable[Turn]:
    by_step: dict[int, list[Event]] = {}
    for event in events:
        if isinstance(event, MessageEvent | CommandEvent | VerdictEvent | CheckEvent | FileEvent):
            by_step.setdefault(event.step, []).append(event)
    for step in by_step.values():
        messages = [event for event in step if isinstance(event, MessageEvent)]
        said = next((message for message in messages if message.role == "assistant"), None)
        if said is None:
            yield from (Turn(message) for message in messages)
            continue
        shown = [message for message in messages if message.role == "user"]
        calls = _calls(said, shown, step)
        checks = tuple(event for event in step if isinstance(event, CheckEvent))
        files = tuple(event for event in step if isinstance(event, FileEvent))
        yield Turn(said, calls, checks, files)
        yield from (Turn(message) for message in shown[len(calls) :])  # said without being an answer to a call


def _calls(said: MessageEvent, shown: Sequence[MessageEvent], step: Sequence[Event]) -> tuple[CallTurn, ...]:
    """Answers and commands stand in the order of the calls; a command belongs to the first call from there on whose text holds it."""
    commands = [event for event in step if isinstance(event, CommandEvent)]
    verdicts = {(event.step, event.index): event for event in step if isinstance(event, VerdictEvent)}
    texts = [_text(call) for call in said.tool_calls]
    owners: list[list[CommandEvent]] = [[] for _ in said.tool_calls]
    place = 0
    for command in commands:
        later = [number for number in range(place, len(texts)) if command.text in texts[number]]
        place = later[0] if later else place
        if owners:
            owners[place].append(command)
    return tuple(
        CallTurn(
            call,
            shown[number].text if number < len(shown) else None,
            tuple(owners[number]),
            tuple(verdicts[one.step, one.index] for one in owners[number] if (one.step, one.index) in verdicts),
        )
        for number, call in enumerate(said.tool_calls)
    )


def _text(call: ToolCallRecord) -> str:
    return "\n".join(value for value in call.arguments.values() if isinstance(value, str))


def command_extra(command: CommandEvent) -> dict[str, Any]:
    """What an export says about a command beyond its output. What did not run has no outcome."""
    extra: dict[str, Any] = {
        "command": command.text,
        "kind": command.kind.value,
        "route": command.route.value,
        "executed": command.route is Route.EXECUTED,
    }
    if command.route is Route.EXECUTED:
        extra |= {
            "exit_code": command.exit_code,
            "timed_out": command.timed_out,
            "out_of_memory": command.out_of_memory,
            "duration_s": command.duration_s,
            "output_bytes": command.output_bytes,
            "output_sha256": command.output_sha256,
        }
    return extra


def verdict_extra(event: VerdictEvent) -> dict[str, Any]:
    """A verdict as plain JSON."""
    verdict = event.verdict
    return {
        "judge": verdict.judge,
        "library": verdict.library,
        "command": event.command,
        "flagged": verdict.flagged,
        "predicted_reward": verdict.predicted_reward,
        "abstained": verdict.abstained,
        "request_sha256": verdict.request_sha256,
        "criteria": [criterion.model_dump(mode="json") for criterion in verdict.criteria],
    }
