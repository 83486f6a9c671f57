"""Everyone who sorted the same failures, causes and citations: two classifiers, a reviewer, a miner, and people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from rubrics_gym.failures.distributions import bin_of
from rubrics_gym.failures.labelling import YES, Item, Labels, Question
from rubrics_gym.records.failures import Categorized, Cause, FailureEvent
from rubrics_gym.settings.rules import CompareReaders

ABSTAINED = "(abstained)"


class Answers(NamedTuple):
    """What one reader answered to one question: thing asked about -> answer, an abstention among them. `person` says that a person read."""

    reader: str
    question: Question
    person: bool
    of: Mapping[str, str]
    clusters: Mapping[str, str]  # thing -> benchmark/task


class Pair(NamedTuple):
    """Two readers on the things that both answered, in the order of the first. `left_out` counts what one of them abstained from."""

    first: Answers
    second: Answers
    things: tuple[str, ...]
    left_out: int

    @property
    def answers(self) -> tuple[list[str], list[str]]:
        return [self.first.of[thing] for thing in self.things], [self.second.of[thing] for thing in self.things]

    @property
    def clusters(self) -> list[str]:
        return [self.first.clusters[thing] for thing in self.things]


def answers_of_models(
    settings: CompareReaders,
    events: Sequence[FailureEvent],
    first: Mapping[str, Categorized],
    second: Mapping[str, Categorized],
    causes: Iterable[Cause],
    items: Iterable[Item],
) -> list[Answers]:
    """The answers of the models that read. A miner says yes to every step that it cites; that a decoy is none is what it says by not citing it."""
    tasks = {event.event_id: f"{event.benchmark}/{event.task}" for event in events}
    readers = [Answers(settings.classifier, Question.CATEGORY, False, _bins(events, first), tasks)]
    if settings.second is not None:
        readers.append(Answers(settings.second, Question.CATEGORY, False, _bins(events, second), tasks))
    causes = list(causes)
    readers.append(
        Answers(
            settings.reviewer,
            Question.CAUSE,
            False,
            {cause.unit: bin_of(cause.category, cause.runtime_type) or ABSTAINED for cause in causes},
            {cause.unit: f"{cause.benchmark}/{cause.task}" for cause in causes},
        )
    )
    cited = [item for item in items if item.question is Question.CITATION]
    if cited:
        claims = {item.about: item.truth or YES for item in cited}
        readers.append(Answers(settings.miner, Question.CITATION, False, claims, {item.about: item.cluster for item in cited}))
    return readers


def answers_of_people(people: Iterable[Labels], key: Mapping[str, Item]) -> list[Answers]:
    """The answers of people, one reader per person and question."""
    readers = []
    for labels in people:
        for question in Question:
            items = [key[item] for item in labels.answers if key[item].question is question]
            if items:
                of = {item.about: labels.answers[item.item] for item in items}
                readers.append(Answers(labels.person, question, True, of, {item.about: item.cluster for item in items}))
    return readers


def pairs(readers: Sequence[Answers]) -> list[Pair]:
    """Every two readers of the same question, people first: what they both answered."""
    found = []
    ordered = sorted(readers, key=lambda reader: not reader.person)
    for first, second in combinations(ordered, 2):
        if first.question is second.question:
            both = [thing for thing in first.of if thing in second.of]
            told = tuple(thing for thing in both if ABSTAINED not in (first.of[thing], second.of[thing]))
            found.append(Pair(first, second, told, len(both) - len(told)))
    return found


def _bins(events: Iterable[FailureEvent], answers: Mapping[str, Categorized]) -> dict[str, str]:
    return {
        event.event_id: bin_of(answer.category, answer.runtime_type) or ABSTAINED
        for event in events
        if (answer := answers.get(event.event_id)) is not None
    }
