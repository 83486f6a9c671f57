"""A store in a bucket, over fsspec (gs://, s3://, memory:// …). Objects appear whole; there is no append and no lock, so both are made of objects.

- A log is a prefix: every append is an object `{epoch}-{number}` of it, and closing replaces them by one object `{epoch}-base` that holds everything so far.
- A lease is a prefix as well: `{epoch}` objects, of which the last one counts. Taking a lease creates the next number, which exactly one
  process can do; its holder renews it, and one that was not renewed for a while is free. What a holder that lost its lease writes late has a
  lower epoch than the base of its successor, and is passed over.
"""

from __future__ import annotations

import json
import os
import socket
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import fsspec

from rubrics_gym.store.durable import now
from rubrics_gym.store.storage import PATIENCE_S, Lease, LeaseHeld, LeaseLost

LEASE_S = 60.0  # a lease that was not renewed for so long is free
LOOK_EVERY_S = 1.0  # while somebody else's lease is waited for
_DIGITS = 8
_BASE = "base"


class Bucket:
    """The operations of store.storage.Storage in a bucket. `options` go to fsspec, e.g. the address of an emulator."""

    def __init__(self, url: str, lease_s: float | None = None, **options: Any):
        self.url = url.rstrip("/")
        self._files, self._root = fsspec.url_to_fs(self.url, use_listings_cache=False, **options)
        self._lease_s = LEASE_S if lease_s is None else lease_s
        self._workplaces: list[tempfile.TemporaryDirectory[str]] = []  # gone with this process

    def where(self, name: str) -> str:
        return f"{self.url}/{name}"

    def exists(self, name: str) -> bool:
        found: bool = self._files.exists(self._path(name))
        return found

    def read(self, name: str) -> bytes:
        content: bytes = self._files.cat_file(self._path(name))
        return content

    def write(self, name: str, content: bytes, *, durable: bool = True) -> None:
        self._files.pipe_file(self._path(name), content)

    def remove(self, name: str) -> None:
        with suppress(FileNotFoundError):
            self._files.rm_file(self._path(name))

    def names(self, under: str) -> list[str]:
        try:
            entries = self._files.ls(self._path(under), detail=True)
        except FileNotFoundError:
            return []
        return sorted(entry["name"].rsplit("/", 1)[-1] for entry in entries if entry["type"] == "file")

    def lease(self, name: str, what: str, patience_s: float = PATIENCE_S) -> BucketLease:
        deadline = time.monotonic() + patience_s
        while True:
            try:
                return BucketLease(self, name, what, self._lease_s)
            except LeaseHeld:
                if time.monotonic() > deadline:
                    raise
            time.sleep(min(LOOK_EVERY_S, patience_s))

    def holder(self, name: str) -> dict[str, Any] | None:
        epochs = self.names(name)
        state = self._state(name, epochs[-1]) if epochs else None
        return state if state is not None and self._stands(state) else None

    def log(self, name: str, lease: Lease) -> BucketLog:
        if not isinstance(lease, BucketLease):
            raise TypeError(f"{self.where(name)}: a log in a bucket is written under a lease of the bucket, not {type(lease).__name__}")
        return BucketLog(self, name, lease)

    def read_log(self, name: str) -> str | None:
        while True:
            parts = _standing(self.names(name))
            if not parts:
                return None
            with suppress(FileNotFoundError):  # replaced by a base while we read: look again
                return "".join(self.read(f"{name}/{part}").decode(errors="replace") for part in parts)

    def logs(self, under: str) -> Iterator[str]:
        return iter(sorted({name.rpartition("/")[0] for name in self._all(under) if name.rpartition("/")[0].endswith(".jsonl")}))

    def folders_with(self, under: str, file: str) -> Iterator[str]:
        found: list[str] = []
        for name in sorted((name for name in self._all(under) if name.endswith(f"/{file}")), key=lambda name: name.count("/")):
            folder = name.rpartition("/")[0]
            if not any(folder.startswith(f"{other}/") for other in found):
                found.append(folder)
        return iter(sorted(found))

    def workplace(self, name: str) -> Path:
        """A temporary folder of this machine: what it holds is lost with the machine until `keep`."""
        self._workplaces.append(tempfile.TemporaryDirectory(prefix="rubrics-gym-"))
        return Path(self._workplaces[-1].name)

    def keep(self, name: str, folder: Path, files: Iterable[str]) -> None:
        for file in files:
            self._files.put_file(str(folder / file), self._path(f"{name}/{file}"))

    def fetch(self, name: str) -> Path:
        folder = self.workplace(name)
        for full in self._all(name):
            target = folder / full.removeprefix(f"{name}/")
            target.parent.mkdir(parents=True, exist_ok=True)
            self._files.get_file(self._path(full), str(target))
        return folder

    def create(self, name: str, content: bytes) -> bool:
        """Write an object that does not exist yet; False when another process was first."""
        try:
            self._files.pipe_file(self._path(name), content, mode="create")
        except FileExistsError:
            return False
        except OSError as error:  # how s3 and gcs say that the precondition does not hold
            if "PreconditionFailed" in str(error) or "412" in str(error) or "conditionNotMet" in str(error):
                return False
            raise
        return True

    def _all(self, under: str) -> list[str]:
        try:
            found = self._files.find(self._path(under))
        except FileNotFoundError:
            return []
        return sorted(path.removeprefix(self._root).lstrip("/") for path in found)

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}"

    def _state(self, name: str, epoch: str) -> dict[str, Any] | None:
        try:
            state: dict[str, Any] = json.loads(self.read(f"{name}/{epoch}"))
        except (FileNotFoundError, ValueError):
            return None
        return state

    def _stands(self, state: dict[str, Any]) -> bool:
        age_s = (datetime.now(UTC) - datetime.fromisoformat(state["at"])).total_seconds()
        return not state["released"] and age_s < self._lease_s


