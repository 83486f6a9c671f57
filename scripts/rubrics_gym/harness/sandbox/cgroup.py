"""A control group for the commands of one sandbox: their memory, processes and processor time together, and who was killed for want of memory.

Version 1 and 2 are tried where they are mounted and writable; where neither is, there is none, and the limits per process have to do.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
from pathlib import Path

from rubrics_gym.harness.sandbox.processes import end_all, started
from rubrics_gym.settings.study import Limits

_PERIOD_US = 100_000
_PATIENCE_S = 1.0  # for the processes of a group that its owner left
_ABSENT_WITHOUT_SWAP = {"memory.memsw.limit_in_bytes", "memory.swap.max"}  # where the kernel counts none
_PREFIX = "rubrics-gym"
_NAME = re.compile(_PREFIX + r"-(?P<namespace>\d+)-(?P<pid>\d+)-(?P<began>\d+)-\d+")
_numbers = itertools.count()


class ControlGroup:
    """One group per controller (version 1) or one for all (version 2)."""

    def __init__(self, folders: dict[str, Path]):
        self._folders = folders  # controller -> folder
        self._kills_told = self._kills() or 0

    @property
    def controllers(self) -> tuple[str, ...]:
        """What the group limits: memory, pids, cpu."""
        return tuple(sorted(self._folders))

    def entrances(self) -> list[Path]:
        """Files to each of which a process of one thread writes 0 to be in the group, with everything that it starts.

        In version 1 that is `tasks`: moving one's only thread spares the lock on all threads of the machine that `cgroup.procs` takes (14 ms).
        """
        return [_first_of(folder, "tasks", "cgroup.procs") for folder in self._all()]

    def new_out_of_memory_kills(self) -> int | None:
        """How many processes of the group the kernel has killed for want of memory since this was asked last; None when it does not tell."""
        kills = self._kills()
        if kills is None:
            return None
        new, self._kills_told = kills - self._kills_told, kills
        return new

    def _kills(self) -> int | None:
        folder = self._folders.get("memory")
        for name in ("memory.events", "memory.oom_control"):
            with contextlib.suppress(OSError):
                if folder and (match := re.search(r"^oom_kill (\d+)$", (folder / name).read_text(), re.MULTILINE)):
                    return int(match[1])
        return None

    def kill(self, patience_s: float) -> bool:
        """Kill everything in the group, however often it forks; whether it was empty in the end."""
        return end_all(self.members, patience_s) is None

    def members(self) -> set[int]:
        """Living processes of the group. A zombie waits for its parent, not for us."""
        found = {int(pid) for folder in self._all() for pid in _read(folder / "cgroup.procs").split()} - {0}  # of outside our pid namespace
        return {pid for pid in found if not re.search(r"\) Z ", _read(Path(f"/proc/{pid}/stat")))}

    def remove(self) -> None:
        """Remove the group; it must be empty."""
        for folder in self._all():
            _remove(folder)

    def _all(self) -> list[Path]:
        return list(dict.fromkeys(self._folders.values()))


def make_control_group(limits: Limits) -> ControlGroup | None:
    """A new group with the limits of a sandbox, or None where this process may make none. Groups of dead owners are ended on the way."""
    name = f"{_PREFIX}-{_owner_mark(os.getpid())}-{next(_numbers)}"
    folders: dict[str, Path] = {}
    for controller, parent in _parents().items():
        end_abandoned(parent)
        folder = parent / name
        try:
            folder.mkdir(exist_ok=folder in folders.values())  # version 2 has one folder for all controllers
            _limit(controller, folder, limits)
            folders[controller] = folder
        except OSError:
            if folder not in folders.values():
                _remove(folder)
    return ControlGroup(folders) if folders else None  # without memory it tells nothing about memory, but still ends what is left over


def end_abandoned(parent: Path) -> None:
    """End and remove the groups below `parent` whose owner is dead.

    A group belongs to the process whose id, start and pid namespace its name holds: between two commands a living owner's group is empty,
    and an id alone may be another process's by now, or in another container a living one that is not seen here.
    """
    for folder in parent.glob(f"{_PREFIX}-*"):
        match = _NAME.fullmatch(folder.name)
        if match and match["namespace"] == _pid_namespace() and match["began"] != started(int(match["pid"])):
            abandoned = ControlGroup({"": folder})
            abandoned.kill(_PATIENCE_S)
            abandoned.remove()


def _owner_mark(pid: int) -> str:
    return f"{_pid_namespace()}-{pid}-{started(pid)}"


def _pid_namespace() -> str:
    return re.sub(r"\D", "", Path("/proc/self/ns/pid").readlink().name)


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


def _limit(controller: str, folder: Path, limits: Limits) -> None:
    """Write the limit of one controller, in the words of whichever version the folder is of. OSError where it does not take."""
    memory, processes = limits.memory_mb * 1024 * 1024, limits.processes + 8  # and those of the sandbox itself
    quota = int(limits.cpus * _PERIOD_US)
    values: dict[str, tuple[dict[str, int | str], dict[str, int | str]]] = {  # of version 1, of version 2
        "memory": ({"memory.limit_in_bytes": memory, "memory.memsw.limit_in_bytes": memory}, {"memory.max": memory, "memory.swap.max": 0}),
        "pids": ({"pids.max": processes}, {"pids.max": processes}),
        "cpu": ({"cpu.cfs_period_us": _PERIOD_US, "cpu.cfs_quota_us": quota}, {"cpu.max": f"{quota} {_PERIOD_US}"}),
    }
    version = 1 if (folder / "cgroup.controllers").exists() else 0
    for file, value in values[controller][version].items():
        if (folder / file).exists() or file not in _ABSENT_WITHOUT_SWAP:
            (folder / file).write_text(str(value))


def _remove(folder: Path) -> None:
    with contextlib.suppress(OSError):
        folder.rmdir()


def _first_of(folder: Path, *names: str) -> Path:
    return next((folder / name for name in names if (folder / name).exists()), folder / names[-1])


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
