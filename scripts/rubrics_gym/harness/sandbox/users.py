"""The user that commands run as."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

_FIRST_UID = 1_000_000  # plus our pid: processes are counted per user, so every sandbox needs a user of its own
_NOBODY = 65534
_ids = itertools.count()


def unprivileged_uid() -> int:
    """A user id that no other sandbox has, or nobody's where a container maps only a few ids."""
    uid = _FIRST_UID + os.getpid() * 64 + next(_ids) % 64
    for line in Path("/proc/self/uid_map").read_text().splitlines():
        inside, _, count = map(int, line.split())
        if inside <= uid < inside + count:
            return uid
    return _NOBODY
