"""What a sandbox gives back: the end of a command, or why there is none."""

from __future__ import annotations

from dataclasses import dataclass

from rubrics_gym.harness.output import Output


class SandboxRefused(RuntimeError):
    """The isolation that the settings ask for does not hold on this machine."""


class SandboxDied(RuntimeError):
    """The sandbox itself failed while a command was to run: an infrastructure loss, never output."""


class DiskReserve(RuntimeError):
    """A command was stopped because the disk was about to be full: an infrastructure loss."""


@dataclass(frozen=True)
class CommandResult:
    """What became of one command. `exit_code` is the shell's (128 + signal when killed); None when we stopped it at its limit."""

    exit_code: int | None
    timed_out: bool
    out_of_memory: bool
    duration_s: float  # of wall time
    waited_s: float  # of it, ready to run but without a processor
    output: Output
