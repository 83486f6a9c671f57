"""Grading of questions: closed-form answers, by the rule of InfiAgent-DABench (eval_closed_form.py)."""

from __future__ import annotations

import re
from pathlib import Path

from rubrics_gym.grading.submissions import InvalidSubmission, as_number, read_text

ANSWER = re.compile(r"@(\w+)\[(.*?)\]")


def correct_share(deliverable: Path, truth: dict[str, str], tolerance: float) -> float:
    """Share of the sub-answers that are right: equal as text, or as numbers within `tolerance`. The last answer of a name counts.

    InvalidSubmission when the file answers none of the names that were asked.
    """
    given = dict(ANSWER.findall(read_text(deliverable)))
    if not given.keys() & truth.keys():
        raise InvalidSubmission(f"{deliverable.name} holds no line such as @{next(iter(truth))}[value]")
    return sum(name in given and same(given[name], value, tolerance) for name, value in truth.items()) / len(truth)


def same(given: str, expected: str, tolerance: float) -> bool:
    """Equal as text, or as finite numbers that are less than `tolerance` apart."""
    if given == expected:
        return True
    number, wanted = as_number(given), as_number(expected)
    return number is not None and wanted is not None and abs(number - wanted) < tolerance
