"""What a grader says about one attempt."""

from __future__ import annotations

import math

from rubrics_gym.records.base import Record
from rubrics_gym.records.outcomes import Outcome


class RuleResult(Record):
    """What one rule of grading says. A score that does not exist is None, never a zero.

    `ended_wrong` is "this attempt ended wrong" by that rule: a wrong answer; no valid submission, or one that is not above the median or the
    baseline. None when the outcome is an infrastructure loss, or when the benchmark draws no such line.
    """

    outcome: Outcome
    reason: str = ""  # why it is invalid, or what was lost; for people
    score: float | None = None
    correct_share: float | None = None  # where parts are checked: share of the parts that are right
    medal: str | None = None  # gold, silver, bronze; None: no medal or not a competition
    above_median: bool | None = None
    ended_wrong: bool | None = None


class Grade(RuleResult):
    """The result of grading one attempt: of the rule that counts.

    Where a benchmark's official rule is defective there are two: `official` says what the benchmark's own grader makes of the attempt,
    `corrected` what it would be without the defects. Both are None where one rule is enough.
    """

    benchmark: str
    task: str
    metric: str
    greater_is_better: bool
    submission_sha256: str | None = None
    official: RuleResult | None = None
    corrected: RuleResult | None = None

    @property
    def disagreement(self) -> str:
        """What the two rules differ in: outcome, medal, verdict (ended wrong or not) or score, the gravest first; empty when they agree."""
        if self.official is None or self.corrected is None:
            return ""
        for name, field in (("outcome", "outcome"), ("medal", "medal"), ("verdict", "ended_wrong")):
            if getattr(self.official, field) != getattr(self.corrected, field):
                return name
        return "" if _same_score(self.official.score, self.corrected.score) else "score"


def _same_score(first: float | None, second: float | None) -> bool:
    """Sums in another order differ in their last digits."""
    return first == second or (first is not None and second is not None and math.isclose(first, second, rel_tol=1e-9, abs_tol=1e-12))
