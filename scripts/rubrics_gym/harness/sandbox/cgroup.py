"""A control group for the commands of one sandbox: their memory, processes and processor time together, and who was killed for want of memory.

Version 1 and 2 are tried where they are mounted and writable; where neither is, there is none, and the limits per process have to do.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import signal
import time
from pathlib import Path

from rubrics_gym.settings.study import Limits

_PERIOD_US = 100_000
_NAME = re.compile(r"rubrics-gym-(\d+)-\d+")
_numbers = itertools.count()


class ControlGroup:
    """One group per controller (version 1) or one for all (version 2)."""

    def __init__(self, folders: dict[str, Path]):
        self._folders = folders  # controller -> folder

    @property
    def controllers(self) -> tuple[str, ...]:
        """What the group limits: memory, pids, cpu."""
        return tuple(sorted(self._folders))

    def entering(self) -> list[str]:
        """Words before a command that put it, and everything that it starts, into the group."""
        files = [str(folder / "cgroup.procs") for folder in self._all()]
        return ["sh", "-c", f'for f in {" ".join(files)}; do echo 0 > "$f"; done; exec "$@"', "sh"]

    def out_of_memory_kills(self) -> int | None:
        """How many processes of the group the kernel has killed for want of memory; None when it does not tell."""
        folder = self._folders.get("memory")
        for name in ("memory.events", "memory.oom_control"):
            with contextlib.suppress(OSError):
                if folder and (match := re.search(r"^oom_kill (\d+)$", (folder / name).read_text(), re.MULTILINE)):
                    return int(match[1])
        return None

    def kill(self, patience_s: float) -> bool:
        """Kill everything in the group, however often it forks; whether it was empty in the end."""
        deadline = time.monotonic() + patience_s
        while members := self.members():
            for pid in members:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            if time.monotonic() > deadline:
                return False
            time.sleep(0.005)
        return True

    def members(self) -> list[int]:
        """Living processes of the group. A zombie waits for its parent, not for us."""
        found = {int(pid) for folder in self._all() for pid in _read(folder / "cgroup.procs").split()}
        return sorted(pid for pid in found if not re.search(r"\) Z ", _read(Path(f"/proc/{pid}/stat"))))

    def remove(self) -> None:
        """Remove the group; it must be empty."""
        for folder in self._all():
            _remove(folder)

    def _all(self) -> list[Path]:
        return list(dict.fromkeys(self._folders.values()))


def make_control_group(limits: Limits) -> ControlGroup | None:
    """A new group with the limits of a sandbox, or None where this process may make none. Groups that a killed process left are removed."""
    name = f"rubrics-gym-{os.getpid()}-{next(_numbers)}"
    folders: dict[str, Path] = {}
    for controller, parent in _parents().items():
        _sweep(parent)
        folder = parent / name
        try:
            folder.mkdir(exist_ok=True)
            if not _limit(controller, folder, limits):
                raise OSError(f"{folder}: no limit could be set")
            folders[controller] = folder
        except OSError:
            if folder not in folders.values():
                _remove(folder)
    if "memory" not in folders:  # the other controllers alone would tell nothing about memory, but they still end what is left over
        return ControlGroup(folders) if folders else None
    return ControlGroup(folders)


def _parents() -> dict[str, Path]:
    """Controller -> the writable folder below which a group may be made: our own group's, else the root of the hierarchy."""
    own = {
        controller: path
        for _, names, path in (line.split(":", 2) for line in _read(Path("/proc/self/cgroup")).split())
        for controller in names.split(",")
    }
    parents: dict[str, Path] = {}
    for line in _read(Path("/proc/self/mounts")).splitlines():
        _, mount, kind, options, *_ = line.split(" ")
        for controller in ("memory", "pids", "cpu"):
            if kind == "cgroup" and controller in options.split(","):
                candidates = [Path(mount + own.get(controller, "/")), Path(mount)]
            elif kind == "cgroup2":
                candidates = [
                    path
                    for path in (Path(mount + own.get("", "/")), Path(mount))
                    if controller in _read(path / "cgroup.subtree_control").split()
                ]
            else:
                continue
            for candidate in candidates:
                if os.access(candidate, os.W_OK):
                    parents.setdefault(controller, candidate)
    return parents


def _limit(controller: str, folder: Path, limits: Limits) -> bool:
    """Write the limit of one controller, in the words of whichever version the folder is of."""
    memory, processes = limits.memory_mb * 1024 * 1024, limits.processes + 8  # and those of the sandbox itself
    quota = int(limits.cpus * _PERIOD_US)
    values: dict[str, tuple[dict[str, int | str], dict[str, int | str]]] = {  # of version 1, of version 2
        "memory": ({"memory.limit_in_bytes": memory, "memory.memsw.limit_in_bytes": memory}, {"memory.max": memory, "memory.swap.max": 0}),
        "pids": ({"pids.max": processes}, {"pids.max": processes}),
        "cpu": ({"cpu.cfs_period_us": _PERIOD_US, "cpu.cfs_quota_us": quota}, {"cpu.max": f"{quota} {_PERIOD_US}"}),
    }
    version = 1 if (folder / "cgroup.controllers").exists() else 0
    written = 0
    for file, value in values[controller][version].items():
        with contextlib.suppress(OSError):
            (folder / file).write_text(str(value))
            written += 1
    return written > 0


def _sweep(parent: Path) -> None:
    for folder in parent.glob("rubrics-gym-*"):
        match = _NAME.fullmatch(folder.name)
        if match and not Path(f"/proc/{match[1]}").exists():
            _remove(folder)


def _remove(folder: Path) -> None:
    with contextlib.suppress(OSError):
        folder.rmdir()


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
