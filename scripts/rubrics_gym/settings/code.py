"""What code a rule reaches, as fingerprints that do not change with comments, docstrings or formatting.

The fingerprint is over the syntax tree, written by a serialiser of our own because `ast.dump` differs between Python versions.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import json
import subprocess
from collections.abc import Iterable
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[2]
PACKAGE = "rubrics_gym"

# How a live provider moves bytes is not part of what was asked.
TRANSPORTS = frozenset({f"{PACKAGE}.providers.anthropic", f"{PACKAGE}.providers.openai", f"{PACKAGE}.providers.wire"})

_POSITIONS = frozenset({"ctx", "kind", "type_comment", "type_ignores"})


def _without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant) and isinstance(body[0].value.value, str):
        return body[1:]
    return body


def _serialise(node: object, write: list[str], imports: list[ast.Import | ast.ImportFrom]) -> None:
    """Write a syntax tree as text, and collect its import statements on the way: one walk, because every dry-run does it for every module."""
    if isinstance(node, ast.AST):
        if isinstance(node, ast.Import | ast.ImportFrom):
            imports.append(node)
        write.append(f"({type(node).__name__}")
        for name in node._fields:
            value = getattr(node, name, None)
            if name in _POSITIONS or value is None or value == []:
                continue
            if name == "body" and isinstance(node, ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                value = _without_docstring(value)
            write.append(f" {name}=")
            _serialise(value, write, imports)
        write.append(")")
    elif isinstance(node, list):
        write.append("[")
        for item in node:
            _serialise(item, write, imports)
            write.append(",")
        write.append("]")
    else:
        write.append(repr(node))


def fingerprint(source: str) -> str:
    """16 hex digits that change when, and only when, the code does (not its comments, docstrings or layout)."""
    return _look(source)[0]


def _look(source: str) -> tuple[str, list[ast.Import | ast.ImportFrom]]:
    """Fingerprint and import statements of a source text."""
    parts: list[str] = []
    imports: list[ast.Import | ast.ImportFrom] = []
    _serialise(ast.parse(source), parts, imports)
    return hashlib.sha256("".join(parts).encode()).hexdigest()[:16], imports


@functools.cache
def _module_file(module: str, scripts: Path) -> Path | None:
    path = scripts / Path(*module.split("."))
    for candidate in (path.with_suffix(".py"), path / "__init__.py"):
        if candidate.is_file():
            return candidate
    return None


def _names(imports: Iterable[ast.Import | ast.ImportFrom], module: str, is_package: bool) -> Iterable[str]:
    for node in imports:
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        else:
            base = node.module or ""
            if node.level:  # relative to the package that holds the module
                anchor = module.split(".") if is_package else module.split(".")[:-1]
                kept = anchor[: len(anchor) - node.level + 1]
                base = ".".join([*kept, base]) if base else ".".join(kept)
            yield base
            yield from (f"{base}.{name.name}" for name in node.names)


@functools.cache
def _read(path: Path, module: str) -> tuple[str, frozenset[str]]:
    print_of, imports = _look(path.read_text(encoding="utf-8"))
    return print_of, frozenset(name for name in _names(imports, module, path.name == "__init__.py") if name.split(".")[0] == PACKAGE)


def reach(script: Path, also: Iterable[str] = (), without: Iterable[str] = (), scripts: Path = SCRIPTS) -> dict[str, str]:
    """Module name -> fingerprint for a script and every module of the package that it reaches.

    `also` names modules that are opened by name at run time; `without` names rooms (module prefixes) that are not followed.
    """
    excluded = tuple(without)
    found: dict[str, str] = {}
    print_of, waiting = _read(script, script.stem)
    found[script.stem] = print_of
    queue = [*waiting, *also]
    while queue:
        module = queue.pop()
        if module in found or module in TRANSPORTS or any(module == room or module.startswith(room + ".") for room in excluded):
            continue
        path = _module_file(module, scripts)
        if path is None:
            continue  # an attribute of a module, not a module
        found[module], imports = _read(path, module)
        queue.extend(imports)
        if "." in module:
            queue.append(module.rsplit(".", 1)[0])
    return found


@functools.cache
def code_of(script_name: str, also: tuple[str, ...] = (), without: tuple[str, ...] = ()) -> str:
    """Sorted JSON of module -> fingerprint for scripts/{script_name}.py: the `code` parameter of a rule."""
    return json.dumps(reach(SCRIPTS / f"{script_name}.py", also, without), sort_keys=True)


def commit(but: str | Path | None = None) -> str:
    """The commit of the checkout, marked `-dirty` when tracked files differ from it (other than those below `but`); empty outside one."""

    def git(*arguments: str) -> str:
        return subprocess.run(["git", *arguments], capture_output=True, text=True, check=False).stdout.strip()

    named = git("describe", "--always", "--abbrev=12")
    elsewhere = [] if but is None else [f":(exclude){but}"]
    changed = git("status", "--porcelain", "--untracked-files=no", "--", ".", *elsewhere) if named else ""
    return f"{named}-dirty" if changed else named


def digest(code: str) -> str:
    """One short name for a `code` parameter, kept with paid work so that tables can say `made by other code`."""
    return hashlib.sha256(code.encode()).hexdigest()[:12]
