"""RE-Bench: task families in the layout of the METR Task Standard. Nothing of a family is executed to load it."""

from __future__ import annotations

import ast
import inspect
from typing import Any

import yaml

from rubrics_gym.records.tasks import Metric
from rubrics_gym.tasks.built import BuiltTask, built, list_files, outside_task
from rubrics_gym.tasks.catalog import Entry
from rubrics_gym.tasks.sources import SourceFiles, SourceProblem

SOLUTIONS = (".zip", ".enc", ".gpg")  # protected by a password; the owners ask to leave them so


def load(source: SourceFiles, entry: Entry) -> BuiltTask:
    """Make the task `main` of a family from its manifest, its assets and the text of its instructions.

    SourceProblem when the manifest is not one of the Task Standard, or the instructions are not a plain text in the family's program.
    """
    manifest = _manifest(source, entry.id)
    words = instructions(source.text(f"{entry.id}/{entry.id}.py"), entry.id)
    folder = f"{entry.id}/assets/"
    assets = [path for path in source.below(folder) if not path.endswith(SOLUTIONS) and not path.rsplit("/", 1)[-1].startswith("score")]
    files = {f"data/{path.removeprefix(folder)}": source.path(path) for path in assets}
    scoring = manifest["tasks"]["main"].get("scoring", {}).get("instructions") or ""
    statement = "\n\n".join(part for part in (words.strip(), scoring.strip(), list_files(files)) if part) + "\n"
    metric = Metric(name=entry.facts["metric"], greater_is_better=entry.facts["greater_is_better"])
    task = outside_task(source.benchmark, entry, statement, files, metric, ("solution",))
    facts = {key: entry.facts[key] for key in ("start", "reference", "aggregate")}
    return built(task, files, {"family": entry.id, **facts, "resources": manifest["tasks"]["main"].get("resources", {})}, {})


def _manifest(source: SourceFiles, family: str) -> dict[str, Any]:
    try:
        manifest = yaml.safe_load(source.text(f"{family}/manifest.yaml"))
    except yaml.YAMLError as error:
        raise SourceProblem(f"rebench {family}: manifest.yaml is not valid YAML ({' '.join(str(error).split())})") from None
    if not isinstance(manifest, dict) or not isinstance(manifest.get("tasks"), dict) or not isinstance(manifest["tasks"].get("main"), dict):
        raise SourceProblem(f"rebench {family}: manifest.yaml has no task `main`, which the Task Standard asks for")
    return manifest


def instructions(program: str, family: str) -> str:
    """The text that `TaskFamily.get_instructions` returns, read from the syntax tree: a text, or a name of a text at the top of the module."""
    try:
        tree = ast.parse(program)
    except SyntaxError as error:
        raise SourceProblem(f"rebench {family}: {family}.py is not valid Python ({error})") from None
    texts = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == "get_instructions":
            for statement in ast.walk(node):
                if isinstance(statement, ast.Return) and (text := _text(statement.value, texts)) is not None:
                    return inspect.cleandoc(text)
    raise SourceProblem(
        f"rebench {family}: get_instructions in {family}.py does not return a plain text, and nothing of a family is executed here"
    )


def _text(node: ast.expr | None, texts: dict[str, ast.expr]) -> str | None:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.Name(id=name) if name in texts:
            return _text(texts[name], {})
        case ast.Call(func=ast.Attribute(attr="dedent" | "cleandoc"), args=[first]):
            return _text(first, texts)
        case ast.Call(func=ast.Attribute(value=inner, attr="strip"), args=[]):
            return _text(inner, texts)
    return None
