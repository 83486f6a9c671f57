"""Sources: read only when they are what the pinned commit holds, complete before anything starts, and never trusted."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from rubrics_gym.records.tasks import TaskKind
from rubrics_gym.tasks import sources
from rubrics_gym.tasks.catalog import Benchmark, CatalogError, Entry, Source, benchmark_names, load_benchmark
from rubrics_gym.tasks.fetching import clone, fetch
from rubrics_gym.tasks.sources import (
    SourceFiles,
    SourceProblem,
    check_complete,
    known_hashes,
    look_through,
    place_of,
    receipt_of,
    write_receipt,
)

COMMIT = "0123456789" * 4


def blob(content: bytes) -> str:
    return hashlib.sha1(f"blob {len(content)}\0".encode() + content).hexdigest()


def entry(task: str, **more: str) -> Entry:
    return Entry(id=task, kind=TaskKind.QUESTION, role="train", title=task, **more)


def benchmark(*entries: Entry, needs: tuple[str, ...] = ("all.json", "tables/{id}.csv"), **source: str) -> Benchmark:
    source = {"repository": "https://example.org/owner/name.git", "commit": COMMIT, "by_hand": "Ask Ann.", **source}
    return Benchmark(name="shop", entries=entries, splits={}, needs=needs, source=Source(**source))


FILES = {"all.json": b'{"a": 1}', "tables/a.csv": b"x\n1\n", "tables/b.csv": b"x\n2\n"}


@pytest.fixture
def source(tmp_path: Path) -> SourceFiles:
    for name, content in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    return SourceFiles(benchmark(entry("a"), entry("b")), tmp_path, {name: blob(content) for name, content in FILES.items()})


def accepted(source: SourceFiles, task: Entry) -> None:
    """A loader that has nothing against a task."""


# ---------------------------------------------------------------- reading


def test_files_of_the_pinned_commit_are_read(source: SourceFiles) -> None:
    assert source.json("all.json") == {"a": 1}
    assert source.below("tables/") == ["tables/a.csv", "tables/b.csv"]
    assert source.below("nowhere/") == []


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "tables/../../secret", "", "a\0b"])
def test_no_path_leaves_the_source(source: SourceFiles, name: str) -> None:
    with pytest.raises(SourceProblem, match="does not stay inside"):
        source.path(name)


def test_a_file_with_another_content_is_refused_and_git_and_lfs_hashes_are_known(source: SourceFiles) -> None:
    source.hashes["all.json"] = hashlib.sha256(FILES["all.json"]).hexdigest()  # as of a Git LFS file
    assert source.path("all.json")
    (source.folder / "all.json").write_bytes(b"{}")
    (source.folder / "tables" / "a.csv").write_bytes(b"x\n1 \n")
    for name in ("all.json", "tables/a.csv"):
        with pytest.raises(SourceProblem, match=rf"{name}' is not the file of commit 012345678901.*make source NAME=shop"):
            source.path(name)


def test_links_and_pipes_and_pointers_are_refused(source: SourceFiles, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "secret.csv").write_text("s\n")
    (source.folder / "tables" / "link.csv").symlink_to(outside / "secret.csv")
    (source.folder / "elsewhere").symlink_to(outside)
    os.mkfifo(source.folder / "pipe")
    (source.folder / "big.bin").write_bytes(sources.LFS_POINTER + b"oid sha256:00\nsize 5\n")
    for name, says in {
        "tables/link.csv": "no plain file",
        "elsewhere/secret.csv": "behind a link",
        "pipe": "no plain file",
        "big.bin": "Git LFS pointer.*git lfs pull",
        "tables/none.csv": "is missing",
    }.items():
        with pytest.raises(SourceProblem, match=says):
            source.path(name)
    with pytest.raises(SourceProblem, match="a link or a device"):
        source.below("tables/")


def test_the_folder_itself_may_be_a_link_to_a_clone(source: SourceFiles, tmp_path_factory: pytest.TempPathFactory) -> None:
    link = tmp_path_factory.mktemp("sources") / "shop"
    link.symlink_to(source.folder)
    assert SourceFiles(source.benchmark, link, source.hashes).json("all.json") == {"a": 1}


def test_sizes_counts_and_encodings_have_limits(source: SourceFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    (source.folder / "latin.txt").write_bytes("Käse".encode("latin-1"))
    with pytest.raises(SourceProblem, match=r"latin\.txt' is not UTF-8"):
        source.text("latin.txt")
    (source.folder / "broken.json").write_text("{")
    with pytest.raises(SourceProblem, match=r"broken\.json' is not valid JSON"):
        source.json("broken.json")
    monkeypatch.setattr(sources, "MAX_TEXT_BYTES", 7)
    with pytest.raises(SourceProblem, match=r"has 8 bytes; at most 7"):
        source.read("all.json")
    monkeypatch.setattr(sources, "MAX_FILES", 1)
    with pytest.raises(SourceProblem, match="more than 1 files"):
        source.below("tables/")


def test_a_sparse_file_of_many_gigabytes_is_refused_unread(source: SourceFiles) -> None:
    with open(source.folder / "huge.csv", "wb") as huge:
        huge.truncate(30_000_000_000)
    with pytest.raises(SourceProblem, match=r"30,000,000,000 bytes; at most 20,000,000,000"):
        source.path("huge.csv")


# ---------------------------------------------------------------- looking through


def test_a_look_finds_what_is_complete_and_says_what_is_not(source: SourceFiles) -> None:
    (source.folder / "tables" / "b.csv").unlink()
    receipt = look_through(source, accepted)
    assert receipt.complete == ("a",) and receipt.files == {"all.json": 8, "tables/a.csv": 4}
    assert "tables/b.csv' is missing" in receipt.incomplete["b"] and "Ask Ann." in receipt.incomplete["b"]


def test_tasks_that_cannot_run_are_not_looked_for(source: SourceFiles) -> None:
    source.benchmark = benchmark(entry("a"), entry("c", exclude="needs a ship"))
    assert look_through(source, accepted).complete == ("a",)


def test_what_only_the_loader_finds_makes_a_task_incomplete(source: SourceFiles) -> None:
    def load(source: SourceFiles, task: Entry) -> None:
        if task.id == "b":
            raise SourceProblem("b has two left feet")

    receipt = look_through(source, load)
    assert receipt.complete == ("a",) and receipt.incomplete == {"b": "b has two left feet"}


def test_folders_that_were_prepared_by_hand_are_hashed(source: SourceFiles) -> None:
    source.benchmark = benchmark(entry("a"), entry("b"), needs=("all.json", "data/{id}/"))
    assert look_through(source, accepted).complete == ()
    (source.folder / "data" / "a").mkdir(parents=True)
    (source.folder / "data" / "a" / "train.csv").write_text("x\n")
    first = look_through(source, accepted)
    assert first.complete == ("a",) and list(first.prepared) == ["data/a/"]
    (source.folder / "data" / "a" / "train.csv").write_text("y\n")
    assert look_through(source, accepted).prepared != first.prepared


@pytest.fixture
def cached(source: SourceFiles, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> SourceFiles:
    """The source in the cache, looked through."""
    monkeypatch.setenv("RUBRICS_SOURCES", str(tmp_path_factory.mktemp("sources")))
    place_of("shop").symlink_to(source.folder)
    write_receipt(look_through(source, accepted), receipt_of("shop"))
    return source


def test_a_complete_source_passes(cached: SourceFiles) -> None:
    check_complete(cached.benchmark, ["a", "b"])


def test_a_missing_source_is_refused_with_the_command(source: SourceFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUBRICS_SOURCES", str(tmp_path / "none"))
    with pytest.raises(SourceProblem, match=r"shop is missing.*make source NAME=shop.*Ask Ann"):
        check_complete(source.benchmark, ["a"])


def test_an_incomplete_a_changed_and_a_stale_source_are_refused(cached: SourceFiles) -> None:
    (cached.folder / "tables" / "b.csv").write_bytes(b"longer than before\n")
    with pytest.raises(SourceProblem, match=r"tables/b\.csv' is not what it was"):
        check_complete(cached.benchmark, ["a", "b"])
    check_complete(cached.benchmark, ["a"])  # only what is used is asked for
    write_receipt(look_through(cached, accepted), receipt_of("shop"))
    with pytest.raises(SourceProblem, match="incomplete for 1 of 2 tasks; b: "):
        check_complete(cached.benchmark, ["a", "b"])
    with pytest.raises(SourceProblem, match="is at commit 012345678901, the task table at aaaaaaaaaaaa"):
        check_complete(cached.benchmark.model_copy(update={"source": Source(repository="x", commit="a" * 40)}), ["a"])


def test_packaged_tables_need_no_source() -> None:
    check_complete(load_benchmark("packaged"), ["gapminder-africa"])


# ---------------------------------------------------------------- fetching


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=T", "-c", "user.email=t@example.org")
    return subprocess.run(["git", *identity, "-C", str(folder), *arguments], check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def repository(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """A repository with a link and a hook in it: address, commit."""
    folder = tmp_path_factory.mktemp("upstream")
    git(folder, "init", "--quiet")
    (folder / "all.json").write_bytes(FILES["all.json"])
    (folder / "link").symlink_to("/etc/passwd")
    git(folder, "add", "-A")
    git(folder, "commit", "--quiet", "-m", "one")
    return folder.as_uri(), git(folder, "rev-parse", "HEAD")


def test_the_pinned_commit_is_fetched_and_links_are_not_followed(repository: tuple[str, str], tmp_path: Path) -> None:
    address, commit = repository
    told: list[str] = []
    fetch(benchmark(entry("a"), repository=address, commit=commit), tmp_path / "cache" / "shop", told.append)
    folder = tmp_path / "cache" / "shop"
    assert (folder / "all.json").read_bytes() == FILES["all.json"]
    assert not (folder / "link").is_symlink()
    assert [path.name for path in folder.parent.iterdir()] == ["shop"]
    (folder / "mine.txt").write_text("kept")
    fetch(benchmark(entry("a"), repository="file:///nowhere", commit=commit), folder, told.append)
    assert (folder / "mine.txt").exists() and "is there" in told[-1]


def test_a_repository_or_a_commit_that_is_not_there_leaves_nothing(repository: tuple[str, str], tmp_path: Path) -> None:
    for address, commit in (("file:///nowhere/at/all", COMMIT), (repository[0], "0" * 40)):
        with pytest.raises(SourceProblem, match="git fetch failed"):
            fetch(benchmark(entry("a"), repository=address, commit=commit), tmp_path / "shop", print)
        assert list(tmp_path.iterdir()) == []


def test_another_commit_than_the_pinned_one_is_refused(repository: tuple[str, str], tmp_path: Path) -> None:
    with pytest.raises(SourceProblem, match="asked for HEAD"):
        clone(repository[0], "HEAD", tmp_path / "shop", print)


def test_a_source_that_no_program_can_bring_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(SourceProblem, match=r"rebench cannot be fetched\. By hand: The commit is not pinned"):
        fetch(load_benchmark("rebench"), tmp_path / "rebench", print)


@pytest.mark.parametrize(("ends", "says"), [("0", ""), ("1", "mlebench prepare failed: rules were not accepted")])
def test_named_competitions_are_prepared_by_upstreams_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ends: str, says: str
) -> None:
    """A stand-in for the program, which needs an account at Kaggle: it writes what it was asked for, or fails as the real one does."""
    program = tmp_path / "bin" / "mlebench"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nmkdir -p "$5/$3/prepared"; echo rules were not accepted >&2; exit {ends}\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    folder = tmp_path / "mlebench"
    folder.mkdir()
    if says:
        with pytest.raises(SourceProblem, match=says):
            fetch(load_benchmark("mlebench"), folder, print, ["spaceship-titanic"])
    else:
        fetch(load_benchmark("mlebench"), folder, print, ["spaceship-titanic"])
        assert [path.name for path in (folder / "data").iterdir()] == ["spaceship-titanic"]
    with pytest.raises(CatalogError, match="no task 'titanic'"):
        fetch(load_benchmark("mlebench"), folder, print, ["titanic"])


def test_a_missing_program_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SourceProblem, match="`mlebench` is not on the PATH"):
        fetch(load_benchmark("mlebench"), tmp_path, print, ["spaceship-titanic"])


def test_openml_comes_through_the_owners_client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for openml-python with the calls that are made of it; its cache becomes the source."""

    class Config:
        root = ""

        def set_root_cache_directory(self, root: str) -> None:
            self.root = root

        def get_cache_directory(self) -> str:
            return f"{self.root}/org/openml/www"

    class Download:
        def get_dataset(self) -> Download:
            return self

        def get_data(self) -> None:
            (Path(config.get_cache_directory()) / "datasets").mkdir(parents=True, exist_ok=True)

    asked = []

    def get_task(task: int, download_splits: bool) -> Download:
        asked.append(task)
        return Download()

    config = Config()
    monkeypatch.setitem(sys.modules, "openml", SimpleNamespace(config=config, tasks=SimpleNamespace(get_task=get_task)))
    fetch(load_benchmark("openml"), tmp_path / "openml", print, ["3", "31"])
    assert asked == [3, 31] and (tmp_path / "openml" / "datasets").is_dir()
    assert [path.name for path in tmp_path.iterdir()] == ["openml"]


