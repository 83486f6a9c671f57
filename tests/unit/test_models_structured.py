"""Structured answers are checked here and never repaired; keys are looked for and never shown."""

from __future__ import annotations

import json

import pytest

from rubrics_gym.models.keys import MissingKey, check_keys, key_of
from rubrics_gym.models.request import Response
from rubrics_gym.models.structured import SchemaInvalid, parse
from rubrics_gym.settings.study import Endpoint, Models, ProviderName, Requests

SCHEMA = {
    "type": "object",
    "properties": {"category": {"enum": ["runtime", "other"]}, "score": {"type": "integer", "maximum": 5}},
    "required": ["category"],
    "additionalProperties": False,
}


def test_a_valid_answer_is_parsed() -> None:
    assert parse(Response(text='{"category": "runtime", "score": 3}'), SCHEMA) == {"category": "runtime", "score": 3}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"category": "Runtime"}', r"\$\.category"),
        ('{"category": "runtime", "score": 6}', r"\$\.score"),
        ('{"category": "runtime", "more": 1}', "more"),
        ("{}", "category"),
        ('{"category": "runt', "not JSON"),
        ('```json\n{"category": "runtime"}\n```', "not JSON"),
        ("[]", "object"),
        ("", "not JSON"),
    ],
)
def test_an_invalid_answer_says_where(text: str, problem: str) -> None:
    with pytest.raises(SchemaInvalid, match=problem) as caught:
        parse(Response(text=text), SCHEMA)
    assert caught.value.kind == "schema_invalid"


def test_a_bare_list_is_no_answer_even_if_its_schema_allows_it() -> None:
    with pytest.raises(SchemaInvalid, match="expected a JSON object"):
        parse(Response(text="[1]"), {"type": "array"})


def test_a_refusal_is_called_one() -> None:
    with pytest.raises(SchemaInvalid) as caught:
        parse(Response(text=json.dumps({"category": "other"}), stop_reason="refusal"), SCHEMA)
    assert caught.value.kind == "refused"


LIVE = {"provider": "anthropic", "model": "claude-haiku-5-5"}


def test_simulated_models_need_no_key() -> None:
    check_keys(Models(), Requests(), Models.model_fields, {})


def test_a_missing_key_names_the_variable_and_the_roles() -> None:
    models = Models.model_validate({"agent": LIVE, "judge": LIVE})
    with pytest.raises(MissingKey, match=r"ANTHROPIC_API_KEY \(models\.agent, models\.judge\)"):
        check_keys(models, Requests(), Models.model_fields, {"ANTHROPIC_API_KEY": "  "})
    check_keys(models, Requests(), Models.model_fields, {"ANTHROPIC_API_KEY": "sk-secret"})
    check_keys(models, Requests(), ["miner"], {})  # nobody asks the others
    assert key_of(ProviderName.ANTHROPIC, None, {"ANTHROPIC_API_KEY": " sk-secret\n"}) == "sk-secret"
    with pytest.raises(MissingKey, match="ANTHROPIC_API_KEY"):
        key_of(ProviderName.ANTHROPIC, None, {})


def test_a_server_of_ones_own_is_never_sent_the_key_of_the_provider() -> None:
    keys = {"OPENAI_API_KEY": "sk-secret", "MY_SERVER_KEY": "mine"}
    assert key_of(ProviderName.OPENAI, Endpoint(url="http://127.0.0.1:8000/v1"), keys) is None
    assert key_of(ProviderName.OPENAI, Endpoint(url="http://127.0.0.1:8000/v1", key="MY_SERVER_KEY"), keys) == "mine"
    models = Models.model_validate({"judge": {"provider": "openai", "model": "local"}})
    check_keys(models, Requests(endpoints={"judge": Endpoint(url="http://127.0.0.1:8000/v1")}), ["judge"], {})
    with pytest.raises(MissingKey, match="OPENAI_API_KEY"):
        check_keys(models, Requests(), ["judge"], {})
