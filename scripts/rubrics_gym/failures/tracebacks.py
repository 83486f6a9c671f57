"""The exceptions that an output shows: Python's tracebacks, IPython's, exception groups, and lines that only name an exception."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import NamedTuple

TRACEBACK = "Traceback (most recent call last)"
# Sentences by which Python joins exceptions, and what stands before a traceback that ended nothing.
CAUSED = "The above exception was the direct cause of"
DURING = "During handling of the above exception"
HARMLESS = re.compile(r"Exception ignored (?:in|on|while)|--- Logging error ---")
# `  File "x.py", line 3, in run`, IPython's `File x.py:3, in run(a)`, `Cell In[3], line 2`, `<ipython-input-3-0a> in <module>`, and the code below it.
FRAME = re.compile(
    r"^[ \t|│❱]*(?:File \"(?P<path>[^\"\n]{1,400})\", line \d+(?:, in (?P<function>[^\n]{1,200}))?"
    r"|(?:File )?(?P<cell>(?:Cell )?In ?\[\d+\]|<ipython-input[^>\n]{0,60}>|(?:~|\.|/)[^\s:]{1,300}\.py)(?::\d+|, line \d+| in )[^\n]{0,200})"
    r"\n?(?P<code>[^\n]*)",
    re.MULTILINE,
)
EXCEPTION = re.compile(r"^(?:[ \t|│]|E {2,})*(?P<name>[A-Za-z_][\w.]{0,150})(?:: ?(?P<message>[^\n]*))?$", re.MULTILINE)
SUFFIXES = ("Error", "Exception", "Exit", "Interrupt", "Expired", "Warning", "Empty", "Full", "Iteration", "NotFound", "Conflict", "Refused",
            "Disconnected", "Timeout", "Incomplete", "IncompleteRead", "Invalid", "InvalidURL", "Pruned", "Option", "Parameter", "Group")  # fmt: skip
LOWER = frozenset({"gaierror", "timeout", "error", "herror"})
SHELL = re.compile(r"\S*sh: (?:line )?\d+: |\S+: line \d+: |\$ ")
# Exceptions of Python itself whose message is one line: what follows is not part of it.
ONE_LINE = frozenset({"KeyError", "IndexError", "NameError", "UnboundLocalError", "ZeroDivisionError", "ModuleNotFoundError", "FileNotFoundError", "IndentationError",
                      "SyntaxError", "TabError", "RecursionError", "UnicodeDecodeError", "UnicodeEncodeError", "KeyboardInterrupt", "StopIteration", "EOFError"})  # fmt: skip
MESSAGE_LINES = 12  # an exception's message may run over several lines
MESSAGE_CHARS = 4000


class Link(StrEnum):
    """How an exception hangs on the one before it."""

    NONE = "none"
    CAUSE = "cause"  # raised from it
    CONTEXT = "context"  # raised while it was handled


class Frame(NamedTuple):
    path: str
    function: str
    code: str


class Raised(NamedTuple):
    """One exception. `frames` are outermost first; `traced` says that it stands at the end of a traceback; `chain` numbers those that hang together."""

    name: str
    message: str
    frames: tuple[Frame, ...]
    traced: bool
    harmless: bool
    chain: int
    link: Link

    @property
    def kind(self) -> str:
        """The name without its module."""
        return self.name.rsplit(".", 1)[-1]

    @property
    def line(self) -> str:
        return f"{self.name}: {self.message}"

    @property
    def program(self) -> str | None:
        """The file that was run, when the traceback begins in its body: an exception that nobody caught."""
        return self.frames[0].path if self.frames and self.frames[0].function == "<module>" else None


def raised_in(text: str) -> list[Raised]:
    """The exceptions of a cleaned output in the order printed."""
    found: list[Raised] = []
    if not any(word in text for word in ("Error", "Traceback", "xception", "Exit", "Interrupt", "Conflict: ", "Invalid: ", 'File "')):
        return found
    end, chain = 0, 0
    for match in EXCEPTION.finditer(text):
        name = match["name"]
        named = _names_exception(name)
        if not named and not _may_end_traceback(text, match):
            continue
        between = text[end : match.start()]
        traced = TRACEBACK in between or 'File "' in between
        if not named and not traced:
            continue
        if name.endswith("Warning") and not traced:
            continue
        link = Link.CAUSE if CAUSED in between else Link.CONTEXT if DURING in between else Link.NONE
        chain += bool(found) and link is Link.NONE
        frames = _frames(between) if traced else ()
        found.append(
            Raised(name, _message(text, match), frames, traced, bool(HARMLESS.search(between)), chain, link if found else Link.NONE)
        )
        end = match.end()
    return found


def _names_exception(name: str) -> bool:
    last = name.rsplit(".", 1)[-1]
    if last in LOWER or last == "Error":
        return "." in name
    return last.endswith(SUFFIXES) and (last[0].isupper() or last[0] == "_") and last not in SUFFIXES


def _may_end_traceback(text: str, match: re.Match[str]) -> bool:
    """Whether an unknown name stands where a traceback may end: not indented, right below an indented line."""
    start, name = match.start(), match["name"]
    if start < 2 or match.start("name") != start or name.endswith(".py") or not (name[0].isupper() or "." in name):
        return False
    above = text.rfind("\n", 0, start - 1) + 1
    return text[above] in " \t"


def _frames(between: str) -> tuple[Frame, ...]:
    start = max(0, between.rfind(TRACEBACK))
    return tuple(
        Frame(match["path"] or match["cell"], (match["function"] or "").strip(), match["code"].strip(" \t|│"))
        for match in FRAME.finditer(between, start)
    )


def _message(text: str, match: re.Match[str]) -> str:
    """The message, with the lines that continue it."""
    lines = [match["message"] or ""]
    if match["name"] in ONE_LINE:
        return lines[0].rstrip()
    for line in text[match.end() : match.end() + MESSAGE_CHARS].split("\n")[1 : 1 + MESSAGE_LINES]:
        named = EXCEPTION.match(line)
        if (
            TRACEBACK in line
            or CAUSED in line
            or DURING in line
            or (named and _names_exception(named["name"]))
            or (set(line.strip()) <= set("-=") and any(lines))
            or SHELL.match(line)
        ):
            break
        lines.append(line)
    return "\n".join(lines).rstrip()
