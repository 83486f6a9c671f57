"""The one way to a language model. A request that is on record is answered from there; what else may happen is the business of the mode.

`Client` knows the records and nothing else: this is the mode replay, and no transport exists in it. models.live adds the provider.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from rubrics_gym.models.policy import POLICY
from rubrics_gym.models.request import ProviderError, Request, Response
from rubrics_gym.store.ledger import State
from rubrics_gym.store.requests import Records, Stored
from rubrics_gym.store.stops import StudyStopped

__all__ = ["Answer", "Client", "NotRecorded", "StudyStopped"]

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Answer:
    """A response, the key that it is stored under, what it cost when it was paid for, and whether that was now or earlier."""

    response: Response
    key: str
    cost_microdollars: int
    served: Literal["live", "store"]


class NotRecorded(RuntimeError):
    """Replay: the request is not on record. `diff` (also a note of the exception) leads from the nearest recorded request to this one."""

    def __init__(self, message: str, diff: str = ""):
        super().__init__(message)
        self.diff = diff
        if diff:
            self.add_note(diff)


class Client:
    """Answers the requests of one unit from what is on record."""

    def __init__(self, records: Records, others: Iterable[Records] = (), simulation: Mapping[str, Any] | None = None):
        """`others` are units whose answers to equal requests are served as well (`reuse_from`).

        `simulation`: how a simulated model errs. Its name does not say so, as that of a live model says what it is; so it is on record with
        every request, and a model that errs in another way is asked anew.
        """
        self._records = records
        self._others = tuple(others)
        self._simulation = {} if simulation is None else {"simulation": dict(simulation)}

    @property
    def charged_microdollars(self) -> int:
        """What the unit has cost on its account so far."""
        return self._records.charged.microdollars

    def ask(self, request: Request, occurrence: int = 0) -> Answer:
        """Answer a request. Equal requests of a unit get one answer, unless `occurrence` tells them apart.

        Raises ProviderError with one of the kinds of models.policy.POLICY, StudyStopped or NotRecorded; whatever happened is on record by then.
        """
        body = request.body() | self._simulation
        key = self._records.key(body, occurrence)
        found = self._records.answer(body, occurrence) or self._elsewhere(body, occurrence, key)
        if found is not None:
            return Answer(Response.model_validate(found.response), found.line.key, found.line.cost_microdollars, "store")
        return self._not_stored(request, body, key, occurrence)

    def ask_ahead(self, requests: Iterable[tuple[Request, int]]) -> None:
        """Say what will be asked for (request, occurrence), so that a live client can send it in one batch. Answers come from `ask`."""

    def _elsewhere(self, body: Mapping[str, Any], occurrence: int, key: str) -> Stored | None:
        """The response of an equal request of another unit."""
        for other in self._others:
            if (found := other.answer(dict(body), occurrence)) is not None:
                return found
        return None

    def _not_stored(self, request: Request, body: dict[str, Any], key: str, occurrence: int) -> Answer:
        """In replay: fail as it failed then, or say that it was never asked."""
        line = self._records.latest(key)
        if line is not None and line.state in (State.FAILED, State.UNRESOLVED, State.REFUSED) and line.kind in POLICY:
            raise ProviderError(line.kind, f"{line.message or 'no more is on record'} (replayed: record {line.record})")
        from rubrics_gym.models.nearest import explain_miss

        raise NotRecorded(*explain_miss(self._records, body, occurrence))
