"""Bring a source into the cache: a pinned commit with git, or through the owner's client. What is there already is never touched."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from rubrics_gym.tasks.catalog import Benchmark, Entry
from rubrics_gym.tasks.sources import SourceProblem

TIMEOUT_S = 4 * 3600
# nothing of a source runs, and no link of it is followed, while it is checked out
CAREFUL = ("-c", "core.hooksPath=/dev/null", "-c", "core.symlinks=false", "-c", "protocol.ext.allow=never")


def fetch(benchmark: Benchmark, folder: Path, tell: Callable[[str], None], tasks: Sequence[str] = ()) -> None:
    """Bring the source of a benchmark to `folder`, unless it is there, and have the owner's client prepare the named tasks of MLE-bench.

    A source appears whole or not at all. SourceProblem says why it does not.
    """
    chosen = [benchmark.entry(task) for task in tasks]
    if folder.exists():
        tell(f"{folder} is there; it is looked through as it is")
    else:
        _bring(benchmark, folder, chosen or list(benchmark.entries), tell)
    if benchmark.source.client == "mlebench":
        for entry in chosen:
            _prepare_competition(folder, entry.id, tell)


def _bring(benchmark: Benchmark, folder: Path, entries: Sequence[Entry], tell: Callable[[str], None]) -> None:
    source = benchmark.source
    if not (source.commit or source.client == "openml"):
        raise SourceProblem(f"the source of {benchmark.name} cannot be fetched. By hand: {source.by_hand} Put it into {folder}.")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}.", dir=folder.parent) as beside:
        place = Path(beside) / "source"
        if source.repository:
            clone(source.repository, source.commit, place, tell)
        else:
            _openml(benchmark.name, entries, place, tell)
        place.replace(folder)


def clone(repository: str, commit: str, folder: Path, tell: Callable[[str], None]) -> None:
    """Check out one commit of a repository, without its history. SourceProblem shows what git said."""
    tell(f"fetching {commit} of {repository}")
    folder.mkdir()
    _git(folder, "init", "--quiet")
    _git(folder, "fetch", "--quiet", "--depth", "1", "--no-tags", repository, commit)
    _git(folder, "checkout", "--quiet", "--detach", "FETCH_HEAD")
    found = _git(folder, "rev-parse", "HEAD").strip()
    if found != commit:
        raise SourceProblem(f"{repository} gave commit {found}, asked for {commit}")


def _git(folder: Path, *arguments: str) -> str:
    return _run("git", *CAREFUL, "-C", str(folder), *arguments, what=f"git {arguments[0]}")


def _prepare_competition(folder: Path, competition: str, tell: Callable[[str], None]) -> None:
    """Upstream's own download and split, which needs an account at Kaggle that has accepted the competition's rules."""
    tell(f"preparing {competition} with mlebench")
    _run("mlebench", "prepare", "-c", competition, "--data-dir", "data", what="mlebench prepare", folder=folder)


def _run(program: str, *arguments: str, what: str, folder: Path | None = None) -> str:
    if shutil.which(program) is None:
        raise SourceProblem(f"the program `{program}` is not on the PATH, and `{what}` is needed for this source")
    try:
        run = subprocess.run(
            [program, *arguments],
            cwd=folder,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=TIMEOUT_S,
            stdin=subprocess.DEVNULL,  # whatever asks for a password or for consent is an error
        )
    except subprocess.TimeoutExpired:
        raise SourceProblem(f"{what} did not end within {TIMEOUT_S // 3600} hours. Run the same command again.") from None
    if run.returncode:
        raise SourceProblem(f"{what} failed: {' '.join(run.stderr.split())[-2000:] or f'exit code {run.returncode}'}")
    return run.stdout


def _openml(name: str, entries: Sequence[Entry], folder: Path, tell: Callable[[str], None]) -> None:
    """Download task objects, splits and data sets with openml-python, which is not part of the environment; keep its cache as it is."""
    try:
        import openml
    except ImportError:
        raise SourceProblem(
            f"the source of {name} comes through the owner's client: `pip install openml` in an environment of your own choice, run "
            f"`openml.tasks.get_task(ID, download_splits=True).get_dataset()` there for the tasks of the table, and put its cache folder "
            f"(with tasks/ and datasets/ in it) where the source belongs"
        ) from None
    root = folder.parent / "client"
    openml.config.set_root_cache_directory(str(root))
    for entry in entries:
        tell(f"openml task {entry.id} ({entry.title})")
        openml.tasks.get_task(int(entry.id), download_splits=True).get_dataset().get_data()
    Path(openml.config.get_cache_directory()).replace(folder)
