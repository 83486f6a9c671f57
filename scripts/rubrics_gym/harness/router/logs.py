"""The kind of a whole command as other systems log it: shell lines, notebook cells, edit blocks, lines that a terminal wrapped.

These forms are for reading logs only. In the sandbox such a text would be run by the shell, so `classify` reads it as shell.
"""

from __future__ import annotations

import re

from rubrics_gym.harness import shell
from rubrics_gym.harness.router.findings import CODE_RUN, EDIT, INSPECT, OTHER, SUBMIT, strongest
from rubrics_gym.harness.router.parts import Part, classify
from rubrics_gym.records.trajectory import CommandKind

# Commands of the tools that SWE-agent and MLGym give their agents.
_AGENT_TOOLS = {
    **dict.fromkeys(
        [
            *["open", "goto", "scroll_up", "scroll_down", "search_dir", "search_file", "find_file", "filemap", "view", "memory_read"],
            *["literature_search", "parse_pdf_url"],
        ],
        INSPECT,
    ),
    **dict.fromkeys(["create", "edit", "insert", "append", "str_replace", "undo_edit"], EDIT),
    **dict.fromkeys(["memory_write", "exit_context", "exit_format", "exit_cost", "exit_forfeit", "skip"], OTHER),
}
_CALLED = {**_AGENT_TOOLS, "submit": SUBMIT}  # tools that some agents call as functions are written so: search_dir("x")
_ENDED_EDIT = re.compile(r"^(edit\b|insert \d+\b)[^\n]*\n(.*?\n)??end_of_(edit|insert)[^\n]*\n?", re.MULTILINE | re.DOTALL)
_NO_COMMAND = re.compile(r"^DISCUSSION$.*", re.MULTILINE | re.DOTALL)  # what SWE-agent's model says before its next command
_EDIT_BLOCK = re.compile(
    r"\s*(#[^\n]*\n\s*)*(\S+\n<{3,}\s*BEFORE_EDIT|EDITING [`'\"]?/|str_replace_editor (create|str_replace|insert|undo_edit)\b|(edit|insert|append)\b[^\n]*\n(?!\s*$))"
)
_CELL = re.compile(r"(?:[ \t]*(?:#[^\n]*)?\n)*[ \t]*(?:![^\s]|%%?[a-z])")  # below empty lines and comments
_SUBMISSION = re.compile(r"\s*echo\s+['\"]?(COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT|MINI_SWE_AGENT_FINAL_OUTPUT)\b")  # mini-swe-agent's
_DATA_FILE = re.compile(r"\.(txt|log|json|jsonl|ya?ml|csv|tsv|md|toml|cfg|ini|conf|xml|html?|crt|key|pem|gz|zip|parquet|c|cpp|h)$|/$")
_TERMINAL_WIDTH = 80  # a shorter line was not wrapped
_LONGEST_COMMAND = 100  # lines of a cell that one open quote is followed through


def kind_of(line: str) -> CommandKind:
    """The kind of a whole command of a log: the strongest of its parts."""
    if _CELL.match(line):
        return _kind_of_cell(line)
    if re.match(r"\s*str_replace_editor view\b", line):
        return INSPECT
    around = _NO_COMMAND.sub("", _ENDED_EDIT.sub("", line)) if "\nend_of_" in line else line
    if around != line:
        return strongest([EDIT, *([kind_of(around)] if around.strip() else [])])
    if _EDIT_BLOCK.match(line):
        return EDIT
    if (call := re.fullmatch(r"\s*(\w+)\([^\n]*\)\s*", line)) and call[1] != "open" and call[1] in _CALLED:
        return _CALLED[call[1]]
    return _kind_of_shell(line)


def _kind_of_shell(text: str) -> CommandKind:
    joined = re.sub(r"\n[ \t]*(?=(&&|\|\|?)\s|--?[A-Za-z])", " ", text) if "<<" not in text else text  # no command begins so
    parts = [part for part in classify(joined, _AGENT_TOOLS) if not part.neutral]
    return strongest([kind for part in parts for kind in _kinds(part, joined)] or [OTHER])


def _kinds(part: Part, text: str) -> list[CommandKind]:
    """The kinds of a part's pieces; a first piece that is the wrapped end of the line before it does nothing of its own."""
    pieces = list(part.pieces)
    first = "".join(pieces[0].scripts[:1])
    if _DATA_FILE.search(first) and shell.first_word(part.text) == first and _follows_a_wide_line(part.text, text):
        pieces = pieces[1:]
    return [SUBMIT if _SUBMISSION.match(piece.text) else piece.kind for piece in pieces if not piece.neutral]


def _follows_a_wide_line(part: str, text: str) -> bool:
    before = text.partition(part)[0]
    return before.endswith("\n") and len(before[:-1].rpartition("\n")[2]) >= _TERMINAL_WIDTH


def _kind_of_cell(cell: str) -> CommandKind:
    """A notebook cell that starts with ! or %: its shell lines decide, unless there is a line of Python, which runs."""
    first, _, rest = re.sub(r"\A([ \t]*(#[^\n]*)?\n)+", "", cell).strip().partition("\n")
    if re.match(r"%%(writefile|file)\b", first):
        return EDIT
    if re.match(r"%%(bash|sh|script +(ba|z)?sh)\b", first):
        return kind_of(rest)
    commands: list[str] = []
    lines = cell.replace("\\\n", " ").split("\n")
    while lines:
        text = lines.pop(0).strip()
        if text.startswith("!"):
            commands.append(_whole(text.lstrip("!"), lines))
        elif match := re.match(r"%(%?)([a-z_]+)\b(.*)", text):
            magic, argument = match[2], match[3]
            if magic in {"time", "timeit", "capture", "prun", "memit"}:
                if argument.strip() and not match[1]:
                    lines.insert(0, argument)
            elif magic in _MAGICS:
                commands.append(_MAGICS[magic] + argument)
            elif magic not in _IDLE_MAGICS:
                return CODE_RUN
        elif text and not text.startswith("#"):
            return CODE_RUN
    return kind_of("\n".join(commands))


def _whole(command: str, lines: list[str]) -> str:
    """A shell command of a cell with the lines below it that its open quotes take in; they are taken out of `lines`."""
    for count in range(min(len(lines), _LONGEST_COMMAND) + 1):
        text = "\n".join([command, *lines[:count]])
        if shell.is_whole(text):
            del lines[:count]
            return text
    return command


_MAGICS = {
    **{
        name: name
        for name in (
            "cd",
            "pip",
            "conda",
            "mamba",
            "uv",
            "ls",
            "ll",
            "mkdir",
            "cat",
            "cp",
            "mv",
            "rm",
            "rmdir",
            "less",
            "more",
            "man",
            "pwd",
        )
    },
    "env": "export",
    "set_env": "export",
    "run": "python",
    "sx": "",
    "system": "",
    "pycat": "cat ",
    "pfile": "cat ",
}
_IDLE_MAGICS = {
    "matplotlib",
    "load_ext",
    "reload_ext",
    "autoreload",
    "who",
    "whos",
    "config",
    "pylab",
    "history",
    "precision",
    "xmode",
    "alias",
    "store",
    "reset",
    "html",
    "markdown",
    "javascript",
    "latex",
    "svg",
}
