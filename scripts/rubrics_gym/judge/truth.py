"""What really happened, as the measures need it: the category of every command that failed, and how every episode ended."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rubrics_gym.failures.distributions import bin_of
from rubrics_gym.judge.columns import Command
from rubrics_gym.judge.exposure import UNSORTED
from rubrics_gym.judge.wrong_results import Ending
from rubrics_gym.records.failures import Categorized, Cause, FailureEvent
from rubrics_gym.records.grades import Grade


def command_bins(events: Iterable[FailureEvent], answers: Iterable[Categorized]) -> dict[Command, str]:
    """Failed command -> the bin of the category that the classifier gave it; `unsorted` where it abstained or was not asked."""
    of_event = {answer.item_id: bin_of(answer.category, answer.runtime_type) or UNSORTED for answer in answers}
    return {(event.unit, event.step, event.index): of_event.get(event.event_id, UNSORTED) for event in events}


def episode_endings(units: Sequence[str], grades: Sequence[Grade], causes: Iterable[Cause]) -> dict[str, Ending]:
    """Episode -> whether it ended wrong, and the bin of the cause that was named. `units` and `grades` are in the same order."""
    named = {cause.unit: bin_of(cause.category, cause.runtime_type) or UNSORTED for cause in causes}
    return {unit: Ending(grade.ended_wrong, named.get(unit)) for unit, grade in zip(units, grades, strict=True)}
