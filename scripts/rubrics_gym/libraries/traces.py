"""One rollout as a miner reads it: executed commands with their outputs, final programs, what was handed in, and the verdict."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from rubrics_gym.failures.detection import error_step, failed_command, output_of
from rubrics_gym.failures.types import Rules
from rubrics_gym.records.grades import Grade
from rubrics_gym.records.outcomes import POLICY
from rubrics_gym.records.trajectory import CommandEvent, CommandKind, Event, FileEvent, Route, StartEvent

DELIVERABLE_CHARS = 2000


class Step(NamedTuple):
    """One executed command. `remark` says how it ended; `error` is the published rule for weights, `failed` a code run that failed."""

    number: int
    command: str
    output: str
    remark: str
    error: bool
    failed: bool = False


class Version(NamedTuple):
    """The text of a code file as a step left it."""

    step: int
    path: str
    text: str


class Trace(NamedTuple):
    """A rollout, ready to be mined. `cut_chars` says how much was left out to keep it within its limit."""

    collection: str
    benchmark: str
    task: str
    attempt: int
    statement: str
    deliverable_name: str
    steps: tuple[Step, ...]
    scripts: dict[str, str]  # path -> final text of a code file
    deliverable: str
    grade: Grade
    cut_chars: int = 0
    versions: tuple[Version, ...] = ()  # of code files, in the order they were written

    @property
    def error_steps(self) -> frozenset[int]:
        return frozenset(step.number for step in self.steps if step.error)

    def text_of(self, number: int) -> str | None:
        """Command and output of all commands of a step, as the miner reads them; None when there is no such step."""
        texts = [f"{step.command}\n{step.output}" for step in self.steps if step.number == number]
        return "\n".join(texts) if texts else None

    @property
    def final_text(self) -> str:
        """Final programs and what was handed in, as the miner reads them."""
        return "\n".join([*self.scripts.values(), self.deliverable])


def trace_of(collection: str, trajectory: Iterable[Event], grade: Grade, deliverable: str, rules: Rules, limit: int) -> Trace:
    """Read one rollout of at most `limit` characters of commands, outputs and programs.

    Raises ValueError when the trajectory has no start event, or ended in a way that may not be mined (lost infrastructure).
    """
    start: StartEvent | None = None
    commands: list[CommandEvent] = []
    versions: list[Version] = []
    for event in trajectory:
        if isinstance(event, StartEvent):
            start = event
        elif isinstance(event, CommandEvent) and event.route is Route.EXECUTED:
            commands.append(event)
        elif isinstance(event, FileEvent) and event.text is not None:
            versions.append(Version(event.step, event.path, event.text))
    if start is None:
        raise ValueError(f"{grade.benchmark}/{grade.task}: the trajectory has no start event: its file was cut or edited")
    if not POLICY[grade.outcome].may_mine:
        raise ValueError(f"{start.unit}: outcome {grade.outcome.value} is a loss of infrastructure and may not be mined")
    *_, last = start.unit.split("/")
    trace = Trace(
        collection=collection,
        benchmark=start.benchmark,
        task=start.task,
        attempt=int(last) if last.isdigit() else 0,
        statement=start.statement,
        deliverable_name=start.deliverable,
        steps=tuple(_steps(commands, rules)),
        scripts=_last_of(versions),
        deliverable=deliverable[:DELIVERABLE_CHARS],
        grade=grade,
        versions=tuple(versions),
    )
    return trimmed(trace, limit)


def _last_of(versions: Iterable[Version]) -> dict[str, str]:
    """path -> last text, by path."""
    return dict(sorted({version.path: version.text for version in versions}.items()))


def at_step(trace: Trace, number: int, limit: int) -> Trace:
    """One step of a trace, with the code files as they were then, within `limit` characters. What was handed in later is left out."""
    scripts = _last_of(version for version in trace.versions if version.step <= number)
    steps = tuple(step for step in trace.steps if step.number == number)
    return trimmed(trace._replace(steps=steps, scripts=scripts, deliverable=""), limit)


def at_end(trace: Trace, limit: int) -> Trace:
    """What a rollout left: final programs, what was handed in, the verdict; no steps. Within `limit` characters."""
    return trimmed(trace._replace(steps=(), versions=()), limit)


def _steps(commands: list[CommandEvent], rules: Rules) -> Iterable[Step]:
    """The steps of executed commands; a failed code run is marked with whether a later one succeeded."""
    runs = [command.kind is CommandKind.CODE_RUN for command in commands]
    failed = [run and failed_command(command, rules) for run, command in zip(runs, commands, strict=True)]
    last_success = max((place for place, run in enumerate(runs) if run and not failed[place]), default=-1)
    for position, command in enumerate(commands):
        remark = _ending(command)
        if failed[position]:
            remark += "; failed, a later run succeeded" if last_success > position else "; failed, no later run succeeded"
        error = runs[position] and error_step(command, rules)
        yield Step(command.step, command.text, output_of(command), remark, error, failed[position])


def _ending(command: CommandEvent) -> str:
    if command.timed_out:
        return "stopped at the time limit"
    if command.out_of_memory:
        return "stopped, out of memory"
    return "exit code not recorded" if command.exit_code is None else f"exit code {command.exit_code}"


def trimmed(trace: Trace, limit: int) -> Trace:
    """The trace within `limit` characters: the longest outputs lose their middle first, then programs and commands; no step vanishes.

    All texts of a kind get the same cap, the largest that fits, so short outputs stay whole. Errors stand at the ends of outputs,
    and both ends are kept.
    """
    for parts in ("outputs", "everything"):
        longest = max([0, *(len(text) for step in trace.steps for text in step[1:3]), *map(len, trace.scripts.values())])
        if _length(trace) <= limit:
            return trace
        low, high = 0, longest
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if _length(_capped(trace, middle, parts)) <= limit else (low, middle - 1)
        shorter = _capped(trace, low, parts)
        trace = shorter._replace(cut_chars=trace.cut_chars + _length(trace) - _length(shorter))
    return trace


def _length(trace: Trace) -> int:
    return sum(len(step.command) + len(step.output) for step in trace.steps) + sum(map(len, trace.scripts.values()))


def _capped(trace: Trace, cap: int, parts: str) -> Trace:
    steps = tuple(step._replace(output=_without_middle(step.output, cap)) for step in trace.steps)
    if parts == "outputs":
        return trace._replace(steps=steps)
    steps = tuple(step._replace(command=_without_middle(step.command, cap)) for step in steps)
    return trace._replace(steps=steps, scripts={path: _without_middle(text, cap) for path, text in trace.scripts.items()})


def _without_middle(text: str, cap: int) -> str:
    """At most `cap` characters, unless the note of what was cut is longer: head and tail in equal parts."""
    if len(text) <= cap:
        return text
    note = f"\n[{len(text)} characters, middle cut]\n"
    keep = max(0, cap - len(note)) // 2
    return text[:keep] + note + text[len(text) - keep :] if keep else note if cap >= len(note) else ""
