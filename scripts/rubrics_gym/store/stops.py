"""Starts and stops of a study, on record in the store.

Layout: `studies/{study}/{number}-{pid}-{event}.json`, each written once and never changed. What stands is read from the events, in their order.

A study stands still from a stop (asked for with `make stop`, or put on record when its cap or its deadline is met) until it is resumed (`make resume`).
While it stands still no attempt is begun and no unit that had not begun sends anything; what had begun goes on to its end. What is attempted
after a resumption is a continuation, and says so.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from rubrics_gym.records.base import Record, canonical_json
from rubrics_gym.settings.study import Budget, ReplayAttempts
from rubrics_gym.store.accounts import StudyAccount
from rubrics_gym.store.durable import now
from rubrics_gym.store.storage import open_storage


class StudyStopped(RuntimeError):
    """The study as a whole goes no further (it was stopped, or its cap or deadline is met). No fault of the work that asked, and never an answer to it."""


class TermsLoosened(ValueError):
    """A study is started again under looser terms than it was started with; the message names them."""


class Terms(Record):
    """What a study is held to from its first start on: `budget` without the allowances of single units."""

    study_usd: float | None = None
    study_requests: int | None = None
    deadline: datetime | None = None
    pilot: bool = False
    replay_attempts: ReplayAttempts = ReplayAttempts.LOST

    @classmethod
    def of(cls, budget: Budget) -> Terms:
        return cls(**{name: getattr(budget, name) for name in cls.model_fields})

    def loosened(self, later: Terms) -> list[str]:
        """The keys in which later terms allow more than these."""
        found = [
            name
            for name in ("study_usd", "study_requests", "deadline")
            if (old := getattr(self, name)) is not None and ((new := getattr(later, name)) is None or new > old)
        ]
        if self.pilot and not later.pilot:
            found.append("pilot")
        if self.replay_attempts is ReplayAttempts.NEVER and later.replay_attempts is not ReplayAttempts.NEVER:
            found.append("replay_attempts")
        return found


class StudyEvent(Record):
    """One start, stop or resumption."""

    event: Literal["started", "stopped", "resumed"]
    at: str  # ISO 8601, UTC
    pid: int
    host: str
    why: str = ""  # of a stop
    terms: Terms | None = None  # from now on, of a start and of a resumption
    planned: dict[str, int] = {}  # of a start: group of slots (rollouts/COLLECTION, episodes/ARM) -> planned slots


class StudyRecord:
    """The starts and stops of one study."""

    def __init__(self, location: str | Path, study: str):
        self._storage = open_storage(location)
        self._under = f"studies/{study or 'none'}"
        self._study = study

    def events(self) -> list[StudyEvent]:
        """Every event, oldest first."""
        return [StudyEvent.model_validate_json(self._storage.read(f"{self._under}/{name}")) for name in self._storage.names(self._under)]

    @property
    def standing(self) -> StudyEvent | None:
        """The stop that stands; None while the study may go on."""
        last = next((event for event in reversed(self.events()) if event.event != "started"), None)
        return last if last is not None and last.event == "stopped" else None

    @property
    def is_continuation(self) -> bool:
        """Whether the study has gone on after a stop."""
        return any(event.event == "resumed" for event in self.events())

    @property
    def terms(self) -> Terms | None:
        """The terms in force: those of the last start or resumption; None before the first."""
        return next((event.terms for event in reversed(self.events()) if event.terms is not None), None)

    @property
    def attempts_nothing_again(self) -> bool:
        """Whether its terms say so: what is set aside for it could not be made once more."""
        return self.terms is not None and self.terms.replay_attempts is ReplayAttempts.NEVER

    def start(self, budget: Budget, planned: Mapping[str, int]) -> None:
        """Put a start on record. TermsLoosened, and nothing on record, when it would allow more than the study is held to."""
        terms, before = Terms.of(budget), self.terms
        loosened = before.loosened(terms) if before is not None else []
        if loosened:
            raise TermsLoosened(
                f"the study {self._study} is held to the terms of its last start or resumption, and the configuration loosens "
                + ", ".join(f"budget.{name} ({getattr(before, name)} on record, {getattr(terms, name)} now)" for name in loosened)
                + ". Put the old value back, or put the new one on record: make resume STUDY=FILE (or its results folder, of a run that was given its budget with --config, once its run_config.yaml says the new one)."
            )
        self._put("started", terms=terms, planned=dict(planned))

    def stop(self, why: str) -> StudyEvent:
        """Put a stop on record, unless one stands; gives the one that stands."""
        standing = self.standing
        return standing if standing is not None else self._put("stopped", why=why)

    def resume(self, budget: Budget) -> None:
        """Lift a stop and hold the study to these terms from now on. StudyStopped when its cap or its deadline is met under them too."""
        why = self.limit_met(budget)
        if why:
            raise StudyStopped(f"{why}; it cannot go on under the same. Change the budget in the configuration first.")
        self._put("resumed", terms=Terms.of(budget))

    def limit_met(self, budget: Budget) -> str:
        """Which limit of the whole study is met; empty when none is."""
        if budget.deadline is not None and datetime.now(UTC) >= budget.deadline:
            return f"the study's deadline {budget.deadline.isoformat()} has passed (budget.deadline)"
        if budget.study_usd is None and budget.study_requests is None:
            return ""
        microdollars, requests = StudyAccount(self._storage, self._study, "").total()
        if budget.study_usd is not None and microdollars >= round(budget.study_usd * 1_000_000):
            return f"the study has taken its cap of ${budget.study_usd:g} (budget.study_usd)"
        if budget.study_requests is not None and requests >= budget.study_requests:
            return f"the study has sent all {budget.study_requests} requests that it may (budget.study_requests)"
        return ""

    def _put(self, event: Literal["started", "stopped", "resumed"], **facts: object) -> StudyEvent:
        number = 1 + max((int(name.split("-")[0]) for name in self._storage.names(self._under)), default=0)
        content = StudyEvent.model_validate({"event": event, "at": now(), "pid": os.getpid(), "host": socket.gethostname(), **facts})
        name = f"{self._under}/{number:06d}-{os.getpid()}-{event}.json"
        self._storage.write(name, (canonical_json(content) + "\n").encode())
        return content
