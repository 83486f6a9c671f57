"""AIDE: `journal.json` (its tree of programs), or its console logs: `aide.verbose.log` (with programs and outputs), `aide.log` and the
log of a container around it (which say only when a program ran and what AIDE made of it)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from rubrics_gym.interchange.logs import Call, ForeignRun, Turn, UnreadableLog, read_document, seconds, text_of
from rubrics_gym.records.trajectory import CommandKind

LOSES = (
    "exit codes: AIDE runs programs inside its own interpreter and records the kind of exception instead",
    "the tree of programs: steps stand in the order in which they ran",
    "aide.log and container logs hold neither programs nor outputs",
    "which program AIDE called the best: the last one that it did not call buggy is taken as what was handed in",
    "AIDE's own opinion of a run (buggy or not) is kept as a note and is no outcome",
)
PROGRAM = "runfile.py"  # AIDE's own name for the program that it runs
COMMAND = f"python {PROGRAM}"
_LINE = re.compile(r"^(?:\[[^\]]*\] )*\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3})\] (?:[A-Z]+): ", re.MULTILINE)
_FENCE = re.compile(r"```(?:python)?\s*\n(.*?)\n```", re.DOTALL)
_SECTION = re.compile(
    r"^# (Implementation|Execution output)\s*\n+```(?:python)?[ \t]*\n(.*?)(?=\n```\s*(?:\n# |\n*\Z))", re.DOTALL | re.MULTILINE
)
_TASK = re.compile(r"^# Task description\s*\n(.*?)(?=^# |\Z)", re.DOTALL | re.MULTILINE)
_NODE = re.compile(r"Parsed results: Node (\w+) (.*)")
_TIMED_OUT = re.compile(r"TimeoutError: Execution exceeded the time limit")


def recognises(path: Path, document: Any) -> bool:
    """Whether a JSON document is AIDE's journal; console logs are recognised by `recognises_text`."""
    return isinstance(document, dict) and isinstance(document.get("nodes"), list) and "node2parent" in document


def recognises_text(text: str) -> bool:
    """Whether a text is a console log of AIDE."""
    return "INFO: REPL is executing code" in text and _LINE.search(text) is not None


def read(path: Path) -> list[ForeignRun]:
    """The one run of a journal or a log."""
    if path.suffix == ".json":
        return [_from_journal(path, read_document(path))]
    text = path.read_text(encoding="utf-8", errors="replace")
    if not recognises_text(text):
        raise UnreadableLog(f"{path}: expected a console log of AIDE, with lines such as `INFO: REPL is executing code`.")
    return [_from_log(path, text)]


def _program_call(code: str | None, output: str | None, *, timed_out: bool = False, **more: Any) -> Call:
    return Call(
        COMMAND,
        CommandKind.CODE_RUN,
        typed=True,
        output=output,
        timed_out=timed_out or bool(output and _TIMED_OUT.search(output)),
        files={PROGRAM: code} if code else None,
        **more,
    )


# ---------------------------------------------------------------- journal


def _from_journal(path: Path, document: Any) -> ForeignRun:
    if not recognises(path, document):
        raise UnreadableLog(f"{path}: expected `nodes` and `node2parent`, as AIDE writes its journal.")
    nodes = sorted(document["nodes"], key=lambda node: node.get("step") or 0)
    turns: list[Turn] = []
    for node in nodes:
        output = _term_out(node)
        note = "AIDE: buggy" if node.get("is_buggy") else "AIDE: not buggy" if node.get("is_buggy") is False else ""
        note = "; ".join(filter(None, [note, f"exception {node['exc_type']}" if node.get("exc_type") else ""]))
        ran = output is not None or node.get("exec_time") is not None
        call = _program_call(
            node.get("code"), output, duration_s=seconds(node.get("exec_time")), note=note, timed_out=node.get("exc_type") == "TimeoutError"
        )
        turns.append(Turn("assistant", text_of(node.get("plan")), (call,) if ran else ()))
        if output is not None:
            turns.append(Turn("user", output))
    good = [node for node in nodes if not node.get("is_buggy") and node.get("code")]
    return ForeignRun(task=_name(path), turns=tuple(turns), submission=good[-1]["code"] if good else None)


def _term_out(node: dict[str, Any]) -> str | None:
    found = node.get("_term_out", node.get("term_out"))
    text = "".join(str(part) for part in found) if isinstance(found, list) else found
    return None if text in (None, "<OMITTED>") else str(text)


def _name(path: Path) -> str:
    """The folder that a run lies in, without the folder of logs: AIDE's files are always named the same."""
    parent = path.parent.parent if path.parent.name == "logs" else path.parent
    return parent.name or path.stem


# ---------------------------------------------------------------- console logs


@dataclass
class _Step:
    """What is known of the program that is being run."""

    plan: str = ""
    code: str | None = None
    began: datetime | None = None
    ended: datetime | None = None
    output: str | None = None


def _from_log(path: Path, text: str) -> ForeignRun:
    turns: list[Turn] = []
    step = _Step()
    statement = ""
    first = last = ""
    for at, body in _entries(text):
        first, last = first or at.isoformat(), at.isoformat()
        if body.startswith("system: ") and (found := _TASK.search(body)) and not statement:
            statement = found[1].strip()
        if body.startswith("response: ") and step.began is None and (fences := _FENCE.findall(body)):
            step = _Step(plan=body.removeprefix("response: ").split("```")[0].strip(), code="\n".join(fences))
        elif body.startswith("REPL is executing code"):
            step.began = at
        elif body.startswith("Agent is parsing execution results"):
            step.ended = at
        elif body.startswith("system: ") and step.ended is not None:
            sections = {name: found for name, found in _SECTION.findall(body)}
            step.output = sections.get("Execution output", step.output)
            step.code = sections.get("Implementation", step.code)  # as it ran: AIDE formats what the model wrote
        elif match := _NODE.match(body):
            turns += _step_turns(step, match[2].strip())
            step = _Step()
    if step.began is not None:  # the log ends while a program runs
        turns += _step_turns(step, "")
    return ForeignRun(task=_name(path), turns=tuple(turns), statement=statement, at=first, ended_at=last)


def _entries(text: str) -> Iterator[tuple[datetime, str]]:
    marks = list(_LINE.finditer(text))
    for number, mark in enumerate(marks):
        end = marks[number + 1].start() if number + 1 < len(marks) else len(text)
        yield datetime.strptime(mark[1], "%Y-%m-%d %H:%M:%S,%f"), text[mark.end() : end].rstrip("\n")  # noqa: DTZ007 (the log names no zone)


def _step_turns(step: _Step, opinion: str) -> list[Turn]:
    duration = (step.ended - step.began).total_seconds() if step.began and step.ended else None
    note = f"AIDE: {opinion}" if opinion else "the log ends while it runs"
    call = _program_call(step.code, step.output, duration_s=seconds(duration), note=note)
    turns = [Turn("assistant", step.plan, (call,))]
    return turns if step.output is None else [*turns, Turn("user", step.output)]
