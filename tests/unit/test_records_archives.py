"""Archives are the same bytes for the same content, and unpacking writes nothing that it should not."""

import gzip
import io
import os
import subprocess
import tarfile
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rubrics_gym.records import archives
from rubrics_gym.records.archives import UnsafeArchive, read_archive, read_member, unpack_archive, write_archive

NAMES = st.lists(st.from_regex(r"[a-z]{1,8}", fullmatch=True), min_size=1, max_size=3).map("/".join)


def raw_archive(path, *members):
    """Write an archive as an attacker would: TarInfo objects with content, without any check."""
    with tarfile.open(path, "w:gz") as archive:
        for info, content in members:
            archive.addfile(info, io.BytesIO(content))
    return path


def member(name, content=b"x", kind=tarfile.REGTYPE, link=""):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    info.size = len(content) if kind == tarfile.REGTYPE else 0
    return info, content if kind == tarfile.REGTYPE else b""


def test_bytes_do_not_depend_on_order_times_or_modes(tmp_path):
    one, other = tmp_path / "one.txt", tmp_path / "other.txt"
    for file in (one, other):
        file.write_text("same")
    os.utime(other, (1, 1))
    other.chmod(0o755)
    write_archive(tmp_path / "first.tar.gz", {"b": one, "a": b"\x00"})
    write_archive(tmp_path / "second.tar.gz", {"a": b"\x00", "b": other})
    assert (tmp_path / "first.tar.gz").read_bytes() == (tmp_path / "second.tar.gz").read_bytes()


@settings(max_examples=25, deadline=None)  # every example writes to the disk
@given(st.dictionaries(NAMES, st.binary(max_size=50), max_size=5))
def test_what_is_written_is_read_back(tmp_path_factory, members):
    folder = tmp_path_factory.mktemp("archive")
    nested = any(name != other and other.startswith(name + "/") for name in members for other in members)
    write_archive(folder / "a.tar.gz", members)
    if nested:
        with pytest.raises(UnsafeArchive, match="both a file and a folder"):
            read_archive(folder / "a.tar.gz")
    else:
        assert read_archive(folder / "a.tar.gz") == members
        assert unpack_archive(folder / "a.tar.gz", folder / "out") == sorted(members)
        assert all((folder / "out" / name).read_bytes() == content for name, content in members.items())


