"""One workflow at a time on a results folder. The kernel drops the lock when its holder dies, so none is ever stale."""

from __future__ import annotations

import fcntl
import json
import os
import socket
import sys
from pathlib import Path
from typing import IO


class FolderInUse(RuntimeError):
    """Another workflow works on the folder; the message names it."""


def hold(folder: str | Path) -> IO[str]:
    """Take the exclusive lock of a results folder and keep it until the returned file is closed or the process ends."""
    path = Path(folder) / ".workflow.lock"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = open(path, "a+", encoding="utf-8")
    except OSError as error:
        raise FolderInUse(
            f"{folder}: the results folder cannot be written ({error.strerror}). Make it writable, or choose another with --config 'pathvars={{results: FOLDER}}'."
        ) from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        handle.seek(0)
        holder = handle.read().strip() or "unknown"
        handle.close()
        raise FolderInUse(
            f"{folder}: another workflow is working on this results folder: {holder}. Wait for it, stop it, or give this run a folder of its own with --config 'pathvars={{results: FOLDER}}'."
        ) from None
    handle.seek(0)
    handle.truncate()
    handle.write(json.dumps({"pid": os.getpid(), "host": socket.gethostname(), "command": " ".join(sys.argv)}))
    handle.flush()
    return handle


def holder(folder: str | Path) -> str:
    """Who works on a results folder; empty when nobody does."""
    try:
        with open(Path(folder) / ".workflow.lock", "r+", encoding="utf-8") as handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return handle.read().strip() or "unknown"
    except FileNotFoundError:
        pass
    return ""
