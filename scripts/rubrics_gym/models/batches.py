"""Requests that can wait, sent together: cheaper, and answered within a day. Each is a record of its own, in the states of every other.

The provider's id of the batch is on record as soon as it is known. A process that is killed while it waits loses nothing: the next one finds the
batch again and collects its answers. One that is killed between sending and knowing the id leaves its records unresolved.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from rubrics_gym.models.policy import POLICY
from rubrics_gym.models.request import ProviderError, Request, Response
from rubrics_gym.store.ledger import LedgerLine
from rubrics_gym.store.requests import Ledger

log = logging.getLogger(__name__)

MOST_REQUESTS = 10_000  # in one batch; the API takes 100,000
MOST_BYTES = 100_000_000  # of prompts in one batch; the API takes 256 MB
MOST_MISSED_LOOKS = 10  # in a row, until waiting is given up (the next run of the job waits on)


class BatchProvider(Protocol):
    """Takes requests together, each under an id of ours, and gives an answer or an error to each when all are done."""

    def submit(self, requests: dict[str, Request]) -> str:
        """Send a batch; gives the provider's id. Raises ProviderError."""

    def collect(self, batch: str) -> dict[str, Response | ProviderError] | None:
        """What became of a batch, by our ids; None while it has not ended. Raises ProviderError."""


@dataclass(frozen=True)
class Item:
    """One request of a batch and all that its record is made from."""

    request: Request
    body: dict[str, Any]
    key: str
    occurrence: int


class Batches:
    """The batches of one unit."""

    def __init__(
        self,
        open_provider: Callable[[], BatchProvider],
        ledger: Ledger,
        send: Callable[[Item, float], LedgerLine],
        returned: Callable[[LedgerLine, dict[str, Any], Response], Any],
        record: Callable[[ProviderError, LedgerLine], None],
        wait_s: Callable[[ProviderError, int], float],
        stop: Callable[[ProviderError], None],
        sleep: Callable[[float], None],
        poll_s: float,
    ):
        """`send`, `returned`, `record`, `wait_s` and `stop` are the live client's own: a request in a batch is reserved, priced and retried like any other,
        and what all requests would meet stops the study."""
        self._open_provider = open_provider
        self._ledger = ledger
        self._send = send
        self._returned = returned
        self._record = record
        self._wait_s = wait_s
        self._stop = stop
        self._sleep = sleep
        self._poll_s = poll_s

    def ask(self, items: Iterable[Item]) -> dict[str, ProviderError]:
        """Send requests in batches and wait for their answers; gives the errors by key of the request. Raises what stops the study or the unit."""
        failed: dict[str, ProviderError] = {}
        for chunk in _chunks(items):
            batch = self._submit(chunk)
            failed |= self.collect(batch)
        return failed

    def collect(self, batch: str) -> dict[str, ProviderError]:
        """Wait for a batch and put what became of its requests on record."""
        open_lines = {line.record: line for line in self._ledger.open_in_batch(batch)}
        failed: dict[str, ProviderError] = {}
        for record, outcome in self._wait(batch).items():
            line = open_lines.pop(record, None)
            if line is None:
                log.warning("%s: batch %s answers %s, which is not open", self._ledger.unit, batch, record)
            elif isinstance(outcome, ProviderError):
                self._record(outcome, line)
                failed[line.key] = outcome
            else:
                self._returned(line, line.request or {}, outcome)
        for line in open_lines.values():
            error = ProviderError("unknown", f"batch {batch} ended without a word about this request")
            self._record(error, line)
            failed[line.key] = error
        return failed

    def _submit(self, items: list[Item]) -> str:
        """Put requests on record as sent and send them, again where the policy says so, each time as new records."""
        provider, waited_s, failures = self._open_provider(), 0.0, 0
        while True:
            lines: list[LedgerLine] = []
            stopped: Exception | None = None
            for item in items:
                try:
                    lines.append(self._send(item, waited_s))
                except Exception as error:  # an allowance: what is on record as sent is sent all the same
                    stopped = error
                    break
            if not lines and stopped is not None:
                raise stopped
            try:
                batch = provider.submit({line.record: item.request for line, item in zip(lines, items, strict=False)})
            except ProviderError as error:
                for line in lines:
                    self._record(error, line)
                failures += 1
                waited_s = self._wait_s(error, failures)
                log.warning("%s: the batch was not taken (%s); trying again in %.1f s", self._ledger.unit, error, waited_s)
                self._sleep(waited_s)
                continue
            self._ledger.in_batch(zip(lines, (item.body for item in items), strict=False), batch)
            log.info("%s: batch %s of %d requests", self._ledger.unit, batch, len(lines))
            if stopped is not None:
                self.collect(batch)
                raise stopped
            return batch

    def _wait(self, batch: str) -> dict[str, Response | ProviderError]:
        missed = 0
        while True:
            try:
                outcomes = self._open_provider().collect(batch)
                missed = 0
                if outcomes is not None:
                    return outcomes
            except ProviderError as error:
                missed += 1
                self._stop(error)
                if missed >= MOST_MISSED_LOOKS or error.kind == "invalid_request":
                    raise
                log.warning("%s: batch %s: %s; looking again in %.0f s", self._ledger.unit, batch, error, self._poll_s)
            self._sleep(self._poll_s)


def may_ask_again(error: ProviderError) -> bool:
    """Whether a request that failed in a batch may be sent again by itself."""
    return POLICY[error.kind].tries > 1


def _chunks(items: Iterable[Item]) -> Iterator[list[Item]]:
    """Items in batches that the API takes."""
    chunk: list[Item] = []
    size = 0
    for item in items:
        length = len(str(item.body))
        if chunk and (len(chunk) >= MOST_REQUESTS or size + length > MOST_BYTES):
            yield chunk
            chunk, size = [], 0
        chunk.append(item)
        size += length
    if chunk:
        yield chunk
