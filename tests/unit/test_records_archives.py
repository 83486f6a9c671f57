"""Archives are the same bytes for the same content, and unpacking writes nothing that it should not."""

import io
import os
import tarfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rubrics_gym.records.archives import UnsafeArchive, read_archive, unpack_archive, write_archive

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
