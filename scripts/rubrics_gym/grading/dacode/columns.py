"""Which columns of a table are ids and which is the target, as the official script guesses it (`ml_script.py`)."""

from __future__ import annotations

import itertools
from typing import Any

LABELS = ("label", "labels", "class", "classes", "results", "result")
TASK_TYPES = ("binary classification", "multi classification", "cluster", "regression")
SURE = 90  # similarity of names, 0 to 100, above which they count as the same


def task_type(name: str) -> str:
    """binary, multi, cluster or regression, for the spelling that a configuration uses. ValueError for anything else."""
    found = most_similar(name, list(TASK_TYPES))
    if found is None:
        raise ValueError(f"DA-Code's task type {name!r} is not known; known are {', '.join(TASK_TYPES)}")
    return found.split(" ")[0]


def most_similar(name: str, names: list[str]) -> str | None:
    """The name most similar to a given one by weighted ratio, when the similarity is above 90 of 100."""
    from rapidfuzz import fuzz, process, utils

    best = process.extractOne(name, names, scorer=fuzz.WRatio, processor=utils.default_process)
    return best[0] if best is not None and best[1] > SURE else None


def find_columns(frame: Any, kind: str, wanted: str) -> tuple[list[str], str]:
    """Id columns and target column of a table; `wanted` is the target's name where it is known. The target is empty when none is found.

    Of several columns that could be the target, it is the one with a name such as `label`.
    """
    wanted = "Cluster" if kind == "cluster" else wanted
    names = [str(name) for name in frame.columns]
    by_name = most_similar(wanted, names) if wanted else None
    if len(names) == 1:
        return [], by_name or names[0]
    ids = [name for name in names if ("id" in name.lower() or "unnamed" in name.lower()) and frame[name].nunique() > 0.8 * len(frame)]
    target = by_name or _guess_target(frame, [name for name in names if name not in ids], kind, wanted)
    return [name for name in ids if "pca" not in name.lower() and "feature" not in name.lower()], target


def _guess_target(frame: Any, names: list[str], kind: str, wanted: str) -> str:
    if wanted and wanted in frame.columns:
        return wanted
    possible = [name for name in names if _could_be_target(frame[name], kind)]
    if len(possible) == 1:
        return possible[0]
    return next((name for name in possible if name.lower() in LABELS), "")


def _could_be_target(column: Any, kind: str) -> bool:
    distinct, rows = column.nunique(), len(column)
    if kind == "binary":
        return bool(distinct == 2)
    if kind == "multi":
        return bool(2 < distinct < 10)
    if kind == "cluster":
        return bool(1 <= distinct < max(0.01 * rows, 10))
    return str(column.dtype) in ("int64", "float64") and not _counts_up(column) and bool(distinct > max(3, 0.1 * rows))


def _counts_up(column: Any) -> bool:
    """Whether the sorted values go up in steps of one, as row numbers do."""
    values = column.sort_values().tolist()
    return all(after - before == 1 for before, after in itertools.pairwise(values))
