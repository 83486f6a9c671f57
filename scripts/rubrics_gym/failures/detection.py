"""Finding the failures of a trajectory: two named predicates over recorded commands.

`failed_command` says what counts as a failure; `error_step` is the wider rule by which a rubric's cited steps are weighed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from rubrics_gym.failures.outputs import clean
from rubrics_gym.failures.types import Rules, Typed, failure_type
from rubrics_gym.harness.router import kind_of
from rubrics_gym.records.base import content_hash
from rubrics_gym.records.failures import FailureEvent, ObservedCommand
from rubrics_gym.records.trajectory import CommandEvent, CommandKind, Event, Route, StartEvent

COUNTED = (CommandKind.CODE_RUN, CommandKind.INSTALL)
NEVER_FAIL = (CommandKind.INSPECT, CommandKind.EDIT)  # a search that finds nothing, a folder that is not there: an answer, not a failure


class NotExecuted(ValueError):
    """A command that was not executed was handed to a reader of failures."""


class Detected(NamedTuple):
    """The failed code runs of one trajectory, and every code run and install that they are a part of.

    Installs are among `commands` alone: they are counted apart.
    """

    events: tuple[FailureEvent, ...]
    commands: tuple[ObservedCommand, ...]


def failed_command(command: CommandEvent, rules: Rules) -> bool:
    """Exit code not 0, or unknown exit code and an error text. An error word in the output of exit code 0 is not a failure, nor is an
    inspection or an edit that ends with another code."""
    _require_executed(command)
    if command.kind in NEVER_FAIL:
        return False
    if command.exit_code is not None:
        return command.exit_code != 0
    return command.timed_out or command.out_of_memory or has_failure_text(output_of(command), rules)


def error_step(command: CommandEvent, rules: Rules) -> bool:
    """The published rule for weights: exit code not 0, or Traceback, Killed, timed out or MemoryError in the output, whatever the exit code."""
    _require_executed(command)
    if command.timed_out or command.out_of_memory or command.exit_code not in (None, 0):
        return True
    return rules.error_step_text.search(output_of(command)) is not None


def masked_failure(command: CommandEvent, rules: Rules) -> bool:
    """Exit code 0 where a pipe or a condition may hide a failure, and an error text: not counted, but reported beside the failures."""
    return command.masked_pipe and command.exit_code == 0 and has_failure_text(output_of(command), rules)


def has_failure_text(output: str, rules: Rules) -> bool:
    """Whether an output says that its command failed; used only where no exit code was recorded, and for masked failures."""
    text = clean(output)
    lowered = text.lower()
    if rules.no_failure_text.search(text, lowered):
        text = rules.no_failure_text.pattern.sub("", text)
        lowered = text.lower()
    return any(one.search(text, lowered) for one in rules.failure_text)


def logged_command(
    text: str, output: str, exit_code: int | None = None, *, timed_out: bool = False, out_of_memory: bool = False
) -> CommandEvent:
    """A command of another system's log, which tells no more than this, as one of ours: it ran, and its text says of what kind it is."""
    return CommandEvent(
        step=0, index=0, text=text, kind=kind_of(text), route=Route.EXECUTED, exit_code=exit_code, timed_out=timed_out,
        out_of_memory=out_of_memory, output_tail=output, output_bytes=len(output.encode(errors="replace")),
    )  # fmt: skip


def typed(command: CommandEvent, rules: Rules) -> Typed:
    """The failure type of a command that failed, with what decided it."""
    return failure_type(
        output_of(command), rules, exit_code=command.exit_code, timed_out=command.timed_out, out_of_memory=command.out_of_memory
    )


def detect(trajectory: Iterable[Event], rules: Rules) -> Detected:
    """The failures among the executed code-running commands of one trajectory, in the order they happened.

    Raises ValueError when the trajectory has no start event.
    """
    start: StartEvent | None = None
    failures: list[FailureEvent] = []
    commands: list[ObservedCommand] = []
    for event in trajectory:
        if isinstance(event, StartEvent):
            start = event
        elif isinstance(event, CommandEvent) and event.kind in COUNTED and event.route is Route.EXECUTED:
            if start is None:
                raise ValueError("a trajectory begins with a start event; this one has none: its file was cut or edited")
            failed = failed_command(event, rules)
            kind = typed(event, rules) if failed else None
            commands.append(_observed(event, start, failed, kind, rules))
            if kind is not None and event.kind is CommandKind.CODE_RUN:
                failures.append(_failure(event, start, kind))
    return Detected(tuple(failures), tuple(commands))


def output_of(command: CommandEvent) -> str:
    """The recorded output: head and tail as one text, where the two are parts of a longer one."""
    head, tail = command.output_head, command.output_tail
    if head.endswith(tail) or tail.startswith(head):
        return max(head, tail, key=len)
    return f"{head}\n{tail}"


def _observed(event: CommandEvent, start: StartEvent, failed: bool, kind: Typed | None, rules: Rules) -> ObservedCommand:
    return ObservedCommand(
        unit=start.unit,
        benchmark=start.benchmark,
        task=start.task,
        step=event.step,
        index=event.index,
        kind=event.kind.value,
        failed=failed,
        error_step=error_step(event, rules),
        masked=not failed and masked_failure(event, rules),
        failure_type=kind.type if kind else None,
    )


def _failure(command: CommandEvent, start: StartEvent, kind: Typed) -> FailureEvent:
    return FailureEvent(
        event_id=content_hash([start.unit, command.step, command.index])[:16],
        unit=start.unit,
        benchmark=start.benchmark,
        task=start.task,
        attempt=_slot(start.unit),
        step=command.step,
        index=command.index,
        command=command.text,
        exit_code=command.exit_code,
        timed_out=command.timed_out,
        out_of_memory=command.out_of_memory,
        output_tail=output_of(command)[-4000:],
        failure_type=kind.type,
        evidence=kind.evidence,
    )


def _slot(unit: str) -> int:
    """The attempt number in the unit of a rollout (`rollouts/{collection}/{benchmark}/{task}/{attempt}`); 0 for an episode."""
    room, *_, last = unit.split("/")
    return int(last) if room == "rollouts" and last.isdigit() else 0


def _require_executed(command: CommandEvent) -> None:
    if command.route is not Route.EXECUTED:
        raise NotExecuted(f"step {command.step}.{command.index} was {command.route.value}, not executed: it cannot be a failure")
