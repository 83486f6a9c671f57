"""Ending processes for good: groups, and what left its group."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36
_SHARED_MEMORY = Path("/dev/shm")
_libc = ctypes.CDLL(None, use_errno=True)


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """SIGKILL to a command's process group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def is_gone(pid: int, patience_s: float) -> bool:
    """Whether a sandbox's first process is gone, and with it, by the kernel's rule for pid namespaces, every other one."""
    return not _wait_for_ends({pid}, patience_s)


def end_all(members: Callable[[], set[int]], patience_s: float) -> int | None:
    """Kill every process that `members` names, and ask again until it names none. One that will not die, or None."""
    deadline = time.monotonic() + patience_s
    while left := members():
        for pid in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if _wait_for_ends(left, deadline - time.monotonic()) or time.monotonic() > deadline:
            return min(left)
    return None


def _wait_for_ends(pids: set[int], patience_s: float) -> set[int]:
    """Wait until processes end, which the kernel tells (pidfd_open(2)). Those that have not by then; a zombie has ended."""
    deadline = time.monotonic() + patience_s
    waiting: dict[int, int] = {}  # descriptor -> pid
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            waiting[os.pidfd_open(pid)] = pid
    poll = select.poll()
    for descriptor in waiting:
        poll.register(descriptor, select.POLLIN)
    while waiting and (ended := poll.poll(max(0.0, deadline - time.monotonic()) * 1000)):
        for descriptor, _ in ended:
            poll.unregister(descriptor)
            os.close(descriptor)
            del waiting[descriptor]
    for descriptor in waiting:
        os.close(descriptor)
    return set(waiting.values())


def started(pid: int) -> str | None:
    """When a process started, in the kernel's ticks since the machine did; with its id that names it for good. None when there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (FileNotFoundError, ProcessLookupError):
        return None


def adopt_orphans() -> None:
    """Become the parent of every process below this one that loses its own, so that none can leave unseen (Linux, prctl(2))."""
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def own_children() -> set[int]:
    """Processes whose parent is this one."""
    return set(_children(os.getpid()))


def end_orphans(before: set[int], patience_s: float) -> int | None:
    """Kill what a command left behind: children that this process has adopted since `before`, and theirs. One that will not die, or None."""

    def left() -> set[int]:
        adopted = own_children() - before
        for pid in adopted:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
        adopted &= own_children()  # without those that had ended
        return adopted | {grandchild for child in adopted for grandchild in _children(child)}

    return end_all(left, patience_s)


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


def remove_shared_memory(before: set[str], uid: int, gid: int | None) -> None:
    """Remove the segments that are new since `before` and belong to a user (and a group): they would go on taking memory with nobody to use it."""
    for name in shared_memory() - before:
        with contextlib.suppress(OSError):
            path = _SHARED_MEMORY / name
            status = path.lstat()
            if status.st_uid == uid and gid in (None, status.st_gid):
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
