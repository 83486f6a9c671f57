"""The files of a benchmark's source, in a cache outside results/: whether they are what the pinned commit holds, and reading them.

Nothing of a source is trusted: a file is read only when it is a plain file inside the source's folder, of a bearable size, and when its content
has the hash that resources/benchmarks/NAME_files.txt gives it (files that are prepared by hand have none there).
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from rubrics_gym.records.base import Record
from rubrics_gym.records.files import read_json, write_json
from rubrics_gym.settings.places import source_folder
from rubrics_gym.tasks.catalog import RESOURCES, Benchmark, Entry

MAX_FILE_BYTES = 20_000_000_000
MAX_TEXT_BYTES = 200_000_000  # of a file that is read into memory
MAX_FILES = 2_000_000
LFS_POINTER = b"version https://git-lfs.github.com/spec/v1\n"


class SourceProblem(ValueError):
    """A source that is missing, incomplete or not what it should be; the message says what to run."""


class Receipt(Record):
    """What was found when a source was looked through; lies beside the cached source.

    `files` are those of the pinned commit with their sizes in bytes; `prepared` are the hashes of folders and files that were prepared by hand.
    """

    benchmark: str
    commit: str
    complete: tuple[str, ...]
    incomplete: dict[str, str]  # task -> what is wrong
    files: dict[str, int]
    prepared: dict[str, str]


class SourceFiles:
    """The files of one source. Every path is relative to the top of the source and uses slashes."""

    def __init__(self, benchmark: Benchmark, folder: str | Path, hashes: dict[str, str] | None = None):
        self.benchmark = benchmark
        self.folder = Path(folder).resolve()  # the folder itself may be a link to a clone that a user has
        self.hashes = known_hashes(benchmark.name) if hashes is None else hashes  # of every file that is expected

    def path(self, name: str) -> Path:
        """Where a file lies, after looking at it. SourceProblem when it is missing, no plain file, outside, too large, or of other content."""
        place = self._inside(name)
        try:
            facts = place.lstat()
        except OSError:
            raise self._problem(name, "is missing") from None
        if not stat.S_ISREG(facts.st_mode):
            raise self._problem(name, "is no plain file")
        if facts.st_size > MAX_FILE_BYTES:
            raise self._problem(name, f"has {facts.st_size:,} bytes; at most {MAX_FILE_BYTES:,} are read")
        with open(place, "rb") as content:
            pointer = content.read(len(LFS_POINTER)) == LFS_POINTER
        if pointer:
            raise self._problem(name, "is a Git LFS pointer, not the file: install git-lfs and run `git lfs pull` in the source")
        expected = self.hashes.get(name)
        if expected and _digest(place, expected, facts.st_size) != expected:
            raise self._problem(name, f"is not the file of commit {self.benchmark.source.commit[:12]}: its content has another hash")
        return place

    def read(self, name: str) -> bytes:
        """The content of a file of at most MAX_TEXT_BYTES."""
        place = self.path(name)
        if place.stat().st_size > MAX_TEXT_BYTES:
            raise self._problem(name, f"has {place.stat().st_size:,} bytes; at most {MAX_TEXT_BYTES:,} are read into memory")
        return place.read_bytes()

    def text(self, name: str) -> str:
        """The text of a UTF-8 file."""
        try:
            return self.read(name).decode("utf-8-sig")
        except UnicodeDecodeError:
            raise self._problem(name, "is not UTF-8 text") from None

    def json(self, name: str) -> Any:
        """The value of a JSON file."""
        text = self.text(name)
        try:
            return json.loads(text)
        except ValueError as error:
            raise self._problem(name, f"is not valid JSON ({error})") from None

    def json_lines(self, name: str) -> list[Any]:
        """The values of a JSON-lines file."""
        text = self.text(name)
        try:
            return [json.loads(line) for line in text.splitlines() if line.strip()]
        except ValueError as error:
            raise self._problem(name, f"is not valid JSON lines ({error})") from None

    def line_of(self, name: str, key: str) -> dict[str, Any]:
        """The line of a JSON-lines file whose `id` is `key`. SourceProblem when there is none."""
        lines = _lines_by_id(self, name)
        if key not in lines:
            raise self._problem(name, f"has no line with the id {key!r}")
        return lines[key]

    def exists(self, name: str) -> bool:
        """Whether something is there."""
        return self._inside(name).exists()

    def below(self, folder: str) -> list[str]:
        """The sorted paths of all files below a folder that ends in a slash; none when it is not there. SourceProblem for links and devices."""
        top = self._inside(folder.rstrip("/"))
        return sorted(self._walk(top, folder.rstrip("/"))) if top.is_dir() else []

    def _walk(self, top: Path, name: str) -> Iterator[str]:
        for count, entry in enumerate(_scan(top), 1):
            if count > MAX_FILES:
                raise self._problem(name, f"holds more than {MAX_FILES:,} files")
            path = Path(entry.path).relative_to(self.folder).as_posix()
            if not entry.is_file(follow_symlinks=False):
                raise self._problem(path, "is a link or a device; only plain files are read")
            yield path

    def _inside(self, name: str) -> Path:
        parts = PurePosixPath(name).parts
        if not parts or name.startswith("/") or ".." in parts or "\0" in name:
            raise self._problem(name, "does not stay inside the source")
        place = self.folder.joinpath(*parts)
        if place.parent.resolve() != place.parent:  # a folder on the way is a link
            raise self._problem(name, "lies behind a link")
        return place

    def _problem(self, name: str, what: str) -> SourceProblem:
        return SourceProblem(f"the source of {self.benchmark.name}: {name!r} {what}. {advice(self.benchmark)}")


@functools.lru_cache(maxsize=8)
def _lines_by_id(source: SourceFiles, name: str) -> dict[str, dict[str, Any]]:
    """Id -> line; kept, because every task of a benchmark asks for one line of the same few files."""
    return {str(line["id"]): line for line in source.json_lines(name)}


def part_of_source(benchmark: Benchmark, folder: str | Path) -> SourceFiles:
    """A folder that holds only some files of a source, such as a corpus for tests: what is not there is not expected, what is there is checked."""
    there = {name: digest for name, digest in known_hashes(benchmark.name).items() if (Path(folder) / name).is_file()}
    return SourceFiles(benchmark, folder, there)


def advice(benchmark: Benchmark) -> str:
    """What to run to have a source, in words."""
    by_hand = f" By hand: {benchmark.source.by_hand}" if benchmark.source.by_hand else ""
    return (
        f"Run `make source NAME={benchmark.name}`; it fetches the source, or looks through the one in {place_of(benchmark.name)}.{by_hand}"
    )


def place_of(benchmark: str) -> Path:
    """The cached source of a benchmark: a checkout, or a link to one."""
    return source_folder() / benchmark


def receipt_of(benchmark: str) -> Path:
    """Where the receipt of the last look lies."""
    return source_folder() / f"{benchmark}.json"


def open_source(benchmark: Benchmark) -> SourceFiles:
    """The cached source of a benchmark. SourceProblem when there is none."""
    folder = place_of(benchmark.name)
    if not folder.is_dir():
        raise SourceProblem(f"the source of {benchmark.name} is missing: there is no folder {folder}. {advice(benchmark)}")
    return SourceFiles(benchmark, folder)


@functools.cache
def known_hashes(benchmark: str) -> dict[str, str]:
    """Path -> hash of every file of the pinned commit that tasks are made from; see rubrics_gym.tasks.tabulation."""
    path = RESOURCES / f"{benchmark}_files.txt"
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return {name: digest for digest, name in (line.split("  ", 1) for line in lines)}


def look_through(source: SourceFiles, load: Callable[[SourceFiles, Entry], object]) -> Receipt:
    """Look at every file that a task is made from, and try to make each task. A problem makes a task incomplete; nothing is raised."""
    benchmark = source.benchmark
    seen: dict[str, str] = {}  # need -> what is wrong with it
    files: dict[str, int] = {}
    prepared: dict[str, str] = {}
    complete, incomplete = [], {}
    for entry in benchmark.entries:
        if entry.exclude:
            continue
        for need in benchmark.needed(entry):
            if need not in seen:
                seen[need] = _look(source, need, files, prepared)
        problem = next((seen[need] for need in benchmark.needed(entry) if seen[need]), "") or _try(load, source, entry)
        if problem:
            incomplete[entry.id] = problem
        else:
            complete.append(entry.id)
    return Receipt(
        benchmark=benchmark.name,
        commit=benchmark.source.commit,
        complete=tuple(complete),
        incomplete=incomplete,
        files=dict(sorted(files.items())),
        prepared=dict(sorted(prepared.items())),
    )


def _try(load: Callable[[SourceFiles, Entry], object], source: SourceFiles, entry: Entry) -> str:
    try:
        load(source, entry)
    except SourceProblem as error:
        return str(error)
    return ""


def write_receipt(receipt: Receipt, *paths: str | Path) -> None:
    """Write a receipt to each of some places."""
    for path in paths:
        write_json(path, receipt)


def check_complete(benchmark: Benchmark, tasks: Iterable[str]) -> None:
    """Refuse tasks whose files are not there, from the receipt and the sizes of the files alone. SourceProblem names the first and what to run."""
    if not (benchmark.source.repository or benchmark.source.client):
        return
    path = receipt_of(benchmark.name)
    if not path.is_file() or not place_of(benchmark.name).is_dir():
        raise SourceProblem(f"the source of {benchmark.name} is missing ({place_of(benchmark.name)}). {advice(benchmark)}")
    receipt = Receipt.model_validate(read_json(path))
    if receipt.commit != benchmark.source.commit:
        raise SourceProblem(
            f"the source of {benchmark.name} is at commit {receipt.commit[:12]}, the task table at {benchmark.source.commit[:12]}. "
            f"Move {place_of(benchmark.name)} away. {advice(benchmark)}"
        )
    chosen = [benchmark.entry(task) for task in tasks]
    lacking = [entry.id for entry in chosen if entry.id not in receipt.complete]
    if lacking:
        why = receipt.incomplete.get(lacking[0], "it was not looked at.")
        raise SourceProblem(f"the source of {benchmark.name} is incomplete for {len(lacking)} of {len(chosen)} tasks; {lacking[0]}: {why}")
    for name in _of_tasks(benchmark, chosen, receipt.files):
        file = place_of(benchmark.name) / name
        if not file.is_file() or file.stat().st_size != receipt.files[name]:
            raise SourceProblem(f"the source of {benchmark.name}: {name!r} is not what it was when it was looked at. {advice(benchmark)}")


def _of_tasks(benchmark: Benchmark, entries: list[Entry], files: Iterable[str]) -> list[str]:
    needs = {need for entry in entries for need in benchmark.needed(entry)}
    folders = tuple(need for need in needs if need.endswith("/"))
    return [name for name in files if name in needs or name.startswith(folders)]


def _look(source: SourceFiles, need: str, files: dict[str, int], prepared: dict[str, str]) -> str:
    """Look at one need; what is wrong with it, or nothing. Adds to `files` and `prepared` what is there."""
    folder = need.endswith("/")
    expected = [name for name in source.hashes if name == need or (folder and name.startswith(need))]
    try:
        for name in expected:
            files[name] = source.path(name).stat().st_size
        more = [name for name in (source.below(need) if folder else [need]) if name not in source.hashes]
        if folder and not expected and not more and not _may_be_empty(source, need):
            return f"{need} is missing or empty. {advice(source.benchmark)}"
        if more:
            prepared[need] = _content_hash(source, more)
    except SourceProblem as error:
        return str(error)
    return ""


def _may_be_empty(source: SourceFiles, need: str) -> bool:
    """A folder of the repository that the pinned commit does not have, beside siblings that it has: some tasks have no gold folder."""
    parent = need.rstrip("/").rsplit("/", 1)[0] + "/"
    return any(name.startswith(parent) for name in source.hashes)


def _content_hash(source: SourceFiles, names: list[str]) -> str:
    digest = hashlib.sha256()
    for name in names:
        place = source.path(name)
        with open(place, "rb") as content:
            digest.update(f"{name}\0{hashlib.file_digest(content, 'sha256').hexdigest()}\n".encode())
    return digest.hexdigest()


def _digest(place: Path, like: str, size: int) -> str:
    """git's hash of a file's content (40 digits), or its sha256 (64 digits), whichever `like` is."""
    digest = hashlib.sha1(usedforsecurity=False) if len(like) == 40 else hashlib.sha256()
    if len(like) == 40:
        digest.update(f"blob {size}\0".encode())
    with open(place, "rb") as content:
        while block := content.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _scan(top: Path) -> Iterator[os.DirEntry[str]]:
    """Everything below a folder that is not itself a folder; links are not followed."""
    with os.scandir(top) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _scan(Path(entry.path))
            else:
                yield entry
