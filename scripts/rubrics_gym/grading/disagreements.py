"""How often a benchmark's official rule and the corrected one differ, and in what."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rubrics_gym.records.grades import Grade

KINDS = ("outcome", "medal", "verdict", "score")


def disagreement_rows(grades: Iterable[tuple[str, Grade]]) -> list[dict[str, Any]]:
    """One row per group and benchmark, in order: attempts graded by two rules, those in which they agree, and the differing ones by their gravest
    difference. `grades` are (group, grade); a group is a collection or an arm. Benchmarks with one rule have no row."""
    found: dict[tuple[str, str], list[Grade]] = {}
    for group, grade in grades:
        if grade.official is not None and grade.corrected is not None:
            found.setdefault((group, grade.benchmark), []).append(grade)
    rows = []
    for (group, benchmark), of_group in sorted(found.items()):
        kinds = [grade.disagreement for grade in of_group]
        differing = sorted({grade.task for grade in of_group if grade.disagreement})
        rows.append(
            {
                "group": group,
                "benchmark": benchmark,
                "graded": len(of_group),
                "agree": kinds.count(""),
                **{kind: kinds.count(kind) for kind in KINDS},
                "tasks": " ".join(differing),
            }
        )
    return rows
