"""Structured answers: validated here whatever the provider promises. An invalid one is kept in the store, counted by its reader, and never repaired."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from rubrics_gym.models.client import Client
from rubrics_gym.models.request import ProviderError, Request, Response

# Failures that concern one request and cost its item and no more; all others (authentication, quota, transport, budget) end the job.
ABSTENTIONS = frozenset({"refused", "context_length"})


class SchemaInvalid(ProviderError):
    """An answer that is not what its schema asks for. It was paid for and is stored. `kind` is refused when the model declined to answer."""

    def __init__(self, problem: str, kind: str = "schema_invalid"):
        super().__init__(kind, problem)


class Structured(NamedTuple):
    """A structured answer and the key that it is stored under; `abstained` says why there is no value. Without an answer there is no key."""

    value: dict[str, Any] | None
    key: str | None
    abstained: str | None = None


def ask_structured(request: Request, client: Client) -> Structured:
    """Ask for an answer in the request's schema. One that breaks it, was refused or did not fit is an abstention; other failures are raised."""
    try:
        answer = client.ask(request)
    except ProviderError as error:
        if error.kind not in ABSTENTIONS:
            raise
        return Structured(None, None, error.kind)
    try:
        return Structured(parse(answer.response, request.output_schema or {}), answer.key)
    except SchemaInvalid as invalid:
        return Structured(None, answer.key, invalid.kind)


def parse(response: Response, schema: dict[str, Any]) -> dict[str, Any]:
    """The JSON object of a structured answer, valid against its schema. SchemaInvalid says what is wrong and where."""
    import jsonschema

    if response.stop_reason == "refusal":
        raise SchemaInvalid("the model declined to answer", kind="refused")
    try:
        value = json.loads(response.text)
    except ValueError as error:
        raise SchemaInvalid(f"the answer is not JSON ({error}; stop reason {response.stop_reason})") from None
    problem = jsonschema.exceptions.best_match(jsonschema.Draft202012Validator(schema).iter_errors(value))
    if problem is not None:
        raise SchemaInvalid(f"at {problem.json_path}: {problem.message[:300]}")
    if not isinstance(value, dict):
        raise SchemaInvalid(f"expected a JSON object, got {type(value).__name__}")
    return value
