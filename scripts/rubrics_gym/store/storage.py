"""Where a store lies: a folder of this machine, or a bucket. The ledger and the attempts know only these operations.

Names are relative, segments joined by /. A log is a text that only grows and has one writer, the holder of a lease.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Protocol

# A reader that looks who holds a lease locks it for an instant, and a killed process takes a moment to vanish: wait this long before refusing.
PATIENCE_S = 0.5


class LeaseHeld(RuntimeError):
    """Another process holds the lease; the message names it."""


class LeaseLost(RuntimeError):
    """This process could not renew its lease in time, so that another may hold it now: nothing may be written any more."""


class Lease(Protocol):
    """The exclusive right to write, held until `release` or until its holder dies."""

    def describe(self, what: str) -> None:
        """Say what the holder does now."""

    def release(self) -> None:
        """Give the lease back. Twice is harmless."""


class Log(Protocol):
    """A text that only grows."""

    def append(self, text: str, *, durable: bool) -> None:
        """Append text. `durable`: it survives a crash when this returns; otherwise with the next durable text or `close`."""

    def close(self) -> None:
        """Bring what is pending to the store and close. Twice is harmless."""


class Storage(Protocol):
    """The operations of a store."""

    def where(self, name: str) -> str:
        """How people find a name: a path or an address."""

    def exists(self, name: str) -> bool: ...

    def read(self, name: str) -> bytes:
        """The content of a file. FileNotFoundError when there is none."""

    def write(self, name: str, content: bytes, *, durable: bool = True) -> None:
        """Write a file whole or not at all. `durable`: content and name survive a crash when this returns."""

    def remove(self, name: str) -> None:
        """Remove a file; one that is not there is no error."""

    def names(self, under: str) -> list[str]:
        """Names of the files directly below a prefix, sorted, without the prefix; none when it does not exist."""

    def lease(self, name: str, what: str, patience_s: float = PATIENCE_S) -> Lease:
        """Take a lease. LeaseHeld when another process still has it after `patience_s` seconds. `what` says what the holder does."""

    def holder(self, name: str) -> dict[str, Any] | None:
        """Who holds a lease (pid, host, at, what); None when it is free."""

    def log(self, name: str, lease: Lease) -> Log:
        """Open a log for appending, as the holder of a lease."""

    def read_log(self, name: str) -> str | None:
        """A log so far, also while another process writes it; None when there is none."""

    def logs(self, under: str) -> Iterator[str]:
        """Names of the logs below a prefix, sorted."""

    def folders_with(self, under: str, file: str) -> Iterator[str]:
        """Names of the folders below a prefix that hold a file of this name, sorted; such a folder is not searched itself."""

    def workplace(self, name: str) -> Path:
        """An empty folder of this machine whose files belong under a name, once they are kept."""

    def keep(self, name: str, folder: Path, files: Iterable[str]) -> None:
        """Make files of a workplace survive a crash, under its name."""

    def fetch(self, name: str) -> Path:
        """A folder of this machine with what was kept under a name. It is not written to."""


def open_storage(location: str | Path) -> Storage:
    """The store at a path, or in a bucket at an address that fsspec knows (gs://…, s3://…, memory://…)."""
    if "://" in str(location):
        from rubrics_gym.store.bucket import Bucket  # fsspec is loaded where there is a bucket

        return Bucket(str(location))
    from rubrics_gym.store.folder import Folder

    return Folder(Path(location))
