"""What a grader found: the result that counts, and, where a benchmark's official rule is defective, what each of the two rules says."""

from __future__ import annotations

from dataclasses import dataclass

from rubrics_gym.records.grades import RuleResult
from rubrics_gym.records.outcomes import Outcome


@dataclass(frozen=True)
class Findings:
    counts: RuleResult
    official: RuleResult | None = None
    corrected: RuleResult | None = None


def by_corrected(official: RuleResult, corrected: RuleResult) -> Findings:
    """Of benchmarks whose tasks are mined: what counts is what is true, not what a defective grader printed."""
    return Findings(corrected, official, corrected)


def by_official(official: RuleResult, corrected: RuleResult) -> Findings:
    """Of held-out benchmarks with published results: what counts is what everybody else reports."""
    return Findings(official, official, corrected)


def not_scored(outcome: Outcome, reason: str, competition: bool = False) -> RuleResult:
    """Nothing was handed in, or nothing that counts: wrong, and in a competition not above the median."""
    return RuleResult(outcome=outcome, reason=reason, ended_wrong=True, above_median=False if competition else None)


def left_out(outcome: Outcome, reason: str) -> RuleResult:
    """The same, by a rule that leaves such attempts out of its denominator."""
    return RuleResult(outcome=outcome, reason=reason)
