"""Asking a provider: what is not on record is reserved, sent, answered and paid for, each step durable before the next."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import partial
from typing import Any

from rubrics_gym.models.batches import Batches, BatchProvider, Item, may_ask_again
from rubrics_gym.models.client import Answer, Client, StudyStopped
from rubrics_gym.models.policy import LONGEST_WAIT_S, POLICY, backoff_s
from rubrics_gym.models.prices import PriceTable, UnknownPrice, cost, maximum
from rubrics_gym.models.request import Provider, ProviderError, Request, Response
from rubrics_gym.records.base import canonical_json
from rubrics_gym.store.ledger import LedgerLine, State
from rubrics_gym.store.requests import Ledger, Records, Stored, Total

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Allowance:
    """What may be spent: by the unit on this piece of work (its account), over all processes; and by the study as a whole. None: no limit."""

    microdollars: int
    requests: int | None = None
    study_microdollars: int | None = None
    study_requests: int | None = None
    deadline: datetime | None = None
    stopped: str = ""  # why nothing at all may be sent: the study stood still when the unit was opened


class LiveClient(Client):
    """Asks a provider on behalf of one unit, whose ledger it writes."""

    def __init__(
        self,
        open_provider: Callable[[], Provider],
        ledger: Ledger,
        prices: PriceTable,
        allowance: Allowance,
        *,
        of_attempt: bool = False,
        others: Iterable[Records] = (),
        simulation: Mapping[str, Any] | None = None,
        longest_wait_s: float = LONGEST_WAIT_S,
        batch_poll_s: float | None = None,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ):
        """`open_provider` is called once, before the first request that must be sent: what is served from the store needs no key.
        `batch_poll_s`: what is asked ahead is sent in batches, looked at so often; None: one by one, when it is asked.
        `of_attempt`: the allowance is of one attempt from its first turn to its last, so answers that an earlier attempt paid for count as if they were paid
        for now: an attempt that is made again ends where it would have ended undisturbed.
        """
        super().__init__(ledger, others, simulation)
        self._served = Total() if of_attempt else None
        self._open_provider = open_provider
        self._opened: Provider | None = None
        self._ledger = ledger
        self._prices = prices
        self._allowance = allowance
        self._longest_wait_s = longest_wait_s
        self._sleep = sleep
        self._clock = clock
        self._batches = Batches(
            self._batch_provider,
            ledger,
            partial(self._send, batch=True),
            self._returned,
            self._record,
            self._wait_s,
            self._stop_where_all_would_fail,
            sleep,
            batch_poll_s or 60.0,
        )
        self._asks_in_batches = batch_poll_s is not None
        self._failed_in_batch: dict[str, ProviderError] = {}

    @property
    def _provider(self) -> Provider:
        self._opened = self._opened or self._open_provider()
        return self._opened

    def _batch_provider(self) -> BatchProvider:
        provider: Any = self._provider
        if not hasattr(provider, "submit"):
            raise ProviderError(
                "invalid_request", f"{type(provider).__name__} takes no batches; nothing was sent. Take the role out of requests.batch."
            )
        batches: BatchProvider = provider
        return batches

    def ask(self, request: Request, occurrence: int = 0) -> Answer:
        answer = super().ask(request, occurrence)
        if answer.served == "store" and self._served is not None:
            self._served = Total(self._served.microdollars + answer.cost_microdollars, self._served.requests + 1)
        return answer

    @property
    def _taken(self) -> Total:
        """What counts against the allowance of the unit."""
        charged, served = self._ledger.charged, self._served or Total()
        return Total(charged.microdollars + served.microdollars, charged.requests + served.requests)

    def ask_ahead(self, requests: Iterable[tuple[Request, int]]) -> None:
        """Send in batches what is not on record, and wait for the answers. A failure is raised by the `ask` that meets it."""
        for batch in sorted({line.batch for line in self._ledger.open_in_batch()}):  # of a process that was killed
            self._failed_in_batch |= self._batches.collect(batch)
        if self._asks_in_batches:
            self._failed_in_batch |= self._batches.ask(self._not_on_record(requests))

    def _not_on_record(self, requests: Iterable[tuple[Request, int]]) -> Iterator[Item]:
        seen = set()
        for request, occurrence in requests:
            body = request.body() | self._simulation
            key = self._ledger.key(body, occurrence)
            answered = self._ledger.answer(body, occurrence) or self._elsewhere(body, occurrence, key)
            if key not in seen and answered is None and key not in self._failed_in_batch:
                seen.add(key)
                yield Item(request, body, key, occurrence)

    def _elsewhere(self, body: Any, occurrence: int, key: str) -> Stored | None:
        found = super()._elsewhere(body, occurrence, key)
        if found is not None:
            self._ledger.reuse(key, found)
        return found

    def _not_stored(self, request: Request, body: dict[str, Any], key: str, occurrence: int) -> Answer:
        """Send the request, and again where the policy of its failure says so, each time as a new record."""
        self._meet_batch(key)
        found = self._ledger.stored(key)
        if found is not None:
            return Answer(Response.model_validate(found.response), key, found.line.cost_microdollars, "live")
        provider, waited_s, failures = self._provider, 0.0, 0
        while True:
            sent = self._send(Item(request, body, key, occurrence), waited_s)
            try:
                response = provider.answer(request)
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
            except Exception as error:
                self._ledger.unresolved(sent, "unknown", f"{type(error).__name__} in our own code")
                raise
            else:
                return self._returned(sent, body, response)

    def _meet_batch(self, key: str) -> None:
        """Wait for the batch that a request is under way in; raise what became of it there, where the policy does not send it again.
        StudyStopped where no other request would fare better."""
        line = self._ledger.latest(key)
        if line is not None and line.state is State.SENT and line.batch:
            self._failed_in_batch |= self._batches.collect(line.batch)
        error = self._failed_in_batch.pop(key, None)
        if error is not None and not may_ask_again(error):
            self._stop_where_all_would_fail(error)
            raise error

    def _send(self, item: Item, waited_s: float, *, batch: bool = False) -> LedgerLine:
        """Put the request on record as sent, if it may be sent at all."""
        request, body, key, occurrence = item.request, item.body, item.key, item.occurrence
        today = self._clock().date()
        prompt_bytes, max_cost = len(canonical_json(body).encode()), 0
        try:
            max_cost = maximum(prompt_bytes, request.max_tokens, request.model, today, self._prices, batch=batch)
            self._check_allowance(max_cost)
        except UnknownPrice as error:
            self._ledger.refuse(body, key, occurrence, max_cost, "no_price", str(error))
            raise ProviderError("no_price", f"{self._ledger.unit}: {error}") from None
        except (ProviderError, StudyStopped) as error:
            self._ledger.refuse(body, key, occurrence, max_cost, error.kind if isinstance(error, ProviderError) else "budget", str(error))
            raise
        facts = {"prompt_bytes": prompt_bytes, "max_tokens": request.max_tokens, "priced_on": today.isoformat(), "in_batch": batch}
        sent = self._ledger.send(body, key, occurrence, max_cost, waited_s, **facts)
        if sent.replaces:
            log.info("%s: record %s replaces %s", self._ledger.unit, sent.record, sent.replaces)
        return sent

    def _check_allowance(self, max_cost: int) -> None:
        """ProviderError of kind budget when the unit's allowance could be passed, StudyStopped when the study's could."""
        allowance, charged = self._allowance, self._taken
        if allowance.stopped:
            raise StudyStopped(
                f"{self._ledger.unit}: the study stands still ({allowance.stopped}); nothing was sent. `make resume` goes on."
            )
        if charged.microdollars + max_cost > allowance.microdollars:
            raise ProviderError(
                "budget",
                f"{self._ledger.unit}: this request may cost {_usd(max_cost)}, and {_usd(charged.microdollars)} of the unit's allowance of "
                f"{_usd(allowance.microdollars)} is spent. It was not sent. Raise limits.cost_usd (an agent) or budget.job_usd to go on.",
            )
        if allowance.requests is not None and charged.requests >= allowance.requests:
            raise ProviderError(
                "requests",
                f"{self._ledger.unit}: the unit has sent all {allowance.requests} requests that it may. Raise budget.job_requests to go on.",
            )
        if allowance.deadline is not None and self._clock() >= allowance.deadline:
            raise StudyStopped(
                f"{self._ledger.unit}: the study's deadline {allowance.deadline.isoformat()} has passed (budget.deadline); nothing more is sent."
            )
        if allowance.study_microdollars is None and allowance.study_requests is None:
            return
        study = self._ledger.claim(max_cost, 1)
        if allowance.study_microdollars is not None and study.microdollars > allowance.study_microdollars:
            raise StudyStopped(
                f"{self._ledger.unit}: this request could bring the study to {_usd(study.microdollars)}, and its cap is "
                f"{_usd(allowance.study_microdollars)} (budget.study_usd). It was not sent; everything so far is stored. Raise the cap and `make resume` to go on."
            )
        if allowance.study_requests is not None and study.requests > allowance.study_requests:
            raise StudyStopped(
                f"{self._ledger.unit}: the study has sent all {allowance.study_requests} requests that it may (budget.study_requests). "
                "Everything so far is stored. Raise the cap and `make resume` to go on."
            )

    def _record(self, error: ProviderError, sent: LedgerLine) -> None:
        if POLICY[error.kind].end == "unresolved":
            self._ledger.unresolved(sent, error.kind, error.message)
        else:
            self._ledger.failed(sent, error.kind, error.message, error.retry_after_s)

    def _wait_s(self, error: ProviderError, failures: int) -> float:
        """Seconds until the next try; raises the error again when there is none, or when the provider asks for a longer wait than we grant."""
        if failures >= POLICY[error.kind].tries or (error.retry_after_s or 0) > self._longest_wait_s:
            self._stop_where_all_would_fail(error)
            raise error
        return max(error.retry_after_s or 0.0, backoff_s(failures, random.random(), self._longest_wait_s))

    def _stop_where_all_would_fail(self, error: ProviderError) -> None:
        """StudyStopped for a failure that every other request would meet too: a key that is turned down, an account without credit."""
        if POLICY[error.kind].stops_study:
            raise StudyStopped(
                f"{self._ledger.unit}: the provider turned a request down for a reason that holds for all ({error.kind}: {error.message}). Mend it, then "
                "`make resume` and the same command; what was answered so far is stored."
            ) from error

    def _returned(self, sent: LedgerLine, body: dict[str, Any], response: Response) -> Answer:
        """Store the answer and book its cost before anything is made of it. One whose tokens have no price is charged at its maximum: it was paid for."""
        try:
            paid = cost(response.usage, sent.model, date.fromisoformat(sent.priced_on), self._prices, batch=sent.in_batch)
        except UnknownPrice as error:
            paid = sent.max_cost_microdollars
            log.warning("%s: record %s is charged at its maximum of %s: %s", self._ledger.unit, sent.record, _usd(paid), error)
        self._ledger.returned(sent, body, response.model_dump(mode="json"), response.usage.model_dump(), paid)
        return Answer(response, sent.key, paid, "live")


def _usd(microdollars: int) -> str:
    return f"${microdollars / 1e6:,.4f}"
