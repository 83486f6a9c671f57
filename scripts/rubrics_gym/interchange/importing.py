"""From a foreign run to a trajectory of ours, its files and its grade, in a folder like that of a rollout."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from rubrics_gym.harness.output import Collector, Output
from rubrics_gym.harness.recorder import Recorder
from rubrics_gym.harness.router import classify
from rubrics_gym.interchange.formats import Found, read_runs
from rubrics_gym.interchange.logs import Call, ForeignRun, Result, Turn, UnreadableLog
from rubrics_gym.records.archives import UnsafeArchive, write_archive
from rubrics_gym.records.base import Record
from rubrics_gym.records.files import write_json
from rubrics_gym.records.grades import Grade
from rubrics_gym.records.outcomes import Outcome
from rubrics_gym.records.trajectory import (
    CommandEvent,
    CommandKind,
    EndEvent,
    Event,
    FileEvent,
    MessageEvent,
    Route,
    StartEvent,
    ToolCallRecord,
)

SUBMISSION = "handed_in.txt"  # what was handed in, as a file of the artifacts
_OUTPUT_BYTES = 24_000  # of head and tail in the record; what is longer is whole in the artifacts
_SHOWN_CHARS = 24_000  # of a message


class ImportRow(Record):
    """One line of an import's table: a run with its counts, or a file that was passed over (`skipped` says why)."""

    source: str
    format: str = ""
    unit: str = ""
    benchmark: str = ""
    task: str = ""
    steps: int = 0
    commands: int = 0
    typed: int = 0  # of the commands: lines and cells that the agent wrote, not calls of other tools
    with_output: int = 0
    with_exit_code: int = 0
    failed_exit: int = 0  # of the commands with an exit code, those that are not 0
    timed_out: int = 0
    not_executed: int = 0
    files: int = 0
    outcome: str = ""
    skipped: str = ""


class Converted(NamedTuple):
    """One run as events, with the outputs that the record holds in part, and the last text of every known file."""

    events: list[Event]
    outputs: dict[str, bytes]
    files: dict[str, str]


def import_runs(found: Sequence[Found], collection: str, folder: Path, held_out: frozenset[str], single: bool = False) -> list[ImportRow]:
    """Import every file that is a run below `folder`: BENCHMARK/TASK/ATTEMPT with trajectory, artifacts and grade. Returns the table.

    A run whose task bears the name of a held-out task is passed over: held-out tasks are never mined. So is a file that cannot be read,
    unless it is the `single` one that the import names: then UnreadableLog is raised.
    """
    rows: list[ImportRow] = []
    taken: Counter[tuple[str, str]] = Counter()
    for one in found:
        if one.format is None:
            rows.append(ImportRow(source=str(one.path), skipped=one.skipped))
            continue
        try:
            runs = read_runs(one.path, one.format)
        except UnreadableLog as error:
            if single:
                raise
            rows.append(ImportRow(source=str(one.path), format=one.format.value, skipped=str(error)))
            continue
        if not runs:
            rows.append(ImportRow(source=str(one.path), format=one.format.value, skipped="the log holds no run"))
        for run in runs:
            benchmark, task = slug(run.benchmark or one.format.value).replace("-", "_"), slug(run.task)
            if _is_held_out(task, held_out) or not run.turns:
                why = "its task is held out" if run.turns else f"the log holds no message (end: {run.end})"
                rows.append(ImportRow(source=str(one.path), format=one.format.value, benchmark=benchmark, task=task, skipped=why))
                continue
            attempt = taken[benchmark, task]
            taken[benchmark, task] += 1
            unit = f"rollouts/{collection}/{benchmark}/{task}/{attempt}"
            converted = convert(run, one.format.value, unit, benchmark, task)
            grade = grade_of(run, benchmark, task)
            try:
                _write(folder / benchmark / task / str(attempt), converted, grade, run.submission)
            except UnsafeArchive as error:
                rows.append(ImportRow(source=str(one.path), format=one.format.value, benchmark=benchmark, task=task, skipped=str(error)))
                continue
            rows.append(_row(one, unit, benchmark, task, converted.events, grade))
    return rows


