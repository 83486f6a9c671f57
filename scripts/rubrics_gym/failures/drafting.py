"""A taxonomy from scratch, for logs of one's own: a model reads failures and reviewers' notes in batches and proposes categories.

The way of the published taxonomy (built once by a model from outputs and notes, then frozen): each request shows the categories so far and a
batch of cases, and asks for additions and changes. `runtime` with its types, which fixed expressions decide, and the remainder `other` are
given. The draft is a file that people read, edit, and then name in `taxonomy:`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import yaml

from rubrics_gym.failures.taxonomy import RUNTIME, Category, Taxonomy, checked_taxonomy
from rubrics_gym.models.client import Client
from rubrics_gym.models.prompts import Prompt
from rubrics_gym.models.request import Message, Request
from rubrics_gym.models.structured import ask_structured
from rubrics_gym.records.base import content_hash
from rubrics_gym.records.failures import Cause, FailureEvent
from rubrics_gym.settings.study import ModelSettings

BATCH = 20
MOST_CATEGORIES = 30
CASE_CHARS = 1200
REMAINDER = "other"


class Drafter:
    """A model, a prompt, and the taxonomy that gives `runtime`, its types and the remainder."""

    def __init__(self, model: ModelSettings, prompt: Prompt, given: Taxonomy, seed: int):
        self._model = model
        self._prompt = prompt
        self._given = given
        self._seed = seed
        self._schema = proposal_schema()

    def draft(self, cases: Sequence[str], client: Client) -> tuple[Taxonomy, int]:
        """A taxonomy of some cases, and how many batches had no valid answer. ValueError when there are no cases, or no answer was valid."""
        if not cases:
            raise ValueError("there are no failures and no causes to make a taxonomy from")
        order = sorted(cases, key=lambda case: content_hash([self._seed, case]))
        batches = [order[start : start + BATCH] for start in range(0, len(order), BATCH)]
        categories: dict[str, Category] = {}
        invalid = 0
        for batch in batches:
            proposed = self._ask(batch, list(categories.values()), client)
            if proposed is None:
                invalid += 1
                continue
            for category in proposed:
                if category.id in categories or len(categories) < MOST_CATEGORIES:
                    categories[category.id] = category
        if invalid == len(batches):
            raise ValueError(f"none of {len(batches)} answers could be read; the responses are in the store")
        return self._whole(list(categories.values())), invalid

    def _ask(self, batch: Sequence[str], so_far: Sequence[Category], client: Client) -> list[Category] | None:
        request = Request(
            purpose="classify",
            model=self._model.model,
            system=self._prompt.render("system", most=MOST_CATEGORIES),
            messages=(Message(role="user", text=self._prompt.render("user", categories=so_far, cases=batch)),),
            output_schema=self._schema,
            max_tokens=self._model.max_tokens,
            seed=self._seed,
            effort=self._model.effort,
        )
        value = ask_structured(request, client).value
        return None if value is None else [category for one in value["categories"] if (category := _category(one)) is not None]

    def _whole(self, categories: list[Category]) -> Taxonomy:
        first, last = self._given.entry(RUNTIME), self._given.entry(REMAINDER)
        entries = [first, *sorted(categories, key=lambda category: category.id), last]
        content = {
            "version": f"draft/{content_hash([entry.model_dump() for entry in entries])[:8]}",
            "categories": [entry.model_dump(mode="json") for entry in entries],
            "runtime_types": [kind.model_dump(mode="json") for kind in self._given.runtime_types],
        }
        return checked_taxonomy(content, "the draft")


def cases_of(events: Iterable[FailureEvent], causes: Iterable[Cause]) -> list[str]:
    """What the model reads of each failure and cause, the same text once."""
    seen = dict.fromkeys(f"$ {event.command[:300]}\n{event.output_tail[-CASE_CHARS:]}" for event in events)
    seen |= dict.fromkeys(cause.reason for cause in causes if cause.reason)
    return list(seen)


def proposal_schema() -> dict[str, Any]:
    """JSON schema of a proposal: categories to add, or to put in the place of those with the same id."""
    texts = {"type": "array", "items": {"type": "string"}, "minItems": 1}
    entry = {
        "id": {"type": "string", "description": "lower case letters, digits and underscores; the id of a category so far changes that one"},
        "title": {"type": "string"},
        "definition": {"type": "string"},
        "positive": texts,
        "negative": texts,
    }
    category = {"type": "object", "properties": entry, "required": list(entry), "additionalProperties": False}
    return {
        "type": "object",
        "properties": {"categories": {"type": "array", "items": category}},
        "required": ["categories"],
        "additionalProperties": False,
    }


def to_yaml(taxonomy: Taxonomy) -> str:
    """The text of a taxonomy file."""
    return yaml.safe_dump(taxonomy.model_dump(mode="json"), sort_keys=False, allow_unicode=True, width=160)


def _category(proposed: dict[str, Any]) -> Category | None:
    """A proposed category; None for one that has no usable id or takes the place of a given one."""
    name = re.sub(r"\W+", "_", str(proposed["id"]).strip().lower()).strip("_")
    if not name or name in (RUNTIME, REMAINDER):
        return None
    return Category.model_validate(proposed | {"id": name})
