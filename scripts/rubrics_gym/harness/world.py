"""What lies in the work folder and what the data look like, read from outside without running anything of the agent's."""

from __future__ import annotations

import csv
import hashlib
import os
import platform
import re
import stat
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from rubrics_gym.harness.packages import canonical_name, exposed
from rubrics_gym.records.trajectory import FileEvent, WorldEvent
from rubrics_gym.settings.study import Limits, SandboxPhase

CODE_SUFFIXES = {".py", ".sh", ".r", ".R", ".sql", ".ipynb", ".toml", ".cfg", ".ini", ".yaml", ".yml"}
_TEXT_CAP = 100_000  # bytes of a code file that are recorded
_LISTED = 500  # files of a listing
_ROWS_READ = 20_000  # rows of a table that are profiled
_MISSING = {"", "NA", "N/A", "NaN", "nan", "null", "NULL", "None"}
_NO_WORK = {".local", ".cache", ".config", "__pycache__", "data"}  # folders that are not the agent's own work


def regular_files(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Path below `folder` and status of every regular file that its owner may read, sorted.

    Links are never followed: an agent may point them anywhere.
    """
    pending = [""]
    found = []
    while pending:
        below = pending.pop()
        for entry in os.scandir(folder / below):
            path = f"{below}/{entry.name}" if below else entry.name
            status = entry.stat(follow_symlinks=False)
            if stat.S_ISDIR(status.st_mode) and status.st_mode & 0o500 == 0o500:
                pending.append(path)
            elif stat.S_ISREG(status.st_mode) and status.st_mode & 0o400:
                found.append((path, status))
    yield from sorted(found)


def is_work(path: str) -> bool:
    """Whether a file below the work folder is the agent's own work (not an installed package, a cache, or the data)."""
    return not any(part in _NO_WORK for part in PurePosixPath(path).parts[:-1])


@dataclass
class WorkFolder:
    """Watches the agent's files between commands."""

    folder: Path
    _seen: dict[str, tuple[int, int, int]] = field(default_factory=dict)

    def changes(self, step: int) -> list[FileEvent]:
        """The files that are new or changed since the last look, with the text of code files."""
        now = {path: (status.st_size, status.st_mtime_ns, status.st_ino) for path, status in regular_files(self.folder) if is_work(path)}
        changed = [path for path, mark in now.items() if self._seen.get(path) != mark]
        self._seen = now
        return [_file_event(self.folder, path, step) for path in changed]

    def sizes(self) -> dict[str, int]:
        """Path -> bytes of the agent's files, the first few hundred by name."""
        return dict([(_printable(path), mark[0]) for path, mark in self._seen.items()][:_LISTED])


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


def installed(work: Path, settings: SandboxPhase) -> dict[str, str]:
    """Package -> version as a program in the sandbox finds them: the allowed ones, and over them what the agent installed."""
    versions = dict(exposed(settings.packages).versions)
    for path, _ in regular_files(work):
        if match := re.fullmatch(r"\.local/lib/python[\d.]+/site-packages/([^/]+)-([^/-]+)\.dist-info/METADATA", path):
            versions[canonical_name(match[1])] = match[2]
    return dict(sorted(versions.items()))


def world_event(step: int, work: WorkFolder, data: Path, settings: SandboxPhase, limits: Limits, data_profile: str) -> WorldEvent:
    """The world as the judge may see it. It holds settings only where it could hold measurements: equal episodes have equal worlds."""
    return WorldEvent(
        step=step,
        python=platform.python_version(),
        packages=installed(work.folder, settings),
        limits={
            "command_s": limits.command_s,
            "final_s": limits.final_s,
            "memory_mb": limits.memory_mb,
            "processes": limits.processes,
            "gpus": 0,
        },
        files={f"data/{path}": status.st_size for path, status in regular_files(data)} | work.sizes(),
        data_profile=data_profile,
    )


# ---------------------------------------------------------------- data profile


def profile_folder(data: Path) -> str:
    """A few lines for every CSV file below `data`: shape, and per column its type, missing values and odd names. Reads, never runs."""
    tables = [(path, status.st_size) for path, status in regular_files(data) if path.lower().endswith((".csv", ".tsv"))]
    return "\n".join(profile_table(data / path, f"data/{path}") for path, _ in tables)


def profile_table(path: Path, name: str) -> str:
    """The profile of one table, from its first rows: streaming, so that a large file costs no more than a small one."""
    try:
        return _profile(path, name)
    except (UnicodeDecodeError, csv.Error) as error:
        return f"{name}: not readable as a UTF-8 table ({error})"


def _profile(path: Path, name: str) -> str:
    with open(path, encoding="utf-8", newline="") as file:
        rows = csv.reader(file, delimiter="\t" if path.suffix.lower() == ".tsv" else ",")
        header = next(rows, [])
        columns = [_Column() for _ in header]
        count = uneven = 0
        for row in rows:
            if count == _ROWS_READ:
                break
            count += 1
            uneven += len(row) != len(header)
            for column, value in zip(columns, row, strict=False):
                column.add(value)
        more = next(rows, None) is not None
    shape = f"more than {count} rows (the first {count} are described)" if more else f"{count} rows"
    lines = [f"{name}: {shape}, {len(header)} columns" + (f", {uneven} rows of another length" if uneven else "")]
    repeated = {column for column, times in Counter(header).items() if times > 1}
    for title, content in zip(header, columns, strict=True):
        odd = _oddity(title, title in repeated)
        lines.append(f"  {title!r}: {content.describe(count)}" + (f"; odd name: {odd}" if odd else ""))
    return "\n".join(lines)


class _Column:
    """Counts what the values of one column look like."""

    def __init__(self) -> None:
        self.kinds: Counter[str] = Counter()
        self.texts: Counter[str] = Counter()

    def add(self, value: str) -> None:
        kind = _kind(value)
        self.kinds[kind] += 1
        if kind == "text" and (len(self.texts) < 50 or value in self.texts):
            self.texts[value] += 1

    def describe(self, rows: int) -> str:
        """Type and missing values, e.g. `float, 3 missing` or `int, 12 values that are no number (such as '?')`."""
        present = {kind: count for kind, count in self.kinds.items() if kind != "missing"}
        numbers, texts = present.get("int", 0) + present.get("float", 0), present.get("text", 0)
        if not present:
            words = ["empty"]
        elif numbers > texts:
            words = ["float" if present.get("float") else "int"]
            if texts:
                words.append(f"{texts} values that are no number (such as {self.texts.most_common(1)[0][0]!r})")
        else:
            distinct = f"{len(self.texts)}" if len(self.texts) < 50 else "50 or more"
            words = [f"text with {distinct} different values"]
            if numbers:
                words.append(f"{numbers} values that are numbers")
        missing = self.kinds["missing"]
        words.append(f"{missing} missing ({missing / rows:.1%})" if missing else "none missing")
        return ", ".join(words)


def _kind(value: str) -> str:
    if value.strip() in _MISSING:
        return "missing"
    if re.fullmatch(r"\s*[-+]?\d+\s*", value):
        return "int"
    try:
        float(value)
    except ValueError:
        return "text"
    return "float"


def _oddity(name: str, repeated: bool) -> str:
    reasons = ["repeated"] if repeated else []
    if not name.strip():
        reasons.append("empty")
    elif name != name.strip():
        reasons.append("spaces around it")
    if not name.isascii():
        reasons.append("characters outside ASCII")
    if re.search(r"[^\w .-]", name, re.ASCII) and name.isascii():
        reasons.append("punctuation")
    return ", ".join(reasons)
