"""Running other people's evaluation programs: a process of its own, with limits, an environment from an allow-list, and nothing left behind.

These programs are those of a pinned source, and what they read of an agent's is data. Programs of an agent's own never run here.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from rubrics_gym.settings.places import grading_python
from rubrics_gym.settings.process import die_with_parent

MEMORY_BYTES = 16 * 2**30  # address space
OUTPUT_BYTES = 2**30  # of any file it writes
SHOWN = 2000  # characters of its output in a message
SCRIPTS = Path(__file__).resolve().parents[2]


class ProgramFailed(RuntimeError):
    """An evaluation program ended without an answer: no environment, a time limit, an exit code. Never the agent's doing by itself."""


class Ended(Protocol):
    """How a program ended, wherever it ran. `exit_code` is None when the time limit ended it."""

    @property
    def exit_code(self) -> int | None: ...
    @property
    def stdout(self) -> str: ...
    @property
    def stderr(self) -> str: ...


@dataclass(frozen=True)
class Run:
    """How a program ended in the grading environment."""

    exit_code: int | None
    stdout: str
    stderr: str


# folder that is the working folder, command, seconds -> how it ended; the program sees the folder and nothing else of ours
SandboxRun = Callable[[Path, str, float], Ended]


def last_words(run: Ended) -> str:
    """The end of what a program printed, in one line, for a message."""
    return " ".join((run.stderr or run.stdout).split())[-SHOWN:]


def run_python(arguments: Sequence[str], folder: Path, timeout_s: float, text: str = "") -> Run:
    """Run the Python of the grading environment in `folder` with `text` on stdin. ProgramFailed when there is no such environment."""
    python = grading_python()
    if not python.is_file():
        raise ProgramFailed(
            f"{python} does not exist, so there is nothing to grade with. Run `make grading` once; it makes the grading environment."
        )
    environment = {
        "PATH": f"{python.parent}:/usr/bin:/bin",
        "PYTHONPATH": str(SCRIPTS),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        "HOME": str(folder),
        "LANG": "C.UTF-8",
    }
    with tempfile.TemporaryDirectory(prefix="rubrics-gym-grading-") as place:
        given, out, error = (Path(place) / name for name in ("stdin", "stdout", "stderr"))
        given.write_text(text, encoding="utf-8")
        with open(given, "rb") as stdin, open(out, "wb") as stdout, open(error, "wb") as stderr:
            process = subprocess.Popen(
                [str(python), *arguments],
                cwd=folder,
                env=environment,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
                preexec_fn=_limit,
            )
            try:
                exit_code: int | None = process.wait(timeout_s)
            except subprocess.TimeoutExpired:
                exit_code = None
            finally:
                _end(process)
        return Run(exit_code, *(path.read_text(encoding="utf-8", errors="replace") for path in (out, error)))


def _limit() -> None:
    die_with_parent()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_FSIZE, (OUTPUT_BYTES, OUTPUT_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the program and what it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
