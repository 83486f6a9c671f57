"""The one way to a language model: served from the store when it was asked before, else reserved, sent, answered and paid for on record."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, Literal

from rubrics_gym.models.policy import LONGEST_WAIT_S, POLICY, backoff_s
from rubrics_gym.models.prices import PriceTable, UnknownPrice, cost, maximum
from rubrics_gym.models.request import Provider, ProviderError, Request, Response
from rubrics_gym.records.base import canonical_json
from rubrics_gym.store.requests import Ledger, LedgerLine

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Answer:
    """A response, the key that it is stored under, and what it cost now (nothing when it came from the store)."""

    response: Response
    key: str
    cost_microdollars: int
    served: Literal["live", "store"]


def _today() -> date:
    return datetime.now(UTC).date()


class Client:
    """Asks a provider on behalf of one unit, whose ledger it writes.

    `allowance_microdollars` bounds what the unit may cost over all its processes: a request whose maximum would pass it is not sent.
    """

    def __init__(
        self,
        provider: Provider,
        ledger: Ledger,
        prices: PriceTable,
        allowance_microdollars: int,
        *,
        sleep: Callable[[float], None] = time.sleep,
        today: Callable[[], date] = _today,
    ):
        self._provider = provider
        self._ledger = ledger
        self._prices = prices
        self._allowance = allowance_microdollars
        self._sleep = sleep
        self._today = today

    @property
    def charged_microdollars(self) -> int:
        """What the unit has cost on its account so far."""
        return self._ledger.charged_microdollars

    def ask(self, request: Request, occurrence: int = 0) -> Answer:
        """Answer a request. Equal requests of a unit get one answer, unless `occurrence` tells them apart.

        Raises ProviderError with one of the kinds of models.policy.POLICY; whatever happened is on record by then.
        """
        body = request.model_dump(mode="json")
        key = self._ledger.key(body, occurrence)
        stored = self._ledger.stored(key)
        if stored is not None:
            return Answer(Response.model_validate(stored), key, 0, "store")

        waited_s, failures = 0.0, 0
        while True:
            max_cost = self._allowed_cost(request, body, key, occurrence)
            sent = self._ledger.send(body, key, occurrence, max_cost, waited_s)
            if sent.replaces:
                log.info("%s: record %s replaces %s", self._ledger.unit, sent.record, sent.replaces)
            try:
                response = self._provider.answer(request)
            except ProviderError as error:
                self._record(error, sent)
                failures += 1
                waited_s = self._wait_s(error, failures)
                log.warning(
                    "%s: %s; trying again in %.1f s (failure %d of at most %d)",
                    sent.record,
                    error,
                    waited_s,
                    failures,
                    POLICY[error.kind].tries,
                )
                self._sleep(waited_s)
            except Exception:
                self._ledger.unresolved(sent, "unknown")
                raise
            else:
                return self._returned(sent, request, body, response)

    def _allowed_cost(self, request: Request, body: dict[str, Any], key: str, occurrence: int) -> int:
        """The request's maximum cost; ProviderError of kind no_price when the model has none, budget when it could pass the allowance."""
        kind, max_cost = "budget", 0
        try:
            prompt_bytes = len(canonical_json(body).encode())
            max_cost = maximum(prompt_bytes, request.max_tokens, request.model, self._today(), self._prices)
            charged = self._ledger.charged_microdollars
            if charged + max_cost <= self._allowance:
                return max_cost
            problem = (
                f"{self._ledger.unit}: this request may cost ${max_cost / 1e6:.4f}, and ${charged / 1e6:.4f} of the unit's allowance "
                f"of ${self._allowance / 1e6:.4f} is spent. It was not sent. Raise the limit cost_usd to go on."
            )
        except UnknownPrice as error:
            kind, problem = "no_price", f"{self._ledger.unit}: {error}"
        self._ledger.refuse(body, key, occurrence, max_cost, kind)
        raise ProviderError(kind, problem)

    def _record(self, error: ProviderError, sent: LedgerLine) -> None:
        if POLICY[error.kind].end == "unresolved":
            self._ledger.unresolved(sent, error.kind)
        else:
            self._ledger.failed(sent, error.kind)

    def _wait_s(self, error: ProviderError, failures: int) -> float:
        """Seconds until the next try; raises the error again when there is none, or when the provider asks for a longer wait than we grant."""
        if failures >= POLICY[error.kind].tries or (error.retry_after_s or 0) > LONGEST_WAIT_S:
            raise error
        return max(error.retry_after_s or 0.0, backoff_s(failures, random.random()))

    def _returned(self, sent: LedgerLine, request: Request, body: dict[str, Any], response: Response) -> Answer:
        """Book the cost before anything is made of the answer."""
        paid = cost(response.usage, request.model, self._today(), self._prices)
        self._ledger.returned(sent, body, response.model_dump(mode="json"), response.usage.model_dump(), paid)
        return Answer(response, sent.key, paid, "live")
