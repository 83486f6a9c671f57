"""A baseline without a model: what static analysis alone says about a command before it runs.

Four checks, each sure of little: the program compiles, its imports resolve against the installed packages, the paths that it names
exist, and a rough count of its work stays under the time limit. It gives a verdict in the form of a judge's.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import PurePosixPath

from rubrics_gym.harness.router import classify
from rubrics_gym.records.verdicts import Criterion, JudgedAction, Verdict

NAME = "static_checks"
_WORK = PurePosixPath("/workspace")
# Modules whose distribution has another name; taken from the projects' own documentation.
_PROJECTS = {
    "sklearn": "scikit-learn",
    "cv2": "opencv-python",
    "PIL": "pillow",
    "yaml": "pyyaml",
    "bs4": "beautifulsoup4",
    "dateutil": "python-dateutil",
}
_DATA_SUFFIXES = (".csv", ".tsv", ".json", ".txt", ".parquet", ".xlsx", ".npy", ".pkl")
_OPENERS = re.compile(r"^(open|read_\w+|load|loadtxt|genfromtxt)$")
# Seconds per megabyte of input data for one pass of Python over it, and for each further `fit` in the text.
_PASS_S_PER_MB = 1.0
_FIT_S_PER_MB = 4.0


def static_verdict(action: JudgedAction) -> Verdict:
    """The verdict of the static checks. A check that lacks what it needs (no listing, no program) is not applicable."""
    programs = _programs(action)
    parsed = {path: _tree(text) for path, text in programs.items()}
    trees = [tree for tree in parsed.values() if tree is not None]
    criteria = (
        _criterion("The program compiles", bool(parsed), (path for path, tree in parsed.items() if tree is None)),
        _criterion("Its imports are installed", bool(trees) and action.packages is not None, _unresolved(trees, action)),
        _criterion("The files it reads exist", bool(trees) and action.files is not None, _absent(trees, action)),
        _criterion("It ends within the time limit", bool(trees) and _limit_s(action) is not None, _overdue(trees, action)),
    )
    applicable = [criterion for criterion in criteria if criterion.applicable]
    violated = sum(criterion.violated for criterion in applicable)
    reward = 1 - violated / len(applicable) if applicable else None
    return Verdict(judge=NAME, library=None, criteria=criteria, predicted_reward=reward, flagged=violated > 0)


def _criterion(title: str, applicable: bool, problems: Iterator[str]) -> Criterion:
    found = sorted(set(problems)) if applicable else []
    return Criterion(rubric_id=None, title=title, text=title, applicable=applicable, violated=bool(found), reason=", ".join(found))


def _programs(action: JudgedAction) -> dict[str, str]:
    """The Python programs that the command runs: named in it or inside it."""
    pieces = [piece for part in classify(action.command) for piece in part.pieces]
    scripts = {PurePosixPath(script).name for piece in pieces for script in piece.scripts}
    shown = {path: text for path, text in action.programs.items() if PurePosixPath(path).name in scripts or path.startswith("<")}
    return {path: text for path, text in shown.items() if path.endswith(".py") or path.startswith("<")}


def _tree(text: str) -> ast.Module | None:
    try:
        compile(text, "program", "exec", dont_inherit=True)
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # the last two: nested too deep for any Python
        return None


def _unresolved(trees: list[ast.Module], action: JudgedAction) -> Iterator[str]:
    """Modules that neither the standard library, nor an installed package, nor a program beside this one provides."""
    known = {PurePosixPath(path).stem for path in [*action.programs, *(action.files or {})] if path.endswith(".py")}
    for tree in trees:
        for statement in ast.walk(tree):
            names = [alias.name for alias in statement.names] if isinstance(statement, ast.Import) else []
            if isinstance(statement, ast.ImportFrom) and statement.level == 0:
                names = [statement.module or ""]
            for top in (name.split(".")[0] for name in names):
                project = _PROJECTS.get(top, top).replace("_", "-").lower()
                if top not in sys.stdlib_module_names and top not in known and project not in (action.packages or {}):
                    yield top


def _absent(trees: list[ast.Module], action: JudgedAction) -> Iterator[str]:
    """Literal paths given to a function that opens files, and that are neither listed nor written by the program."""
    listed = {str(_WORK / path) for path in action.files or {}}
    for tree in trees:
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            path = call.args[0].value if call.args and isinstance(call.args[0], ast.Constant) else None
            if not isinstance(path, str) or not path.endswith(_DATA_SUFFIXES) or not _OPENERS.match(_last_name(call.func)):
                continue
            if len(call.args) > 1 and isinstance(call.args[1], ast.Constant) and str(call.args[1].value)[:1] in "wax":
                continue
            if str(_WORK / path) not in listed:
                yield path


def _overdue(trees: list[ast.Module], action: JudgedAction) -> Iterator[str]:
    """An estimate from the size of the data that the program names: passes over it, fits, and the turns of its literal loops."""
    limit = _limit_s(action)
    for tree in trees:
        named = {part.value for part in ast.walk(tree) if isinstance(part, ast.Constant) and isinstance(part.value, str)}
        size_mb = (
            sum(size for path, size in (action.files or {}).items() if any(name.endswith(PurePosixPath(path).name) for name in named)) / 1e6
        )
        fits = sum(_last_name(node.func).startswith(("fit", "cross_val")) for node in ast.walk(tree) if isinstance(node, ast.Call))
        turns = _turns(tree)
        seconds = turns * (fits * _FIT_S_PER_MB + _PASS_S_PER_MB) * size_mb + turns * 1e-7
        if limit is not None and seconds > limit:
            yield f"about {seconds:.0f} s of {limit:g} s"


def _turns(tree: ast.AST) -> float:
    """Turns of the deepest nest of `for ... in range(LITERAL)` loops."""
    deepest = 1.0
    waiting: list[tuple[ast.AST, float]] = [(tree, 1.0)]  # no recursion: a program may be nested deeper than this one may call
    while waiting:
        outer, turns = waiting.pop()
        for inner in ast.iter_child_nodes(outer):
            times = turns * _own_turns(inner)
            deepest = max(deepest, times)
            waiting.append((inner, times))
    return deepest


def _own_turns(node: ast.AST) -> float:
    if not isinstance(node, ast.For) or not isinstance(node.iter, ast.Call) or _last_name(node.iter.func) != "range":
        return 1.0
    literals = [part.value for part in node.iter.args if isinstance(part, ast.Constant) and isinstance(part.value, int)]
    return float(max(literals, default=1))


def _last_name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""


def _limit_s(action: JudgedAction) -> float | None:
    value = (action.limits or {}).get("command_s")
    return float(value) if isinstance(value, int | float) else None
