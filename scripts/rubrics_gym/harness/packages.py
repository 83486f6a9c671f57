"""Which installed packages the agent finds: the allowed ones with what they need, and without the tables that they carry."""

from __future__ import annotations

import csv
import functools
import re
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

_REQUIREMENT = re.compile(r"^Requires-Dist: *([A-Za-z0-9._-]+)([^\n]*)$", re.MULTILINE)
_TABLE = re.compile(r"\.(csv|tsv|json|arff|parquet|dta|npz|npy|pkl|dat|txt)(\.(gz|bz2|xz|zip))?$")


class Exposed(NamedTuple):
    """What of the running environment is bound into the sandbox."""

    versions: dict[str, str]  # canonical name -> version
    paths: tuple[Path, ...]  # packages, single modules, shared libraries and metadata, one by one
    masked: tuple[str, ...]  # folders below those paths that hold tables, relative to site-packages


def canonical_name(name: str) -> str:
    """A distribution's name as package indexes compare it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


@functools.cache
def exposed(names: tuple[str, ...]) -> Exposed:
    """The distributions `names` and everything they need, from the environment that this process runs in.

    Tables below a folder called `datasets` are masked: the packaged tasks are made from such tables, so an agent that could read them
    could read the answers. An allowed package that is not installed, or that keeps no list of its files, is an error.
    """
    versions: dict[str, str] = {}
    paths: set[Path] = set()
    masked: set[str] = set()
    waiting = [canonical_name(name) for name in names]
    while waiting:
        name = waiting.pop()
        if name in versions:
            continue
        distribution = _distribution(name)
        versions[name] = distribution.version
        files = _recorded_files(distribution, name)
        paths |= {Path(str(distribution.locate_file(top))) for top in {file.split("/")[0] for file in files} if _is_importable(top)}
        masked |= {folder for file in files if (folder := _table_folder(file))}
        waiting += _needs(distribution)
    return Exposed(dict(sorted(versions.items())), tuple(sorted(path for path in paths if path.exists())), tuple(sorted(masked)))


def _distribution(name: str) -> metadata.Distribution:
    try:
        return metadata.distribution(name)
    except metadata.PackageNotFoundError:
        raise ValueError(
            f"sandbox.packages: {name} is not installed in this environment. Install it, or take it from the list in the configuration."
        ) from None


def _recorded_files(distribution: metadata.Distribution, name: str) -> list[str]:
    """Paths relative to site-packages. Read as text: `distribution.files` takes a second for thousands of files."""
    record = distribution.read_text("RECORD")
    if not record:
        raise ValueError(
            f"sandbox.packages: {name} keeps no list of its files (RECORD), so it cannot be shown alone. Install it from a wheel."
        )
    return [row[0] for row in csv.reader(record.splitlines()) if row]


def _needs(distribution: metadata.Distribution) -> list[str]:
    """Required distributions that are here; what an extra or another system would need is left out. Read as text, which is fifty times faster
    than parsing every requirement and its marker: a requirement that does not apply to this system is not installed."""
    text = distribution.read_text("METADATA") or ""
    found = [canonical_name(name) for name, marker in _REQUIREMENT.findall(text.split("\n\n", 1)[0]) if "extra" not in marker]
    return [name for name in found if any(metadata.Distribution.discover(name=name))]


def _is_importable(top: str) -> bool:
    return top not in {"", "..", "__pycache__"} and not top.endswith(".pth")


def _table_folder(file: str) -> str | None:
    """The folder to mask because of this file: the first `data` below `datasets`, else the file's own folder; None for other files."""
    *folders, name = file.split("/")
    if "datasets" not in folders or not _TABLE.search(name):
        return None
    start = folders.index("datasets")
    end = folders.index("data", start) + 1 if "data" in folders[start:] else len(folders)
    return "/".join(folders[:end])