class BucketLease:
    """The exclusive right to write, renewed in the background until `release`."""

    def __init__(self, bucket: Bucket, name: str, what: str, lease_s: float):
        self._bucket = bucket
        self._name = name
        self._lease_s = lease_s
        self._what = what
        epochs = bucket.names(name)
        held_by = bucket.holder(name)
        self.epoch = int(epochs[-1]) + 1 if epochs else 1
        self._renewed = time.monotonic()
        if held_by is not None or not bucket.create(self._object, self._content()):
            held_by = held_by or bucket.holder(name) or {}
            raise LeaseHeld(
                f"{bucket.where(name)}: {what} is the work of another process now: pid {held_by.get('pid', '?')} on {held_by.get('host', '?')}, "
                f"last heard of at {held_by.get('at', '?')}. Wait for it or stop it; the lease ends {lease_s:g} s after that process."
            )
        for old in epochs:
            bucket.remove(f"{name}/{old}")
        self._released = threading.Event()
        self._renewing = threading.Thread(target=self._renew, daemon=True)
        self._renewing.start()

    def describe(self, what: str) -> None:
        self._what = what
        self._bucket.write(self._object, self._content())

    def check(self) -> None:
        """LeaseLost when the lease may have passed to another process: nothing may be written any more."""
        if time.monotonic() - self._renewed > 0.8 * self._lease_s:
            raise LeaseLost(
                f"{self._bucket.where(self._name)}: the lease could not be renewed for {self._lease_s:g} s, so that another process may hold it now. "
                "Nothing more was written; run the same command again."
            )

    def release(self) -> None:
        if self._released.is_set():
            return
        self._released.set()
        self._renewing.join()
        with suppress(LeaseLost):
            self.check()
            self._bucket.write(self._object, self._content(released=True))

    @property
    def _object(self) -> str:
        return f"{self._name}/{self.epoch:0{_DIGITS}d}"

    def _content(self, *, released: bool = False) -> bytes:
        state = {"pid": os.getpid(), "host": socket.gethostname(), "at": now(), "what": self._what, "released": released}
        return json.dumps(state).encode()

    def _renew(self) -> None:
        while not self._released.wait(self._lease_s / 4):
            begun = time.monotonic()
            with suppress(OSError):  # a bucket that cannot be reached for a moment; `check` tells when it was too long
                if self._bucket.names(self._name)[-1:] == [f"{self.epoch:0{_DIGITS}d}"]:
                    self._bucket.write(self._object, self._content())
                    self._renewed = begun


class BucketLog:
    """A text that only grows, as objects of one prefix."""

    def __init__(self, bucket: Bucket, name: str, lease: BucketLease):
        self._bucket = bucket
        self._name = name
        self._lease = lease
        self._number = 0
        self._pending = ""
        self._open = True

    def append(self, text: str, *, durable: bool) -> None:
        self._pending += text
        if durable:
            self._lease.check()
            self._bucket.write(f"{self._name}/{self._lease.epoch:0{_DIGITS}d}-{self._number:0{_DIGITS}d}", self._pending.encode())
            self._number += 1
            self._pending = ""

    def close(self) -> None:
        """Bring what is pending to the bucket, as one object with everything before it."""
        if not self._open:
            return
        self._open = False
        if not self._number and not self._pending:
            return
        parts = self._bucket.names(self._name)
        text = (self._bucket.read_log(self._name) or "") + self._pending
        self._lease.check()
        self._bucket.write(f"{self._name}/{self._lease.epoch:0{_DIGITS}d}-{_BASE}", text.encode())
        for part in parts:
            self._bucket.remove(f"{self._name}/{part}")


def _standing(parts: list[str]) -> list[str]:
    """The objects of a log that count, in the order of writing: the last base, then what was appended in later epochs."""
    split = [(*part.split("-"), part) for part in parts]
    last_base = max((epoch for epoch, number, _ in split if number == _BASE), default="")
    return sorted(part for epoch, number, part in split if epoch > last_base or (epoch == last_base and number == _BASE))
