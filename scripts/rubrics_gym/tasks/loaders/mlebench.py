"""MLE-bench: a Kaggle competition as upstream's own `mlebench prepare` splits it. The files are checked against upstream's checksums."""

from __future__ import annotations

import csv
import hashlib
import io
from typing import Any

import yaml

from rubrics_gym.records.tasks import Metric
from rubrics_gym.tasks.built import BuiltTask, built, list_files, outside_task
from rubrics_gym.tasks.catalog import Entry
from rubrics_gym.tasks.sources import SourceFiles, SourceProblem

ROOT = "mlebench/competitions"


def load(source: SourceFiles, entry: Entry) -> BuiltTask:
    """Make one competition. SourceProblem when it was not prepared, or a prepared file is not what upstream's checksums say."""
    config = yaml.safe_load(source.text(f"{ROOT}/{entry.id}/config.yaml"))
    prepared = f"data/{entry.id}/prepared"
    public, private = (source.below(f"{prepared}/{part}/") for part in ("public", "private"))
    if not public or not private:
        raise SourceProblem(f"mlebench {entry.id}: {prepared} is missing or empty. {source.benchmark.source.by_hand}")
    _check(source, entry.id, "public", public)
    _check(source, entry.id, "private", private)
    files = {f"data/{path.removeprefix(f'{prepared}/public/')}": source.path(path) for path in public}
    answers = {f"private/{path.removeprefix(f'{prepared}/private/')}": source.path(path) for path in private}
    sample = entry.facts["sample_submission"].split("/prepared/", 1)[-1]
    if source.exists(f"{prepared}/{sample}"):
        answers[sample] = source.path(f"{prepared}/{sample}")
    answers |= {f"upstream/{path}": source.path(path) for path in _grading_modules(source, entry.id)}
    words = source.text(f"{ROOT}/{entry.id}/description.md").strip()
    statement = f"{words}\n\n{list_files(_shown(files))}\n\n## What to hand in\nWrite `submission.csv`.\n"
    metric = Metric(name=config["grader"]["name"], greater_is_better=not is_lower_better(source, entry.id))
    task = outside_task(source.benchmark, entry, statement, files, metric)
    grading = {
        "competition": entry.id,
        "answers": _inside(entry, "answers"),
        "gold_submission": _inside(entry, "gold_submission"),
        "sample_submission": sample,
    }
    return built(task, files, grading, answers)


def _grading_modules(source: SourceFiles, competition: str) -> list[str]:
    """Upstream's modules that the competition's grading function may import: its own and the common ones, not those that prepare data."""
    folder = f"{ROOT}/{competition}/"
    modules = [
        path for path in source.hashes if path.endswith(".py") and (path.startswith(folder) or path.count("/") <= ROOT.count("/") + 1)
    ]
    return sorted(path for path in modules if not path.endswith("/prepare.py"))


def is_lower_better(source: SourceFiles, competition: str) -> bool:
    """Upstream's rule: the leaderboard lists the best team first, so lower is better when the first score is below the last."""
    lines = list(csv.DictReader(io.StringIO(source.text(f"{ROOT}/{competition}/leaderboard.csv"))))
    scores = [float(line["score"]) for line in lines if line.get("score")]
    if not scores:
        raise SourceProblem(f"mlebench {competition}: leaderboard.csv holds no scores")
    return scores[0] < scores[-1]


def _inside(entry: Entry, name: str) -> str | None:
    """Where upstream's config.yaml says that a file lies, below the private folder; null where it names none."""
    path = entry.facts.get(name)
    return path.split("/prepared/private/", 1)[-1] if path else None


def _check(source: SourceFiles, competition: str, part: str, paths: list[str]) -> None:
    """Compare with checksums.yaml: name of a file at the top of its part -> md5 of upstream's own preparation. It covers tables, not images."""
    listed = yaml.safe_load(source.text(f"{ROOT}/{competition}/checksums.yaml")).get(part) or {}
    for name, digest in listed.items():
        path = f"data/{competition}/prepared/{part}/{name}"
        if path not in paths:
            raise SourceProblem(f"mlebench {competition}: {path} is missing. {source.benchmark.source.by_hand}")
        with open(source.path(path), "rb") as content:
            if hashlib.file_digest(content, lambda: hashlib.md5(usedforsecurity=False)).hexdigest() != digest:
                raise SourceProblem(f"mlebench {competition}: {path} is not what upstream prepared: its md5 is not that of checksums.yaml")


def _shown(files: dict[str, Any], most: int = 50) -> dict[str, Any]:
    """The files that a statement names: all, or those at the top and one of each folder when there are thousands of images."""
    if len(files) <= most:
        return files
    seen: set[str] = set()
    shown = {}
    for name in sorted(files):
        folder = name.rsplit("/", 1)[0]
        if folder == "data" or folder not in seen:
            seen.add(folder)
            shown[name] = files[name]
        if len(shown) >= most:
            break
    return shown
