"""Taking a rendered rollout apart: steps, final programs, what was handed in, the grader's words."""

from __future__ import annotations

import re
from dataclasses import dataclass

_STEP = re.compile(r"<step>\nstep (\d+) \(([^\n]*)\)\n\$ (.*?)\n</step>", re.DOTALL)
_PROGRAM = re.compile(r"<program>\n# ([^\n]*)\n(.*?)\n</program>", re.DOTALL)


@dataclass(frozen=True)
class ReadStep:
    number: int
    ending: str
    body: str  # command and output, one after the other

    @property
    def failed(self) -> bool:
        return "failed" in self.ending

    @property
    def repaired(self) -> bool:
        return "a later run succeeded" in self.ending and "no later" not in self.ending

    def last_line_like(self, pattern: str) -> str | None:
        """The last line of the step that the expression matches, without blanks around it."""
        lines = [line.strip() for line in self.body.split("\n") if re.search(pattern, line)]
        return lines[-1] if lines else None


@dataclass(frozen=True)
class Rollout:
    task: str
    steps: tuple[ReadStep, ...]
    programs: dict[str, str]
    handed_in: str | None  # head of the deliverable; None when nothing was handed in
    deliverable: str
    verdict: str

    @property
    def ended_wrong(self) -> bool:
        return "the attempt ended wrong" in self.verdict

    @property
    def is_prediction(self) -> bool:
        return "submission.csv" in self.deliverable

    @property
    def program(self) -> str:
        """The program that counts: final.py, or the last one written."""
        for path, text in self.programs.items():
            if path.endswith("final.py"):
                return text
        return list(self.programs.values())[-1] if self.programs else ""

    def program_line(self, pattern: str) -> str | None:
        """The first line of the final program that the expression matches."""
        return next((line.strip() for line in self.program.split("\n") if re.search(pattern, line)), None)


def read_rollout(text: str) -> Rollout:
    """Read the user message of a mining request."""
    task = re.search(r"<task>\n(.*?)\n</task>", text, re.DOTALL)
    handed_in = re.search(r"The head of (\S+) as handed in:\n<deliverable>\n(.*?)\n</deliverable>", text, re.DOTALL)
    absent = re.search(r"^(\S+) was not handed in\.", text, re.MULTILINE)
    verdict = re.search(r"^The grader: .*", text, re.MULTILINE | re.DOTALL)
    return Rollout(
        task=task[1] if task else "",
        steps=tuple(ReadStep(int(number), ending, body) for number, ending, body in _STEP.findall(text)),
        programs=dict(_PROGRAM.findall(text)),
        handed_in=handed_in[2] if handed_in else None,
        deliverable=handed_in[1] if handed_in else absent[1] if absent else "",
        verdict=verdict[0] if verdict else "",
    )


def read_titles(text: str) -> set[str] | None:
    """The titles that a library has already; None where the request shows none."""
    block = re.search(r"<titles>\n(.*?)\n</titles>\s*\Z", text, re.DOTALL)
    return {line.strip() for line in block[1].split("\n")} if block else None
