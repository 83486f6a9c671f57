"""SWE-agent and MLGym: `*.traj`, a document with `trajectory` (what ran) and `history` (what the model read); demonstrations have a history only."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from rubrics_gym.interchange.logs import Call, ForeignRun, Turn, UnreadableLog, dollars, read_document, seconds, text_of
from rubrics_gym.interchange.tools import relative, shell_call
from rubrics_gym.records.trajectory import CommandKind

LOSES = (
    "exit codes: the format holds none",
    "demonstrations in the prompt",
    "the editor's state after each step (open file, folder)",
    "files as edited by line ranges: only the commands are kept",
)
# the interface's own commands, by the first word of the action (SWE-agent's and MLGym's tool documentation)
_INTERFACE = {
    CommandKind.INSPECT: "open goto scroll_up scroll_down find_file search_dir search_file filemap view memory_read literature_search parse_pdf_url download_pdf state",
    CommandKind.EDIT: "create edit insert append str_replace str_replace_editor undo_edit memory_write",
    CommandKind.SUBMIT: "submit exit_forfeit",
    CommandKind.OTHER: "exit_cost exit_context exit_format exit_api",  # the interface's own marks, no commands
    CommandKind.CODE_RUN: "validate",
}
_KINDS = {word: kind for kind, words in _INTERFACE.items() for word in words.split()}
_TIMED_OUT = re.compile(r"EXECUTION TIMED OUT|was cancelled because it took more than \d")
_REFUSED = re.compile(r"\A(?:Interactive operation|Operation) '.*' is not supported by this environment", re.DOTALL)
_PROMPT = re.compile(r"(\n\(Current Step: .*\))?(\n\(Open file: .*\))?(\n\(Current directory: .*\))?\nbash-\$\s*\Z")


def recognises(path: Path, document: Any) -> bool:
    """Whether a JSON document is a trajectory of SWE-agent or MLGym."""
    if not isinstance(document, dict):
        return False
    steps, history = document.get("trajectory"), document.get("history")
    acts = isinstance(steps, list) and any(isinstance(one, dict) and "action" in one and "observation" in one for one in steps)
    return acts or (isinstance(history, list) and any(isinstance(one, dict) and "role" in one and "action" in one for one in history))


def read(path: Path) -> list[ForeignRun]:
    """The one run of a file."""
    document = read_document(path)
    if not recognises(path, document):
        raise UnreadableLog(f"{path}: expected `trajectory` or `history` with actions, as SWE-agent and MLGym write them.")
    history = [message for message in document.get("history") or [] if isinstance(message, dict) and not message.get("is_demo")]
    steps = document.get("trajectory") or []
    turns = _opening(history) + (_from_steps(steps) if steps else _from_history(history))
    info = document.get("info") or {}
    return [
        ForeignRun(
            task=path.stem,
            turns=tuple(turns),
            statement=next((turn.text for turn in turns if turn.role == "user"), ""),
            end=str(info.get("exit_status") or "not recorded"),
            submission=info.get("submission") or None,
            wall_s=None,
            cost_usd=dollars((info.get("model_stats") or {}).get("instance_cost", (info.get("model_stats") or {}).get("total_cost"))),
        )
    ]


def _opening(history: list[dict[str, Any]]) -> list[Turn]:
    """What the model read before its first action, without demonstrations."""
    turns = []
    for message in history:
        if message.get("role") == "assistant":
            break
        if "--- DEMONSTRATION ---" not in text_of(message.get("content"))[:1000]:
            turns.append(Turn("system" if message.get("role") == "system" else "user", text_of(message.get("content"))))
    return turns


def _from_steps(steps: list[dict[str, Any]]) -> list[Turn]:
    turns = []
    for step in steps:
        action = text_of(step.get("action")).rstrip("\n")
        observation = None if step.get("observation") is None else text_of(step["observation"])
        said = text_of(step.get("response")) or text_of(step.get("thought"))
        calls = (_call(action, observation, seconds(step.get("execution_time"))),) if action.strip() else ()
        turns += [Turn("assistant", said, calls), *([] if observation is None else [Turn("user", observation)])]
    return turns


def _from_history(history: list[dict[str, Any]]) -> list[Turn]:
    turns: list[Turn] = []
    for message in history[_first_answer(history) :]:
        if message.get("role") == "assistant":
            action = text_of(message.get("action")).rstrip("\n")
            turns.append(Turn("assistant", text_of(message.get("content")), (_call(action, None, None),) if action.strip() else ()))
            continue
        shown = text_of(message.get("content"))
        last = turns[-1] if turns else None
        if last is not None and last.role == "assistant" and last.calls:
            done = _call(last.calls[0].text, _PROMPT.sub("", shown), None)
            turns[-1] = replace(last, calls=(done,))
        turns.append(Turn("user", shown))
    return turns


def _first_answer(history: list[dict[str, Any]]) -> int:
    return next((number for number, message in enumerate(history) if message.get("role") == "assistant"), len(history))


def _call(action: str, observation: str | None, duration_s: float | None) -> Call:
    first, _, rest = action.strip().partition(" ")
    kind = _KINDS.get(first.partition("\n")[0])
    call = (
        shell_call(action, output=observation, duration_s=duration_s)
        if kind is None
        else Call(action, kind, typed=True, output=observation, duration_s=duration_s)
    )
    if kind is CommandKind.EDIT and first == "str_replace_editor":
        call = _editor(call, rest)
    if observation is not None and _REFUSED.match(observation):
        return replace(call, executed=False, note="refused by the interface")
    return replace(call, timed_out=bool(_TIMED_OUT.search(observation[-1000:]))) if observation else call


def _editor(call: Call, arguments: str) -> Call:
    """`str_replace_editor COMMAND PATH [--file_text TEXT] …`: a look, an edit, or a whole file."""
    command, _, rest = arguments.strip().partition(" ")
    if command == "view":
        return replace(call, kind=CommandKind.INSPECT)
    made = re.match(r"(\S+)\s+--file_text\s+(['\"])(.*)\2\s*\Z", rest.strip(), re.DOTALL)
    if command == "create" and made and made[2] == "'":
        return replace(call, files={relative(made[1]): made[3].replace("'\"'\"'", "'")})
    return call
