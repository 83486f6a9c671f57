"""What one simple command does: the kinds, and which of several decides."""

from __future__ import annotations

from dataclasses import dataclass

from rubrics_gym.records.trajectory import CommandKind

CODE_RUN, INSTALL, INSPECT = CommandKind.CODE_RUN, CommandKind.INSTALL, CommandKind.INSPECT
EDIT, SUBMIT, OTHER = CommandKind.EDIT, CommandKind.SUBMIT, CommandKind.OTHER


@dataclass(frozen=True)
class Finding:
    """What one simple command does, and the program that it runs: a file, a module, or text that it brings along."""

    kind: CommandKind | None  # None: it only changes the state of the shell
    reason: str
    script: str | None = None  # path of a program file
    program: str | None = None  # text given with -c
    reads_stdin: bool = False  # the program comes from a heredoc or a pipe
    sets_state: bool = False  # later commands of the same line depend on it


@dataclass(frozen=True)
class Nested:
    """A command whose argument is itself a command line: what that line does is what the command does."""

    text: str


_STRENGTH = [CODE_RUN, SUBMIT, INSTALL, EDIT, OTHER, INSPECT]


def strongest(kinds: list[CommandKind]) -> CommandKind:
    """The kind that decides for several commands together: whatever runs code, then whatever changes most."""
    return min(kinds, key=_STRENGTH.index)
