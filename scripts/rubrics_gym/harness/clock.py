"""Time that counts against a limit: wall time without the time that a program was ready to run but had to wait for a processor.

A limit of some seconds would otherwise mean another amount of work whenever other jobs share the machine, and the same episode would
end differently. The kernel tells the waiting time per thread (/proc/PID/task/TID/schedstat); where it does not, wall time counts.
"""

from __future__ import annotations

import time
from pathlib import Path


class CountedTime:
    """Seconds that count for the process `pid` and everything that it started, since `began` (time.monotonic; None: now).

    Of all threads the one that waited longest decides: threads that wait at the same time lose that time once.
    """

    def __init__(self, pid: int, began: float | None = None):
        self._pid = pid
        self._last = time.monotonic() if began is None else began
        self._delays: dict[str, int] = {}
        self.wall_s = 0.0
        self.waited_s = 0.0

    @property
    def counted_s(self) -> float:
        """Wall time without waiting, as of the last look."""
        return self.wall_s - self.waited_s

    def look(self) -> None:
        """Take in the time since the last look; call it a few times a second."""
        now = time.monotonic()
        delays = _delays(self._pid)
        waited = max((delay - self._delays.get(thread, 0) for thread, delay in delays.items()), default=0) / 1e9
        passed, self._last, self._delays = now - self._last, now, delays
        self.wall_s += passed
        self.waited_s += min(passed, waited)


def _delays(pid: int) -> dict[str, int]:
    """Thread -> nanoseconds that it has waited for a processor so far, for a process and its descendants."""
    delays: dict[str, int] = {}
    pending = [str(pid)]
    while pending:
        tasks = Path("/proc", pending.pop(), "task")
        try:
            for task in tasks.iterdir():
                delays[task.name] = int((task / "schedstat").read_text().split()[1])
                pending += (task / "children").read_text().split()
        except (OSError, IndexError, ValueError):
            continue  # it ended meanwhile, or the kernel does not tell
    return delays