def test_without_the_client_of_openml_it_says_what_to_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openml", None)
    with pytest.raises(SourceProblem, match="pip install openml"):
        fetch(load_benchmark("openml"), tmp_path / "openml", print)
    assert list(tmp_path.iterdir()) == []


# ---------------------------------------------------------------- the tables


def test_every_file_list_belongs_to_a_pinned_commit() -> None:
    for name in benchmark_names():
        table = load_benchmark(name)
        hashes = known_hashes(name)
        assert bool(hashes) == bool(table.source.commit), name
        assert all(len(digest) in (40, 64) and set(digest) <= set("0123456789abcdef") for digest in hashes.values())
        assert not table.source.commit or len(table.source.commit) == 40
        assert table.source.data_licence or name == "packaged"


def test_what_a_task_needs_of_the_repository_is_in_the_file_list() -> None:
    for name in ("dabench", "dacode", "mlgym", "mlagentbench"):
        table, hashes = load_benchmark(name), known_hashes(name)
        for each in table.entries:
            if not each.exclude:
                for need in table.needed(each):
                    listed = need in hashes or any(path.startswith(need) for path in hashes if need.endswith("/"))
                    assert listed or need.startswith("da_code/gold/"), (name, each.id, need)


def test_no_table_holds_more_of_a_benchmark_than_ids_titles_and_figures() -> None:
    for name in benchmark_names():
        for each in load_benchmark(name).entries:
            assert len(each.title) < 160 and "\n" not in each.title
            assert len(json.dumps(each.facts)) < 600
