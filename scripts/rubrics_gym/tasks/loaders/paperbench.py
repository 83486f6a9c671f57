"""PaperBench: a paper to replicate, and a tree of weighted requirements that only the grader sees."""

from __future__ import annotations

from typing import Any

from rubrics_gym.records.tasks import Metric
from rubrics_gym.tasks.built import BuiltTask, built, list_files, outside_task
from rubrics_gym.tasks.catalog import Entry
from rubrics_gym.tasks.sources import SourceFiles, SourceProblem

ROOT = "project/paperbench/data/papers"
PUBLIC = ("paper.md", "paper.pdf", "addendum.md", "blacklist.txt")
CATEGORIES = ("Code Development", "Code Execution", "Result Analysis")
NODE_KEYS = {"id", "requirements", "weight", "sub_tasks", "task_category"}
MAX_DEPTH = 64


def load(source: SourceFiles, entry: Entry) -> BuiltTask:
    """Make one task. SourceProblem when the rubric is no tree of requirements or the paper is missing (a Git LFS file)."""
    folder = f"{ROOT}/{entry.id}/"
    rubric = source.json(f"{folder}rubric.json")
    leaves = check_tree(rubric, entry.id)
    listed = [name.removeprefix(folder) for name in sorted(source.hashes) if name.startswith(folder)]
    files = {f"data/{name}": source.path(folder + name) for name in listed if name in PUBLIC or name.startswith("assets/")}
    private = {"rubric.json": source.path(f"{folder}rubric.json"), "blacklist.txt": source.path(f"{folder}blacklist.txt")}
    if "judge.addendum.md" in listed:
        private["judge.addendum.md"] = source.path(f"{folder}judge.addendum.md")
    statement = f"""# {entry.title}

Replicate the empirical contributions of the paper `data/paper.md` (also `data/paper.pdf`); `data/addendum.md` says more about its scope. Do not use
the resources that `data/blacklist.txt` names.

{list_files(files)}

## What to hand in
A folder `submission` that is a git repository of at most 1 GB with a program `reproduce.sh` at its top, which makes the results from scratch.
It is graded by {leaves} requirements that you do not see: on the code, on its execution and on the results.
"""
    metric = Metric(name="replication_score", greater_is_better=True)
    task = outside_task(source.benchmark, entry, statement, files, metric, ("submission",))
    return built(task, files, {"code_development_only": False, "leaves": leaves}, private)


def check_tree(node: Any, paper: str, depth: int = 0) -> int:
    """The number of leaves of a rubric. SourceProblem when a node breaks a rule of upstream's rubric/tasks.py: a leaf, and only a leaf, has a
    category; no weight is negative."""
    if depth > MAX_DEPTH or not isinstance(node, dict) or not node.keys() >= NODE_KEYS:
        raise SourceProblem(f"paperbench {paper}: rubric.json is no tree of requirements at depth {depth}")
    children = node["sub_tasks"]
    category_fits = node["task_category"] is None if children else node["task_category"] in CATEGORIES
    if not category_fits or not node["weight"] >= 0:
        raise SourceProblem(f"paperbench {paper}: node {node['id']} has category {node['task_category']!r} and weight {node['weight']!r}")
    return sum(check_tree(child, paper, depth + 1) for child in children) if children else 1
