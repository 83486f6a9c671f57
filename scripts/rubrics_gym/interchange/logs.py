"""The form that every foreign log is read into, before it becomes a trajectory of ours.

What a log does not say stays None: an exit code that was not recorded is unknown, never zero, and an output that was not recorded is
not an empty one. Types are checked here, at the border: what is not of its type makes the log unreadable.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import FiniteFloat
from pydantic.dataclasses import dataclass

from rubrics_gym.records.trajectory import CommandKind


class UnreadableLog(ValueError):
    """A log that is damaged or not of the format that was named; the message names the file, what was expected and what to do."""


@dataclass(frozen=True)
class Call:
    """One command or other tool call of the agent, and what the log says came of it."""

    text: str
    kind: CommandKind
    typed: bool = False  # `text` is what the agent wrote (a command line, a cell); otherwise it renders a call of another tool
    id: str = ""
    tool: str = "bash"
    arguments: Mapping[str, Any] | None = None  # None: {"command": text}
    output: str | None = None  # None: the log does not hold it
    exit_code: int | None = None
    timed_out: bool = False
    out_of_memory: bool = False
    duration_s: FiniteFloat | None = None
    executed: bool = True  # False: refused before it ran; then `output` is what the agent was shown
    note: str = ""
    files: Mapping[str, str] | None = None  # path -> whole text that a file certainly has after the call


@dataclass(frozen=True)
class Turn:
    """One message, with the calls that the agent made in it."""

    role: str  # system, user or assistant
    text: str
    calls: tuple[Call, ...] = ()
    usage: Mapping[str, int] | None = None
    cost_usd: FiniteFloat | None = None


@dataclass(frozen=True)
class Result:
    """What a grader said, where the log holds it."""

    metric: str
    score: FiniteFloat | None
    ended_wrong: bool | None
    reason: str = ""


@dataclass(frozen=True)
class ForeignRun:
    """One attempt of another system's agent."""

    task: str  # its id in that system
    turns: tuple[Turn, ...]
    benchmark: str = ""  # as the log names it; empty: the format's name is used
    statement: str = ""
    model: str = ""
    at: str = ""  # ISO 8601, when it began; empty where the log does not say
    ended_at: str = ""
    end: str = "not recorded"  # why it ended, in the log's own words
    submission: str | None = None
    result: Result | None = None
    wall_s: FiniteFloat | None = None
    cost_usd: FiniteFloat | None = None


def read_document(path: Path) -> Any:
    """The JSON value of a file. UnreadableLog for a Git LFS pointer, and for what is not JSON."""
    text = path.read_text(encoding="utf-8-sig", errors="replace")
    if text.startswith("version https://git-lfs.github.com/spec/"):
        raise UnreadableLog(
            f"{path}: this is a Git LFS pointer, not the file itself. Run `git lfs pull` where it came from, and copy the real file."
        )
    try:
        return parsed(text)
    except (ValueError, RecursionError) as error:
        raise UnreadableLog(f"{path}: not valid JSON ({error}). The log was cut or is of another format.") from None


def parsed(text: str | bytes) -> Any:
    """A JSON value; NaN and infinities, which JSON does not have and logs do, become their names. ValueError for what is not JSON."""
    return json.loads(text, parse_constant=str)


def text_of(content: Any) -> str:
    """The text of a message's content: a string, or a list of parts of which texts are kept and others named."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(text for part in content if (text := _part(part)))
    return json.dumps(content, ensure_ascii=False)


def _part(part: Any) -> str:
    if not isinstance(part, dict):
        return str(part)
    for key in ("text", "reasoning", "content"):
        if isinstance(part.get(key), str):
            return str(part[key])
    return f"[{part.get('type', 'part')} not imported]"


def seconds(value: Any) -> float | None:
    """A duration in seconds, None when the log holds none."""
    amount = dollars(value)
    return None if amount is None else round(amount, 3)


def dollars(value: Any) -> float | None:
    """An amount of money as the log holds it, None when it holds none. Not rounded: most single answers cost less than a tenth of a cent."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 else None
