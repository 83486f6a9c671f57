"""What every command finds around it, whatever the boundary: python and pip on the path, their settings, and the whole environment."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from rubrics_gym.settings.study import Limits, Network

WORKSPACE = "/workspace"  # where the agent's work folder is, in every kind but unsafe
PYTHON = f"python{sys.version_info.major}.{sys.version_info.minor}"
USER_SITE = f".local/lib/{PYTHON}/site-packages"
_PIP_CONFIG = """\
[install]
{place}
break-system-packages = true
no-warn-script-location = true
[global]
disable-pip-version-check = true
no-cache-dir = true
progress-bar = off
{index}
"""  # in a file, because PIP_USER would make `pip list` leave out what is not the user's


@dataclass(frozen=True)
class Places:
    """The folders of one sandbox, on this machine. `scratch` is the sandbox's own and goes with it."""

    work: Path
    data: Path
    scratch: Path
    wheels: Path | None

    @property
    def control(self) -> Path:
        """Files that every command sees read-only."""
        return self.scratch / "control"

    @property
    def tmp(self) -> Path:
        """What the command knows as its folder for temporary files."""
        return self.scratch / "tmp"


@dataclass(frozen=True)
class Boundary:
    """How a command is started behind the boundary: words before it, its environment, and what the boundary tells about it.

    The words `{status}` and `{seccomp}` are replaced by numbers of open files. `reports` says that the boundary itself reports the end of
    the command, so that a boundary that died is told from a command that failed.
    """

    prefix: tuple[str, ...]
    environment: dict[str, str]
    folder: str  # current folder of the first process
    control: str  # the control folder as the command sees it
    uid: int
    reports: bool = False
    limits: Limits | None = None  # that a command takes on before the boundary; None: the boundary sets them
    gid: int | None = None  # the group of its own of a command whose user is not its own
    link: Path | None = None  # a link outside the sandbox's own folders that goes with it
    filter: bytes | None = None  # system-call filter that the boundary loads from `{seccomp}`


def write_control(places: Places, network: Network, interpreter: str, install_into: str, wheels: str) -> None:
    """Write the control folder: `python` and `pip` as programs, and pip's settings (`install_into` is a line of its [install] section).

    With the network `index` pip finds the wheels and nothing else; with `none` it finds nothing; with `open` the public index.
    """
    programs = {name: interpreter for name in ("python", "python3", PYTHON)} | {name: "python -m pip" for name in ("pip", "pip3")}
    (places.control / "bin").mkdir(parents=True)
    for name, program in programs.items():
        (places.control / "bin" / name).write_text(f'#!/bin/sh\nexec {program} "$@"\n')
        (places.control / "bin" / name).chmod(0o755)
    index = {Network.NONE: "no-index = true", Network.INDEX: f"no-index = true\nfind-links = {wheels}", Network.OPEN: ""}[network]
    (places.control / "pip.conf").write_text(_PIP_CONFIG.format(place=install_into, index=index))
    places.tmp.mkdir(mode=0o700)


def environment(home: str, path: str, tmp: str, site: str, pip_config: str) -> dict[str, str]:
    """The whole environment of a command. What is installed by the agent goes before what it finds."""
    return {
        "HOME": home,
        "USER": "agent",
        "PATH": path,
        "TMPDIR": tmp,
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "TIME_STYLE": "+",  # `ls -l` without times, so that equal episodes read equal listings
        "PYTHONPATH": f"{home}/{USER_SITE}:{site}" if site else f"{home}/{USER_SITE}",
        "PYTHONUSERBASE": f"{home}/.local",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUNBUFFERED": "1",
        "PYTHONHASHSEED": "0",
        "PIP_CONFIG_FILE": pip_config,
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "MPLBACKEND": "Agg",
    }


def limit_words(limits: Limits) -> list[str]:
    """Words before a command that limit each of its processes (and, by user, their number), where this must happen inside the boundary."""
    megabyte = 1024 * 1024
    return [
        "prlimit",
        f"--as={limits.memory_mb * megabyte}",
        f"--nproc={limits.processes}",
        f"--fsize={limits.file_mb * megabyte}",
        f"--nofile={limits.open_files}",
        "--core=0",
        "--",
    ]


def give_to(folder: Path, uid: int, gid: int) -> None:
    """Give a folder and what is in it to the sandbox's user; links are not followed."""
    if uid == os.getuid():
        return
    os.chown(folder, uid, gid)
    for parent, folders, files in os.walk(folder):
        for name in folders + files:
            os.chown(Path(parent, name), uid, gid, follow_symlinks=False)


def base_site_folders(prefix: Path) -> list[str]:
    """Where the base Python keeps packages of its own, which are not on the allow-list."""
    libraries = {prefix / "lib", Path("/usr/lib"), Path("/usr/local/lib")}
    return sorted(str(folder) for library in libraries for folder in library.glob("python3*/*-packages") if not folder.is_symlink())
