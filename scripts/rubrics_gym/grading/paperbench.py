"""Grading of PaperBench: the weighted mean of a tree of requirements whose leaves a judge has marked.

`rubric.json` of the private bundle is the tree: nodes {id, requirements, weight, sub_tasks, task_category, ...}. What is graded is the judge's marks, a
tree of the same nodes with `score` at its leaves; the marking itself, by a language model that reads the submission and the logs of its
`reproduce.sh`, is a run of upstream's own programs. `grading.json` holds `code_development_only`.

Rules of the paper (Starace et al. 2025): a leaf is 0 or 1; a node is the mean of its children by weight, 0 when all weights are 0; a leaf that the
judge could not mark counts 0 and is reported (`unmarked`). Code-Dev keeps the leaves of that category and what is above them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rubrics_gym.grading.bundle import PrivateBundle
from rubrics_gym.grading.findings import Findings, not_scored
from rubrics_gym.grading.programs import ProgramFailed, SandboxRun
from rubrics_gym.grading.submissions import InvalidSubmission, read_text
from rubrics_gym.records.grades import RuleResult
from rubrics_gym.records.outcomes import Outcome

Node = dict[str, Any]
CODE_DEVELOPMENT = "Code Development"
MAX_BYTES = 200_000_000


def grade(bundle: PrivateBundle, deliverable: Path) -> Findings:
    """Grade a tree of marks (JSON). InvalidSubmission when it is no tree over the leaves of the paper's rubric."""
    try:
        marked = json.loads(read_text(deliverable, MAX_BYTES))
        marks = {leaf["id"]: leaf for leaf in leaves(marked)}
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InvalidSubmission(f"{deliverable.name} is no tree of marks: {type(error).__name__}: {error}") from None
    rubric = json.loads(bundle.members["rubric.json"])
    if bundle.grading["code_development_only"]:
        rubric = only_category(rubric, CODE_DEVELOPMENT)
    asked = {leaf["id"] for leaf in leaves(rubric)}
    if asked - marks.keys():
        raise InvalidSubmission(f"{len(asked - marks.keys())} of {len(asked)} requirements have no mark")
    unmarked = sum(not marks[name].get("valid_score", True) for name in asked)
    reason = f"the judge could not mark {unmarked} of {len(asked)} requirements; they count 0" if unmarked else ""
    score = tree_score(with_marks(rubric, marks))
    return Findings(RuleResult(outcome=Outcome.VALID, reason=reason, score=score, correct_share=score))


def grade_in_sandbox(bundle: PrivateBundle, deliverable: Path, run: SandboxRun) -> Findings:
    """The marks come from a judge that this repository does not run."""
    raise ProgramFailed(
        f"the requirements of {bundle.task} are marked by upstream's judge after running reproduce.sh on its own hardware. Run that and grade its tree of marks."
    )


def missing(bundle: PrivateBundle, outcome: Outcome, reason: str) -> Findings:
    """No submission has no score and ended wrong."""
    return Findings(not_scored(outcome, reason))


def reference(bundle: PrivateBundle) -> None:
    """There is no reference submission: a paper's own code is what must not be used."""


def leaves(node: Node) -> Iterator[Node]:
    """The requirements without parts, in their order."""
    if node["sub_tasks"]:
        for part in node["sub_tasks"]:
            yield from leaves(part)
    else:
        yield node


def tree_score(node: Node) -> float:
    """Score in [0, 1] of a tree whose leaves have a `score`. ValueError for a score outside or a negative weight."""
    parts = node["sub_tasks"]
    if not parts:
        score = float(node["score"])
        if not 0 <= score <= 1:
            raise ValueError(f"requirement {node['id']} has the score {score}; expected 0 to 1")
        return score
    weights = [part["weight"] for part in parts]
    if any(weight < 0 for weight in weights):
        raise ValueError(f"a part of requirement {node['id']} has a negative weight")
    total = sum(weights)
    return math.fsum(weight * tree_score(part) for weight, part in zip(weights, parts, strict=True)) / total if total else 0.0


def with_marks(rubric: Node, marks: dict[str, Node]) -> Node:
    """The rubric with the scores of its leaves from the marks; weights are the rubric's. What could not be marked counts 0."""
    if not rubric["sub_tasks"]:
        mark = marks[rubric["id"]]
        return {**rubric, "score": mark["score"] if mark.get("valid_score", True) else 0.0}
    return {**rubric, "sub_tasks": [with_marks(part, marks) for part in rubric["sub_tasks"]]}


def only_category(rubric: Node, category: str) -> Node:
    """The part of a rubric that is above leaves of one category. Weights stay: they are relative. ValueError when there is no such leaf."""
    kept = _pruned(rubric, category)
    if kept is None:
        raise ValueError(f"requirement {rubric['id']} has no part of the category {category!r}")
    return kept


def _pruned(node: Node, category: str) -> Node | None:
    if not node["sub_tasks"]:
        return node if node["task_category"] == category else None
    parts = [kept for part in node["sub_tasks"] if (kept := _pruned(part, category)) is not None]
    return {**node, "sub_tasks": parts} if parts else None
