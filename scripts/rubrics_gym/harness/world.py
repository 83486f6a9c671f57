"""What lies in the work folder and which packages are there, read from outside without running anything of the agent's."""

from __future__ import annotations

import errno
import hashlib
import os
import platform
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from rubrics_gym.harness.packages import canonical_name, exposed
from rubrics_gym.records.trajectory import FileEvent, WorldEvent
from rubrics_gym.settings.study import Limits, SandboxPhase

CODE_SUFFIXES = {".py", ".sh", ".r", ".R", ".sql", ".ipynb", ".toml", ".cfg", ".ini", ".yaml", ".yml"}
_TEXT_CAP = 100_000  # bytes of a code file that are recorded
_LISTED = 500  # files of a listing
_METADATA = re.compile(r"\.local/lib/python[\d.]+/site-packages/([^/]+)-([^/-]+)\.dist-info/METADATA")
_NO_WORK = {".local", ".cache", ".config", "__pycache__", "data"}  # folders that are not the agent's own work


def regular_files(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Path below `folder` and status of every regular file that its owner may read, sorted.

    Links are never followed: an agent may point them anywhere. What lies so deep that no path can name it is passed over.
    """
    pending = [""]
    found = []
    while pending:
        below = pending.pop()
        for name, status in _entries(folder / below):
            path = f"{below}/{name}" if below else name
            if stat.S_ISDIR(status.st_mode) and status.st_mode & 0o500 == 0o500:
                pending.append(path)
            elif stat.S_ISREG(status.st_mode) and status.st_mode & 0o400:
                found.append((path, status))
    yield from sorted(found)


def _entries(folder: Path) -> list[tuple[str, os.stat_result]]:
    try:
        return [(entry.name, entry.stat(follow_symlinks=False)) for entry in os.scandir(folder)]
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise
        return []


def is_work(path: str) -> bool:
    """Whether a file below the work folder is the agent's own work (not an installed package, a cache, or the data)."""
    return not any(part in _NO_WORK for part in PurePosixPath(path).parts[:-1])


@dataclass
class WorkFolder:
    """Watches the agent's files between commands."""

    folder: Path
    _seen: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    _installed: dict[str, str] = field(default_factory=dict)

    def changes(self, step: int) -> list[FileEvent]:
        """The files that are new or changed since the last look, with the text of code files."""
        found = list(regular_files(self.folder))
        self._installed = {canonical_name(match[1]): match[2] for path, _ in found if (match := _METADATA.fullmatch(_printable(path)))}
        now = {path: (status.st_size, status.st_mtime_ns, status.st_ino) for path, status in found if is_work(path)}
        changed = [path for path, mark in now.items() if self._seen.get(path) != mark]
        self._seen = now
        return [_file_event(self.folder, path, step) for path in changed]

    def sizes(self) -> dict[str, int]:
        """Path -> bytes of the agent's files as of the last look, the first few hundred by name."""
        return dict([(_printable(path), mark[0]) for path, mark in self._seen.items()][:_LISTED])

    def packages(self, settings: SandboxPhase) -> dict[str, str]:
        """Package -> version as a program in the sandbox finds them: the allowed ones, and over them what the agent had installed at the last look."""
        return dict(sorted((exposed(settings.packages).versions | self._installed).items()))


def _printable(path: str) -> str:
    """A file name as text: bytes that are not UTF-8 become question marks."""
    return path.encode("utf-8", "replace").decode()


def _file_event(folder: Path, path: str, step: int) -> FileEvent:
    digest, size, text = hashlib.sha256(), 0, None
    with open(folder / path, "rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
            size += len(chunk)
        if PurePosixPath(path).suffix in CODE_SUFFIXES and size <= _TEXT_CAP:
            file.seek(0)
            text = file.read().decode("utf-8", "replace")
    return FileEvent(step=step, path=_printable(path), sha256=digest.hexdigest(), bytes=size, text=text)


def world_event(step: int, work: WorkFolder, data: Path, settings: SandboxPhase, limits: Limits, data_profile: str) -> WorldEvent:
    """The world as the judge may see it. It holds settings only where it could hold measurements: equal episodes have equal worlds."""
    return WorldEvent(
        step=step,
        python=platform.python_version(),
        packages=work.packages(settings),
        limits={
            "command_s": limits.command_s,
            "final_s": limits.final_s,
            "cpus": limits.cpus,
            "memory_mb": limits.memory_mb,
            "processes": limits.processes,
            "gpus": 0,
        },
        files={f"data/{path}": status.st_size for path, status in regular_files(data)} | work.sizes(),
        data_profile=data_profile,
    )
