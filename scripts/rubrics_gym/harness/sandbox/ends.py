"""How a command ended, told from its exit code, its output and what the kernel counted."""

from __future__ import annotations

import re
import signal
from enum import StrEnum

from rubrics_gym.harness.output import Output

_MEMORY_WORDS = re.compile(r"MemoryError|std::bad_alloc|Cannot allocate memory|cannot allocate memory|DefaultCPUAllocator: can't allocate")
_KILLED = 128 + signal.SIGKILL


class Stop(StrEnum):
    """Why we ended a command."""

    TIME = "time"
    DISK = "disk"  # the disk itself, whoever filled it
    QUOTA = "quota"  # the agent's own files


def shell_code(stop: Stop | None, code: int | None) -> int | None:
    """The exit code as a shell would know it: none for a command that was stopped at its time limit, a kill for one over its quota."""
    if stop is Stop.QUOTA:
        return _KILLED
    return code if stop is None else None


def is_out_of_memory(exit_code: int | None, output: Output, killed: int | None) -> bool:
    """Whether a command that failed failed for want of memory: the allocator's words, or a kill by the kernel.

    `killed` is how many of its processes the kernel killed for want of memory. Where it does not tell (None), a SIGKILL that was not ours
    is taken for one.
    """
    if exit_code in (None, 0):
        return False
    if _MEMORY_WORDS.search(output.tail[-4000:]):
        return True
    return killed > 0 if killed is not None else exit_code == _KILLED
