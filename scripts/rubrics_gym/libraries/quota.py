"""The quota miner: writes rubrics bin by bin until each has its share of a planned size, and stops early where nothing new is said.

A bin stops early when every candidate of a batch says what one of its rubrics says already (cosine of title and applies-when at or above a
threshold). Such a candidate is not thrown away: its rollout is added to the support of the rubric that it repeats.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from rubrics_gym.libraries.encoder import Vectors
from rubrics_gym.libraries.merging import joined, merging_text
from rubrics_gym.libraries.mining import PLAIN_SCHEMA, ask_for_rubrics, objection, support_of, written
from rubrics_gym.libraries.traces import Trace
from rubrics_gym.libraries.vectors import nearest_reaching
from rubrics_gym.models.client import Client
from rubrics_gym.models.prompts import Prompt
from rubrics_gym.models.request import Message, Request
from rubrics_gym.records.rubrics import QuotaLine, Rubric, RubricKind
from rubrics_gym.settings.study import ModelSettings
from rubrics_gym.statistics.allocation import largest_remainder

Encode = Callable[[Sequence[str]], Vectors]


class Bin(NamedTuple):
    """One bin of the target: what it is, its failures in the collections (in the order they are asked about), and its planned rubrics."""

    name: str
    title: str
    definition: str
    share: float
    planned: int
    failures: tuple[Trace, ...]


class Filled(NamedTuple):
    """What was written for one bin. `candidates` are all that stood, repetitions included."""

    rubrics: list[Rubric]
    candidates: list[Rubric]
    rejected: dict[str, int]
    line: QuotaLine


def plan(target: Mapping[str, int], failures: Mapping[str, int], size: int) -> dict[str, int]:
    """Planned rubrics per bin: the target's shares of `size` by largest remainder, over the bins that have a failure to write about."""
    return largest_remainder({name: float(count) for name, count in target.items() if failures.get(name)}, size)


def spread_over_tasks(readings: Sequence[Trace]) -> list[Trace]:
    """One failure of every task first, then the second of each, …: a bin that stops early has then seen many tasks."""
    by_task: dict[tuple[str, str], list[Trace]] = {}
    for reading in readings:
        by_task.setdefault((reading.benchmark, reading.task), []).append(reading)
    rounds = itertools.zip_longest(*by_task.values())
    return [reading for one in rounds for reading in one if reading is not None]


class QuotaMiner:
    """Asks about one failure at a time, showing the titles that the bin has already."""

    def __init__(
        self, model: ModelSettings, prompt: Prompt, seed: int, encode: Encode, per_failure: int = 3, batch: int = 8, threshold: float = 0.82
    ):
        self._model = model
        self._prompt = prompt
        self._seed = seed
        self._encode = encode
        self._per_failure = per_failure
        self._batch = batch
        self._threshold = threshold

    def fill(self, bin: Bin, client: Client) -> Filled:
        """Write the rubrics of one bin: as many as planned, or fewer when a whole batch of failures gave nothing new."""
        shelf = _Shelf(self._threshold)
        candidates: list[Rubric] = []
        rejected: Counter[str] = Counter()
        asked = 0
        queue = itertools.cycle(bin.failures)
        stopped = "filled" if bin.failures else "no_failures"
        while len(shelf.rubrics) < bin.planned and bin.failures:
            before = len(shelf.rubrics)
            for failure in itertools.islice(queue, min(self._batch, len(bin.failures))):
                asked += 1
                for candidate in self._ask(bin, failure, shelf.rubrics, client, rejected):
                    candidates.append(candidate)
                    if not shelf.put(candidate, self._encode([merging_text(candidate)])[0], bin.planned):
                        rejected["over_quota"] += 1
                if len(shelf.rubrics) == bin.planned:
                    break
            if len(shelf.rubrics) == before:
                stopped = "covered"
                break
        line = QuotaLine(
            bin=bin.name,
            share=bin.share,
            planned=bin.planned,
            failures=len(bin.failures),
            asked=asked,
            candidates=len(candidates),
            written=len(shelf.rubrics),
            stopped=stopped,
        )
        return Filled(shelf.rubrics, candidates, dict(sorted(rejected.items())), line)

    def _ask(self, bin: Bin, failure: Trace, known: Sequence[Rubric], client: Client, rejected: Counter[str]) -> list[Rubric]:
        """The candidates of one request that stand; what does not is counted in `rejected`."""
        system = self._prompt.render("system", most=self._per_failure, title=bin.title, definition=bin.definition)
        user = self._prompt.render("user", trace=failure, titles=[rubric.title for rubric in known])
        request = Request(
            purpose="mine",
            model=self._model.model,
            system=system,
            messages=(Message(role="user", text=user),),
            output_schema=PLAIN_SCHEMA,
            max_tokens=self._model.max_tokens,
            seed=self._seed,
            effort=self._model.effort,
        )
        answer = ask_for_rubrics(request, client)
        if answer.abstained:
            rejected[f"answer_{answer.abstained}"] += 1
        kind = RubricKind.CRASH if failure.steps else RubricKind.WRONG_RESULT
        standing = []
        for position, candidate in enumerate(answer.candidates):
            reason = "over_limit" if position >= self._per_failure else objection(candidate, failure)
            if reason:
                rejected[reason] += 1
            else:
                support = support_of(failure, candidate)
                standing.append(written(candidate, kind, support, self._model.model, self._prompt.version, answer.key))
        return standing


class _Shelf:
    """The rubrics of one bin, no two of which say the same."""

    def __init__(self, threshold: float):
        self.rubrics: list[Rubric] = []
        self._vectors: list[np.ndarray[Any, Any]] = []
        self._threshold = threshold

    def put(self, rubric: Rubric, vector: np.ndarray[Any, Any], most: int) -> bool:
        """Add a rubric, or its rollout to the one that says the same; False when it is new and there is no room."""
        cosines = [(float(other @ vector), number) for number, other in enumerate(self._vectors)]
        nearest = nearest_reaching(vector, cosines, self._vectors.__getitem__, self._threshold)
        if nearest is not None:
            self.rubrics[nearest] = joined([self.rubrics[nearest], rubric])
            return True
        if len(self.rubrics) >= most:
            return False
        self.rubrics.append(rubric)
        self._vectors.append(vector)
        return True
