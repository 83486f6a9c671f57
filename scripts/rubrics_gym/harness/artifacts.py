"""What an attempt leaves besides its record: the agent's files, what it installed, and the full outputs of its commands."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from rubrics_gym.harness.world import is_work, regular_files
from rubrics_gym.records.archives import MAX_BYTES, MAX_MEMBERS, unpack_archive, write_archive

HARNESS_FOLDER = ".harness"  # of the archive; everything else in it is the agent's, at its path in the work folder
_BYTES = MAX_BYTES // 2
_MEMBERS = MAX_MEMBERS - 1000


def write_artifacts(path: Path, work: Path, outputs: Path | None = None) -> None:
    """Pack a work folder, reproducibly. Only regular files, never links; the agent's own work first, then what it installed.

    What does not fit (100 MB, 9,000 files) is left out and listed in `.harness/left_out.txt`.
    """
    files = {name: work / name for name, _ in regular_files(work) if is_kept(name)}
    names = sorted(files, key=lambda name: (not is_work(name), name))
    kept: dict[str, Path | bytes] = {}
    left_out, total = [], 0
    for name in names:
        size = files[name].stat().st_size
        if len(kept) < _MEMBERS and total + size <= _BYTES:
            kept[name] = files[name]
            total += size
        else:
            left_out.append(f"{name} ({size} bytes)")
    if outputs is not None:
        kept |= {f"{HARNESS_FOLDER}/outputs/{name}": outputs / name for name, _ in regular_files(outputs)}
    if left_out:
        kept[f"{HARNESS_FOLDER}/left_out.txt"] = ("\n".join(left_out) + "\n").encode()
    write_archive(path, kept)


def unpack_work(path: Path, work: Path, without: str | None) -> None:
    """Unpack the agent's files and installs into a clean work folder, without one file (None: all of them)."""
    unpack_archive(path, work)
    for name in [name for name, _ in regular_files(work)]:
        if name == without or PurePosixPath(name).parts[0] == HARNESS_FOLDER:
            (work / name).unlink()
        elif name.startswith(".local/bin/"):
            (work / name).chmod(0o755)


def is_kept(name: str) -> bool:
    """Whether a file of the work folder is kept: not the data, not a cache, not the harness's own, and of a name that an archive takes."""
    parts = PurePosixPath(name).parts
    odd = "\\" in name or not name.isprintable()  # names that no archive takes
    return not odd and parts[0] not in {"data", ".cache", HARNESS_FOLDER} and "__pycache__" not in parts
