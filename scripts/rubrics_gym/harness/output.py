"""What a command wrote: counted and hashed whole, kept up to a cap, shown as head and tail."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import NamedTuple

FILE_CAP = 4_000_000  # bytes of one command's output that are kept on disk
_ESCAPE = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)|[@-Z\\-_])")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


class Output(NamedTuple):
    """The output of one command. All of it is `head`, then `cut` bytes that are not kept here, then `tail`."""

    head: str  # empty when everything fits in the tail
    tail: str
    cut: int
    bytes: int
    sha256: str

    @property
    def text(self) -> str:
        """Head and tail for a reader, with the number of bytes that were cut between them."""
        return f"{self.head}\n[... {self.cut} bytes cut ...]\n{self.tail}" if self.cut else self.head + self.tail


class Collector:
    """Takes the bytes of a command as they come. Memory and disk stay bounded however much is written.

    `chars` is how many bytes of head and tail together are given out; the first FILE_CAP bytes go to `path` when there is one.
    """

    def __init__(self, chars: int, path: Path | None = None):
        self._half = chars // 2
        self._head = bytearray()
        self._tail = bytearray()
        self._hash = hashlib.sha256()
        self._total = 0
        self._file = open(path, "wb") if path else None

    def add(self, data: bytes) -> None:
        self._hash.update(data)
        if self._file and self._total < FILE_CAP:
            self._file.write(data[: FILE_CAP - self._total])
        self._total += len(data)
        room = self._half - len(self._head)
        self._head += data[:room]
        self._tail += data[room:] if room > 0 else data
        if len(self._tail) > self._half:
            del self._tail[: -self._half]

    def finish(self) -> Output:
        if self._file:
            self._file.close()
        cut = self._total - len(self._head) - len(self._tail)
        if cut:
            head, tail = readable(bytes(self._head)), readable(bytes(self._tail))
        else:
            head, tail = "", readable(bytes(self._head + self._tail))
        return Output(head, tail, cut, self._total, self._hash.hexdigest())


def readable(data: bytes) -> str:
    """Valid text without terminal control: what is not UTF-8 is replaced, and of a progress bar its last state is left."""
    text = _ESCAPE.sub("", data.decode("utf-8", "replace")).replace("\r\n", "\n")
    text = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    return _CONTROL.sub("�", text)
