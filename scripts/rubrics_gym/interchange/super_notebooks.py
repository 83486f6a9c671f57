"""SUPER: `history.ipynb`, steps as Markdown cells ("### Step", "**Thought**", "**Action (…)**") followed by a code cell; `metrics.json` beside it.

Other notebooks that were run are read too: every code cell is a command.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from rubrics_gym.interchange.logs import Call, ForeignRun, Result, Turn, UnreadableLog, read_document, seconds, text_of
from rubrics_gym.interchange.tools import python_call
from rubrics_gym.records.trajectory import CommandKind

LOSES = (
    "exit codes: a notebook holds none",
    "outputs that are not text (images, widgets)",
    "what the agent read besides the outputs of its cells",
)
_ACTION = re.compile(r"\*\*Action \((\w+)\)\*\*")
_THOUGHT = re.compile(r"\*\*Thought\*\*:?\s*(.*)", re.DOTALL)
_DURATION = re.compile(r"duration: ([\d.]+) seconds")


def recognises(path: Path, document: Any) -> bool:
    """Whether a JSON document is a notebook."""
    return isinstance(document, dict) and isinstance(document.get("cells"), list) and "nbformat" in document


def read(path: Path) -> list[ForeignRun]:
    """The one run of a notebook."""
    document = read_document(path)
    if not recognises(path, document):
        raise UnreadableLog(f"{path}: expected a notebook with `cells` and `nbformat`.")
    by_super = any(_ACTION.search(text_of(cell.get("source"))) for cell in document["cells"] if cell.get("cell_type") == "markdown")
    turns, statement, submission = _turns(document["cells"], by_super)
    return [
        ForeignRun(
            task=path.parent.name if path.name == "history.ipynb" else path.stem,
            turns=tuple(turns),
            benchmark="super" if by_super else "",
            statement=statement,
            model=path.parent.parent.name if path.name == "history.ipynb" else "",
            end="submitted" if submission is not None else "not recorded",
            submission=submission,
            result=_result(path.with_name("metrics.json")) if by_super else None,
        )
    ]


def _turns(cells: list[dict[str, Any]], by_super: bool) -> tuple[list[Turn], str, str | None]:
    turns: list[Turn] = []
    statement, thought, action, duration = "", "", "execute", None
    submission: str | None = None
    for cell in cells:
        source = "".join(cell.get("source") or [])
        if cell.get("cell_type") != "code":
            if source.startswith("### Query"):
                statement = source.removeprefix("### Query").strip()
                turns.append(Turn("user", statement))
            elif match := _THOUGHT.match(source.strip()):
                thought = match[1]
            elif match := _ACTION.match(source.strip()):
                action = match[1]
            elif match := _DURATION.search(source):
                duration = float(match[1])
            elif not source.startswith("### "):
                turns.append(Turn("user", source))
            continue
        output = _output(cell.get("outputs") or [])
        call = _call(source, action, thought, output, duration)
        if not by_super and cell.get("execution_count") is None and not cell.get("outputs"):
            call = replace(call, executed=False, output=None, note="the cell was not run")
        turns += [Turn("assistant", thought, (call,)), Turn("user", output)]
        submission = source if action == "submit" else submission
        thought, action, duration = "", "execute", None
    return turns, statement, submission


def _call(source: str, action: str, thought: str, output: str, duration: float | None) -> Call:
    note = "run by the user before the agent began" if thought.startswith("[pre-executed") else ""
    timing: dict[str, Any] = {"duration_s": seconds(duration), "note": note}
    if action == "submit":
        return Call(source, CommandKind.SUBMIT, typed=True, tool="submit", arguments={"answer": source}, output=output, **timing)
    if action == "edit":
        return Call(source, CommandKind.EDIT, typed=True, tool="edit", arguments={"content": source}, output=output, **timing)
    return python_call(source, output=output, **timing)


def _output(outputs: list[dict[str, Any]]) -> str:
    texts = []
    for output in outputs:
        if output.get("output_type") == "stream":
            texts.append("".join(output.get("text") or []))
        elif output.get("output_type") == "error":
            texts.append("\n".join(output.get("traceback") or []) or f"{output.get('ename')}: {output.get('evalue')}")
        elif "text/plain" in (output.get("data") or {}):
            texts.append("".join(output["data"]["text/plain"]))
        else:
            texts.append(f"[{', '.join(output.get('data') or ['output'])} not imported]")
    return "\n".join(texts)


def _result(path: Path) -> Result | None:
    """SUPER's metrics: the answer is right when `output_match` is 1."""
    if not path.is_file():
        return None
    metrics = read_document(path)
    match = metrics.get("output_match") if isinstance(metrics, dict) else None
    if not isinstance(match, int | float):
        return None
    return Result("output_match", float(match), match < 1, ", ".join(f"{name} {value}" for name, value in sorted(metrics.items())))
