"""How much of the disk the agent's files take: the quota of the work folder, kept by looking while a command runs.

A file system of its own would be the stricter way, but needs root. This way holds everywhere; what it lets through is what a command can
write between two looks, a tenth of a second apart.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from rubrics_gym.harness.scratch import remove_tree

_RESERVE = 300_000_000  # bytes that a command must leave free on the disk of the work folder
_SHARE = 0.05  # of the time that may be spent on looking


@dataclass(frozen=True)
class Usage:
    """Bytes and number of files and folders. Holes of a file count, because whoever reads the file later reads them.

    `too_deep` are folders with something in them that no path can name, so that this is not all.
    """

    bytes: int
    files: int
    too_deep: frozenset[str] = frozenset()


def usage(*folders: Path) -> Usage:
    """What lies below some folders. Links are counted, never followed; a file with several names counts once."""
    size = count = 0
    too_deep: set[str] = set()
    seen: set[tuple[int, int]] = set()
    pending = [str(folder) for folder in folders]
    while pending:
        place = pending.pop()
        try:
            entries = list(os.scandir(place))
        except OSError:
            continue  # removed meanwhile, or closed by its owner
        for entry in entries:
            try:
                status = entry.stat(follow_symlinks=False)
            except OSError as error:
                too_deep |= {place} if error.errno == errno.ENAMETOOLONG else set()
                continue
            count += 1
            if entry.is_dir(follow_symlinks=False):
                pending.append(entry.path)
            if status.st_nlink == 1 or (status.st_dev, status.st_ino) not in seen:
                size += max(status.st_size, status.st_blocks * 512)
                seen |= {(status.st_dev, status.st_ino)} if status.st_nlink > 1 else set()
    return Usage(size, count, frozenset(too_deep))


def deleted_but_open(pids: Iterable[int], device: int) -> int:
    """Bytes of files that some processes hold open although their last name is gone; a walk over folders cannot find them."""
    sizes: dict[int, int] = {}
    for pid in pids:
        with contextlib.suppress(OSError):
            for entry in os.scandir(f"/proc/{pid}/fd"):
                with contextlib.suppress(OSError):
                    status = entry.stat()
                    if stat.S_ISREG(status.st_mode) and status.st_nlink == 0 and status.st_dev == device:
                        sizes[status.st_ino] = status.st_blocks * 512
    return sum(sizes.values())


class Quota:
    """Says whether a command made the agent's folders grow beyond their quota. What was there before it may be removed again."""

    def __init__(self, folders: tuple[Path, ...], most_bytes: int, most_files: int):
        self._folders = folders
        self._most = Usage(most_bytes, most_files)
        self._limit = self._beyond(usage(*folders))
        self._device = folders[0].stat().st_dev
        self._next = 0.0

    def exceeded(self, pids: Iterable[int]) -> bool:
        """Whether the command with these processes has exceeded it; looks again only when that costs little of the time since the last look."""
        now = time.monotonic()
        if now < self._next:
            return False
        over = self._is_over(usage(*self._folders), deleted_but_open(pids, self._device))
        after = time.monotonic()
        self._next = after + (after - now) / _SHARE
        return over

    def settled(self) -> bool:
        """Whether it is exceeded at the end of a command. The next one begins from what is there now, without what nobody can look at."""
        found = usage(*self._folders)
        over = self._is_over(found, 0)
        for folder in found.too_deep:
            remove_tree(Path(folder))
        self._limit = self._beyond(found)
        return over

    def _beyond(self, found: Usage) -> Usage:
        return Usage(max(self._most.bytes, found.bytes), max(self._most.files, found.files))

    def _is_over(self, found: Usage, beside: int) -> bool:
        return bool(found.too_deep) or found.bytes + beside > self._limit.bytes or found.files > self._limit.files


def disk_is_short(folder: Path) -> bool:
    """Whether the disk itself, ours and everybody's, is about to be full."""
    disk = os.statvfs(folder)
    return disk.f_bavail * disk.f_frsize < _RESERVE
