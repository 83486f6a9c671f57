"""Open the client and the provider of one role. Modules are imported by name, so that a job loads (and its fingerprint covers) only what it uses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from rubrics_gym.models.client import Client
from rubrics_gym.models.keys import key_of
from rubrics_gym.models.live import Allowance, LiveClient
from rubrics_gym.models.prices import load_prices
from rubrics_gym.models.request import Provider
from rubrics_gym.settings.asking import Asking, read_asking
from rubrics_gym.settings.places import store_folder
from rubrics_gym.settings.study import Budget, Mode, ModelSettings, ProviderName, Requests
from rubrics_gym.store.requests import Ledger, Records
from rubrics_gym.store.serving import copy_ledger, work_key
from rubrics_gym.store.stops import StudyRecord, StudyStopped
from rubrics_gym.store.storage import PATIENCE_S

# of a unit that several libraries ask for: another one may be asking now, and its answers are worth waiting for
SHARED_PATIENCE_S = 24 * 3600.0
_LIVE = {ProviderName.ANTHROPIC: "Anthropic", ProviderName.OPENAI: "OpenAI"}


def open_provider(model: ModelSettings, role: str, simulation: Any, requests: Requests, **given: Any) -> Provider:
    """The provider that answers for a role. MissingKey when it needs a key that the environment lacks.

    `simulation` is the role's block of simulation settings (None for a live model). `given` is what a simulated model of the role
    works with: `plan` for the agent (where it confesses what it planted), `encode` for the judge.
    """
    if model.provider is ProviderName.SIMULATED:
        kind = role.removeprefix("second_")  # a second classifier is another model of the same role
        simulated: Provider = getattr(import_module(f"rubrics_gym.providers.simulated.{kind}"), kind.capitalize())(simulation, **given)
        return simulated
    endpoint = requests.endpoints.get(role)  # type: ignore[call-overload]
    options: dict[str, Any] = {"connect_s": requests.connect_s, "read_s": requests.read_s, "deadline_s": requests.deadline_s}
    if model.provider is ProviderName.ANTHROPIC:
        options["cache"] = requests.cache
    live = getattr(import_module(f"rubrics_gym.providers.{model.provider.value}"), _LIVE[model.provider])
    provider: Provider = live(key_of(model.provider, endpoint), base_url=endpoint.url if endpoint else None, **options)
    return provider


@contextmanager
def open_client(
    model: ModelSettings,
    role: str,
    simulation: Any,
    unit: str,
    account: str,
    prices: str,
    asking: str,
    allowance_usd: float | None = None,
    patience_s: float = PATIENCE_S,
    in_attempt: bool = False,
    **given: Any,
) -> Iterator[Client]:
    """A client for one role that asks on behalf of one unit.

    `account` is the key of the work, whose cost `allowance_usd` bounds (None: budget.job_usd). `prices` is the path of the price table,
    `asking` the rule's resource of that name. In mode replay the client only reads records: no ledger, provider or price is opened.
    Another process that asks for the same unit is waited for, `patience_s` seconds at most.

    While the study stands still, stored answers are served and nothing is sent, unless the unit is part of an attempt (`in_attempt`): that one
    had begun before, and goes on to its end; the allowance is then the attempt's, whose number belongs into `account`. A client that meets the study's cap or deadline puts the stop on record, so that the others need not find out one by one.
    """
    how = read_asking(asking)
    errs = None if simulation is None else simulation.model_dump(mode="json")
    others = [Records(store_folder(), other) for other in units_to_reuse(unit, how.requests)]
    if how.requests.mode is Mode.REPLAY:
        yield Client(Records(store_folder(), unit, account, how.study), others, errs)
        return
    study = StudyRecord(store_folder(), how.study)
    standing = None if in_attempt else study.standing
    with Ledger(store_folder(), unit, account, how.study, anew=how.requests.mode is Mode.LIVE, patience_s=patience_s) as ledger:
        try:
            yield LiveClient(
                lambda: open_provider(model, role, simulation, how.requests, **given),
                ledger,
                load_prices(prices),
                allowance_of(how, allowance_usd, "" if standing is None else standing.why),
                of_attempt=in_attempt,
                others=others,
                simulation=errs,
                longest_wait_s=how.requests.longest_wait_s,
                batch_poll_s=how.requests.batch_poll_s if role in how.requests.batch and not simulation else None,
            )
        except StudyStopped as stopped:
            study.stop(str(stopped))
            raise


def require_key(model: ModelSettings, role: str, asking: str) -> None:
    """MissingKey when the model of a role is live and its key is not in the environment. Nobody is asked in mode replay."""
    how = read_asking(asking).requests
    if how.mode is not Mode.REPLAY:
        key_of(model.provider, how.endpoints.get(role))  # type: ignore[call-overload]


@contextmanager
def open_reader(snakemake: Any, settings: Any, role: str, unit: str, patience_s: float = PATIENCE_S, **keyed: str) -> Iterator[Client]:
    """The client of a job that reads records and asks one role about them, on behalf of one unit; afterwards the ledger is copied to the rule's
    output `requests`. `settings` are the slice of the rule (model, simulation); `keyed` are inputs that belong to the key of the work, beside the prompt.
    """
    account = work_key(settings, {"prompt": snakemake.input.prompt, **keyed}, unit)
    with open_client(
        settings.model, role, settings.simulation, unit, account, snakemake.input.prices, snakemake.resources.asking, patience_s=patience_s
    ) as client:
        yield client
    copy_ledger(store_folder(), [unit], snakemake.output.requests)


def allowance_of(asking: Asking, unit_usd: float | None = None, stopped: str = "") -> Allowance:
    """What a unit may spend, and its study with it. `stopped`: why it may send nothing."""
    budget: Budget = asking.budget
    return Allowance(
        microdollars=round((budget.job_usd if unit_usd is None else unit_usd) * 1_000_000),
        requests=budget.job_requests,
        study_microdollars=None if budget.study_usd is None else round(budget.study_usd * 1_000_000),
        study_requests=budget.study_requests,
        deadline=budget.deadline,
        stopped=stopped,
    )


def units_to_reuse(unit: str, requests: Requests) -> list[str]:
    """Units whose stored answers are served to a unit: its name with the first segments replaced as `reuse_from` says. None in mode live."""
    if requests.mode is Mode.LIVE:
        return []
    return [
        f"{source}{unit.removeprefix(to)}" for to, source in sorted(requests.reuse_from.items()) if unit == to or unit.startswith(f"{to}/")
    ]
