"""Attempts at paid work (a rollout, an episode): on record before they start, complete or visibly lost, never deleted.

Layout under the store's root::

    attempts/{unit}/{first 16 digits of the key}/{NNN}/
        begun.json        written before anything is done
        ...               what the attempt leaves
        complete.json     written last; sha256 of every file that belongs to the attempt
        superseded.json   written when the unit is asked for anew

The key says under which settings, inputs, prompts and protocol the work is done; a complete attempt of the same key is served, never made
again. A folder that was begun and has no end, and whose process no longer holds the unit's lease, is a lost attempt.
"""

from __future__ import annotations

import hashlib
import json
import os
import socket
from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import Any, Self, TypeVar

from pydantic import ValidationError

from rubrics_gym.records.base import Record, canonical_json
from rubrics_gym.records.files import DamagedFile
from rubrics_gym.store.durable import now, unit_name
from rubrics_gym.store.ledger import ledger_name
from rubrics_gym.store.requests import Ledger
from rubrics_gym.store.storage import Lease, Storage, open_storage

R = TypeVar("R", bound=Record)

_ATTEMPTS = "attempts"
BEGUN, COMPLETE, SUPERSEDED = "begun.json", "complete.json", "superseded.json"


class UnknownUnit(KeyError):
    """The store holds neither an attempt nor a request of a unit."""


class Begun(Record):
    """What is on record before an attempt starts."""

    unit: str
    key: str
    attempt: int  # 1-based, among the attempts of this unit and key
    code: str  # fingerprint of the code that makes it
    at: str  # ISO 8601, UTC
    pid: int
    host: str
    study: str = ""  # on whose behalf
    continuation: bool = False  # begun after that study had been stopped and resumed


class Completion(Record):
    """What makes an attempt complete: its files (path within the attempt -> sha256)."""

    at: str
    files: dict[str, str]


class AttemptState(StrEnum):
    RUNNING = "running"
    COMPLETE = "complete"
    LOST = "lost"
    SUPERSEDED = "superseded"


class AttemptRow(Record):
    """One line of the table of attempts."""

    unit: str
    key: str
    attempt: int
    state: AttemptState
    begun_at: str
    code: str
    continuation: bool = False


class Attempt:
    """One attempt and its files. The one that `begin` gives holds the unit's lease until `release` (or the end of a `with` block)."""

    def __init__(self, storage: Storage, name: str, begun: Begun, lease: Lease | None = None, folder: Path | None = None):
        self.begun = begun
        self._storage = storage
        self._stored_as = name
        self._lease = lease
        self._folder = folder

    @property
    def folder(self) -> Path:
        """Where its files are on this machine. A new attempt writes there; those of an old one are only read."""
        if self._folder is None:
            self._folder = self._storage.fetch(self._stored_as)
        return self._folder

    @property
    def name(self) -> str:
        """Name of the attempt within its unit, e.g. 3f0c1a2b3c4d5e6f/002."""
        return _name(self.begun)

    @property
    def number(self) -> int:
        """1-based number of the attempt."""
        return self.begun.attempt

    @property
    def is_complete(self) -> bool:
        """Whether it ended, and was not set aside since."""
        return _state(self, None) is AttemptState.COMPLETE

    def complete(self, files: Iterable[str] | None = None) -> None:
        """Declare the attempt complete with these files (paths within its folder; None: every file in it). They cannot change afterwards."""
        names = sorted(files) if files is not None else sorted(_files(self.folder))
        hashes = {name: _sha256(self.folder / name) for name in names}
        self._storage.keep(self._stored_as, self.folder, names)
        self.mark(COMPLETE, Completion(at=now(), files=hashes))

    def mark(self, file: str, content: Record | dict[str, Any]) -> None:
        """Write one of the files that say how the attempt stands."""
        self._storage.write(f"{self._stored_as}/{file}", (canonical_json(content) + "\n").encode())

    def set_aside(self) -> None:
        """Do not serve it (again), and do not count it as lost."""
        self.mark(SUPERSEDED, {"at": now()})

    def withdraw(self) -> None:
        """Take an attempt back before anything was done in it: it turned out that none was wanted."""
        self.mark(SUPERSEDED, {"at": now(), "withdrawn": True})

    @property
    def was_withdrawn(self) -> bool:
        """Whether nothing was ever done in it."""
        return self.is_marked(SUPERSEDED) and bool(json.loads(self._storage.read(f"{self._stored_as}/{SUPERSEDED}")).get("withdrawn"))

    def is_marked(self, file: str) -> bool:
        return self._storage.exists(f"{self._stored_as}/{file}")

    def check(self) -> None:
        """DamagedFile names a file that is not what the complete attempt left."""
        unit = self.begun.unit
        for name, expected in _read(self._storage, f"{self._stored_as}/{COMPLETE}", Completion).files.items():
            path = self.folder / name
            if not path.is_file() or _sha256(path) != expected:
                what = "is missing" if not path.is_file() else f"was changed after the attempt was complete (expected sha256 {expected})"
                raise DamagedFile(
                    f"{self._storage.where(f'{self._stored_as}/{name}')}: this file of {unit} {what}. Restore it from a backup, or ask anew "
                    f"with `make fresh UNIT={unit}` (this costs money)."
                )

    def release(self) -> None:
        """Give the unit's lease back. An attempt that is not complete by then is lost."""
        if self._lease is not None:
            self._lease.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


