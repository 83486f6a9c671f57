"""Open the provider of one role. Modules are imported by name, so that a job loads (and its fingerprint covers) only what it uses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from rubrics_gym.models.client import Client
from rubrics_gym.models.prices import load_prices
from rubrics_gym.models.request import Provider
from rubrics_gym.settings.places import store_folder
from rubrics_gym.settings.study import ModelSettings, ProviderName
from rubrics_gym.store.leases import PATIENCE_S
from rubrics_gym.store.requests import Ledger


def open_provider(model: ModelSettings, role: str, simulation: Any, **given: Any) -> Provider:
    """The provider that answers for a role.

    `simulation` is the role's block of simulation settings (None for a live model). `given` is what a simulated model of the role
    works with: `plan` for the agent (where it confesses what it planted), `encode` for the judge.
    """
    if model.provider is ProviderName.ANTHROPIC:
        provider: Provider = import_module("rubrics_gym.providers.anthropic").Anthropic()
        return provider
    simulated: Provider = getattr(import_module(f"rubrics_gym.providers.simulated.{role}"), role.capitalize())(simulation, **given)
    return simulated


@contextmanager
def open_client(
    model: ModelSettings,
    role: str,
    simulation: Any,
    unit: str,
    account: str,
    prices: str,
    allowance_usd: float,
    patience_s: float = PATIENCE_S,
    **given: Any,
) -> Iterator[Client]:
    """A client for one role that writes the ledger of one unit. `account` is the key of the work: the allowance bounds what that may cost.
    `prices` is the path of the price table. Another process that asks for the same unit is waited for, `patience_s` seconds at most."""
    with Ledger(store_folder(), unit, account, patience_s) as ledger:
        yield Client(open_provider(model, role, simulation, **given), ledger, load_prices(prices), round(allowance_usd * 1_000_000))
