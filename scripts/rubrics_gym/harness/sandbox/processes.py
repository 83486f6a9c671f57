"""Ending processes for good: groups, and what left its group."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_SHARED_MEMORY = Path("/dev/shm")
_libc = ctypes.CDLL(None, use_errno=True)


def dying_with(parent: int) -> None:
    """Ask the kernel to kill this process when its parent ends; to be called in a child before it becomes another program.

    What is set here outlives that change, so there is no moment at which the parent can end unseen.
    """
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """SIGKILL to a command's process group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def is_gone(pid: int, patience_s: float) -> bool:
    """Whether a sandbox's first process is gone, and with it, by the kernel's rule for pid namespaces, every other one."""
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state == "Z":
            return True
        time.sleep(0.005)
    return False


def adopt_orphans() -> None:
    """Become the parent of every process below this one that loses its own, so that none can leave unseen (Linux, prctl(2))."""
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def own_children() -> set[int]:
    """Processes whose parent is this one."""
    return set(_children(os.getpid()))


def end_orphans(before: set[int], patience_s: float) -> int | None:
    """Kill what a command left behind: children that this process has adopted since `before`, and theirs. One that will not die, or None."""
    deadline = time.monotonic() + patience_s
    while left := own_children() - before:
        for pid in left | {grandchild for child in left for grandchild in _children(child)}:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        for pid in left:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
        if time.monotonic() > deadline:
            return min(left)
        time.sleep(0.005)
    return None


def descendants(pid: int) -> Iterator[int]:
    """A process and everything below it."""
    pending = [pid]
    while pending:
        yield (current := pending.pop())
        pending += _children(current)


def _children(pid: int) -> list[int]:
    found: list[int] = []
    with contextlib.suppress(OSError):  # it may end while we look
        for task in os.scandir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError):
                found += map(int, Path(task.path, "children").read_text().split())
    return found


def shared_memory() -> set[str]:
    """Names of the segments of shared memory, which lie in a file system of the whole container."""
    return set(os.listdir(_SHARED_MEMORY))  # noqa: PTH208, a thousand paths would cost more than the command


def remove_shared_memory(before: set[str], uid: int) -> None:
    """Remove the segments that are new since `before` and belong to a user: they would go on taking memory with nobody to use it."""
    for name in shared_memory() - before:
        with contextlib.suppress(OSError):
            path = _SHARED_MEMORY / name
            if path.lstat().st_uid == uid:
                path.unlink()


def read_status(descriptor: int) -> dict[str, int]:
    """bwrap's report: JSON documents, one a line, ending with the exit code when the command ended."""
    os.set_blocking(descriptor, False)
    data = b""
    with contextlib.suppress(BlockingIOError):
        while chunk := os.read(descriptor, 1 << 16):
            data += chunk
    report: dict[str, int] = {}
    for line in data.decode().splitlines():
        report.update(json.loads(line))
    return report
