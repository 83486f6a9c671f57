"""The test that a grader passes before it grades anything: submissions whose worth is known beforehand."""

from __future__ import annotations

from rubrics_gym.records.base import Record


class GraderProblem(RuntimeError):
    """The grader of a competition cannot be trusted or did not answer; the message says why and what to do."""


class SelfTest(Record):
    """What a competition's grading function says about submissions whose worth is known; made once, before anything is graded.

    Scores are those of the official rule; None where the function took no such submission (`reasons` says why) or there is none.
    """

    competition: str
    gold: float | None
    perfect: bool  # the reference answers score the best value of the metric, or at least a gold medal
    sample: float | None
    shuffled: float | None  # the reference answers with their rows in another order
    shuffled_canonical: float | None
    ids: tuple[str, ...]  # columns that rows are joined by in the canonical form
    order_matters: bool  # the official score changes with the order of the rows
    reasons: dict[str, str]
    packages: dict[str, str]


def refuse_if_unsound(test: SelfTest) -> None:
    """GraderProblem when the reference answers are not perfect: then no score of this grader means anything."""
    if not test.perfect:
        said = "no score" if test.gold is None else f"a score of {test.gold}"
        reason = f" ({test.reasons['gold']})" if "gold" in test.reasons else ""
        raise GraderProblem(
            f"the grader of {test.competition} gives the reference answers {said}{reason}. Nothing is graded with it: check the prepared data "
            "against upstream's checksums, and make the grading environment again (`make grading`)."
        )
