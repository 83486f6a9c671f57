"""Two agents that need no model, to try out a task before anybody pays for it: one hands in the reference answer, one hands in nothing."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rubrics_gym.models.client import Answer
from rubrics_gym.models.request import Request, Response, ToolCall

FOLDER = "reference"  # of the work folder, where the oracle finds its answer
ORACLE = (f"cp -r {FOLDER}/. . && rm -r {FOLDER}", "submit")
NOP = ("submit",)


class ScriptedAgent:
    """Stands where the client of a model stands, and answers turn by turn with the given command lines; after the last one it submits."""

    def __init__(self, lines: tuple[str, ...]):
        self._lines = lines
        self._turn = 0

    def ask(self, request: Request, occurrence: int = 0) -> Answer:
        """The next command line, as a call of the tool `bash`. Costs nothing."""
        line = self._lines[self._turn] if self._turn < len(self._lines) else "submit"
        self._turn += 1
        call = ToolCall(id=f"call_{self._turn}", name="bash", arguments={"command": line})
        return Answer(Response(tool_calls=(call,)), key=f"scripted_{self._turn}", cost_microdollars=0, served="live")


def lay_out(reference: Mapping[str, bytes], work: Path) -> None:
    """Put the reference answer where the oracle finds it."""
    for name, content in reference.items():
        path = work / FOLDER / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
