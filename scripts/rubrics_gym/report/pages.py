"""A page per trajectory, from its record: the conversation, what became of every command, verdicts beside what really happened, files as diffs.

Everything that a model or a task wrote is text to these pages: the templates escape it, and the content security policy admits one style
sheet by its hash and nothing else.
"""

from __future__ import annotations

import difflib
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rubrics_gym.failures.detection import failed_command
from rubrics_gym.failures.types import Rules
from rubrics_gym.judge.replay import ReplayedVerdict
from rubrics_gym.records.grades import Grade
from rubrics_gym.records.shadows import ShadowRun, ShadowState
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
    StartEvent,
    VerdictEvent,
    WorldEvent,
)
from rubrics_gym.records.verdicts import Verdict
from rubrics_gym.report.dashboard import page_path
from rubrics_gym.report.html import content_policy, template

RESOURCES = Path(__file__).parents[3] / "resources"
TEMPLATES = RESOURCES / "pages"
TEXT_CHARS = 30_000  # of one text on a page; the record and the artifacts hold all of it
_GOOD, _BAD = "good", "bad"


@dataclass(frozen=True, slots=True)
class Badge:
    text: str
    tone: str = ""


@dataclass(frozen=True, slots=True)
class Fold:
    """Something that is opened by a click: a text, or the lines of a diff."""

    title: str
    text: str = ""
    diff: Sequence[str] = ()
    open: bool = False


@dataclass(frozen=True, slots=True)
class Piece:
    kind: str
    title: str = ""
    text: str = ""
    badges: Sequence[Badge] = ()
    folds: Sequence[Fold] = ()
    head: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()


@dataclass(slots=True)
class Step:
    number: int
    pieces: list[Piece] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Attempt:
    """Everything that a page shows. `replayed` are the verdicts that judges gave on its commands afterwards, by judge."""

    events: Sequence[Event]
    grade: Grade | None = None
    final: FinalEvent | None = None
    shadows: Sequence[ShadowRun] = ()
    replayed: Mapping[str, Sequence[ReplayedVerdict]] = field(default_factory=dict)

    @property
    def start(self) -> StartEvent:
        """The start. ValueError when there is none: the file was cut or edited."""
        for event in self.events:
            if isinstance(event, StartEvent):
                return event
        raise ValueError("a trajectory begins with a start event; this one has none: its file was cut or edited")


def build_page(attempt: Attempt, simulated: bool) -> str:
    """The HTML text of one attempt's page. The same inputs give the same bytes."""
    start = attempt.start
    page = {
        "unit": start.unit,
        "up": "../" * start.unit.count("/"),
        "simulated": simulated,
        "facts": [(name, value) for name, value in _facts(attempt) if value],
        "steps": _steps(attempt),
    }
    return template(TEMPLATES, "trajectory.html.j2").render(page=page, style=_style(), policy=content_policy(_style(), ""))


def build_index(attempts: Sequence[Attempt], rules: Rules, simulated: bool) -> str:
    """The HTML text of the list of attempts, in the order given."""
    rows = [_index_row(attempt, rules) for attempt in attempts]
    policy = content_policy(_style(), "")
    return template(TEMPLATES, "index.html.j2").render(rows=rows, style=_style(), policy=policy, simulated=simulated)


@functools.cache
def _style() -> str:
    return "\n".join((RESOURCES / path).read_text(encoding="utf-8") for path in ("dashboard/style.css", "pages/pages.css"))


def _index_row(attempt: Attempt, rules: Rules) -> dict[str, Any]:
    commands = [event for event in attempt.events if isinstance(event, CommandEvent)]
    ran = [command for command in commands if command.route is Route.EXECUTED]
    end = _end(attempt)
    return {
        "unit": attempt.start.unit,
        "path": page_path(attempt.start.unit),
        "end": end.reason if end else "cut off",
        "outcome": attempt.grade.outcome.value if attempt.grade else "",
        "steps": end.steps if end else "",
        "ran": len(ran),
        "not_run": len(commands) - len(ran),
        "failed": sum(command.kind is CommandKind.CODE_RUN and failed_command(command, rules) for command in ran),
        "verdicts": sum(isinstance(event, VerdictEvent) for event in attempt.events) or "",
    }


def _end(attempt: Attempt) -> EndEvent | None:
    return next((event for event in reversed(attempt.events) if isinstance(event, EndEvent)), None)


