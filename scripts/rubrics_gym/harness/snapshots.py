"""The work folder as it was before a command that did not run, kept so that the command can be run later: contents by their hash, once each."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

from rubrics_gym.harness.artifacts import is_kept
from rubrics_gym.harness.world import regular_files
from rubrics_gym.records.archives import read_archive, write_archive
from rubrics_gym.records.base import canonical_json

MAX_BYTES = 150_000_000  # of all contents of one attempt
MAX_FILES = 8_000


class SnapshotMissing(ValueError):
    """A snapshot that its archive does not hold; the message names both."""


class Snapshots:
    """Takes snapshots of one work folder. What the harness leaves out of artifacts (data, caches, odd names) is left out here."""

    def __init__(self, work: Path, folder: Path):
        self._work = work
        self._folder = folder
        self._known: dict[str, tuple[tuple[int, int, int], str]] = {}  # path -> (mark, sha256)
        self._bytes = 0
        self._files = 0
        (folder / "blobs").mkdir(parents=True, exist_ok=True)
        (folder / "trees").mkdir(exist_ok=True)

    def take(self) -> str | None:
        """The id (sha256) of a snapshot of the folder as it is now; None when the attempt's snapshots would pass their limit."""
        tree: dict[str, str] = {}
        for path, status in regular_files(self._work):
            if is_kept(path):
                mark = (status.st_size, status.st_mtime_ns, status.st_ino)
                known = self._known.get(path)
                digest = known[1] if known and known[0] == mark else self._keep(self._work / path, status.st_size)
                if digest is None:
                    return None
                self._known[path] = (mark, digest)
                tree[path] = digest
        text = canonical_json(tree)
        digest = hashlib.sha256(text.encode()).hexdigest()
        (self._folder / "trees" / f"{digest}.json").write_text(text, encoding="utf-8")
        return digest

    def write(self, archive: Path) -> None:
        """Pack every snapshot, reproducibly."""
        write_archive(archive, {path: self._folder / path for path, _ in regular_files(self._folder)})

    def _keep(self, path: Path, size: int) -> str | None:
        if self._bytes + size > MAX_BYTES or self._files >= MAX_FILES:
            return None
        with open(path, "rb") as content:
            digest = hashlib.file_digest(content, "sha256").hexdigest()
        blob = self._folder / "blobs" / digest
        if not blob.exists():
            shutil.copyfile(path, blob)
            self._bytes += size
            self._files += 1
        return digest


def restore(contents: dict[str, bytes], snapshot: str, folder: Path, source: str) -> None:
    """Write the files of a snapshot below `folder`. `contents` is the archive as `read_contents` gives it, `source` its name for messages."""
    tree = contents.get(f"trees/{snapshot}.json")
    if tree is None:
        raise SnapshotMissing(
            f"{source}: it does not hold the snapshot {snapshot[:12]} that the trajectory names. Run the episode's job again."
        )
    for path, digest in json.loads(tree).items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(contents[f"blobs/{digest}"])
        if path.startswith(".local/bin/"):
            target.chmod(0o755)


def read_contents(archive: str | Path) -> dict[str, bytes]:
    """Every member of an archive of snapshots. A name in it cannot lead out of a folder: the archive is refused (UnsafeArchive)."""
    return read_archive(archive)
