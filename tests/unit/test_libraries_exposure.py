"""The exposure audit: every rubric of a library is followed to the judge, and a loss has an address."""

from __future__ import annotations

import pytest

from rubrics_gym.libraries.exposure import audit
from rubrics_gym.records.rubrics import Rubric, RubricKind
from rubrics_gym.records.verdicts import Criterion, Verdict


def rubric(number: int, category: str | None, kind: str | None = None) -> Rubric:
    return Rubric(
        title=f"t{number}", applies_when="a", pattern="p", detect="d", not_a_violation="n", consequence="c", kind=RubricKind.CRASH,
        category=category, runtime_type=kind,
    )  # fmt: skip


LIBRARY = [rubric(1, "runtime", "time_limit"), rubric(2, "output_format"), rubric(3, "modelling_choice"), rubric(4, None)]


def said(number: int, applicable: bool, violated: bool) -> Criterion:
    return Criterion(rubric_id=LIBRARY[number].id, title="t", applicable=applicable, violated=violated)


TASK = Criterion(rubric_id=None, title="task", applicable=True, violated=True)
VERDICTS = [
    Verdict(judge="j", library="l", criteria=(TASK, said(0, True, True), said(1, True, False)), flagged=True),
    Verdict(judge="j", library="l", criteria=(TASK, said(0, False, True), said(3, True, True)), flagged=True),
    Verdict(judge="j", library="l", abstained="schema_invalid", slots={"output_format": 2}),
]


def test_rubrics_are_counted_stage_by_stage_and_the_task_criterion_is_none() -> None:
    found = audit(LIBRARY, VERDICTS)
    assert found.verdicts == 3
    assert found.library == {"runtime:time_limit": 1, "output_format": 1, "modelling_choice": 1, "unclassified": 1}
    assert found.retrieved == {"runtime:time_limit": 2, "output_format": 3, "unclassified": 1}
    assert found.applicable == {"runtime:time_limit": 1, "output_format": 1, "unclassified": 1}
    assert {name: count for name, count in found.flagged.items() if count} == {"runtime:time_limit": 1, "unclassified": 1}
    assert found.runtime_share("retrieved") == pytest.approx(2 / 6)


def test_distances_to_the_held_out_failures_and_what_has_none() -> None:
    found = audit(LIBRARY, VERDICTS)
    assert found.distance("retrieved", {"runtime:time_limit": 1.0, "output_format": 1.0}) == pytest.approx(50 * (1 / 6 + 0 + 1 / 6))
    silent = audit(LIBRARY, [])
    assert silent.distance("flagged", {"output_format": 1.0}) is None and silent.runtime_share("flagged") is None
    assert found.distance("library", {}) is None


def test_a_rubric_that_the_library_lacks_is_an_error() -> None:
    with pytest.raises(ValueError, match=LIBRARY[0].id):
        audit(LIBRARY[1:], VERDICTS)
