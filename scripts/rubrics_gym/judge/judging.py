"""The judge: retrieve rubrics, ask, and turn the answer into a verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from rubrics_gym.judge.prompting import judge_request
from rubrics_gym.libraries.encoder import Vectors
from rubrics_gym.libraries.index import Index
from rubrics_gym.libraries.retrieval import Retrieved, Retriever
from rubrics_gym.models.client import Answer
from rubrics_gym.models.prompts import Prompt
from rubrics_gym.models.request import ProviderError, Request
from rubrics_gym.models.structured import SchemaInvalid, parse
from rubrics_gym.records.base import content_hash
from rubrics_gym.records.rubrics import Rubric
from rubrics_gym.records.verdicts import Criterion, JudgedAction, Verdict
from rubrics_gym.settings.study import ModelSettings, Retrieval, Split

TASK_CRITERION = "The change does what the task asks"

# Processors differ in the last bits of an embedding; more digits would not be the same on a reviewer's machine.
SIMILARITY_DIGITS = 3

# Failures that concern this one request: the verdict is missing and says why. All others (authentication, quota, transport) concern the
# whole attempt and are raised: an infrastructure error must end the attempt as lost, and never reach the agent as feedback.
ABSTENTIONS = frozenset({"schema_invalid", "refused", "context_length", "budget", "requests"})


class Asks(Protocol):
    """What a judge needs of models.client.Client."""

    def ask(self, request: Request, occurrence: int = 0) -> Answer: ...


class Encodes(Protocol):
    """What a judge needs of libraries.encoder.Encoder."""

    def encode(self, texts: Sequence[str]) -> Vectors: ...

    def truncated(self, texts: Sequence[str]) -> list[bool]: ...


@dataclass(frozen=True)
class Lookup:
    """Where rubrics come from: a library, its index, and how many are taken how."""

    library: str
    index: Index
    encoder: Encodes
    k: int
    retrieval: Retrieval
    split: Split = field(default_factory=Split)


class Judge:
    """Predicts what a command would do. One judge serves one unit (an episode, or the replay of one).

    `lookup` is None for the task criterion alone. Equal requests of one judge are told apart by their occurrence, the number of equal
    requests before: the same command judged twice gets two answers, and when the unit is done again they are found in the store,
    whatever else was asked in between.
    """

    def __init__(self, name: str, client: Asks, model: ModelSettings, prompt: Prompt, seed: int, lookup: Lookup | None = None):
        self.name = name
        self._client = client
        self._model = model
        self._prompt = prompt
        self._seed = seed
        self._lookup = lookup
        self._retriever = Retriever(lookup.index, lookup.k, lookup.retrieval, lookup.split, seed) if lookup else None
        self._asked: Counter[str] = Counter()

    @property
    def library(self) -> str | None:
        """Name of the library, None for the task criterion alone."""
        return None if self._lookup is None else self._lookup.library

    def __call__(self, action: JudgedAction) -> Verdict:
        """The verdict about one command.

        Raises ProviderError for failures that are not about this request (see ABSTENTIONS): the attempt cannot go on.
        """
        found, truncated = self._retrieve(action)
        hits = found.hits
        request = judge_request(action, [rubric for rubric, _ in hits], self._prompt, self._model, self._seed)
        sha256 = content_hash(request)
        context: dict[str, Any] = {"judge": self.name, "library": self.library, "query_truncated": truncated, "request_sha256": sha256}
        context |= {"slots": found.slots, "quotas": found.quotas, "handed_on": found.handed_on}
        try:
            answer = self._ask(request, sha256)
        except ProviderError as error:
            if error.kind not in ABSTENTIONS:
                raise
            return Verdict(abstained=error.kind, **context)
        context |= {"request_key": answer.key, "cost_microdollars": answer.cost_microdollars}
        try:
            criteria = _criteria(parse(answer.response, request.output_schema or {}), hits)
        except SchemaInvalid as error:
            return Verdict(abstained=error.kind, **context)
        return _verdict(criteria, context)

    def _retrieve(self, action: JudgedAction) -> tuple[Retrieved, bool]:
        """Rubrics for an action, and whether the encoder could not read all of it. Statement and code change are embedded apart."""
        if self._lookup is None or self._retriever is None:
            return Retrieved([], {}, {}, 0), False
        query = [action.statement, code_change(action)]
        statement, code = self._lookup.encoder.encode(query)
        return self._retriever.retrieve(statement, code), any(self._lookup.encoder.truncated(query))

    def _ask(self, request: Request, sha256: str) -> Answer:
        occurrence = self._asked[sha256]
        self._asked[sha256] += 1
        return self._client.ask(request, occurrence)


def code_change(action: JudgedAction) -> str:
    """The text that stands for the code change in retrieval: the programs, then the command (which often only names one of them)."""
    return "\n".join([*(action.programs[path] for path in sorted(action.programs)), action.command])


def _criteria(answer: dict[str, Any], hits: Sequence[tuple[Rubric, float]]) -> tuple[Criterion, ...]:
    """The task criterion, then one criterion per rubric in the order shown. Each number must be answered exactly once."""
    task = answer["task_criterion"]
    opinions = {opinion["number"]: opinion for opinion in answer.get("rubrics", [])}
    numbers = sorted(opinion["number"] for opinion in answer.get("rubrics", []))
    if numbers != list(range(1, len(hits) + 1)):
        raise SchemaInvalid(f"expected an opinion on each of the rubrics 1 to {len(hits)}, got numbers {numbers}")
    criteria = [Criterion(rubric_id=None, title=TASK_CRITERION, text=_task_text(task), **_said(task))]
    for number, (rubric, similarity) in enumerate(hits, 1):
        text = f"{rubric.title}: {rubric.pattern}"
        near = round(similarity, SIMILARITY_DIGITS)
        criteria.append(Criterion(rubric_id=rubric.id, title=rubric.title, text=text, similarity=near, **_said(opinions[number])))
    return tuple(criteria)


def _said(opinion: dict[str, Any]) -> dict[str, Any]:
    return {name: opinion[name] for name in ("applicable", "violated", "reason")}


def _task_text(opinion: dict[str, Any]) -> str:
    return f"{TASK_CRITERION}: {opinion['reason']}" if opinion["reason"] else TASK_CRITERION


def _verdict(criteria: tuple[Criterion, ...], context: dict[str, Any]) -> Verdict:
    """The reward is the share of applicable criteria that are satisfied. `violated` counts only where `applicable` is said as well."""
    applicable = [criterion for criterion in criteria if criterion.applicable]
    violated = sum(criterion.violated for criterion in applicable)
    reward = 1 - violated / len(applicable) if applicable else None
    return Verdict(criteria=criteria, predicted_reward=reward, flagged=violated > 0, **context)
