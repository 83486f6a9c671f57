"""MLE-bench's grading report, byte for byte as upstream's `mlebench grade` writes it, and a file beside it with what that format cannot say.

Upstream's format (mlebench/grade.py, grade_helpers.py) knows no difference between a submission that is invalid and a grader that stopped, and none
between an attempt that was lost and one that handed in nothing. Lost attempts are therefore not in its list, and both are in our file.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from rubrics_gym.grading.denominators import load_denominators
from rubrics_gym.grading.leaderboards import load_cutoffs
from rubrics_gym.records.grades import Grade, RuleResult
from rubrics_gym.records.outcomes import POLICY

Report = dict[str, Any]


class Graded(NamedTuple):
    """One attempt's grade, when the attempt ended (with a time zone), and where its submission lies."""

    grade: Grade
    created_at: datetime
    submission_path: str


def upstream_report(attempts: Sequence[Graded]) -> bytes:
    """The report of several attempts. LeaderboardProblem for a competition without cut-offs, which upstream cannot report either."""
    reports = [competition_report(*attempt) for attempt in attempts if is_reported(attempt.grade)]
    summary: Report = {
        "total_runs": len(reports),
        "total_runs_with_submissions": sum(report["submission_exists"] for report in reports),
        "total_valid_submissions": sum(report["valid_submission"] for report in reports),
        "total_medals": sum(report["any_medal"] for report in reports),
        **{f"total_{name}_medals": sum(report[f"{name}_medal"] for report in reports) for name in ("gold", "silver", "bronze")},
        "total_above_median": sum(report["above_median"] for report in reports),
        "competition_reports": reports,
    }
    return json.dumps(summary, indent=2).encode()


def is_reported(grade: Grade) -> bool:
    """Whether upstream's format can hold an attempt: the agent's doing, or a submission that the grader stopped at."""
    return POLICY[grade.outcome].agents_doing or grade.submission_sha256 is not None


def competition_report(grade: Grade, created_at: datetime, submission_path: str) -> Report:
    """One attempt in upstream's form: keys, their order and types. The medal is that of the official rule."""
    official = grade.official or grade
    cutoffs = load_cutoffs(grade.task)
    medals = {f"{name}_medal": official.medal == name for name in ("gold", "silver", "bronze")}
    return {
        "competition_id": grade.task,
        "score": official.score,
        "gold_threshold": cutoffs.gold,
        "silver_threshold": cutoffs.silver,
        "bronze_threshold": cutoffs.bronze,
        "median_threshold": cutoffs.median,
        "any_medal": any(medals.values()),
        **medals,
        "above_median": bool(official.above_median),
        "submission_exists": grade.submission_sha256 is not None and submission_path.lower().endswith(".csv"),
        "valid_submission": official.score is not None,
        "is_lower_better": cutoffs.lower_is_better,
        "created_at": created_at.astimezone(UTC).replace(tzinfo=None).isoformat(),  # upstream writes no time zone
        "submission_path": submission_path,
    }


def own_report(attempts: Sequence[Graded]) -> Report:
    """What upstream's format leaves out: outcomes with reasons, both rules' results, and counts over each declared denominator that was planned."""
    grades = {attempt.grade.task: attempt.grade for attempt in attempts}
    return {
        "attempts": [_both_rules(grade) for grade in grades.values()],
        "outcomes": dict(sorted(Counter(str(grade.outcome) for grade in grades.values()).items())),
        "disagreements": dict(sorted(Counter(grade.disagreement for grade in grades.values() if grade.disagreement).items())),
        "denominators": {
            name: {
                "about": denominator.about,
                "without": denominator.without,
                "official": _counts(denominator.tasks, {task: grade.official or grade for task, grade in grades.items()}),
                "corrected": _counts(denominator.tasks, {task: grade.corrected or grade for task, grade in grades.items()}),
            }
            for name, denominator in load_denominators().items()
            if set(denominator.tasks) & grades.keys()
        },
    }


def _both_rules(grade: Grade) -> Report:
    rules = {
        name: result.model_dump(mode="json") if result else None
        for name, result in (("official", grade.official), ("corrected", grade.corrected))
    }
    return {
        "competition_id": grade.task,
        "outcome": str(grade.outcome),
        "reason": grade.reason,
        "disagreement": grade.disagreement,
        **rules,
    }


def _counts(tasks: Sequence[str], results: Mapping[str, RuleResult]) -> Report:
    """Counts over the planned competitions. What was lost or not attempted is unknown: it bounds a rate and is no zero in it."""
    known = [results[task] for task in tasks if task in results and POLICY[results[task].outcome].agents_doing]
    return {
        "planned": len(tasks),
        "known": len(known),
        "valid": sum(POLICY[result.outcome].scored for result in known),
        "above_median": sum(bool(result.above_median) for result in known),
        "any_medal": sum(result.medal is not None for result in known),
    }
