"""Tar archives that are the same bytes whenever their content is the same, and unpacking that trusts nobody.

Names are sorted (those at the top before those in folders), times and owners are fixed and the gzip header carries no time or name, as for
reproducible builds (https://reproducible-builds.org/docs/archives/).
"""

from __future__ import annotations

import gzip
import shutil
import tarfile
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import IO

from rubrics_gym.records.files import whole_file

MAX_BYTES = 200_000_000  # unpacked, in all
MAX_MEMBERS = 10_000
MAX_HEADER_BYTES = 1_000_000  # of a header that only carries a long name or the like; it is read into memory
BLOCK = 1 << 20


class UnsafeArchive(ValueError):
    """An archive that is damaged, or that would write where it must not; the message names the archive and the member."""


class _Header(tarfile.TarInfo):
    """A header whose extension cannot fill the memory."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> _Header:
        header = super().frombuf(buf, encoding, errors)
        if header.type in EXTENSIONS and header.size > MAX_HEADER_BYTES:
            raise tarfile.ReadError(f"a header of {header.size:,} bytes")
        return header


EXTENSIONS = (tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK)


def write_archive(
    path: str | Path, members: Mapping[str, Path | bytes], max_bytes: int = MAX_BYTES, max_members: int = MAX_MEMBERS
) -> None:
    """Write a reproducible .tar.gz; `members` maps the name in the archive to its bytes or to the file that holds them.

    Every member is a plain file of mode 0644; files are copied in blocks, never held in memory. What `unpack_archive` would refuse under the
    same limits (a name, the number of members, their size) raises UnsafeArchive, and nothing is written.
    """
    if len(members) > max_members:
        raise UnsafeArchive(f"{path}: {len(members):,} members; at most {max_members:,} fit in this archive")
    left = max_bytes
    with (
        whole_file(path) as temporary,
        open(temporary, "wb") as raw,
        # a fixed level, because the default may change; zlib itself is the one dependence that is left
        gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0, compresslevel=6) as compressed,
        tarfile.open(fileobj=compressed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for name in sorted(members, key=lambda name: ("/" in name, name)):
            _check_name(path, name)
            with _content(members[name]) as (size, content):
                left -= size
                if left < 0:
                    raise UnsafeArchive(f"{path}: more than {max_bytes:,} bytes do not fit in this archive")
                info = tarfile.TarInfo(name)
                info.size = size
                info.mode = 0o644
                archive.addfile(info, content)


def unpack_archive(path: str | Path, folder: str | Path, max_bytes: int = MAX_BYTES, max_members: int = MAX_MEMBERS) -> list[str]:
    """Unpack into `folder` (made when missing) and return the sorted names. Nothing is written there unless the whole archive is acceptable.

    Refused with UnsafeArchive: absolute names, `..`, links, devices, sparse files, names that occur twice or use a file as a folder, more than
    `max_members` members, more than `max_bytes` bytes in all (by the headers, before a byte of a member is read). Members are written in blocks
    to a folder beside `folder` and moved when the last one is good.
    """
    target = Path(folder)
    target.parent.mkdir(parents=True, exist_ok=True)
    names = []
    with tempfile.TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent) as beside, _readable(path):
        for name, content in _contents(path, max_bytes, max_members):
            place = Path(beside, name)
            place.parent.mkdir(parents=True, exist_ok=True)
            with open(place, "wb") as written:
                shutil.copyfileobj(content, written, BLOCK)
            names.append(name)
        target.mkdir(parents=True, exist_ok=True)
        for name in names:
            place = target / name
            place.parent.mkdir(parents=True, exist_ok=True)
            Path(beside, name).replace(place)
    return sorted(names)


def read_archive(path: str | Path, max_bytes: int = MAX_BYTES, max_members: int = MAX_MEMBERS) -> dict[str, bytes]:
    """Read a .tar.gz into memory under the same rules as `unpack_archive`: name -> bytes."""
    return dict(iter_archive(path, max_bytes, max_members))


def iter_archive(path: str | Path, max_bytes: int = MAX_BYTES, max_members: int = MAX_MEMBERS) -> Iterator[tuple[str, bytes]]:
    """Name and bytes of every file under the same rules, one after the other, so that a large archive is never in memory whole."""
    with _readable(path):
        for name, content in _contents(path, max_bytes, max_members):
            yield name, content.read()


def read_member(path: str | Path, wanted: str, max_bytes: int = MAX_BYTES) -> bytes | None:
    """The content of one member, under the same rules for the members up to it; None when it is not there."""
    with _readable(path):
        for name, content in _contents(path, max_bytes, MAX_MEMBERS):
            if name == wanted:
                return content.read()
    return None


def _contents(path: str | Path, max_bytes: int, max_members: int) -> Iterator[tuple[str, IO[bytes]]]:
    """Name and content of each plain file, in the order of the archive; the content is to be read before the next one is asked for."""
    seen: set[str] = set()
    folders: set[str] = set()
    left = max_bytes
    with tarfile.open(path, mode="r|gz", tarinfo=_Header) as archive:
        for number, member in enumerate(archive, 1):
            if number > max_members:
                raise UnsafeArchive(f"{path}: more than {max_members:,} members")
            _check_member(path, member)
            if member.isdir():
                continue
            _check_place(path, member.name, seen, folders)
            left -= member.size
            if left < 0:
                raise UnsafeArchive(f"{path}: more than {max_bytes:,} bytes when unpacked")
            stream = archive.extractfile(member)
            if stream is not None:  # a plain file has a content
                yield member.name, stream
            archive.members.clear()  # type: ignore[attr-defined]  # it remembers every header that it reads


@contextmanager
def _readable(path: str | Path) -> Iterator[None]:
    """Say in our words what is wrong with an archive that cannot be read."""
    try:
        yield
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile, RecursionError) as error:
        raise UnsafeArchive(f"{path}: not a readable .tar.gz ({error}). Build the archive again.") from None


def _check_member(path: str | Path, member: tarfile.TarInfo) -> None:
    if member.issparse():
        raise UnsafeArchive(f"{path}: {member.name!r} is a sparse file; only plain files are unpacked")
    if not (member.isreg() or member.isdir()):
        raise UnsafeArchive(f"{path}: {member.name!r} is a link or a device; only plain files are unpacked")
    _check_name(path, member.name)


def _check_place(path: str | Path, name: str, seen: set[str], folders: set[str]) -> None:
    """Refuse a name that was there before, or that makes one name a file and a folder. Adds it to what was seen."""
    parents = [str(parent) for parent in PurePosixPath(name).parents][:-1]
    if name in seen:
        raise UnsafeArchive(f"{path}: {name!r} occurs twice")
    blocked = name if name in folders else next((parent for parent in parents if parent in seen), None)
    if blocked:
        raise UnsafeArchive(f"{path}: {blocked!r} is both a file and a folder")
    seen.add(name)
    folders.update(parents)


def _check_name(path: str | Path, name: str) -> None:
    parts = name.split("/")
    if name in {"", "."} or name.startswith("/") or ".." in parts or "\\" in name or "\0" in name or name != str(PurePosixPath(name)):
        raise UnsafeArchive(f"{path}: {name!r} does not stay inside the folder that it is unpacked to")
    if len(name.encode(errors="replace")) > 4000 or any(len(part.encode(errors="replace")) > 255 for part in parts):
        raise UnsafeArchive(f"{path}: the name {name[:60]!r}… is longer than a file name may be")


@contextmanager
def _content(member: Path | bytes) -> Iterator[tuple[int, IO[bytes]]]:
    """Size in bytes and content of a member to be written."""
    if isinstance(member, bytes):
        yield len(member), BytesIO(member)
        return
    with open(member, "rb") as content:
        yield member.stat().st_size, content
