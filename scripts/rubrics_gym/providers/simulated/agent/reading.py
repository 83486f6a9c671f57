"""What the agent reads: the rendered request, and what came back from its commands. Text in, plain values out."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rubrics_gym.models.request import Request


@dataclass(frozen=True)
class Brief:
    """What the first two texts of an episode say. Fields are empty or None where the text does not say it."""

    statement: str
    files: str
    deliverable: str | None
    steps: int
    command_s: float
    final_s: float
    memory_mb: int


def _between(text: str, label: str) -> str:
    found = re.search(rf"<{label}>\n(.*?)\n</{label}>", text, flags=re.DOTALL)
    return found.group(1).strip() if found else ""


def _number(text: str, pattern: str, default: float) -> float:
    found = re.search(pattern, text)
    return float(found.group(1)) if found else default


def read_brief(request: Request) -> Brief:
    """Read the system prompt and the first user message."""
    user = request.messages[0].text if request.messages else ""
    deliverable = re.search(r"writes /workspace/([\w.-]+\.\w+)", request.system)
    return Brief(
        statement=_between(user, "task"),
        files=_between(user, "files"),
        deliverable=deliverable.group(1) if deliverable else None,
        steps=int(_number(request.system, r"(\d+) turns", 30)),
        command_s=_number(request.system, r"([\d.]+) seconds and", 60),
        final_s=_number(request.system, r"at most ([\d.]+) seconds", 60),
        memory_mb=int(_number(request.system, r"(\d+) MB of memory", 4000)),
    )


@dataclass(frozen=True)
class Criterion:
    satisfied: bool
    text: str


@dataclass(frozen=True)
class Feedback:
    """One tool result. `ran` means that a program's real output is in it (of the command, a check or a submit run)."""

    ran: bool
    exit_code: int | None = None
    timed_out: bool = False
    output: str = ""
    verdict: bool = False
    reward: float | None = None
    criteria: tuple[Criterion, ...] = ()
    held: bool = False

    @property
    def violated(self) -> tuple[str, ...]:
        return tuple(criterion.text for criterion in self.criteria if not criterion.satisfied)

    @property
    def failed(self) -> bool:
        """Something real went wrong: it was stopped, exited non-zero, or a traceback was shown."""
        return self.ran and (
            self.timed_out or bool(self.exit_code) or "Traceback (most recent call last)" in self.output or "MemoryError" in self.output
        )


_STOPPED = re.compile(r"stopped after|timed? ?out|did not finish|time limit|was stopped", re.IGNORECASE)


def _criteria(text: str) -> tuple[Criterion, ...]:
    """Numbered lines `1. [0] words`; a criterion's text may go on over lines until the next number or note."""
    found = re.findall(r"^\d+\. \[([01])\] (.*?)(?=^\d+\. \[[01]\] |^\[|\Z)", text, flags=re.DOTALL | re.MULTILINE)
    return tuple(Criterion(mark == "1", words.strip()) for mark, words in found)


def read_feedback(text: str) -> Feedback:
    """Read one tool result. A real run (a check, a held submission) counts for more than the notice before it.

    A command line that writes a file and then runs it shows first that the writing went well: that is passed over.
    """
    text = re.sub(r"\A\s*\[exit code 0\]\n(?=\s*\S)", "", text)
    reward = re.search(r"^Predicted reward: ([\d.]+)", text, flags=re.MULTILINE)
    verdict = "predicted what would come of it" in text or re.search(r"^Predicted reward: ", text, flags=re.MULTILINE) is not None
    criteria = _criteria(text) if verdict else ()
    held = re.search(r"^\[The submission was sent back: (.*?)\]$(.*)", text, flags=re.DOTALL | re.MULTILINE)
    check = re.search(
        r"^\[Check: final\.py was run for real, for at most [\d.]+ seconds\. (.*?)\]$(.*)", text, flags=re.DOTALL | re.MULTILINE
    )
    real = held or check
    exit_notes = re.findall(r"^\[exit code (-?\d+)\]", text, flags=re.MULTILINE)
    if real:
        said, output = real.group(1), real.group(2)
        code = re.search(r"(?:code|status) (-?\d+)", said + output)
        return Feedback(
            ran=True,
            exit_code=int(code.group(1)) if code else None,
            timed_out=bool(_STOPPED.search(said)),
            output=output.strip(),
            verdict=verdict,
            reward=float(reward.group(1)) if reward else None,
            criteria=criteria or _criteria(output),
            held=bool(held),
        )
    if verdict:
        return Feedback(ran=False, verdict=True, reward=float(reward.group(1)) if reward else None, criteria=criteria)
    if re.search(r"^\[stopped after [\d.]+ seconds", text, flags=re.MULTILINE):
        return Feedback(ran=True, timed_out=True, output=text)
    if re.match(r"\s*\[(The command was not executed|Not executed|No command was found)", text):
        return Feedback(ran=False)
    return Feedback(ran=True, exit_code=int(exit_notes[-1]) if exit_notes else None, output=text)
