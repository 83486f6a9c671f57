"""Writing that survives a crash of the process or of the machine: every function returns only when the bytes are on disk."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime
from pathlib import Path

_SEGMENT = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")


def unit_name(unit: str) -> str:
    """The unit (segments joined by /) itself. ValueError when it could name a place outside the store."""
    if not all(_SEGMENT.fullmatch(segment) for segment in unit.split("/")):
        raise ValueError(
            f"unit {unit!r}: expected segments of letters, digits and _ . - joined by /, e.g. rollouts/pool/packaged/fair-affairs-rating/0"
        )
    return unit


def now() -> str:
    """The time, ISO 8601 in UTC with milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def sync_folder(folder: Path) -> None:
    """Make the entries of a folder (new and renamed files) durable."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def make_folder(folder: Path) -> None:
    """Create a folder and what lies above it, durably. An existing folder costs nothing."""
    if folder.is_dir():
        return
    make_folder(folder.parent)
    folder.mkdir(exist_ok=True)
    sync_folder(folder.parent)


class AppendOnly:
    """A file that only grows. One writer at a time (the caller holds a lease)."""

    def __init__(self, path: Path):
        make_folder(path.parent)
        existed = path.exists()
        self._handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        self._size = os.fstat(self._handle).st_size
        self._pending = False  # written, but perhaps not yet on disk
        if not existed:
            sync_folder(path.parent)

    def append(self, text: str, *, durable: bool) -> None:
        """Append text. `durable`: it is on disk when this returns; otherwise with the next durable text or `close`.

        A full disk leaves the file as it was and raises OSError.
        """
        data = text.encode()
        try:
            written = 0
            while written < len(data):
                written += os.write(self._handle, data[written:])
            if durable:
                os.fsync(self._handle)
        except OSError:
            os.ftruncate(self._handle, self._size)
            raise
        self._size += len(data)
        self._pending = not durable

    def close(self) -> None:
        """Bring what is pending to disk and close. Twice is harmless."""
        if self._handle < 0:
            return
        if self._pending:
            os.fsync(self._handle)
        os.close(self._handle)
        self._handle = -1
