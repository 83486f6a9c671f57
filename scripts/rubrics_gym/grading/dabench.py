"""Grading of InfiAgent-DABench: closed-form answers of the form @name[value], as `eval_closed_form.py` of the benchmark checks them.

The official rule keeps, of answers and of expected values, only the last of each name, and leaves questions without an answer out of every
denominator. The corrected rule holds repeated names against each other in their order, and counts a missing answer as wrong.

`grading.json` holds, besides the common keys, `tolerance` (absolute); `answers.json` the [name, value] pairs of the benchmark's label file, in its
order and with its repetitions.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from rubrics_gym.grading.answers import ANSWER, same
from rubrics_gym.grading.bundle import PrivateBundle
from rubrics_gym.grading.findings import Findings, by_corrected, left_out, not_scored
from rubrics_gym.grading.submissions import read_text
from rubrics_gym.records.grades import RuleResult
from rubrics_gym.records.outcomes import Outcome

TOLERANCE = 1e-6  # of the official script, absolute; the questions say how to round

Pairs = Sequence[tuple[str, str]]


def grade(bundle: PrivateBundle, deliverable: Path) -> Findings:
    """Grade a text file with answers. A file without any is an answer to nothing: all its parts are wrong by both rules."""
    text, expected = read_text(deliverable), _expected(bundle)
    return by_corrected(_result(official(expected, text)), _result(corrected(expected, text)))


def missing(bundle: PrivateBundle, outcome: Outcome, reason: str) -> Findings:
    """The official rule leaves the question out of its denominator, the corrected one counts it as wrong."""
    return by_corrected(left_out(outcome, reason), not_scored(outcome, reason))


def reference(bundle: PrivateBundle) -> dict[str, bytes]:
    """The expected answers in the form that the questions ask for."""
    return {"answer.txt": "".join(f"@{name}[{value}]\n" for name, value in _expected(bundle)).encode()}


def _expected(bundle: PrivateBundle) -> Pairs:
    return [(name, value) for name, value in json.loads(bundle.members["answers.json"])]


def official(expected: Pairs, text: str) -> list[bool]:
    """Which of the expected values (the last of each name) the text gives."""
    given = dict(ANSWER.findall(text))
    return [name in given and same(given[name], value, TOLERANCE) for name, value in dict(expected).items()]


def corrected(expected: Pairs, text: str) -> list[bool]:
    """Which of the expected values, all of them, the text gives.

    Names that are expected once are answered by their last answer, as officially. A name that is expected k times is answered by its last k
    answers, in their order.
    """
    answers: dict[str, list[str]] = {}
    for name, value in ANSWER.findall(text):
        answers.setdefault(name, []).append(value)
    values: dict[str, list[str]] = {}
    for name, value in expected:
        values.setdefault(name, []).append(value)
    right = {}
    for name, wanted in values.items():
        given: list[str | None] = [*answers.get(name, [])[-len(wanted) :]]
        given += [None] * (len(wanted) - len(given))
        right[name] = iter([answer is not None and same(answer, value, TOLERANCE) for answer, value in zip(given, wanted, strict=True)])
    return [next(right[name]) for name, _ in expected]


class Question(NamedTuple):
    """One question: which of its parts are right (none, without an answer), and whether anything was handed in."""

    right: Sequence[bool]
    answered: bool


class Accuracies(NamedTuple):
    """The three figures that the benchmark reports, each over `questions`."""

    by_question: float  # all parts right
    proportional: float  # mean share of right parts
    by_part: float  # right parts of all questions together
    questions: int


def accuracies(questions: Iterable[Question], *, skip_unanswered: bool) -> Accuracies:
    """Pool questions. The official script skips those without an answer (`skip_unanswered`). ValueError when no question is left."""
    counted = [question.right for question in questions if question.answered or not skip_unanswered]
    if not counted:
        raise ValueError("no question was answered, so there is no accuracy")
    pooled = [right for parts in counted for right in parts]
    return Accuracies(
        by_question=sum(all(parts) for parts in counted) / len(counted),
        proportional=sum(sum(parts) / len(parts) for parts in counted) / len(counted),
        by_part=sum(pooled) / len(pooled),
        questions=len(counted),
    )


def _result(right: Sequence[bool]) -> RuleResult:
    share = sum(right) / len(right)
    return RuleResult(outcome=Outcome.VALID, score=float(share == 1.0), correct_share=share, ended_wrong=share < 1.0)
