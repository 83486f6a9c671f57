"""AI Scientist: `log.txt` of one idea, the console of aider with what the experiments printed when they went wrong."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from rubrics_gym.interchange.logs import Call, ForeignRun, Turn, UnreadableLog
from rubrics_gym.interchange.tools import shell_call
from rubrics_gym.records.trajectory import CommandKind

LOSES = (
    "experiments that ended well: AI Scientist's log says nothing about them, so that every run in it failed",
    "texts of AI Scientist's edits, beyond the message that proposes them",
    "the second, unwrapped copy of every message",
)
_TURN_END = re.compile(r"^[\d,.]+k? prompt tokens, .*\$([\d.]+) cost\s*$", re.MULTILINE)
_EDIT = re.compile(r"^Applied edit to (\S+)\s*$", re.MULTILINE)
_FAILED = re.compile(r"^(?:Run (\d+)|Plotting) (?:failed with return code (-?\d+)|timed out after (\d+) seconds)\s*$", re.MULTILINE)
_IDEA = re.compile(r"^\*Starting idea: (.*)\*\s*$", re.MULTILINE)


def recognises(path: Path, document: Any) -> bool:
    """No JSON document is such a log; `recognises_text` knows them."""
    return False


def recognises_text(text: str) -> bool:
    """Whether a text is AI Scientist's log of an idea."""
    return "*Starting Experiments*" in text and _TURN_END.search(text) is not None


def read(path: Path) -> list[ForeignRun]:
    """The one idea of a log."""
    text = path.read_text(encoding="utf-8", errors="replace")
    if not recognises_text(text):
        raise UnreadableLog(f"{path}: expected `*Starting Experiments*` and aider's counts of tokens, as AI Scientist writes its logs.")
    idea = _IDEA.search(text)
    turns: list[Turn] = []
    marks = [text.index("*Starting Experiments*"), *(mark.end() for mark in _TURN_END.finditer(text)), len(text)]
    ends = [*_TURN_END.finditer(text)]
    for number, end in enumerate(ends):
        said = _without_copy(text[marks[number] : end.start()])
        after = text[end.end() : ends[number + 1].start() if number + 1 < len(ends) else len(text)]
        calls = [Call(f"edit {name}", CommandKind.EDIT, tool="edit", arguments={"path": name}) for name in _EDIT.findall(after)]
        failed = _FAILED.search(after)
        if failed is not None:
            calls.append(_experiment(failed, after))
        turns.append(Turn("assistant", said, tuple(calls), cost_usd=float(end[1])))
        if failed is not None:
            turns.append(Turn("user", calls[-1].output or ""))
    name = idea[1] if idea else path.parent.name
    return [ForeignRun(task=name, turns=tuple(turns), statement=name)]


def _without_copy(text: str) -> str:
    """What the agent said: after the failed run that it answers and without the edits that were applied before."""
    start = max([0, *(found.end() for found in _FAILED.finditer(text)), *(found.end() for found in _EDIT.finditer(text))])
    return text[start:].strip()


def _experiment(failed: re.Match[str], after: str) -> Call:
    """The run that went wrong: its last traceback before the line that says so."""
    command = f"python experiment.py --out_dir=run_{failed[1]}" if failed[1] else "python plot.py"
    printed = after[: failed.start()]
    trace = printed.rfind("Traceback (most recent call last)")
    output = printed[trace:].strip() if trace >= 0 else ""
    code = int(failed[2]) if failed[2] else None
    return shell_call(command, output=output, exit_code=code, timed_out=failed[3] is not None)
