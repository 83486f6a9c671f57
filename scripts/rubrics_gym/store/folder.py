"""A store in a folder of this machine: files, kernel locks, and every byte on disk before a promise is made."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from rubrics_gym.records.files import whole_file
from rubrics_gym.store.durable import AppendOnly, make_folder, sync_folder
from rubrics_gym.store.leases import FileLease, holder
from rubrics_gym.store.storage import PATIENCE_S, Lease


class Folder:
    """The operations of store.storage.Storage on a folder."""

    def __init__(self, root: Path):
        self.root = root

    def where(self, name: str) -> str:
        return str(self.root / name)

    def exists(self, name: str) -> bool:
        return (self.root / name).exists()

    def read(self, name: str) -> bytes:
        return (self.root / name).read_bytes()

    def write(self, name: str, content: bytes, *, durable: bool = True) -> None:
        path = self.root / name
        if not durable:
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary = path.with_name(f".{path.name}.{os.getpid()}")
            temporary.write_bytes(content)
            temporary.replace(path)
            return
        make_folder(path.parent)
        with whole_file(path) as temporary:
            temporary.write_bytes(content)
        sync_folder(path.parent)

    def remove(self, name: str) -> None:
        (self.root / name).unlink(missing_ok=True)

    def names(self, under: str) -> list[str]:
        try:
            return sorted(entry.name for entry in os.scandir(self.root / under) if entry.is_file() and not entry.name.startswith("."))
        except FileNotFoundError:
            return []

    def lease(self, name: str, what: str, patience_s: float = PATIENCE_S) -> Lease:
        return FileLease(self.root / name, what, patience_s)

    def holder(self, name: str) -> dict[str, Any] | None:
        return holder(self.root / name)

    def log(self, name: str, lease: Lease) -> AppendOnly:
        return AppendOnly(self.root / name)

    def read_log(self, name: str) -> str | None:
        try:
            return (self.root / name).read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return None

    def logs(self, under: str) -> Iterator[str]:
        for path, folders, names in os.walk(self.root / under):
            folders.sort()
            yield from (self._name(Path(path, name)) for name in sorted(names) if name.endswith(".jsonl"))

    def folders_with(self, under: str, file: str) -> Iterator[str]:
        for path, folders, names in os.walk(self.root / under):
            folders.sort()
            if file in names:
                folders.clear()
                yield self._name(Path(path))

    def workplace(self, name: str) -> Path:
        make_folder(self.root / name)
        return self.root / name

    def keep(self, name: str, folder: Path, files: Iterable[str]) -> None:
        paths = [folder / file for file in files]
        for path in paths:
            with open(path, "rb") as written:
                os.fsync(written.fileno())
        for parent in {path.parent for path in paths}:
            sync_folder(parent)

    def fetch(self, name: str) -> Path:
        return self.root / name

    def _name(self, path: Path) -> str:
        return path.relative_to(self.root).as_posix()
