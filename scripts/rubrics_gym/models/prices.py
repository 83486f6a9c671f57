"""What a request costs: a dated price table (resources/prices.yaml) and pure functions of usage, model and date. Money in whole micro-dollars."""

from __future__ import annotations

import functools
import math
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Annotated

import yaml
from pydantic import Field, ValidationError, field_validator, model_validator

from rubrics_gym.models.request import Usage
from rubrics_gym.records.base import Record

# A dollar per million tokens is a micro-dollar per token. Decimal, because 0.1 has no exact float.
Rate = Annotated[Decimal, Field(ge=0)]

PROMPT_OVERHEAD_TOKENS = 2000  # more than what a provider adds to a prompt for tools and schemas


class UnknownPrice(KeyError):
    """A model has no price on a date; the message names both and the file."""

    def __str__(self) -> str:
        return str(self.args[0])


class Rates(Record):
    """Dollars per million tokens, by class."""

    input: Rate
    output: Rate
    cache_read: Rate
    cache_write: Rate  # kept for five minutes
    cache_write_1h: Rate | None = None  # kept for an hour; None where it is not offered

    @field_validator("*", mode="before")
    @classmethod
    def _exact(cls, value: object) -> object:
        return str(value) if isinstance(value, float) else value

    def cost(self, usage: Usage, share: Decimal = Decimal(1)) -> int:
        """Micro-dollars, rounded up. `share` of the list price is what is paid. UnknownPrice for a class of tokens that has none."""
        if usage.cache_write_1h_tokens and self.cache_write_1h is None:
            raise UnknownPrice(
                "no price for tokens that are cached for an hour. Add cache_write_1h to the model's rates in resources/prices.yaml."
            )
        total = (
            self.input * usage.input_tokens
            + self.output * usage.output_tokens
            + self.cache_read * usage.cache_read_tokens
            + self.cache_write * usage.cache_write_tokens
            + (self.cache_write_1h or 0) * usage.cache_write_1h_tokens
        )
        return math.ceil(total * share)


class LongPrompt(Record):
    """Other rates for the whole of a request whose prompt (with what the cache gave and took) is longer than `above_tokens`."""

    above_tokens: Annotated[int, Field(gt=0)]
    rates: Rates


class Price(Record):
    """The price of a model from a day on."""

    since: date
    rates: Rates
    long_prompt: LongPrompt | None = None
    batch: Annotated[Decimal, Field(gt=0, le=1)] | None = None  # share of the rates that is paid in a batch; None: no batches

    @field_validator("batch", mode="before")
    @classmethod
    def _exact(cls, value: object) -> object:
        return str(value) if isinstance(value, float) else value

    def cost(self, usage: Usage, *, batch: bool = False) -> int:
        """Micro-dollars. UnknownPrice for a batch where none is offered."""
        if batch and self.batch is None:
            raise UnknownPrice(
                "no price for requests in batches. Add `batch` to the model's row in resources/prices.yaml, or ask without batches."
            )
        share = self.batch if batch and self.batch is not None else Decimal(1)
        if self.long_prompt is not None and usage.prompt_tokens > self.long_prompt.above_tokens:
            return self.long_prompt.rates.cost(usage, share)
        return self.rates.cost(usage, share)


class PriceTable(Record):
    """Model -> its prices, oldest first."""

    version: str
    models: dict[str, Annotated[tuple[Price, ...], Field(min_length=1)]]

    @model_validator(mode="after")
    def _dates_rise(self) -> PriceTable:
        for model, prices in self.models.items():
            days = [price.since for price in prices]
            if sorted(set(days)) != days:
                raise ValueError(f"{model}: the dates must rise from row to row")
        return self

    def price(self, model: str, on: date) -> Price:
        """The price of a model on a day. UnknownPrice when there is none."""
        standing = [price for price in self.models.get(model, ()) if price.since <= on]
        if not standing:
            raise UnknownPrice(
                f"no price for the model {model!r} on {on.isoformat()}. Add it to resources/prices.yaml; a request without a price is not sent."
            )
        return standing[-1]


@functools.cache
def load_prices(path: str | Path) -> PriceTable:
    """Read a price table, once per process. ValueError names the file and the row."""
    content = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    try:
        return PriceTable.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        raise ValueError(f"{path}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None


def cost(usage: Usage, model: str, on: date, prices: PriceTable, *, batch: bool = False) -> int:
    """Micro-dollars that a request cost on a day."""
    return prices.price(model, on).cost(usage, batch=batch)


def maximum(prompt_bytes: int, max_tokens: int, model: str, on: date, prices: PriceTable, *, batch: bool = False) -> int:
    """The most that a request can cost, in micro-dollars: no token is shorter than a byte, and every prompt token may be of the dearest class.

    A safe bound, four to seven times the true price of English text.
    """
    tokens = prompt_bytes + PROMPT_OVERHEAD_TOKENS
    price = prices.price(model, on)
    classes = ["input_tokens", "cache_read_tokens", "cache_write_tokens"]
    if price.rates.cache_write_1h is not None:
        classes.append("cache_write_1h_tokens")
    return max(price.cost(Usage(output_tokens=max_tokens, **{name: tokens}), batch=batch) for name in classes)
