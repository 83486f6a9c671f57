"""The formats that can be imported, how each is recognised, and which files of a folder are runs."""

from __future__ import annotations

import lzma
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from rubrics_gym.interchange import ai_scientist, aide, atif, inspect_logs, mini_swe_agent, openhands, super_notebooks, swe_agent
from rubrics_gym.interchange.logs import ForeignRun, UnreadableLog, read_document
from rubrics_gym.interchange.sources import ENDINGS
from rubrics_gym.settings.study import LogFormat

# what readers raise on a log whose shape or packing is not what it should be
_DAMAGE = (
    LookupError,
    TypeError,
    AttributeError,
    ValueError,
    RuntimeError,
    OSError,
    EOFError,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
)
_TEXT_HEAD = 4_000_000  # characters of a console log that are looked at


@dataclass(frozen=True)
class Format:
    """One format: its reader, and what an import does not keep."""

    name: LogFormat
    title: str
    module: ModuleType

    @property
    def files(self) -> tuple[str, ...]:
        """How the names of its files end."""
        return ENDINGS[self.name]

    @property
    def loses(self) -> tuple[str, ...]:
        return tuple(self.module.LOSES)

    @property
    def read(self) -> Callable[[Path], list[ForeignRun]]:
        reader: Callable[[Path], list[ForeignRun]] = self.module.read
        return reader


FORMATS: dict[LogFormat, Format] = {
    one.name: one
    for one in (
        Format(LogFormat.ATIF, "ATIF 1.0 to 1.8", atif),
        Format(LogFormat.INSPECT, "Inspect", inspect_logs),
        Format(LogFormat.MINI_SWE_AGENT, "mini-swe-agent", mini_swe_agent),
        Format(LogFormat.SWE_AGENT, "SWE-agent and MLGym", swe_agent),
        Format(LogFormat.OPENHANDS, "OpenHands", openhands),
        Format(LogFormat.AIDE, "AIDE", aide),
        Format(LogFormat.SUPER, "SUPER and other notebooks", super_notebooks),
        Format(LogFormat.AI_SCIENTIST, "AI Scientist", ai_scientist),
    )
}


class Found(NamedTuple):
    """One file of an import: its format, or why it is passed over."""

    path: Path
    format: LogFormat | None
    skipped: str = ""


def recognise(path: Path) -> LogFormat | None:
    """The format of one file by its content; None when it is none of ours. UnreadableLog for damaged files."""
    if path.suffix == ".eval":
        return LogFormat.INSPECT
    if path.suffix in (".log", ".txt"):
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read(_TEXT_HEAD)
        return LogFormat.AIDE if aide.recognises_text(text) else LogFormat.AI_SCIENTIST if ai_scientist.recognises_text(text) else None
    if path.suffix not in (".json", ".traj", ".ipynb", ".jsonl"):
        return None
    document: Any = openhands.first_line(path) if path.suffix == ".jsonl" else read_document(path)
    for one in FORMATS.values():
        if any(path.name.endswith(ending) for ending in one.files) and one.module.recognises(path, document):
            return one.name
    return None


def find(paths: Iterable[Path], wanted: LogFormat, single: bool) -> list[Found]:
    """The format of every file, or why it is passed over. `wanted` is AUTO or the one format that is taken.

    Of an AIDE run that lies in a folder as journal and as logs only the fullest form counts.

    Where the import names a `single` file, one that cannot be read is an error (UnreadableLog), not a file that is passed over.
    """
    found = [_found(path, wanted, single) for path in paths]
    return _without_copies(found)


def _found(path: Path, wanted: LogFormat, single: bool) -> Found:
    if single and wanted is not LogFormat.AUTO:
        return Found(path, wanted)
    try:
        name = recognise(path)
    except (UnreadableLog, OSError) as error:
        if single:
            raise
        return Found(path, None, str(error))
    if name is None:
        if single:
            raise UnreadableLog(
                f"{path}: none of the formats {', '.join(one.value for one in FORMATS)} was recognised. Name one with `format:`."
            )
        return Found(path, None, "not a run in any of the known formats")
    if wanted not in (LogFormat.AUTO, name):
        return Found(path, None, f"recognised as {name.value}, and the import takes {wanted.value} only")
    return Found(path, name)


_AIDE_RANK = {"journal.json": 0, "aide.verbose.log": 1, "aide.log": 2}


def _without_copies(found: list[Found]) -> list[Found]:
    """Of several files of one AIDE run, keep the fullest."""
    best: dict[Path, Found] = {}
    for one in found:
        if one.format is LogFormat.AIDE:
            folder = one.path.parent
            rank = _AIDE_RANK.get(one.path.name, 3)
            if folder not in best or rank < _AIDE_RANK.get(best[folder].path.name, 3):
                best[folder] = one
    return [
        one
        if one.format is not LogFormat.AIDE or best[one.path.parent] == one
        else Found(one.path, None, f"the same run as {best[one.path.parent].path.name}")
        for one in found
    ]


def read_runs(path: Path, name: LogFormat) -> list[ForeignRun]:
    """Every run of one file. UnreadableLog when the file is not what its format says."""
    try:
        return FORMATS[name].read(path)
    except UnreadableLog:
        raise
    except _DAMAGE as error:
        what = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        raise UnreadableLog(f"{path}: does not have the shape of {FORMATS[name].title} ({what}).") from error
