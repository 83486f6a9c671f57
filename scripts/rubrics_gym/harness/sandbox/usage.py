"""How much of the disk the agent's files take: the quota of the work folder, kept by looking while a command runs."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

_RESERVE = 300_000_000  # bytes that a command must leave free on the disk of the work folder
_SHARE = 0.05  # of the time that may be spent on looking


@dataclass(frozen=True)
class Usage:
    """Bytes on the disk (blocks, so that holes are free) and number of files and folders."""

    bytes: int
    files: int


def usage(*folders: Path) -> Usage:
    """What lies below some folders. Links are counted, never followed; a file with several names counts once."""
    size = count = 0
    seen: set[tuple[int, int]] = set()
    pending = [str(folder) for folder in folders]
    while pending:
        try:
            entries = list(os.scandir(pending.pop()))
        except OSError:
            continue  # removed meanwhile, or closed by its owner
        for entry in entries:
            try:
                status = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            count += 1
            if entry.is_dir(follow_symlinks=False):
                pending.append(entry.path)
            if status.st_nlink == 1 or (status.st_dev, status.st_ino) not in seen:
                size += status.st_blocks * 512
                seen |= {(status.st_dev, status.st_ino)} if status.st_nlink > 1 else set()
    return Usage(size, count)


class Quota:
    """Says during one command whether the agent's folders have grown beyond their quota. What was there before may be removed again."""

    def __init__(self, folders: tuple[Path, ...], most_bytes: int, most_files: int):
        self._folders = folders
        began = usage(*folders)
        self._limit = Usage(max(most_bytes, began.bytes), max(most_files, began.files))
        self._next = 0.0

    def exceeded(self) -> bool:
        """Whether it is exceeded, as of the last look; looks again when that costs little of the time that passed since."""
        now = time.monotonic()
        if now < self._next:
            return False
        found = usage(*self._folders)
        after = time.monotonic()
        self._next = after + (after - now) / _SHARE
        return found.bytes > self._limit.bytes or found.files > self._limit.files

    def settled(self) -> bool:
        """Whether it is exceeded now, at the end of a command, whatever looking costs."""
        self._next = 0.0
        return self.exceeded()


def disk_is_short(folder: Path) -> bool:
    """Whether the disk itself, ours and everybody's, is about to be full."""
    disk = os.statvfs(folder)
    return disk.f_bavail * disk.f_frsize < _RESERVE
