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
import os
import socket
from collections.abc import Iterable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import Self, TypeVar

from pydantic import ValidationError

from rubrics_gym.records.base import Record, canonical_json
from rubrics_gym.records.files import DamagedFile, read_json
from rubrics_gym.store.durable import make_folder, now, sync_folder, unit_folder, write_whole
from rubrics_gym.store.leases import FileLease, holder
from rubrics_gym.store.requests import Ledger

R = TypeVar("R", bound=Record)

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


class Attempt:
    """One attempt and its folder. The one that `begin` gives holds the unit's lease until `release` (or the end of a `with` block)."""

    def __init__(self, folder: Path, begun: Begun, lease: FileLease | None = None):
        self.folder = folder
        self.begun = begun
        self._lease = lease

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
        return _state(self.folder, None) is AttemptState.COMPLETE

    def complete(self, files: Iterable[str] | None = None) -> None:
        """Declare the attempt complete with these files (paths within its folder; None: every file in it). They cannot change afterwards."""
        names = sorted(files) if files is not None else sorted(_files(self.folder))
        hashes = {}
        for name in names:
            hashes[name] = _sha256(self.folder / name)
            with open(self.folder / name, "rb") as written:
                os.fsync(written.fileno())
        for folder in {(self.folder / name).parent for name in names}:
            sync_folder(folder)
        write_whole(self.folder / COMPLETE, canonical_json(Completion(at=now(), files=hashes)) + "\n")

    def release(self) -> None:
        """Give the unit's lease back. An attempt that is not complete by then is lost."""
        if self._lease is not None:
            self._lease.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


class AttemptStore:
    """The attempts of a store, for one study. `anew`: attempts that other studies made are not served to it."""

    def __init__(self, root: str | Path, study: str = "", *, anew: bool = False):
        self._study = study
        self._anew = anew
        self._store = Path(root)
        self._root = self._store / "attempts"

    def begin(self, unit: str, key: str, code: str = "") -> Attempt:
        """Put a new attempt on record and take the unit's lease. LeaseHeld when another process works on the unit."""
        lease = FileLease(self._lease_path(unit), f"an attempt at {unit}")
        try:
            parent = unit_folder(self._root, unit) / key[:16]
            make_folder(parent)
            number = 1 + max((int(folder.name) for folder in parent.iterdir()), default=0)
            begun = Begun(
                unit=unit, key=key, attempt=number, code=code, at=now(), pid=os.getpid(), host=socket.gethostname(), study=self._study
            )
            lease.describe(_name(begun))
            folder = parent / f"{number:03d}"
            write_whole(folder / BEGUN, canonical_json(begun) + "\n")
        except BaseException:
            lease.release()
            raise
        return Attempt(folder, begun, lease)

    def find_complete(self, unit: str, key: str) -> Attempt | None:
        """The newest complete attempt of a unit and key, its files checked. DamagedFile names a file that is not what the attempt left."""
        complete = [
            attempt
            for attempt in self._of_key(unit, key)
            if _state(attempt.folder, None) is AttemptState.COMPLETE and (not self._anew or attempt.begun.study == self._study)
        ]
        if not complete:
            return None
        _check(complete[-1])
        return complete[-1]

    def lost(self, unit: str, key: str) -> list[Attempt]:
        """Attempts of a unit and key that were begun and have no end, oldest first."""
        running = self._running(unit)
        return [attempt for attempt in self._of_key(unit, key) if _state(attempt.folder, running) is AttemptState.LOST]

    def fresh(self, unit: str) -> int:
        """Ask a unit's paid work anew: its attempts and its stored responses are not served again. Nothing is deleted.

        Gives the number of attempts set aside (0 for a unit that only asked). UnknownUnit, and no trace in the store, when it holds neither.
        """
        asked = (unit_folder(self._store / "requests", unit) / "ledger.jsonl").exists()
        if not asked and not self.of_unit(unit):
            raise UnknownUnit(unit)
        lease = FileLease(self._lease_path(unit), f"asking {unit} anew")
        try:
            if asked:
                with Ledger(self._store, unit) as ledger:
                    ledger.supersede()
            standing = [attempt for attempt in self.of_unit(unit) if not (attempt.folder / SUPERSEDED).exists()]
            for attempt in standing:
                write_whole(attempt.folder / SUPERSEDED, canonical_json({"at": now()}) + "\n")
            return len(standing)
        finally:
            lease.release()

    def of_unit(self, unit: str) -> list[Attempt]:
        """Every attempt of a unit, whatever became of it, by key and number."""
        return [attempt for attempt in self._walk(unit_folder(self._root, unit)) if attempt.begun.unit == unit]

    def rows(self, unit: str | None = None) -> list[AttemptRow]:
        """Every attempt of a unit (None: of the store), by unit, key and number."""
        found = []
        for attempt in self.of_unit(unit) if unit is not None else self._walk(self._root):
            begun = attempt.begun
            state = _state(attempt.folder, self._running(begun.unit))
            found.append(AttemptRow(unit=begun.unit, key=begun.key, attempt=begun.attempt, state=state, begun_at=begun.at, code=begun.code))
        return sorted(found, key=lambda row: (row.unit, row.key, row.attempt))

    def _of_key(self, unit: str, key: str) -> list[Attempt]:
        return [attempt for attempt in self._walk(unit_folder(self._root, unit) / key[:16]) if attempt.begun.key == key]

    def _walk(self, folder: Path) -> Iterator[Attempt]:
        """The attempts below a folder. What an attempt left is not searched: its files are its own business."""
        for path, folders, files in os.walk(folder):
            folders.sort()
            if BEGUN in files:
                folders.clear()
                yield Attempt(Path(path), _read(Path(path, BEGUN), Begun))

    def _lease_path(self, unit: str) -> Path:
        return unit_folder(self._root, unit) / ".lease"

    def _running(self, unit: str) -> str | None:
        """Name of the attempt that a living process works on."""
        held_by = holder(self._lease_path(unit))
        return held_by.get("what") if held_by else None


def _name(begun: Begun) -> str:
    return f"{begun.key[:16]}/{begun.attempt:03d}"


def _state(folder: Path, running: str | None) -> AttemptState:
    if (folder / SUPERSEDED).exists():
        return AttemptState.SUPERSEDED
    if (folder / COMPLETE).exists():
        return AttemptState.COMPLETE
    return AttemptState.RUNNING if running == f"{folder.parent.name}/{folder.name}" else AttemptState.LOST


def _files(folder: Path) -> Iterator[str]:
    names = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return (name for name in names if name not in (BEGUN, COMPLETE, SUPERSEDED))


def _sha256(path: Path) -> str:
    with open(path, "rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _check(attempt: Attempt) -> None:
    unit = attempt.begun.unit
    for name, expected in _read(attempt.folder / COMPLETE, Completion).files.items():
        path = attempt.folder / name
        if not path.is_file() or _sha256(path) != expected:
            what = "is missing" if not path.is_file() else f"was changed after the attempt was complete (expected sha256 {expected})"
            raise DamagedFile(
                f"{path}: this file of {unit} {what}. Restore it from a backup, or ask anew with `make fresh UNIT={unit}` (this costs money)."
            )


def _read(path: Path, kind: type[R]) -> R:
    try:
        return kind.model_validate(read_json(path))
    except ValidationError as error:
        first = error.errors()[0]
        raise DamagedFile(f"{path}: {'.'.join(map(str, first['loc']))}: {first['msg']}. Restore the file from a backup.") from None
