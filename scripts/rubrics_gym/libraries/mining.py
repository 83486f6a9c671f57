"""Miners: what each reads of a rollout, what it may write about it, and which citations must hold.

The sources' miners, each an entry with a prompt of its own (`resources/prompts/miners/{name}.yaml`). The quota miner, which reads failures of a
category instead of rollouts, is in `quota`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, NamedTuple

from rubrics_gym.libraries.traces import Trace, at_end, at_step
from rubrics_gym.models.client import Client
from rubrics_gym.models.prompts import Prompt
from rubrics_gym.models.request import Message, Request
from rubrics_gym.models.structured import ask_structured
from rubrics_gym.records.rubrics import TEXT_FIELDS, Rubric, RubricKind, Support
from rubrics_gym.settings.study import MinerName, ModelSettings

_QUOTE = {"type": "string", "description": "words copied exactly, 10 to 200 characters of one line or several"}
_TEXTS: dict[str, Any] = {field: {"type": "string"} for field in TEXT_FIELDS}
_KIND: dict[str, Any] = {"kind": {"type": "string", "enum": [kind.value for kind in RubricKind]}}
_CITATIONS: dict[str, Any] = {
    "steps": {
        "type": "array",
        "description": "steps that show the mistake, each with a quote from its command or output",
        "items": {
            "type": "object",
            "properties": {"step": {"type": "integer"}, "quote": _QUOTE},
            "required": ["step", "quote"],
            "additionalProperties": False,
        },
    },
    "final_files": {
        "type": "array",
        "description": "quotes from the final programs or from what was handed in, when the mistake is still there",
        "items": {"type": "object", "properties": {"quote": _QUOTE}, "required": ["quote"], "additionalProperties": False},
    },
}


def candidates_schema(properties: Mapping[str, Any]) -> dict[str, Any]:
    """JSON schema of an answer {rubrics: [candidate, …]}; every property of a candidate is required."""
    candidate = {"type": "object", "properties": dict(properties), "required": list(properties), "additionalProperties": False}
    rubrics = {"type": "array", "items": candidate}
    return {"type": "object", "properties": {"rubrics": rubrics}, "required": ["rubrics"], "additionalProperties": False}


PLAIN_SCHEMA = candidates_schema(_TEXTS)


def _whole(trace: Trace, limit: int) -> Iterator[Trace]:
    """The whole rollout, each failure marked with whether the agent recovered."""
    yield trace


def _wrong_end(trace: Trace, limit: int) -> Iterator[Trace]:
    """Of a rollout that ended wrong: task, last version of each script, what was handed in, verdict. Nothing else, and no other rollout."""
    if trace.grade.ended_wrong:
        yield at_end(trace, limit)


def _failed_steps(trace: Trace, limit: int) -> Iterator[Trace]:
    """Each step with a failed command by itself, with the programs as they were then."""
    for number in dict.fromkeys(step.number for step in trace.steps if step.failed):
        yield at_step(trace, number, limit)


class Entry(NamedTuple):
    """A miner: the readings that it takes of a rollout (one request each), its cap, and the shape of its answers."""

    readings: Callable[[Trace, int], Iterator[Trace]]
    most: int  # rubrics from one reading, unless the recipe says otherwise
    schema: dict[str, Any]
    kind: RubricKind | None = None  # of all its rubrics; None where the miner tags each


MINERS: dict[MinerName, Entry] = {
    MinerName.WRONG_ANSWER: Entry(_wrong_end, 1, PLAIN_SCHEMA, RubricKind.WRONG_RESULT),
    MinerName.WHOLE_ROLLOUT: Entry(_whole, 6, candidates_schema(_TEXTS | _KIND)),
    MinerName.WEIGHTED: Entry(_whole, 6, candidates_schema(_TEXTS | _KIND | _CITATIONS)),
    MinerName.CRASHED_COMMAND: Entry(_failed_steps, 1, PLAIN_SCHEMA, RubricKind.CRASH),
}


class Mining(NamedTuple):
    """What one reading gave: accepted candidates, and how many were rejected for which reason."""

    rubrics: tuple[Rubric, ...]
    rejected: dict[str, int]
    abstained: str | None = None  # why there is no usable answer


class Answered(NamedTuple):
    """The candidates of one answer, as they came, and the key that it is stored under; `abstained` says why there is none."""

    candidates: list[dict[str, Any]]
    key: str
    abstained: str | None = None


def ask_for_rubrics(request: Request, client: Client) -> Answered:
    """Ask a miner. An answer that breaks its schema, was refused or did not fit costs this reading and no more."""
    said = ask_structured(request, client)
    return Answered(said.value["rubrics"] if said.value else [], said.key or "", said.abstained)


class Miner:
    """Asks for rubrics of rollouts, and keeps those whose citations hold. `weights` says what a citing miner's weights add up."""

    def __init__(
        self,
        name: MinerName,
        model: ModelSettings,
        prompt: Prompt,
        seed: int,
        most: int | None = None,
        weights: Collection[str] = ("error", "outcome"),
    ):
        self._entry = MINERS[name]
        self._model = model
        self._prompt = prompt
        self._seed = seed
        self._most = most or self._entry.most
        self._weights = frozenset(weights)

    def readings(self, trace: Trace, limit: int) -> Iterator[Trace]:
        """The parts of a rollout that this miner is asked about, each of at most `limit` characters; none where it has nothing to read."""
        return self._entry.readings(trace, limit)

    def request(self, reading: Trace) -> Request:
        """What is asked about a reading."""
        return Request(
            purpose="mine",
            model=self._model.model,
            system=self._prompt.render("system", most=self._most),
            messages=(Message(role="user", text=self._prompt.render("user", trace=reading)),),
            output_schema=self._entry.schema,
            max_tokens=self._model.max_tokens,
            seed=self._seed,
            effort=self._model.effort,
        )

    def mine(self, reading: Trace, client: Client) -> Mining:
        """Ask for rubrics of one reading."""
        answer = ask_for_rubrics(self.request(reading), client)
        rejected: Counter[str] = Counter()
        rubrics = []
        for position, candidate in enumerate(answer.candidates):
            reason = "over_limit" if position >= self._most else objection(candidate, reading)
            if reason:
                rejected[reason] += 1
            else:
                rubrics.append(self._rubric(candidate, reading, answer.key))
        return Mining(tuple(rubrics), dict(sorted(rejected.items())), answer.abstained)

    def _rubric(self, candidate: dict[str, Any], reading: Trace, request_key: str) -> Rubric:
        kind = self._entry.kind or RubricKind(candidate["kind"])
        rubric = written(candidate, kind, support_of(reading, candidate), self._model.model, self._prompt.version, request_key)
        if "steps" not in candidate:
            return rubric
        cited = {citation["step"] for citation in candidate["steps"]}
        outcome = bool(reading.grade.ended_wrong and candidate["final_files"])
        return rubric.model_copy(
            update={
                "error_weight": len(reading.error_steps & cited) if "error" in self._weights else 0,
                "outcome_weight": int(outcome) if "outcome" in self._weights else 0,
            }
        )


