"""Structured answers: validated here whatever the provider promises. An invalid one is kept in the store, counted by its reader, and never repaired."""

from __future__ import annotations

import json
from typing import Any

from rubrics_gym.models.request import ProviderError, Response


class SchemaInvalid(ProviderError):
    """An answer that is not what its schema asks for. It was paid for and is stored. `kind` is refused when the model declined to answer."""

    def __init__(self, problem: str, kind: str = "schema_invalid"):
        super().__init__(kind, problem)


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