def _is_held_out(task: str, held_out: frozenset[str]) -> bool:
    """Whether a task bears a held-out task's name, also with something behind it: run folders are called `COMPETITION_some-id`."""
    names = (slug(name) for name in held_out)
    return any(task == name or task.startswith(f"{name}-") for name in names)


def slug(name: str) -> str:
    """A name of small letters, digits and hyphens, as task names are; a long one keeps its end apart by a hash."""
    kept = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "unnamed"
    return kept if len(kept) <= 80 else f"{kept[:70]}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def convert(run: ForeignRun, system: str, unit: str, benchmark: str, task: str) -> Converted:
    """The events of a run in the order of its messages: each message, then its commands, with the files that are known at each."""
    run = _without_surrogates(run)
    events: list[Event] = [
        StartEvent(
            at=run.at,
            unit=unit,
            attempt=1,
            benchmark=benchmark,
            task=task,
            statement=run.statement,
            deliverable=SUBMISSION,
            seed=None,
            model=run.model,
            arm="execute",
            limits={},
            protocol=f"imported/{system}",
            code="",
        )
    ]
    outputs: dict[str, bytes] = {}
    files: dict[str, str] = {}
    step = commands = 0
    for turn in run.turns:
        step += turn.role == "assistant"
        events.append(_message(turn, step))
        for index, call in enumerate(turn.calls):
            output = _collected(call.output)
            commands += call.executed
            command = _command(call, step, index, output)
            known = [_file(path, text, step) for path, text in sorted((call.files or {}).items())]
            # a program is there before it runs; an edit's file is there after it
            events += [*known, command] if call.kind is CommandKind.CODE_RUN else [command, *known]
            if output is not None and output.cut and call.output is not None:
                outputs[f"{step:03}-{index:02}.txt"] = call.output.encode()
            files.update(call.files or {})
    events.append(
        EndEvent(
            at=run.ended_at,
            reason=run.end,
            outcome=None,
            steps=step,
            commands=commands,
            requests=step,
            cost_microdollars=None if run.cost_usd is None else round(run.cost_usd * 1e6),
            wall_s=run.wall_s,
            working_s=_total(run),
        )
    )
    return Converted(events, outputs, files)


