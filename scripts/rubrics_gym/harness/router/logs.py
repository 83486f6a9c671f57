"""The kind of a whole command as other systems log it: shell lines, notebook cells, edit blocks."""

from __future__ import annotations

import re

from rubrics_gym.harness.router.findings import CODE_RUN, EDIT, OTHER, strongest
from rubrics_gym.harness.router.parts import classify
from rubrics_gym.records.trajectory import CommandKind


def kind_of(line: str) -> CommandKind:
    """The kind of a whole command line: the strongest of its parts. Also for imported logs: edit blocks and notebook cells are known.

    Those forms are for reading logs only; in the sandbox such a line would be run by the shell, so `classify` reads it as shell.
    """
    if re.match(r"\s*edit \d+:\d+\n|\s*(create|insert|str_replace) |\s*\S+\n<<<BEFORE_EDIT>>>\n", line):
        return EDIT
    if re.match(r"(\s*(#.*)?\n)*\s*(![^\s]|%%?[a-z])", line):
        return _kind_of_cell(line)
    return strongest([part.kind for part in classify(line) if not part.neutral] or [OTHER])


def _kind_of_cell(cell: str) -> CommandKind:
    """A notebook cell that starts with ! or %: its shell lines decide, unless there is a line of Python, which runs."""
    first, _, rest = cell.strip().partition("\n")
    if re.match(r"%%(writefile|file)\b", first):
        return EDIT
    if re.match(r"%%(bash|sh|script +(ba)?sh)\b", first):
        return kind_of(rest)
    commands: list[str] = []
    for text in (line.strip() for line in cell.replace("\\\n", " ").split("\n")):
        if text.startswith("!"):
            commands.append(text[1:])
        elif match := re.match(r"%(cd|pip|conda|env|run)\b(.*)", text):
            commands.append(_MAGICS[match[1]] + match[2])
        elif text and not re.match(r"#|%%?(matplotlib|load_ext|autoreload|pwd|ls|who|capture|time)\b", text):
            return CODE_RUN
    return kind_of("\n".join(commands))


_MAGICS = {"cd": "cd", "pip": "pip", "conda": "conda", "env": "export", "run": "python"}
