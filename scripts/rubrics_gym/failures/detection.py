"""Finding the failures of a trajectory: two named predicates over recorded commands.

`failed_command` says what counts as a failure; `error_step` is the wider rule by which a rubric's cited steps are weighed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from rubrics_gym.failures.types import Rules, clean, failure_type
from rubrics_gym.records.base import content_hash
from rubrics_gym.records.failures import FailureEvent
from rubrics_gym.records.trajectory import CommandEvent, CommandKind, Event, Route, StartEvent


class NotExecuted(ValueError):
    """A command that was not executed was handed to a reader of failures."""


class Detected(NamedTuple):
    """The failures of one trajectory, with the counts that a share of failures needs.

    `masked` counts code-running commands with exit code 0 whose pipeline may hide a failure and whose output holds an error text:
    they are no failures, and are reported as a sensitivity.
    """

    events: tuple[FailureEvent, ...]
    code_runs: int
    masked: int


def failed_command(command: CommandEvent, rules: Rules) -> bool:
    """Exit code not 0, or unknown exit code and an error text. An error word in the output of exit code 0 is not a failure."""
    _require_executed(command)
    if command.exit_code is not None:
        return command.exit_code != 0
    return command.timed_out or command.out_of_memory or has_error_text(output_of(command), rules)


def error_step(command: CommandEvent, rules: Rules) -> bool:
    """The published rule for weights: exit code not 0, or Traceback, Killed, timed out or MemoryError in the output, whatever the exit code."""
    _require_executed(command)
    if command.timed_out or command.out_of_memory or command.exit_code not in (None, 0):
        return True
    return rules.error_step_text.search(output_of(command)) is not None


def has_error_text(output: str, rules: Rules) -> bool:
    """Whether an output says that its command failed; used only where no exit code was recorded."""
    text = clean(output)
    return any(pattern.search(text) for pattern in rules.error_text)


def detect(trajectory: Iterable[Event], rules: Rules) -> Detected:
    """The failures among the executed code-running commands of one trajectory, in the order they happened.

    Raises ValueError when the trajectory has no start event.
    """
    start: StartEvent | None = None
    failures: list[FailureEvent] = []
    code_runs = masked = 0
    for event in trajectory:
        if isinstance(event, StartEvent):
            start = event
        elif isinstance(event, CommandEvent) and event.kind is CommandKind.CODE_RUN and event.route is Route.EXECUTED:
            if start is None:
                raise ValueError("a trajectory begins with a start event; this one has none: its file was cut or edited")
            code_runs += 1
            if failed_command(event, rules):
                failures.append(_failure(event, start, rules))
            elif event.masked_pipe and has_error_text(output_of(event), rules):
                masked += 1
    return Detected(tuple(failures), code_runs, masked)


def output_of(command: CommandEvent) -> str:
    """The recorded output: head and tail as one text, where the two are parts of a longer one."""
    head, tail = command.output_head, command.output_tail
    if head.endswith(tail) or tail.startswith(head):
        return max(head, tail, key=len)
    return f"{head}\n{tail}"


def _failure(command: CommandEvent, start: StartEvent, rules: Rules) -> FailureEvent:
    output = output_of(command)
    typed = failure_type(output, rules, exit_code=command.exit_code, timed_out=command.timed_out, out_of_memory=command.out_of_memory)
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
        output_tail=output[-4000:],
        failure_type=typed.type,
        evidence=typed.evidence,
    )


def _slot(unit: str) -> int:
    """The attempt number in the unit of a rollout (`rollouts/{collection}/{benchmark}/{task}/{attempt}`); 0 for an episode."""
    room, *_, last = unit.split("/")
    return int(last) if room == "rollouts" and last.isdigit() else 0


def _require_executed(command: CommandEvent) -> None:
    if command.route is not Route.EXECUTED:
        raise NotExecuted(f"step {command.step}.{command.index} was {command.route.value}, not executed: it cannot be a failure")
