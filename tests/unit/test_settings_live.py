"""The shipped study with live models names models that the installed SDK knows and the price table prices."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import get_args

import pytest
from anthropic.types import model as known

from rubrics_gym.models.prices import load_prices
from rubrics_gym.settings.loading import load_study, read_file
from rubrics_gym.settings.study import Models, ProviderName

TOP = Path(__file__).parents[2]


def test_every_live_model_is_one_of_the_sdk_and_has_a_price(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(TOP)
    study = load_study(read_file("config/studies/live.yaml"), "live.yaml")
    names = {name for part in get_args(known.Model) for name in get_args(part)}
    today = datetime.now(UTC).date()
    for role in Models.model_fields:
        model = getattr(study.models, role)
        assert model.provider is ProviderName.ANTHROPIC and model.model in names
        price = load_prices(str(TOP / "resources" / "prices.yaml")).price(model.model, today)
        assert role not in study.requests.batch or price.batch is not None