def written(candidate: Mapping[str, Any], kind: RubricKind, support: Support, miner: str, protocol: str, request_key: str) -> Rubric:
    """A candidate's texts as a rubric."""
    texts = {field: candidate[field].strip() for field in TEXT_FIELDS}
    return Rubric(**texts, kind=kind, support=(support,), miner=miner, protocol=protocol, request_key=request_key)


def support_of(reading: Trace, candidate: Mapping[str, Any]) -> Support:
    """Where a candidate comes from: the steps and words that it cites or, where it is not asked to cite, the steps that it was shown.

    A rubric from a whole rollout without citations names no step.
    """
    cited = candidate.get("steps")
    shown = {step.number for step in reading.steps}
    steps = {citation["step"] for citation in cited} if cited is not None else shown if len(shown) == 1 else set()
    quotes = [citation["quote"] for citation in (*(cited or ()), *candidate.get("final_files", ()))]
    return Support(
        collection=reading.collection,
        benchmark=reading.benchmark,
        task=reading.task,
        attempt=reading.attempt,
        steps=tuple(sorted(steps)),
        quotes=tuple(quotes),
    )


def objection(candidate: Mapping[str, Any], reading: Trace) -> str | None:
    """Why a candidate is rejected: empty_field, no_citation, step_unknown or quote_not_found; None when it stands.

    Only a miner that is asked to cite can fail to.
    """
    if not all(candidate[field].strip() for field in TEXT_FIELDS):
        return "empty_field"
    if "steps" not in candidate:
        return None
    if not candidate["steps"] and not candidate["final_files"]:
        return "no_citation"
    for citation in candidate["steps"]:
        text = reading.text_of(citation["step"])
        if text is None:
            return "step_unknown"
        if not citation["quote"].strip() or citation["quote"] not in text:
            return "quote_not_found"
    if any(not citation["quote"].strip() or citation["quote"] not in reading.final_text for citation in candidate["final_files"]):
        return "quote_not_found"
    return None