class AttemptStore:
    """The attempts of a store, for one study. `anew`: attempts that other studies made are not served to it. `continuation`: it was stopped and
    goes on, and what is begun now says so."""

    def __init__(self, location: str | Path, study: str = "", *, anew: bool = False, continuation: bool = False):
        self._location = location
        self._storage = open_storage(location)
        self._study = study
        self._anew = anew
        self._continuation = continuation

    def begin(self, unit: str, key: str, code: str = "") -> Attempt:
        """Put a new attempt on record and take the unit's lease. LeaseHeld when another process works on the unit."""
        lease = self._storage.lease(_lease_name(unit), f"an attempt at {unit}")
        try:
            number = 1 + max((attempt.number for attempt in self._of_key(unit, key)), default=0)
            begun = Begun(
                unit=unit,
                key=key,
                attempt=number,
                code=code,
                at=now(),
                pid=os.getpid(),
                host=socket.gethostname(),
                study=self._study,
                continuation=self._continuation,
            )
            lease.describe(_name(begun))
            name = f"{_unit_name(unit)}/{_name(begun)}"
            attempt = Attempt(self._storage, name, begun, lease, self._storage.workplace(name))
            attempt.mark(BEGUN, begun)
        except BaseException:
            lease.release()
            raise
        return attempt

    def find_complete(self, unit: str, key: str) -> Attempt | None:
        """The newest complete attempt of a unit and key, its files checked. DamagedFile names a file that is not what the attempt left."""
        complete = [
            attempt for attempt in self._of_key(unit, key) if _state(attempt, None) is AttemptState.COMPLETE and self.serves(attempt)
        ]
        if not complete:
            return None
        complete[-1].check()
        return complete[-1]

    def serves(self, attempt: Attempt) -> bool:
        """Whether the study may be given an attempt: one of its own, or any where it does not ask anew."""
        return not self._anew or attempt.begun.study == self._study

    def lost(self, unit: str, key: str) -> list[Attempt]:
        """Attempts of a unit and key that were begun and have no end, oldest first."""
        running = self._running(unit)
        return [attempt for attempt in self._of_key(unit, key) if _state(attempt, running) is AttemptState.LOST]

    def fresh(self, unit: str) -> int:
        """Ask a unit's paid work anew: its attempts and its stored responses are not served again. Nothing is deleted.

        Gives the number of attempts set aside (0 for a unit that only asked). UnknownUnit, and no trace in the store, when it holds neither.
        """
        asked = self._storage.read_log(ledger_name(unit)) is not None
        if not asked and not self.of_unit(unit):
            raise UnknownUnit(unit)
        lease = self._storage.lease(_lease_name(unit), f"asking {unit} anew")
        try:
            if asked:
                with Ledger(self._location, unit) as ledger:
                    ledger.supersede()
            standing = [attempt for attempt in self.of_unit(unit) if not attempt.is_marked(SUPERSEDED)]
            for attempt in standing:
                attempt.set_aside()
            return len(standing)
        finally:
            lease.release()

    def retry(self, unit: str, is_lost: Callable[[Attempt], bool]) -> int:
        """Set the complete attempts of a unit aside that ended in a loss, so that it is attempted again; what was answered is served to the new attempt, and
        an attempt that ended well, of this or another study, stays as it is. Gives their number."""
        lease = self._storage.lease(_lease_name(unit), f"attempting {unit} again")
        try:
            lost = [attempt for attempt in self.of_unit(unit) if attempt.is_complete and is_lost(attempt)]
            for attempt in lost:
                attempt.set_aside()
            return len(lost)
        finally:
            lease.release()

    def of_unit(self, unit: str) -> list[Attempt]:
        """Every attempt of a unit, whatever became of it, by key and number."""
        return [attempt for attempt in self._below(_unit_name(unit)) if attempt.begun.unit == unit]

    def rows(self, unit: str | None = None) -> list[AttemptRow]:
        """Every attempt of a unit (None: of the store), by unit, key and number."""
        found = []
        for attempt in self.of_unit(unit) if unit is not None else self._below(_ATTEMPTS):
            begun = attempt.begun
            state = _state(attempt, self._running(begun.unit))
            row = AttemptRow(unit=begun.unit, key=begun.key, attempt=begun.attempt, state=state, begun_at=begun.at, code=begun.code)
            found.append(row.model_copy(update={"continuation": begun.continuation}))
        return sorted(found, key=lambda row: (row.unit, row.key, row.attempt))

    def _of_key(self, unit: str, key: str) -> list[Attempt]:
        return [attempt for attempt in self._below(f"{_unit_name(unit)}/{key[:16]}") if attempt.begun.key == key]

    def _below(self, under: str) -> Iterator[Attempt]:
        """The attempts below a prefix. What an attempt left is not searched: its files are its own business."""
        for name in self._storage.folders_with(under, BEGUN):
            yield Attempt(self._storage, name, _read(self._storage, f"{name}/{BEGUN}", Begun))

    def _running(self, unit: str) -> str | None:
        """Name of the attempt that a living process works on."""
        held_by = self._storage.holder(_lease_name(unit))
        return held_by.get("what") if held_by else None


def _unit_name(unit: str) -> str:
    return f"{_ATTEMPTS}/{unit_name(unit)}"


def _lease_name(unit: str) -> str:
    return f"{_unit_name(unit)}/.lease"


def _name(begun: Begun) -> str:
    return f"{begun.key[:16]}/{begun.attempt:03d}"


def _state(attempt: Attempt, running: str | None) -> AttemptState:
    if attempt.is_marked(SUPERSEDED):
        return AttemptState.SUPERSEDED
    if attempt.is_marked(COMPLETE):
        return AttemptState.COMPLETE
    return AttemptState.RUNNING if running == attempt.name else AttemptState.LOST


def _files(folder: Path) -> Iterator[str]:
    names = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return (name for name in names if name not in (BEGUN, COMPLETE, SUPERSEDED))


def _sha256(path: Path) -> str:
    with open(path, "rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _read(storage: Storage, name: str, kind: type[R]) -> R:
    where = storage.where(name)
    try:
        return kind.model_validate_json(storage.read(name))
    except ValidationError as error:
        first = error.errors()[0]
        raise DamagedFile(f"{where}: {'.'.join(map(str, first['loc']))}: {first['msg']}. Restore the file from a backup.") from None
