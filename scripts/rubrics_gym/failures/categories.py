"""Sorting failures and rubrics into exactly one category each, by a classifier model with native structured output."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rubrics_gym.failures.taxonomy import RUNTIME, Taxonomy
from rubrics_gym.models.client import Client
from rubrics_gym.models.prompts import Prompt
from rubrics_gym.models.request import Message, Request
from rubrics_gym.models.structured import ask_structured
from rubrics_gym.records.failures import Categorized, FailureEvent
from rubrics_gym.records.rubrics import Rubric
from rubrics_gym.settings.study import ModelSettings

OUTPUT_CHARS = 4000  # of a failed command's output that the classifier reads, from its end


class Classifier:
    """A model, a prompt and a taxonomy. Its `name` belongs to the id of every distribution made with it."""

    def __init__(self, model: ModelSettings, prompt: Prompt, taxonomy: Taxonomy, seed: int):
        self._model = model
        self._prompt = prompt
        self._taxonomy = taxonomy
        self._seed = seed
        self._system = prompt.render("system", categories=taxonomy.categories, runtime_types=taxonomy.runtime_types)
        self._schema = category_schema(taxonomy)

    @property
    def name(self) -> str:
        return f"{self._model.model}@{self._prompt.version}"

    def events(self, events: Sequence[FailureEvent], client: Client) -> list[Categorized]:
        """The category of every failed command, in their order."""
        client.ask_ahead((self.event_request(event), 0) for event in events)
        return [self.event(event, client) for event in events]

    def event(self, event: FailureEvent, client: Client) -> Categorized:
        """The category of a failed command. Inside Runtime its type is the one that the regular expressions gave."""
        answer = self._ask(event.event_id, self.event_request(event), client)
        return answer.model_copy(update={"runtime_type": event.failure_type if answer.category == RUNTIME else None})

    def rubric(self, rubric: Rubric, client: Client) -> Categorized:
        """The category of a rubric, from its words alone; inside Runtime also its type."""
        return self._ask(rubric.id, self.rubric_request(rubric), client)

    def has_to_ask(self, rubric: Rubric) -> bool:
        """Whether a rubric has no category of the taxonomy yet."""
        return rubric.category not in self._taxonomy.category_ids

    def sorted_rubric(self, rubric: Rubric, client: Client) -> Rubric:
        """The rubric with its category; one that has a category of the taxonomy already keeps it and is not asked about."""
        if not self.has_to_ask(rubric):
            return rubric
        answer = self.rubric(rubric, client)
        return rubric.model_copy(update={"category": answer.category, "runtime_type": answer.runtime_type})

    def event_request(self, event: FailureEvent) -> Request:
        """What is asked about a failed command."""
        return self._request(self._prompt.render("event", event=event, output=event.output_tail[-OUTPUT_CHARS:]))

    def rubric_request(self, rubric: Rubric) -> Request:
        """What is asked about a rubric."""
        return self._request(self._prompt.render("rubric", rubric=rubric))

    def _request(self, text: str) -> Request:
        return Request(
            purpose="classify",
            model=self._model.model,
            system=self._system,
            messages=(Message(role="user", text=text),),
            output_schema=self._schema,
            max_tokens=self._model.max_tokens,
            seed=self._seed,
            effort=self._model.effort,
        )

    def _ask(self, item_id: str, request: Request, client: Client) -> Categorized:
        said = ask_structured(request, client)
        if said.value is None:
            return Categorized(item_id=item_id, category=None, request_key=said.key, abstained=said.abstained)
        return Categorized(item_id=item_id, request_key=said.key, **chosen(said.value))


def category_schema(taxonomy: Taxonomy, **more: dict[str, Any]) -> dict[str, Any]:
    """JSON schema of a classifying answer: {category, runtime_type, confidence, abstain} and `more` properties, all required."""
    properties = {
        **more,
        "category": {"type": "string", "enum": list(taxonomy.category_ids)},
        "runtime_type": {"anyOf": [{"type": "string", "enum": list(taxonomy.type_ids)}, {"type": "null"}]},
        "confidence": {"type": "number", "description": "between 0 and 1"},
        "abstain": {"type": "boolean", "description": "true when no category can be told; the category is then ignored"},
    }
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def chosen(value: dict[str, Any]) -> dict[str, Any]:
    """The category fields of a valid answer; an abstention has none. A runtime type counts inside Runtime only, and is `other` when not named."""
    confidence = min(1.0, max(0.0, float(value["confidence"])))
    if value["abstain"]:
        return {"category": None, "confidence": confidence, "abstained": "undecided"}
    kind = (value["runtime_type"] or "other") if value["category"] == RUNTIME else None
    return {"category": value["category"], "runtime_type": kind, "confidence": confidence}
