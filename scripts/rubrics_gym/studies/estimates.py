"""What units of paid work will take: requests, tokens, money, from units of the same kind on record, else from stated expectations."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import yaml
from scipy.special import stdtrit

from rubrics_gym.models.prices import PriceTable, cost
from rubrics_gym.models.request import Usage
from rubrics_gym.records.base import Record
from rubrics_gym.store.ledger import LedgerLine, State

FEWEST_UNITS = 2  # on record, from which a kind of work is extrapolated from them


class Span(Record):
    """An expected value with a range."""

    low: float
    typical: float
    high: float

    def times(self, factor: float) -> Span:
        return Span(low=self.low * factor, typical=self.typical * factor, high=self.high * factor)

    def plus(self, other: Span) -> Span:
        """The sum, its ends added: cautious, as if all went well or badly together."""
        return Span(low=self.low + other.low, typical=self.typical + other.typical, high=self.high + other.high)

    def at_most(self, limit: float) -> Span:
        return Span(low=min(self.low, limit), typical=min(self.typical, limit), high=min(self.high, limit))


NOTHING = Span(low=0, typical=0, high=0)


class Expectation(Record):
    """What a unit of a role takes where nothing is on record."""

    requests: Span
    input_tokens: Span  # per request
    output_tokens: Span  # per request


@dataclass(frozen=True)
class UnitUse:
    """What one unit on record took: requests that were answered, tokens, and micro-dollars at the price of the model that is planned."""

    requests: int
    input_tokens: int
    output_tokens: int
    microdollars: int


@dataclass(frozen=True)
class Limit:
    """The most that one unit may take; more is not sent."""

    dollars: float
    requests: float = math.inf


@dataclass(frozen=True)
class Estimate:
    """What some units of a role will take. `basis` says where the numbers come from."""

    requests: Span
    input_tokens: Span
    output_tokens: Span
    dollars: Span
    basis: str


def load_expectations(path: str | Path) -> dict[str, Expectation]:
    """Role -> expectation, from resources/expectations.yaml."""
    content: dict[str, Any] = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    return {role: Expectation.model_validate(row) for role, row in content.items()}


def use_of_unit(lines: Iterable[LedgerLine], model: str, on: date, prices: PriceTable) -> UnitUse | None:
    """What a unit's answered requests took, priced as if `model` had answered them on a day; None when none was answered."""
    usages = [Usage.model_validate(line.usage) for line in lines if line.state is State.RETURNED]
    if not usages:
        return None
    return UnitUse(
        requests=len(usages),
        input_tokens=sum(usage.prompt_tokens for usage in usages),
        output_tokens=sum(usage.output_tokens for usage in usages),
        microdollars=sum(cost(usage, model, on, prices) for usage in usages),
    )


def estimate(
    units: int, history: Sequence[UnitUse], expected: Expectation, model: str, on: date, prices: PriceTable, limit: Limit
) -> Estimate:
    """What `units` more units of a role will take. `limit` is the most that one may take.

    From `FEWEST_UNITS` units on record on it is their mean with a 95 % prediction interval for the sum, else the stated expectation.
    """
    if len(history) >= FEWEST_UNITS:
        requests, tokens_in, tokens_out, microdollars = (
            predicted_sum([float(getattr(use, name)) for use in history], units)
            for name in ("requests", "input_tokens", "output_tokens", "microdollars")
        )
        dollars = microdollars.times(1e-6).at_most(limit.dollars * units)
        return Estimate(requests, tokens_in, tokens_out, dollars, f"{len(history)} on record")
    requests = expected.requests.at_most(limit.requests).times(units)
    tokens_in, tokens_out = (
        Span(**{end: getattr(requests, end) * getattr(per_request, end) for end in ("low", "typical", "high")})
        for per_request in (expected.input_tokens, expected.output_tokens)
    )
    dollars = Span(
        **{
            end: cost(Usage(input_tokens=round(getattr(tokens_in, end)), output_tokens=round(getattr(tokens_out, end))), model, on, prices)
            / 1e6
            for end in ("low", "typical", "high")
        }
    )
    return Estimate(requests, tokens_in, tokens_out, dollars.at_most(limit.dollars * units), "expectation")


def predicted_sum(values: Sequence[float], count: int, confidence: float = 0.95) -> Span:
    """The sum of `count` further draws from where `values` (at least two) came from: n·mean, and mean ± t·s·sqrt(n + n²/m), never below 0.

    The t prediction interval for a sum of new observations, e.g. Hahn and Meeker, Statistical Intervals (1991), section 4.
    """
    size, mean = len(values), statistics.fmean(values)
    half = float(stdtrit(size - 1, 0.5 + confidence / 2)) * statistics.stdev(values) * math.sqrt(count + count**2 / size)
    return Span(low=max(0.0, count * mean - half), typical=count * mean, high=count * mean + half)
