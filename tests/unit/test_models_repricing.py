"""Repricing old usage is a pure function of the ledger."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
from tests.unit.test_models_client import ANSWER, PRICES, Scripted, ask

from rubrics_gym.models.prices import Price, UnknownPrice
from rubrics_gym.models.repricing import reprice
from rubrics_gym.models.request import ProviderError
from rubrics_gym.store.ledger import read_requests


def rates(factor: int) -> Price:
    (price,) = PRICES.models["model"]
    doubled = {name: getattr(price.rates, name) * factor for name in ("input", "output", "cache_read", "cache_write")}
    return Price(since=date(2026, 12, 1), rates=price.rates.model_copy(update=doubled), batch=Decimal("0.5"))


def test_the_same_prices_give_the_same_charges_and_others_theirs(tmp_path: Path) -> None:
    ask(tmp_path, Scripted(ANSWER))
    for occurrence, kind in enumerate(["timeout_read", "refused"], 1):
        with pytest.raises(ProviderError):
            ask(tmp_path, Scripted(ProviderError(kind, "no")), occurrence=occurrence)
    lines = list(read_requests(tmp_path))
    assert [priced.microdollars for priced in reprice(lines, PRICES)] == [line.cost_microdollars for line in lines]
    assert [line.cost_microdollars > 0 for line in lines] == [True, True, False]
    dearer = PRICES.model_copy(update={"models": {"model": (*PRICES.models["model"], rates(2))}})
    assert [one.microdollars for one in reprice(lines, dearer)] == [one.cost_microdollars for one in lines]  # not yet
    doubled = [one.microdollars for one in reprice(lines, dearer, date(2026, 12, 1))]
    assert doubled == pytest.approx([2 * line.cost_microdollars for line in lines], abs=1)  # each is rounded up by itself
    batched = [line.model_copy(update={"in_batch": True}) for line in lines]
    assert [one.microdollars for one in reprice(batched, dearer, date(2026, 12, 1))] == [line.cost_microdollars for line in lines]
    with pytest.raises(UnknownPrice):
        list(reprice([line.model_copy(update={"model": "other"}) for line in lines], PRICES))
