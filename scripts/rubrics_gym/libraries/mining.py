"""The weighted miner: rubrics from one rollout, each with cited steps, verbatim quotes, and weights that the quotes support."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

from rubrics_gym.libraries.traces import Trace
from rubrics_gym.models.client import Client
from rubrics_gym.models.prompts import Prompt
from rubrics_gym.models.request import Message, Request
from rubrics_gym.models.structured import SchemaInvalid, parse
from rubrics_gym.records.rubrics import Rubric, RubricKind, Support
from rubrics_gym.settings.study import ModelSettings

TEXT_FIELDS = ("title", "applies_when", "pattern", "detect", "not_a_violation", "consequence")
_QUOTE = {"type": "string", "description": "words copied exactly, 10 to 200 characters of one line or several"}
_CANDIDATE = {
    **{field: {"type": "string"} for field in TEXT_FIELDS},
    "kind": {"type": "string", "enum": [kind.value for kind in RubricKind]},
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
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "rubrics": {
            "type": "array",
            "items": {"type": "object", "properties": _CANDIDATE, "required": list(_CANDIDATE), "additionalProperties": False},
        }
    },
    "required": ["rubrics"],
    "additionalProperties": False,
}


class Mining(NamedTuple):
    """What one rollout gave: accepted candidates, and how many were rejected for which reason."""

    rubrics: tuple[Rubric, ...]
    rejected: dict[str, int]
    cut_chars: int  # of the trace, to keep it within its limit
    abstained: str | None = None  # why there is no usable answer


class Miner:
    """Reads whole rollouts, one request each. A bad answer costs one rollout, visibly."""

    def __init__(self, model: ModelSettings, prompt: Prompt, per_rollout: int, seed: int):
        self._model = model
        self._prompt = prompt
        self._per_rollout = per_rollout
        self._seed = seed

    def mine(self, trace: Trace, client: Client) -> Mining:
        """Ask for rubrics of one rollout, and keep those whose citations hold."""
        answer = client.ask(self.request(trace))
        try:
            candidates = parse(answer.response, SCHEMA)["rubrics"]
        except SchemaInvalid as invalid:
            return Mining((), {}, trace.cut_chars, abstained=invalid.kind)
        rejected: Counter[str] = Counter()
        rubrics = []
        for position, candidate in enumerate(candidates):
            reason = "over_limit" if position >= self._per_rollout else objection(candidate, trace)
            if reason:
                rejected[reason] += 1
            else:
                rubrics.append(self._rubric(candidate, trace, answer.key))
        return Mining(tuple(rubrics), dict(sorted(rejected.items())), trace.cut_chars)

    def request(self, trace: Trace) -> Request:
        """What is asked about a rollout."""
        return Request(
            purpose="mine",
            model=self._model.model,
            system=self._prompt.render("system", most=self._per_rollout),
            messages=(Message(role="user", text=self._prompt.render("user", trace=trace)),),
            output_schema=SCHEMA,
            max_tokens=self._model.max_tokens,
            seed=self._seed,
            effort=self._model.effort,
        )

    def _rubric(self, candidate: dict[str, Any], trace: Trace, request_key: str) -> Rubric:
        cited = sorted({citation["step"] for citation in candidate["steps"]})
        quotes = [citation["quote"] for citation in (*candidate["steps"], *candidate["final_files"])]
        support = Support(
            collection=trace.collection,
            benchmark=trace.benchmark,
            task=trace.task,
            attempt=trace.attempt,
            steps=tuple(cited),
            quotes=tuple(quotes),
        )
        return Rubric(
            **{field: candidate[field].strip() for field in TEXT_FIELDS},
            kind=RubricKind(candidate["kind"]),
            support=(support,),
            error_weight=len(trace.error_steps.intersection(cited)),
            outcome_weight=1 if trace.grade.ended_wrong and candidate["final_files"] else 0,
            miner=self._model.model,
            protocol=self._prompt.version,
            request_key=request_key,
        )


def objection(candidate: dict[str, Any], trace: Trace) -> str | None:
    """Why a candidate is rejected: empty_field, no_citation, step_unknown or quote_not_found; None when it stands."""
    if not all(candidate[field].strip() for field in TEXT_FIELDS):
        return "empty_field"
    if not candidate["steps"] and not candidate["final_files"]:
        return "no_citation"
    for citation in candidate["steps"]:
        text = trace.text_of(citation["step"])
        if text is None:
            return "step_unknown"
        if not citation["quote"].strip() or citation["quote"] not in text:
            return "quote_not_found"
    if any(not citation["quote"].strip() or citation["quote"] not in trace.final_text for citation in candidate["final_files"]):
        return "quote_not_found"
    return None
