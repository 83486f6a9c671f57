"""One command as the checks see it: the request's words, and the programs that the command would run."""

from __future__ import annotations

import ast
import itertools
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from rubrics_gym.providers.simulated.judge.following import follow
from rubrics_gym.providers.simulated.judge.mistakes import Mistake
from rubrics_gym.providers.simulated.judge.reading import Reading, base, normal
from rubrics_gym.providers.simulated.judge.story import Frame, Story
from rubrics_gym.providers.simulated.judge.syntax import called, calls, words

_HEREDOC = re.compile(
    r"(?P<line>[^\n]*)<<-?\s*['\"]?(?P<end>\w+)['\"]?(?P<rest>[^\n]*)\n(?P<body>.*?\n)?\s*(?P=end)[ \t]*(?:\n|$)", re.DOTALL
)
_INTO_FILE = re.compile(r">\s*['\"]?([\w./-]+)")
_NAMED_FILE = re.compile(r"[\w./-]*\w\.(?:csv|tsv|txt|json|jsonl|parquet|xlsx|npy|pkl)\b")
HANDED_IN = "final.py"
Node = TypeVar("Node", bound=ast.AST)


@dataclass(frozen=True)
class Observation:
    """One thing that was looked for: the mistake in general words, whether it is there, and what was seen where it is."""

    mistake: Mistake
    present: bool
    reason: str


def sought(mistake: Mistake, found: Sequence[str]) -> Observation:
    """A mistake that was looked for, and the sentences that say where it is; none: it is not there."""
    return Observation(mistake, bool(found), "; ".join(found[:3]))


@dataclass(frozen=True)
class Source:
    """One program. `tree` is None when it does not parse; then `error` says why."""

    path: str
    text: str
    tree: ast.Module | None
    error: str
    story: Story

    @property
    def parsed(self) -> ast.Module:
        """The syntax tree; an empty one where the program does not parse."""
        return self.tree if self.tree is not None else ast.Module([], [])

    @cached_property
    def calls(self) -> list[ast.Call]:
        return list(calls(self.parsed))

    @cached_property
    def called(self) -> set[str]:
        """The last name of everything that is called."""
        return {called(node) for node in self.calls}

    @cached_property
    def words(self) -> set[str]:
        """Every name and attribute."""
        return words(self.parsed)

    def owner(self, node: ast.Call) -> Frame | None:
        """The frame whose method a call is, where that is known."""
        return self.story.frames.get(id(node.func.value)) if isinstance(node.func, ast.Attribute) else None


class Case:
    """A request that has been read, with every program parsed and followed once."""

    def __init__(self, reading: Reading):
        self.reading = reading
        self.sources = [_source(path, text, reading) for path, text in _running(reading)]

    @cached_property
    def is_hand_in(self) -> bool:
        """Whether this run would make what is handed in (or a trial of it), and not only look around."""
        return any(base(source.path) == HANDED_IN for source in self.sources)

    @cached_property
    def deliverables(self) -> tuple[str, ...]:
        """Names of the files that the statement asks for: named there, and not among the files that are already there."""
        given = {base(path) for path in self.reading.files or () if "/data/" in path} | {base(table.path) for table in self.reading.tables}
        asked: list[str] = []
        for sentence in re.split(r"(?<=[.!?])\s+|\n", self.reading.statement):
            if re.search(r"\b(writ|sav|submi|stor|creat|produc|output|put|hand)", sentence, re.IGNORECASE):
                asked += [base(name) for name in _NAMED_FILE.findall(sentence)]
        return tuple(name for name in dict.fromkeys(asked) if name not in given and not re.match(r"(train|test|sample)", name))

    @cached_property
    def headers(self) -> dict[str, tuple[str, ...]]:
        """Deliverable -> its columns: those of the sample file that shows its shape, else those that the statement lists in a line."""
        samples = [table.names for table in self.reading.tables if "sample" in base(table.path)]
        shape = next(iter(samples), None) or _listed_columns(self.reading.statement)
        return {name: shape for name in self.deliverables if shape and name.endswith(".csv")}

    @cached_property
    def seconds(self) -> float | None:
        """The time limit that holds for this command."""
        return self._limit("command", "second", "_s") or self._limit("time", "timeout", "cap")

    @cached_property
    def megabytes(self) -> float | None:
        return self._limit("memory", "mb", "ram")

    def _limit(self, *words: str) -> float | None:
        first, *others = words
        found = [value for name, value in self.reading.limits.items() if first in name and (not others or any(w in name for w in others))]
        return found[0] if found else None

    def nodes(self, kind: type[Node]) -> Iterator[Node]:
        """Every node of one kind, in every program."""
        return (node for source in self.sources for node in ast.walk(source.parsed) if isinstance(node, kind))


