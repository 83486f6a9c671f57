"""The boundary inside a container, where bubblewrap may not make namespaces: the container itself, and within it Landlock and a filter.

The container keeps the host away. What lies in the container with the command (the harness, its keys, its files) is kept away by the
kernel's Landlock, by a system-call filter, and, where the harness runs as root, by a user of the command's own.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from rubrics_gym.harness.packages import exposed
from rubrics_gym.harness.sandbox import launch
from rubrics_gym.harness.sandbox.entry import TOOLS as ENTRY_TOOLS
from rubrics_gym.harness.sandbox.results import SandboxRefused
from rubrics_gym.harness.sandbox.seccomp import filter_program
from rubrics_gym.harness.sandbox.surroundings import (
    PYTHON,
    USER_SITE,
    WORKSPACE,
    Boundary,
    Places,
    base_site_folders,
    environment,
    give_to,
    write_control,
)
from rubrics_gym.harness.sandbox.users import unprivileged_uid
from rubrics_gym.settings.study import Limits, Network, SandboxPhase

TOOLS = ENTRY_TOOLS
_SIGNALS_ABI = 6  # of Landlock: from here on a command cannot signal the harness
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc", "/proc", "/sys/devices/system")
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/shm", "/dev/fd")


def pod(settings: SandboxPhase, limits: Limits, places: Places) -> Boundary:
    """Prepare the launcher. SandboxRefused where the kernel cannot keep a command from the harness beside it."""
    root = os.getuid() == 0
    _require_landlock(1 if root else _SIGNALS_ABI)
    uid, gid = (unprivileged_uid(),) * 2 if root else (os.getuid(), os.getgid())
    interpreter = str(Path(sys._base_executable).resolve())  # type: ignore[attr-defined]
    if root:
        _require_passable(Path(interpreter))
    python = _own_environment(settings, places.scratch, interpreter)
    write_control(places, settings.network, str(python), f"target = {places.work / USER_SITE}", str(places.wheels))
    if not (places.work / "data").is_symlink():
        (places.work / "data").symlink_to(places.data)
    if root:
        for folder in (places.scratch, places.work.parent, places.data.parent):
            folder.chmod(0o711)  # passable for the command's user; what lies below is Landlock's business
    for folder in (places.work, places.tmp):
        give_to(folder, uid, gid)
    link = _link_workspace(places.work)
    granted = {name: sorted(map(str, paths)) for name, paths in _granted(settings, places).items()}
    launched = {
        "uid": uid,
        "gid": gid,
        "limits": _limits(limits),
        "filter": filter_program(settings.network is Network.OPEN).hex(),
        **granted,
    }
    (places.control / "launch.json").write_text(json.dumps(launched))
    seen = environment(
        home=WORKSPACE,
        path=f"{places.control}/bin:/usr/local/bin:{os.defpath}:{WORKSPACE}/.local/bin",
        tmp=str(places.tmp),
        site="",
        pip_config=f"{places.control}/pip.conf",
    ) | {"PWD": WORKSPACE}  # else the shell would show where the link leads
    prefix = (interpreter, "-I", "-S", launch.__file__, str(places.control / "launch.json"))
    return Boundary(prefix=prefix, environment=seen, folder=WORKSPACE, control=str(places.control), uid=uid, link=link)


def _require_landlock(version: int) -> None:
    if launch.landlock_abi() < version:
        raise SandboxRefused(
            f"sandbox.kind: pod needs Landlock version {version} ({'Linux 6.12' if version > 1 else 'Linux 5.13'}), and this kernel has version "
            f"{launch.landlock_abi()}: nothing would keep a command from the harness and its keys. Use a newer kernel, or run the harness in the container as "
            "root with the capabilities CHOWN, SETUID, SETGID and KILL, which needs version 1 only."
        )


def _require_passable(path: Path) -> None:
    closed = next((str(folder) for folder in path.parents if not folder.stat().st_mode & 0o001), None)
    if closed:
        raise SandboxRefused(
            f"sandbox.kind: pod: the command's user cannot reach {path}, because {closed} is closed to others. Use a Python that is installed for everybody."
        )


def _granted(settings: SandboxPhase, places: Places) -> dict[str, set[Path]]:
    """What a command may list, read and write. Packages that are not allowed, and tables inside allowed ones, are left out."""
    packages = exposed(settings.packages)
    homes = {path.parent for path in packages.paths}
    hidden = {Path(folder) for folder in base_site_folders(Path(sys.base_prefix).resolve())} | homes
    listable: set[Path] = set()
    readable: set[Path] = {places.control, places.scratch / "python", places.data, Path(launch.__file__)}
    readable |= {places.wheels} if places.wheels and settings.network is Network.INDEX else set()
    for folder in [*map(Path, _SYSTEM), Path(sys.base_prefix).resolve()]:
        if folder.exists():
            _split(folder.resolve(), hidden, listable, readable)
    for path in packages.paths:
        _split(path, {path.parent / masked for masked in packages.masked}, listable, readable)
    return {"listable": listable, "readable": readable, "writable": {places.work, places.tmp, *map(Path, _DEVICES)}}


def _split(folder: Path, hidden: set[Path], listable: set[Path], readable: set[Path]) -> None:
    """Put a folder among the readable ones, or, where something below it is hidden, among the listable ones and go on below."""
    if folder in hidden:
        return
    if not any(path.is_relative_to(folder) for path in hidden):
        readable.add(folder)
        return
    listable.add(folder)
    for entry in _entries(folder):
        _split(entry, hidden, listable, readable)


def _entries(folder: Path) -> Iterator[Path]:
    try:
        yield from (path for path in folder.iterdir() if not path.is_symlink())
    except OSError:
        return


def _own_environment(settings: SandboxPhase, scratch: Path, interpreter: str) -> Path:
    """A virtual environment in which the allowed packages, and no others, can be imported; returns its interpreter."""
    top = scratch / "python"
    site = top / "lib" / PYTHON / "site-packages"
    site.mkdir(parents=True)
    for path in exposed(settings.packages).paths:
        (site / path.name).symlink_to(path)
    (top / "bin").mkdir()
    (top / "bin" / "python").symlink_to(interpreter)
    (top / "pyvenv.cfg").write_text(f"home = {Path(interpreter).parent}\ninclude-system-site-packages = false\n")
    return top / "bin" / "python"


def _link_workspace(work: Path) -> Path:
    """Let /workspace be the work folder: the container's image must leave that name free, or hold a link that may be set."""
    place = Path(WORKSPACE)
    place = place.readlink() if place.is_symlink() and not os.access(place.parent, os.W_OK) else place
    try:
        if place.is_symlink():
            place.unlink()
        place.symlink_to(work)
        return place
    except OSError as error:
        raise SandboxRefused(
            f"sandbox.kind: pod cannot make {WORKSPACE} a link to the work folder ({error.strerror}). Leave the name free in the container's image, or, "
            f"with a read-only image, let {WORKSPACE} be a link into a folder that the harness may write."
        ) from None


def _limits(limits: Limits) -> dict[str, int]:
    megabyte = 1024 * 1024
    return {
        "RLIMIT_AS": limits.memory_mb * megabyte,
        "RLIMIT_NPROC": limits.processes,
        "RLIMIT_FSIZE": limits.file_mb * megabyte,
        "RLIMIT_NOFILE": limits.open_files,
        "RLIMIT_CORE": 0,
    }
