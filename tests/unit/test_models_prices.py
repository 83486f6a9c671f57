"""Prices: dated, exact, rounded up; the maximum is one."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openai.types import ChatModel

from rubrics_gym.models.prices import UnknownPrice, cost, load_prices, maximum
from rubrics_gym.models.request import Usage
from rubrics_gym.settings.study import Models

TABLE = load_prices(Path(__file__).parents[2] / "resources" / "prices.yaml")
NOVEMBER = date(2026, 11, 29)


def test_usage_is_priced_by_class() -> None:
    usage = Usage(input_tokens=1000, output_tokens=100, cache_read_tokens=10_000, cache_write_tokens=2000)
    assert cost(usage, "claude-opus-5-5", NOVEMBER, TABLE) == 1000 * 4 + 100 * 20 + 10_000 * 0.2 + 2000 * 5


def test_a_fraction_of_a_micro_dollar_is_rounded_up() -> None:
    assert cost(Usage(input_tokens=1), "claude-haiku-5-5", NOVEMBER, TABLE) == 1
    assert cost(Usage(input_tokens=30), "claude-haiku-5-5", NOVEMBER, TABLE) == 3  # 0.1 is exact
    assert cost(Usage(), "claude-haiku-5-5", NOVEMBER, TABLE) == 0


def test_the_day_decides_the_row() -> None:
    usage = Usage(cache_read_tokens=1_000_000)
    assert cost(usage, "claude-sonnet-5-5", date(2026, 10, 6), TABLE) == 200_000
    assert cost(usage, "claude-sonnet-5-5", date(2026, 10, 7), TABLE) == 100_000
    with pytest.raises(UnknownPrice, match="2025-01-01"):
        cost(usage, "claude-sonnet-5-5", date(2025, 1, 1), TABLE)


def test_a_long_prompt_is_dearer_as_a_whole() -> None:
    at = Usage(input_tokens=60_000, cache_read_tokens=40_000, output_tokens=1000)
    above = Usage(input_tokens=60_001, cache_read_tokens=40_000, output_tokens=1000)
    assert cost(at, "claude-haiku-5-5", NOVEMBER, TABLE) == 6000 + 400 + 500
    assert cost(above, "claude-haiku-5-5", NOVEMBER, TABLE) == 30_001 + 2000 + 2500  # 30,000.5 up


def test_a_gpt_prompt_above_272000_tokens_is_dearer_as_a_whole() -> None:
    at = Usage(input_tokens=200_000, cache_read_tokens=70_000, cache_write_tokens=2_000, output_tokens=1000)
    above = at.model_copy(update={"input_tokens": 200_001})
    assert cost(at, "gpt-6.2-sol", NOVEMBER, TABLE) == 400_000 + 7_000 + 5_000 + 10_000
    assert cost(above, "gpt-6.2-sol", NOVEMBER, TABLE) == 800_004 + 14_000 + 10_000 + 15_000


def test_every_gpt_model_with_a_price_is_in_the_list_of_the_sdk() -> None:
    priced = {model for model in TABLE.models if model.startswith("gpt-")}
    assert priced and priced <= set(get_args(ChatModel))


def test_a_model_whose_price_was_not_found_is_refused_and_never_free() -> None:
    for model in ("gpt-6.2-astra", "gpt-5.6-sol", "gpt-4o"):
        with pytest.raises(UnknownPrice, match=model):
            maximum(1000, 100, model, NOVEMBER, TABLE)
    with pytest.raises(UnknownPrice, match="batches"):
        maximum(1000, 100, "gpt-6.2-sol", NOVEMBER, TABLE, batch=True)


@settings(deadline=None)
@given(
    model=st.sampled_from(sorted(TABLE.models)),
    prompt=st.integers(0, 300_000),
    shares=st.tuples(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1)),
    max_tokens=st.integers(1, 64_000),
)
def test_no_request_costs_more_than_its_maximum(model: str, prompt: int, shares: tuple[float, float, float], max_tokens: int) -> None:
    read, write = int(prompt * shares[0]), int(prompt * (1 - shares[0]) * shares[1])
    usage = Usage(
        input_tokens=prompt - read - write, cache_read_tokens=read, cache_write_tokens=write, output_tokens=int(max_tokens * shares[2])
    )
    assert cost(usage, model, NOVEMBER, TABLE) <= maximum(prompt, max_tokens, model, NOVEMBER, TABLE)


def test_every_default_model_has_a_price_and_the_simulated_ones_are_free() -> None:
    models = [getattr(Models(), role) for role in Models.model_fields]
    for model in (model for model in models if model is not None):
        assert maximum(10_000, 1000, model.model, NOVEMBER, TABLE) == 0


def test_a_bad_table_is_named(tmp_path: Path) -> None:
    path = tmp_path / "prices.yaml"
    row = "{since: %s, rates: {input: 1, output: 1, cache_read: 1, cache_write: 1}}"
    path.write_text(f"version: x\nmodels:\n  m: [{row % '2026-02-01'}, {row % '2026-01-01'}]\n")
    with pytest.raises(ValueError, match=r"prices\.yaml: .*m: the dates must rise"):
        load_prices(path)
    path.write_text("version: x\nmodels:\n  m: [{since: 2026-02-01, rates: {input: 1, output: 1, cache_read: 1}}]\n")
    with pytest.raises(ValueError, match=r"models\.m\.0\.rates\.cache_write"):
        load_prices(path)