def _facts(attempt: Attempt) -> list[tuple[str, str]]:
    start, end, grade, final = attempt.start, _end(attempt), attempt.grade, attempt.final
    score = "" if grade is None or grade.score is None else f"{grade.metric} {grade.score:g}"
    return [
        ("Task", f"{start.benchmark}/{start.task}"),
        ("Arm", start.arm),
        ("Model", start.model),
        ("Attempt", str(start.attempt)),
        ("Earlier attempts that were lost", ", ".join(start.lost_attempts)),
        ("Ended", end.reason if end else "the record has no end: its writer was killed"),
        ("Turns", str(end.steps) if end else ""),
        ("Seconds inside commands", "" if end is None or end.working_s is None else f"{end.working_s:.1f}"),
        ("Final run", "" if final is None else _ended(final.exit_code, final.timed_out, final.out_of_memory)),
        ("Outcome", "" if grade is None else f"{grade.outcome.value}{f' ({grade.reason})' if grade.reason else ''}"),
        ("Score", score),
        ("Medal", (grade.medal or "") if grade else ""),
        ("Protocol", start.protocol),
    ]


def _steps(attempt: Attempt) -> list[Step]:
    """The pieces of every turn, in the order of the record."""
    steps: list[Step] = []
    files: dict[str, str] = {}
    shadows: dict[tuple[int, int], list[ShadowRun]] = {}
    for run in attempt.shadows:
        shadows.setdefault((run.step, run.index), []).append(run)
    commands = {(event.step, event.index): event for event in attempt.events if isinstance(event, CommandEvent)}
    for event in attempt.events:
        if isinstance(event, StartEvent | EndEvent):
            continue
        number = getattr(event, "step", None)
        if number is None:
            number = steps[-1].number if steps else 0
        if not steps or steps[-1].number != number:
            steps.append(Step(number))
        piece = _piece(event, files, shadows, commands, attempt.replayed)
        if piece is not None:
            steps[-1].pieces.append(piece)
    if attempt.final is not None:
        last = Step((steps[-1].number if steps else 0) + 1, [_final(attempt.final)])
        steps.append(last)
    return steps


def _piece(
    event: Event,
    files: dict[str, str],
    shadows: Mapping[tuple[int, int], Sequence[ShadowRun]],
    commands: Mapping[tuple[int, int], CommandEvent],
    replayed: Mapping[str, Sequence[ReplayedVerdict]],
) -> Piece | None:
    match event:
        case MessageEvent():
            return _message(event)
        case CommandEvent():
            return _command(event, replayed)
        case FileEvent():
            return _file(event, files)
        case VerdictEvent():
            return _verdict(event, commands.get((event.step, event.index)), shadows.get((event.step, event.index), ()))
        case CheckEvent():
            return Piece(
                "check",
                f"Real check ({event.reason.replace('_', ' ')})",
                _cut(event.text),
                _outcome(event.exit_code, event.timed_out, event.out_of_memory, censored=event.timed_out),
                [Fold("Output", _cut(event.output_tail))] if event.output_tail else [],
            )
        case WorldEvent():
            text = "\n".join(f"{name}=={version}" for name, version in sorted(event.packages.items()))
            listing = "\n".join(f"{path} ({size} bytes)" for path, size in event.files.items())
            folds = [Fold(f"{len(event.packages)} packages", _cut(text)), Fold(f"{len(event.files)} files", _cut(listing))]
            if event.data_profile:
                folds.append(Fold("Data profile", _cut(event.data_profile)))
            return Piece("world", f"The sandbox: Python {event.python}", folds=folds)
    return None


def _message(event: MessageEvent) -> Piece | None:
    if event.role == "assistant":
        return Piece("message", "The agent", _cut(event.text)) if event.text else None
    if event.step:
        return None  # what the agent was shown stands with each command
    title = "Instructions" if event.role == "system" else "Task"
    return Piece("message", folds=[Fold(title, _cut(event.text), open=event.role == "user")])


def _command(event: CommandEvent, replayed: Mapping[str, Sequence[ReplayedVerdict]]) -> Piece:
    badges = [Badge(event.kind.value), Badge(event.route.value)]
    if event.route is Route.EXECUTED:
        badges += _outcome(event.exit_code, event.timed_out, event.out_of_memory)
        if event.duration_s is not None:
            badges.append(Badge(f"{event.duration_s:.2f} s"))
        if event.masked_pipe:
            badges.append(Badge("may hide a failure", _BAD))
    folds = []
    output = event.output_tail if not event.output_head else f"{event.output_head}\n[…]\n{event.output_tail}"
    if output:
        folds.append(Fold(f"Output ({event.output_bytes} bytes)", _cut(output), open=len(output) < 1200))
    if event.shown and event.shown.strip() != output.strip():
        folds.append(Fold("What the agent was shown", _cut(event.shown), open=event.route is not Route.EXECUTED))
    rows = [
        (judge, _said(row.verdict), "failed" if row.failed else "did not fail", row.failure_type or "")
        for judge, rows in replayed.items()
        for row in rows
        if (row.step, row.index) == (event.step, event.index)
    ]
    head = ("Judge, asked afterwards", "Prediction", "What happened", "Type") if rows else ()
    return Piece("command", event.reason, _cut(event.text), badges, folds, head, rows)


