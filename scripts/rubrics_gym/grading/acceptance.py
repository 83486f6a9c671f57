"""What acceptance agents must score: the reference answer in full, nothing as missing."""

from __future__ import annotations

import importlib
import math

from rubrics_gym.grading.attempts import grader_module
from rubrics_gym.grading.bundle import PrivateBundle
from rubrics_gym.records.base import Record
from rubrics_gym.records.grades import Grade
from rubrics_gym.records.outcomes import POLICY

NO_REFERENCE = "no reference"
TOLERANCE = 1e-9


class Acceptance(Record):
    """How one task treated the two agents; `oracle` is None when the task has no reference answer."""

    benchmark: str
    task: str
    oracle: Grade | None
    nop: Grade


def reference_answer(bundle: PrivateBundle) -> dict[str, bytes] | None:
    """The files that a perfect agent would hand in, name -> content; None when the task has no reference answer."""
    return importlib.import_module(grader_module(bundle.benchmark)).reference(bundle) or None


def is_full(grade: Grade) -> bool:
    """Whether a grade is the best there is: all parts right, or the best value of the metric (1 when more is better, else 0)."""
    if not POLICY[grade.outcome].scored:
        return False
    if grade.correct_share is not None:
        return grade.correct_share >= 1 - TOLERANCE
    return grade.score is not None and math.isclose(grade.score, float(grade.greater_is_better), abs_tol=TOLERANCE)


def is_missing(grade: Grade) -> bool:
    """Whether a grade is one of somebody who handed in nothing: the agent's doing, and no score."""
    policy = POLICY[grade.outcome]
    return policy.agents_doing and not policy.scored and grade.score is None


def oracle_verdict(acceptance: Acceptance) -> str:
    """full, not full, or `no reference`."""
    if acceptance.oracle is None:
        return NO_REFERENCE
    return "full" if is_full(acceptance.oracle) else "not full"
