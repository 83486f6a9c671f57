"""Time that counts: sleeping does, waiting for a processor does not."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rubrics_gym.harness.clock import CountedTime

BUSY = "import time\nend = time.monotonic() + 30\nwhile time.monotonic() < end: pass"


def _watched(process: subprocess.Popen[bytes], seconds: float) -> CountedTime:
    clock = CountedTime(process.pid)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        clock.look()
        time.sleep(0.05)
    clock.look()
    return clock


def test_sleep_counts() -> None:
    with subprocess.Popen(["sleep", "30"]) as process:
        clock = _watched(process, 0.5)
        process.kill()
    assert clock.counted_s > 0.6 * clock.wall_s


def test_waiting_for_a_processor_does_not_count() -> None:
    """Four busy processes on one processor: each of them works a quarter of the time, however busy the machine is besides."""
    if not Path("/proc/self/schedstat").exists():
        pytest.skip("this kernel does not tell waiting times")
    processor = next(iter(os.sched_getaffinity(0)))
    processes = [subprocess.Popen([sys.executable, "-c", f"import os\nos.sched_setaffinity(0, {{{processor}}})\n{BUSY}"]) for _ in range(4)]
    try:
        time.sleep(0.5)
        clock = _watched(processes[0], 2.0)
    finally:
        for process in processes:
            process.kill()
            process.wait()
    assert clock.counted_s < 0.6 * clock.wall_s


def test_descendants_are_watched() -> None:
    """The waiting of a grandchild is found, and a process that is gone is no error."""
    processor = next(iter(os.sched_getaffinity(0)))
    loops = " & ".join([f"taskset -c {processor} {sys.executable} -c '{BUSY}'"] * 4)
    with subprocess.Popen(["bash", "-c", f"({loops}) & wait"], start_new_session=True) as process:
        time.sleep(0.5)
        clock = _watched(process, 2.0)
        os.killpg(process.pid, 9)
    assert clock.waited_s > 0.3 * clock.wall_s
    counted = clock.counted_s
    clock.look()
    assert clock.counted_s >= counted