def _verdict(event: VerdictEvent, command: CommandEvent | None, shadows: Sequence[ShadowRun]) -> Piece:
    verdict = event.verdict
    badges = [Badge(_said(verdict), _BAD if verdict.flagged else _GOOD if verdict.flagged is False else "")]
    rows = [
        (criterion.title, "violated" if criterion.violated else "met", criterion.reason)
        for criterion in verdict.criteria
        if criterion.applicable
    ]
    folds = [Fold("Prediction about", _cut(event.command)), Fold("What really happened", _truth(command, shadows), open=True)]
    return Piece(
        "verdict", f"Verdict of {verdict.judge}", "", badges, folds, ("Criterion that applies", "Predicted", "Reason") if rows else (), rows
    )


def _truth(command: CommandEvent | None, shadows: Sequence[ShadowRun]) -> str:
    """What came of a judged command: in the episode when it was escalated, else in a shadow run; otherwise nobody knows."""
    if command is not None and command.route is Route.EXECUTED and command.kind is not CommandKind.SUBMIT:
        return f"It ran in the episode (escalated): {_ended(command.exit_code, command.timed_out, command.out_of_memory)}."
    lines = []
    for run in shadows:
        chance = f"drawn with probability {run.probability:g}"
        if run.state is ShadowState.RAN:
            ended = _ended(run.exit_code, bool(run.timed_out), bool(run.out_of_memory))
            lines.append(
                f"Run after the episode ({chance}): {ended}{f', {run.failure_type}' if run.failure_type else ''}.\n{run.output_tail[-2000:]}".rstrip()
            )
        elif run.state is ShadowState.UNKNOWN:
            lines.append(f"Not known: {run.reason} ({chance}).")
        else:
            lines.append(f"Not known: not sampled for a run after the episode ({chance}).")
    return "\n".join(lines) or "Not known: the command did not run."


def _said(verdict: Verdict) -> str:
    if verdict.flagged is None:
        return f"no prediction ({verdict.abstained or 'unknown'})"
    reward = "" if verdict.predicted_reward is None else f", predicted reward {verdict.predicted_reward:.2f}"
    return f"{'flagged' if verdict.flagged else 'clean'}{reward}"


def _file(event: FileEvent, files: dict[str, str]) -> Piece:
    before, after = files.get(event.path), event.text
    if after is None:
        return Piece("file", f"{event.path}: {event.bytes} bytes, not text")
    files[event.path] = after
    if before is None:
        return Piece("file", f"{event.path}: new, {event.bytes} bytes", folds=[Fold("Text", _cut(after))])
    lines = list(difflib.unified_diff(before.splitlines(), after.splitlines(), "before", "after", lineterm=""))
    return Piece("file", f"{event.path}: changed", folds=[Fold("Change", diff=_cut("\n".join(lines)).split("\n"), open=len(lines) < 60)])


def _final(final: FinalEvent) -> Piece:
    badges = _outcome(final.exit_code, final.timed_out, final.out_of_memory)
    badges.append(Badge("deliverable written", _GOOD) if final.deliverable_present else Badge("no deliverable", _BAD))
    output = final.output_tail if not final.output_head else f"{final.output_head}\n[…]\n{final.output_tail}"
    return Piece(
        "check", f"The final run of final.py, at most {final.cap_s:g} s", "", badges, [Fold("Output", _cut(output))] if output else []
    )


def _outcome(exit_code: int | None, timed_out: bool, out_of_memory: bool, censored: bool = False) -> list[Badge]:
    tone = "" if censored or (exit_code is None and not timed_out and not out_of_memory) else _GOOD if exit_code == 0 else _BAD
    return [Badge(_ended(exit_code, timed_out, out_of_memory, censored), tone)]


def _ended(exit_code: int | None, timed_out: bool, out_of_memory: bool, censored: bool = False) -> str:
    if timed_out:
        return "stopped at its cap, so its end is not known" if censored else "stopped at its time limit"
    said = "exit code not known" if exit_code is None else f"exit code {exit_code}"
    return f"{said}, out of memory" if out_of_memory else said


def _cut(text: str) -> str:
    if len(text) <= TEXT_CHARS:
        return text
    half = TEXT_CHARS // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half} characters left out here …]\n{text[-half:]}"
