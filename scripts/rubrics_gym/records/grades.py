"""What a grader says about one attempt."""

from __future__ import annotations

from rubrics_gym.records.base import Record
from rubrics_gym.records.outcomes import Outcome


class Grade(Record):
    """The result of grading one attempt. Every field that is unknown is None: a missing score is never a zero.

    `ended_wrong` is the rule of the benchmark for "this attempt ended wrong" (wrong answer; no valid submission, or not above
    the median / baseline); None when the outcome is an infrastructure loss.
    """

    benchmark: str
    task: str
    outcome: Outcome
    reason: str = ""  # why it is invalid, or what was lost; for people
    metric: str
    greater_is_better: bool
    score: float | None = None
    correct_share: float | None = None  # questions and result files: share of the checked parts that are right
    medal: str | None = None  # gold, silver, bronze; None: no medal or not a competition
    above_median: bool | None = None
    ended_wrong: bool | None = None
    submission_sha256: str | None = None
