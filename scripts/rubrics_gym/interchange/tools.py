"""What a tool call of a foreign agent does: a shell command, a program, a look, an edit, or handing in.

Systems name their tools differently; the tables hold the names that their own sources use. A call of an unknown tool is kept as `other`.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

from rubrics_gym.harness.router import kind_of
from rubrics_gym.interchange.logs import Call, parsed
from rubrics_gym.records.trajectory import CommandKind

_SHELLS = frozenset(
    [
        "bash",
        "shell",
        "sh",
        "run",
        "terminal",
        "cmd",
        "execute",
        "execute_bash",
        "execute_command",
        "run_command",
        "run_shell_command",
        "bash_command",
        "bash_session",
        "exec_command",
        "local_shell",
        "shell_command",
        "container.exec",
        "exec",
    ]
)
_COMMAND_KEYS = ("command", "cmd", "keystrokes", "script", "commands", "input", "code")
_PYTHONS = frozenset(
    ["python", "ipython", "run_ipython", "execute_ipython_cell", "execute_python", "python_exec", "jupyter", "notebook_cell", "run_python"]
)
_CODE_KEYS = ("code", "source", "cell", "command", "script", "input")
_EDITORS = frozenset(["str_replace_editor", "str_replace_based_edit_tool", "file_editor", "edit_anthropic", "text_editor"])
_EDITOR_KINDS = {"view": CommandKind.INSPECT}  # the other commands of an editor change the file
RETURN_CODE = re.compile(r"\A\s*(?:<exception>.*?</exception>\s*)?<returncode>(-?\d+)</returncode>\s*", re.DOTALL)
OUTPUT = re.compile(r"<output>\n?(.*?)\n?</output>", re.DOTALL)
_SUBMITS = frozenset(
    ["submit", "finish", "attempt_completion", "complete", "task_complete", "mark_task_complete", "final_answer", "exit_forfeit"]
)
_LOOKS = re.compile(
    r"(^|_)(view|read|open|goto|scroll|find|search|grep|glob|ls|list|filemap|cat|fetch|browse|browser|recall|download|parse)", re.IGNORECASE
)
_CHANGES = re.compile(r"(^|_)(edit|write|create|insert|replace|append|patch|undo|delete|move|multiedit)", re.IGNORECASE)


def shell_call(text: str, **more: Any) -> Call:
    """A command line of a shell."""
    return Call(text=text, kind=kind_of(text), typed=True, **more)


def python_call(code: str, **more: Any) -> Call:
    """A cell or a program of Python; a cell of shell lines (`!`, `%`) is what those lines are."""
    statements = [line for line in code.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    kind = CommandKind.OTHER if not statements else kind_of(code) if statements[0].lstrip()[:1] in "!%" else CommandKind.CODE_RUN
    return Call(text=code, kind=kind, typed=True, **{"tool": "python", "arguments": {"code": code}, **more})


def tool_call(name: str, arguments: Any, **more: Any) -> Call:
    """A tool call by its name and arguments (a mapping, or its JSON text)."""
    given = _mapping(arguments)
    tool = name.rsplit("__", 1)[-1]
    if tool.lower() in _SHELLS and (text := _text(given, _COMMAND_KEYS)) is not None:
        return shell_call(text, tool=name, arguments=given, **more)
    if tool.lower() in _PYTHONS and (text := _text(given, _CODE_KEYS)) is not None:
        return replace(python_call(text, **more), tool=name, arguments=given)
    text = f"{name} {json.dumps(given, ensure_ascii=False, sort_keys=True)}" if given else name
    return Call(text=text, kind=_kind(tool.lower(), given), tool=name, arguments=given, files=written(given), **more)


def written(arguments: Mapping[str, Any]) -> dict[str, str] | None:
    """The file that an editor's call writes whole, as path -> text; None when the call does not say all of it."""
    path = next((arguments[key] for key in ("path", "file_path", "filename", "file") if isinstance(arguments.get(key), str)), None)
    if path is None or arguments.get("command") not in (None, "create", "write"):
        return None
    text = next((arguments[key] for key in ("file_text", "content", "contents") if isinstance(arguments.get(key), str)), None)
    return {relative(path): text} if text else None


def written_result(text: str) -> tuple[str, int | None]:
    """Output and exit code of a result whose text holds both in a form of its own; the text and None for any other.

    mini-swe-agent writes `<returncode>` and `<output>`, Codex a JSON object with `output` and `metadata.exit_code`.
    """
    if match := RETURN_CODE.match(text):
        rest = text[match.end() :]
        whole = OUTPUT.search(rest)
        broken = "<exception>" in match[0]  # then the environment wrote the number, and no process ended with it
        return whole[1] if whole else rest, None if broken else int(match[1])
    if text.startswith("{"):
        try:
            value = json.loads(text)
            code = value["metadata"]["exit_code"]
            if isinstance(code, int) and isinstance(value["output"], str):
                return value["output"], code
        except (ValueError, KeyError, TypeError):
            pass
    return text, None


def relative(path: str) -> str:
    """A path as it is recorded: without a leading slash and without `..`, so that it stays below any folder."""
    printable = "".join(letter if letter.isprintable() else "_" for letter in path.replace("\\", "/"))
    parts = [part for part in PurePosixPath(printable).parts if part not in ("/", "//", "..")]
    return str(PurePosixPath(*parts)) if parts else "unnamed"


def _kind(tool: str, arguments: Mapping[str, Any]) -> CommandKind:
    if tool in _EDITORS:
        return _EDITOR_KINDS.get(str(arguments.get("command")), CommandKind.EDIT)
    if tool in _SUBMITS:
        return CommandKind.SUBMIT
    if _CHANGES.search(tool):
        return CommandKind.EDIT
    return CommandKind.INSPECT if _LOOKS.search(tool) else CommandKind.OTHER


def _mapping(arguments: Any) -> dict[str, Any]:
    if isinstance(arguments, str):
        try:
            arguments = parsed(arguments)
        except ValueError:
            return {"text": arguments} if arguments.strip() else {}
    return dict(arguments) if isinstance(arguments, Mapping) else {} if arguments is None else {"value": arguments}


def _text(arguments: Mapping[str, Any], keys: tuple[str, ...]) -> str | None:
    for key in keys:
        value = arguments.get(key)
        if isinstance(value, str):
            return value
        if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
            nested = len(value) == 3 and PurePosixPath(value[0]).name in ("bash", "sh", "zsh") and value[1].startswith("-")
            return value[2] if nested else shlex.join(value)
    return None