def _without_surrogates(value: Any) -> Any:
    """The same with every text one that UTF-8 can hold: JSON can escape half of a pair, and no file can be written with that."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, Mapping):
        return {_without_surrogates(key): _without_surrogates(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_without_surrogates(one) for one in value)
    if isinstance(value, ForeignRun | Turn | Call | Result):
        return type(value)(**{name: _without_surrogates(one) for name, one in vars(value).items() if not name.startswith("__")})
    return value


def _message(turn: Turn, step: int) -> MessageEvent:
    calls = tuple(
        ToolCallRecord(id=call.id or f"{step}-{number}", name=call.tool, arguments=dict(call.arguments or {"command": call.text}))
        for number, call in enumerate(turn.calls)
    )
    role = turn.role if turn.role in ("system", "assistant") else "user"
    usage = dict(turn.usage or {})
    cost = round((turn.cost_usd or 0) * 1e6)
    return MessageEvent(step=step, role=role, text=turn.text, tool_calls=calls, usage=usage, cost_microdollars=cost)  # type: ignore[arg-type]


def _command(call: Call, step: int, index: int, output: Output | None) -> CommandEvent:
    reason = "; ".join(filter(None, ["" if call.typed else f"tool {call.tool}", call.note]))
    if not call.executed:
        return CommandEvent(
            step=step,
            index=index,
            text=call.text,
            kind=call.kind,
            route=Route.WITHHELD,
            shown=(call.output or "")[:_SHOWN_CHARS],
            reason=reason,
        )
    return CommandEvent(
        step=step,
        index=index,
        text=call.text,
        kind=call.kind,
        route=Route.EXECUTED,
        exit_code=call.exit_code,
        timed_out=call.timed_out,
        out_of_memory=call.out_of_memory,
        masked_pipe=call.exit_code == 0 and call.kind is CommandKind.CODE_RUN and _may_hide(call.text),
        duration_s=call.duration_s,
        output_head=output.head if output else "",
        output_tail=output.tail if output else "",
        output_bytes=output.bytes if output else 0,
        output_sha256=output.sha256 if output else "",
        shown=(call.output or "")[:_SHOWN_CHARS],
        reason="; ".join(filter(None, [reason, "" if output else "the log holds no output"])),
    )


def _may_hide(text: str) -> bool:
    """Whether an exit code of 0 may hide a failure: in a pipeline (nobody says that pipefail was set), a loop, or behind `||`."""
    return "|" in text or any(part.hides_failure for part in classify(text))


def _collected(text: str | None) -> Output | None:
    if text is None:
        return None
    collector = Collector(_OUTPUT_BYTES)
    collector.add(text.encode("utf-8", "replace"))
    return collector.finish()


def _file(path: str, text: str, step: int) -> FileEvent:
    content = text.encode("utf-8", "replace")
    return FileEvent(step=step, path=path, sha256=hashlib.sha256(content).hexdigest(), bytes=len(content), text=text)


def _total(run: ForeignRun) -> float | None:
    """Seconds inside commands; None where no command of the run has a duration."""
    known = [call.duration_s for turn in run.turns for call in turn.calls if call.duration_s is not None]
    return round(sum(known), 3) if known else None


def grade_of(run: ForeignRun, benchmark: str, task: str) -> Grade:
    """What the log says about the result; without a result the attempt is ungraded, which is neither right nor wrong."""
    result = run.result
    if result is None:
        return Grade(benchmark=benchmark, task=task, outcome=Outcome.UNGRADED, reason=run.end, metric="none", greater_is_better=True)
    return Grade(
        benchmark=benchmark,
        task=task,
        outcome=Outcome.VALID if result.ended_wrong is not None else Outcome.UNGRADED,
        reason=result.reason,
        metric=result.metric,
        greater_is_better=True,
        score=result.score,
        ended_wrong=result.ended_wrong,
    )


def _write(folder: Path, converted: Converted, grade: Grade, submission: str | None) -> None:
    write_archive(folder / "artifacts.tar.gz", dict(_members(converted, submission)))  # first: it refuses what is too large
    with Recorder(folder / "trajectory.jsonl") as recorder:
        for event in converted.events:
            recorder.append(event)
    write_json(folder / "grade.json", grade)


def _members(converted: Converted, submission: str | None) -> Iterator[tuple[str, bytes]]:
    folders = {str(folder) for path in converted.files for folder in PurePosixPath(path).parents}
    for path, text in converted.files.items():
        if path not in folders:  # a log may call the same name a file and a folder
            yield path, text.encode("utf-8", "replace")
    for name, content in converted.outputs.items():
        yield f".harness/outputs/{name}", content
    if submission is not None and SUBMISSION not in converted.files:
        yield SUBMISSION, submission.encode("utf-8", "replace")


def _row(found: Found, unit: str, benchmark: str, task: str, events: Iterable[Event], grade: Grade) -> ImportRow:
    events = list(events)
    commands = [event for event in events if isinstance(event, CommandEvent)]
    executed = [command for command in commands if command.route is Route.EXECUTED]
    end = events[-1]
    assert isinstance(end, EndEvent) and found.format is not None
    return ImportRow(
        source=str(found.path),
        format=found.format.value,
        unit=unit,
        benchmark=benchmark,
        task=task,
        steps=end.steps,
        commands=len(commands),
        typed=sum(not command.reason.startswith("tool ") for command in commands),
        with_output=sum(bool(command.output_sha256) for command in executed),
        with_exit_code=sum(command.exit_code is not None for command in executed),
        failed_exit=sum(command.exit_code not in (None, 0) for command in executed),
        timed_out=sum(command.timed_out for command in executed),
        not_executed=len(commands) - len(executed),
        files=sum(isinstance(event, FileEvent) for event in events),
        outcome=grade.outcome.value,
    )
