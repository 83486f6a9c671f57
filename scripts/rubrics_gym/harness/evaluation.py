"""Running an evaluation program beside a program of the agent's: in the sandbox that agents' commands run in, never outside."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from rubrics_gym.harness.sandbox import Sandbox
from rubrics_gym.harness.scratch import scratch_folder
from rubrics_gym.settings.study import Limits, SandboxPhase


class Evaluated(NamedTuple):
    """How it ended. Both streams of a sandbox are one. `exit_code` is None when the time limit ended it."""

    exit_code: int | None
    stdout: str
    stderr: str = ""


def run_in_sandbox(settings: SandboxPhase, limits: Limits) -> Callable[[Path, str, float], Evaluated]:
    """A function of a work folder, a command and its limit in seconds. SandboxDied is an error of whoever asked, not of the agent."""

    def run(folder: Path, command: str, timeout_s: float) -> Evaluated:
        with scratch_folder("rubrics-gym-evaluation-") as place:
            data, output = place / "data", place / "output.txt"
            data.mkdir()
            with Sandbox(settings, limits, folder, data) as sandbox:
                result = sandbox.run(command, timeout_s, output)
            printed = output.read_text(encoding="utf-8", errors="replace") if output.is_file() else ""
        return Evaluated(None if result.timed_out else result.exit_code, printed)

    return run