@pytest.mark.parametrize("name", ["/etc/passwd", "../up", "a/../../up", "./a", "a//b", "a\\b", ""])
def test_names_that_leave_the_folder_are_neither_written_nor_unpacked(tmp_path, name):
    with pytest.raises(UnsafeArchive, match="stay inside"):
        write_archive(tmp_path / "own.tar.gz", {name: b"x"})
    assert not (tmp_path / "own.tar.gz").exists()


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (member("/etc/passwd"), "stay inside"),
        (member("../up"), "stay inside"),
        (member("link", kind=tarfile.SYMTYPE, link="/etc/passwd"), "link or a device"),
        (member("hard", kind=tarfile.LNKTYPE, link="good"), "link or a device"),
        (member("pipe", kind=tarfile.FIFOTYPE), "link or a device"),
        (member("null", kind=tarfile.CHRTYPE), "link or a device"),
        (member("good"), "occurs twice"),
        (member("good/inner"), "both a file and a folder"),
    ],
)
def test_unsafe_members_are_refused_and_nothing_is_unpacked(tmp_path, bad, why):
    archive = raw_archive(tmp_path / "bad.tar.gz", member("good"), bad)
    with pytest.raises(UnsafeArchive, match=why):
        unpack_archive(archive, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_size_and_count_have_limits(tmp_path):
    archive = raw_archive(tmp_path / "a.tar.gz", member("one", b"x" * 60), member("two", b"x" * 60))
    assert unpack_archive(archive, tmp_path / "out", max_bytes=120, max_members=2) == ["one", "two"]
    with pytest.raises(UnsafeArchive, match="more than 119 bytes"):
        read_archive(archive, max_bytes=119)
    with pytest.raises(UnsafeArchive, match="more than 1 members"):
        read_archive(archive, max_members=1)


def test_a_cut_archive_is_refused(tmp_path):
    write_archive(tmp_path / "a.tar.gz", {"a": os.urandom(5000)})
    whole = (tmp_path / "a.tar.gz").read_bytes()
    for length in (0, 10, len(whole) // 2):
        (tmp_path / "cut.tar.gz").write_bytes(whole[:length])
        with pytest.raises(UnsafeArchive, match=r"cut\.tar\.gz"):
            read_archive(tmp_path / "cut.tar.gz")


def test_what_would_not_be_unpacked_is_not_written(tmp_path):
    with pytest.raises(UnsafeArchive, match="more than 9 bytes do not fit"):
        write_archive(tmp_path / "a.tar.gz", {"a": b"x" * 5, "b": b"x" * 5}, max_bytes=9)
    with pytest.raises(UnsafeArchive, match="2 members; at most 1"):
        write_archive(tmp_path / "a.tar.gz", {"a": b"", "b": b""}, max_members=1)
    assert list(tmp_path.iterdir()) == []


def test_names_at_the_top_come_first_so_that_one_member_is_found_without_reading_the_rest(tmp_path):
    write_archive(tmp_path / "a.tar.gz", {"data/x": b"1" * 100_000, "task.json": b"{}", "about.txt": b""})
    with tarfile.open(tmp_path / "a.tar.gz") as archive:
        assert archive.getnames() == ["about.txt", "task.json", "data/x"]
    cut = tmp_path / "cut.tar.gz"
    with gzip.open(tmp_path / "a.tar.gz") as whole, gzip.open(cut, "wb") as part:
        part.write(whole.read(5_000))
    assert read_member(cut, "task.json") == b"{}"
    assert read_member(tmp_path / "a.tar.gz", "nothing") is None


def sparse_archive(tmp_path, *options):
    """A 10 GB file without content, packed by GNU tar."""
    with open(tmp_path / "huge", "wb") as huge:
        huge.truncate(10_000_000_000)
    subprocess.run(["tar", "--create", "--gzip", *options, "-C", tmp_path, "-f", tmp_path / "huge.tar.gz", "huge"], check=True)
    return tmp_path / "huge.tar.gz"


@pytest.mark.parametrize("form", ["gnu", "pax"])
def test_a_sparse_file_is_refused_whatever_its_size(tmp_path, form):
    archive = sparse_archive(tmp_path, "--sparse", f"--format={form}")
    with pytest.raises(UnsafeArchive, match="sparse file"):
        unpack_archive(archive, tmp_path / "out", max_bytes=10**12)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["huge", "huge.tar.gz"]


def test_a_header_that_claims_ten_gigabytes_is_refused_before_its_content_is_read(tmp_path):
    info, _ = member("huge")
    info.size = 10_000_000_000
    with gzip.open(tmp_path / "a.tar.gz", "wb") as archive:
        archive.write(info.tobuf() + b"\0" * 10_000)
    with pytest.raises(UnsafeArchive, match="more than 200,000,000 bytes"):
        unpack_archive(tmp_path / "a.tar.gz", tmp_path / "out")


def test_two_hundred_thousand_entries_are_refused_in_little_memory(tmp_path):
    header = bytearray(member("x0000000", b"")[0].tobuf())
    header[148:156] = b" " * 8  # the checksum is taken as if it were blank
    blank = sum(header)
    with gzip.open(tmp_path / "many.tar.gz", "wb", compresslevel=1) as archive:
        for number in range(200_000):
            name = f"x{number:07d}".encode()
            header[0:8] = name
            header[148:156] = f"{blank + sum(name) - sum(b'x0000000'):06o}".encode() + b"\0 "
            archive.write(header)
        archive.write(b"\0" * 1024)
    tracemalloc.start()
    with pytest.raises(UnsafeArchive, match="more than 10,000 members"):
        unpack_archive(tmp_path / "many.tar.gz", tmp_path / "out")
    assert tracemalloc.get_traced_memory()[1] < 20_000_000
    tracemalloc.stop()
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME])
def test_a_header_extension_cannot_fill_the_memory(tmp_path, kind):
    info = tarfile.TarInfo("long")
    info.type, info.size = kind, 3_000_000_000
    with gzip.open(tmp_path / "a.tar.gz", "wb") as archive:
        archive.write(info.tobuf() + b"\0" * 5_000_000)
    with pytest.raises(UnsafeArchive, match=r"a header of 3,000,000,000 bytes"):
        read_archive(tmp_path / "a.tar.gz")


def test_files_are_packed_and_unpacked_in_blocks(tmp_path):
    (tmp_path / "big").write_bytes(os.urandom(25_000_000))
    tracemalloc.start()
    write_archive(tmp_path / "a.tar.gz", {"big": tmp_path / "big"})
    assert unpack_archive(tmp_path / "a.tar.gz", tmp_path / "out") == ["big"]
    assert tracemalloc.get_traced_memory()[1] < 10 * archives.BLOCK
    tracemalloc.stop()
    assert (tmp_path / "out" / "big").stat().st_size == 25_000_000


def test_a_name_that_no_file_system_takes_is_refused(tmp_path):
    with pytest.raises(UnsafeArchive, match="longer than a file name may be"):
        write_archive(tmp_path / "a.tar.gz", {"ä" * 200: b""})