def _listed_columns(statement: str) -> tuple[str, ...] | None:
    """The names in the line after one that speaks of columns, if that line is a header: names with commas between and nothing else."""
    lines = statement.splitlines()
    for before, line in itertools.pairwise(lines):
        if re.search(r"\bcolumns\b.*:\s*$", before) and re.fullmatch(r"\w[\w .-]*(,\s*\w[\w .-]*)+", line.strip()):
            return tuple(name.strip() for name in line.split(","))
    return None


def _source(path: str, text: str, reading: Reading) -> Source:
    try:
        tree = ast.parse(text)
        story = follow(tree, reading)
    except (SyntaxError, ValueError, RecursionError) as error:
        return Source(path, text, None, f"{type(error).__name__}: {error}", Story())
    return Source(path, text, tree, "", story)


def _running(reading: Reading) -> list[tuple[str, str]]:
    """(path, text) of the programs that the command runs: inline code, the files it names, and the modules these import.

    A command that names none of the programs shown may run any of them, so all are read.
    """
    programs = reading.programs | _written_by(reading.command)
    shown_inline = [path for path in programs if path.startswith("<")]
    inline = [] if shown_inline else [("<command>", text) for text in _inline(reading.command)]
    outside = _HEREDOC.sub(r"\g<line>\g<rest>\n", reading.command)
    named = [path for path in programs if path in shown_inline or re.search(rf"(?<![\w.-]){re.escape(base(path))}(?![\w.-])", outside)]
    if not named and not inline:
        named = list(programs)
    for path in named:  # grows while it is walked: modules of modules
        for module in re.findall(r"^\s*(?:from|import)\s+(\w+)", programs[path], re.MULTILINE):
            named += [other for other in programs if base(other) == f"{module}.py" and other not in named]
    return inline + [(path, programs[path]) for path in named if path.startswith("<") or path.endswith(".py")]


def _written_by(command: str) -> dict[str, str]:
    """Programs that the command itself writes with a heredoc before it runs them: path -> text."""
    written = {}
    for match in _HEREDOC.finditer(command):
        target = _INTO_FILE.search(match["line"]) or _INTO_FILE.search(match["rest"])
        if target and target[1].endswith(".py"):
            written[target[1]] = match["body"] or ""
    return written


def _inline(command: str) -> list[str]:
    """Python code inside a command: heredocs that an interpreter reads, and what follows `-c`."""
    found = [match["body"] or "" for match in _HEREDOC.finditer(command) if re.search(r"\bpython[\d.]*\b", match["line"])]
    try:
        parts = shlex.split(_HEREDOC.sub("\n", command))
    except ValueError:
        return found
    for before, word, after in zip(parts, parts[1:], parts[2:], strict=False):
        if word == "-c" and base(before).startswith("python"):
            found.append(after)
    return found


def here(line: int, source: Source) -> str:
    """Where something is, for a person."""
    return f"line {line} of {base(source.path)}"


def is_under(path: str, folder: str) -> bool:
    """Whether a path lies in a folder, both as the sandbox sees them."""
    return normal(path).startswith(normal(folder).rstrip("/") + "/")
