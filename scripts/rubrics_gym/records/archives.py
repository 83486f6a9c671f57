"""Tar archives that are the same bytes whenever their content is the same, and unpacking that trusts nobody.

Names are sorted, times and owners are fixed and the gzip header carries no time or name, as for reproducible builds
(https://reproducible-builds.org/docs/archives/).
"""

from __future__ import annotations

import gzip
import io
import tarfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

from rubrics_gym.records.files import whole_file

MAX_BYTES = 200_000_000
MAX_MEMBERS = 10_000


class UnsafeArchive(ValueError):
    """An archive that is damaged, or that would write where it must not; the message names the archive and the member."""


def write_archive(path: str | Path, members: Mapping[str, Path | bytes]) -> None:
    """Write a reproducible .tar.gz; `members` maps the name in the archive to its bytes or to the file that holds them.

    Every member is a plain file of mode 0644. A name that `unpack_archive` would refuse raises UnsafeArchive.
    """
    with (
        whole_file(path) as temporary,
        open(temporary, "wb") as raw,
        # a fixed level, because the default may change; zlib itself is the one dependence that is left
        gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0, compresslevel=6) as compressed,
        tarfile.open(fileobj=compressed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for name in sorted(members):
            _check_name(path, name)
            content = members[name]
            data = content if isinstance(content, bytes) else content.read_bytes()
            info = tarfile.TarInfo(name)
            info.size = len(data)
            info.mode = 0o644
            archive.addfile(info, io.BytesIO(data))


def unpack_archive(path: str | Path, folder: str | Path, max_bytes: int = MAX_BYTES, max_members: int = MAX_MEMBERS) -> list[str]:
    """Unpack into `folder` (made when missing) and return the sorted names. Nothing is written unless the whole archive is acceptable.

    Refused with UnsafeArchive: absolute names, `..`, links, devices, names that occur twice or use a file as a folder, more than
    `max_members` members, more than `max_bytes` bytes in all (counted while reading, so a lying header or a bomb does not help).
    """
    contents = read_archive(path, max_bytes, max_members)
    for name, data in contents.items():
        target = Path(folder) / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    Path(folder).mkdir(parents=True, exist_ok=True)
    return sorted(contents)


def read_archive(path: str | Path, max_bytes: int = MAX_BYTES, max_members: int = MAX_MEMBERS) -> dict[str, bytes]:
    """Read a .tar.gz into memory under the same rules as `unpack_archive`: name -> bytes."""
    contents = dict(iter_archive(path, max_bytes, max_members))
    for name in contents:
        blocked = next((str(parent) for parent in PurePosixPath(name).parents if str(parent) in contents), None)
        if blocked:
            raise UnsafeArchive(f"{path}: {blocked!r} is both a file and a folder")
    return contents


def iter_archive(path: str | Path, max_bytes: int = MAX_BYTES, max_members: int = MAX_MEMBERS) -> Iterator[tuple[str, bytes]]:
    """Name and bytes of every file of a .tar.gz, one after the other, so that a large archive is never in memory whole.

    Refuses what `unpack_archive` refuses when it comes to it, but for a file that is also used as a folder.
    """
    seen: set[str] = set()
    left = max_bytes
    try:
        with tarfile.open(path, mode="r|gz") as archive:
            for number, member in enumerate(_members(path, archive), 1):
                if number > max_members:
                    raise UnsafeArchive(f"{path}: more than {max_members} members")
                if member.isdir():
                    continue
                if member.name in seen:
                    raise UnsafeArchive(f"{path}: {member.name!r} occurs twice")
                if member.size > left:
                    raise UnsafeArchive(f"{path}: more than {max_bytes} bytes when unpacked")
                stream = archive.extractfile(member)
                data = stream.read(left + 1) if stream else b""
                if len(data) != member.size:
                    raise UnsafeArchive(f"{path}: {member.name!r} is cut. Build the archive again.")
                left -= len(data)
                seen.add(member.name)
                yield member.name, data
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise UnsafeArchive(f"{path}: not a readable .tar.gz ({error}). Build the archive again.") from None


def _members(path: str | Path, archive: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    for member in archive:
        if not (member.isreg() or member.isdir()):
            raise UnsafeArchive(f"{path}: {member.name!r} is a link or a device; only plain files are unpacked")
        _check_name(path, member.name)
        yield member


def _check_name(path: str | Path, name: str) -> None:
    parts = name.split("/")
    if name in {"", "."} or name.startswith("/") or ".." in parts or "\\" in name or "\0" in name or name != str(PurePosixPath(name)):
        raise UnsafeArchive(f"{path}: {name!r} does not stay inside the folder that it is unpacked to")
