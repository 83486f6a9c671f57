"""One writer at a time: a lock that the kernel drops when its holder dies, so that none is ever stale."""

from __future__ import annotations

import fcntl
import json
import os
import socket
import time
from pathlib import Path
from typing import Any

from rubrics_gym.store.durable import make_folder, now
from rubrics_gym.store.storage import PATIENCE_S, LeaseHeld


class FileLease:
    """An exclusive lock on a file, held until `release` or the end of the process. `what` says what the holder does.

    LeaseHeld when another process still holds it after `patience_s` seconds.
    """

    def __init__(self, path: Path, what: str, patience_s: float = PATIENCE_S):
        make_folder(path.parent)
        self._handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        deadline = time.monotonic() + patience_s
        while not _lock(self._handle, fcntl.LOCK_EX):
            if time.monotonic() > deadline:
                held_by = _read(self._handle)
                os.close(self._handle)
                raise LeaseHeld(
                    f"{path}: {what} is the work of another process now: pid {held_by.get('pid', '?')} on {held_by.get('host', '?')} "
                    f"since {held_by.get('at', '?')}. Wait for it or stop it; the lease ends with that process."
                )
            time.sleep(0.02)
        self.describe(what)

    def describe(self, what: str) -> None:
        """Say what the holder does now."""
        os.ftruncate(self._handle, 0)
        os.pwrite(self._handle, json.dumps({"pid": os.getpid(), "host": socket.gethostname(), "at": now(), "what": what}).encode(), 0)

    def release(self) -> None:
        """Give the lease back. Twice is harmless."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1


def holder(path: Path) -> dict[str, Any] | None:
    """Who holds a lease (pid, host, at, what); None when it is free."""
    if not path.exists():
        return None
    handle = os.open(path, os.O_RDONLY)
    try:
        return None if _lock(handle, fcntl.LOCK_SH) else _read(handle)
    finally:
        os.close(handle)


def _lock(handle: int, kind: int) -> bool:
    try:
        fcntl.flock(handle, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _read(handle: int) -> dict[str, Any]:
    try:
        content = json.loads(os.pread(handle, 4096, 0))
    except ValueError:  # its holder is just writing it
        return {}
    return content if isinstance(content, dict) else {}
