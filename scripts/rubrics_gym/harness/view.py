"""What a judge may know about a command before it runs, built from the record alone: live and in a later replay by the same code."""

from __future__ import annotations

import difflib
from collections.abc import Collection
from pathlib import PurePosixPath

from rubrics_gym.harness.router import classify
from rubrics_gym.records.trajectory import (
    CheckEvent,
    ClockEvent,
    CommandEvent,
    CommandKind,
    Event,
    FileEvent,
    Route,
    StartEvent,
    WorldEvent,
)
from rubrics_gym.records.verdicts import JudgedAction, RealRun
from rubrics_gym.settings.study import Sight


class JudgeView:
    """Follows the events of one attempt and says what the judge may see at any point.

    Feed it every event in order (`observe`); ask for the `action` of a command before its own event is observed. The output of the
    command that is judged is not in any event by then, so it cannot be seen.
    """

    def __init__(self, sees: Collection[Sight]):
        self._sees = frozenset(sees)
        self._statement = ""
        self._code: dict[str, str] = {}
        self._judged_code: dict[str, str] = {}  # as it was at the last judged command
        self._changed: set[str] = set()
        self._world: WorldEvent | None = None
        self._clock: ClockEvent | None = None
        self._last_real_run: RealRun | None = None

    def observe(self, event: Event) -> None:
        """Take in one event. A real check is a real run like a command that ran."""
        if isinstance(event, StartEvent):
            self._statement = event.statement
        elif isinstance(event, WorldEvent):
            self._world = event
        elif isinstance(event, ClockEvent):
            self._clock = event
        elif isinstance(event, FileEvent) and event.text is not None:
            self._code[event.path] = event.text
            self._changed.add(event.path)
        elif isinstance(event, CheckEvent) or (
            isinstance(event, CommandEvent) and event.kind is CommandKind.CODE_RUN and event.route is Route.EXECUTED
        ):
            self._last_real_run = RealRun(
                command=event.text, exit_code=event.exit_code, timed_out=event.timed_out, output_tail=event.output_tail
            )

    def action(self, command: str) -> JudgedAction:
        """What the judge may know about `command`, the text of a code-running command as it is recorded.

        The command counts as judged by that: the next action shows the code files that changed after this one.
        """
        sees, world = self._sees, self._world
        programs, changes = self._programs(command), self._diff()
        self._changed.clear()
        self._judged_code = dict(self._code)
        state = world if sees & {Sight.WORLD_STATE, Sight.WORLD_STATE_UNVERSIONED} else None
        profiled = world if Sight.DATA_PROFILE in sees else None
        clock = self._clock if Sight.TIME_LEFT in sees else None
        return JudgedAction(
            statement=self._statement,
            command=command,
            programs=programs,
            changes=changes if Sight.CODE_DIFF in sees else None,
            python=state.python if state else None,
            packages=self._packages(state) if state else None,
            limits=state.limits if state else None,
            files=state.files if state else None,
            time_left_s=clock.time_left_s if clock else None,
            steps_left=clock.steps_left if clock else None,
            data_profile=profiled.data_profile if profiled else None,
            last_real_run=self._last_real_run if Sight.LAST_REAL_RUN in sees else None,
        )

    def _packages(self, state: WorldEvent) -> dict[str, str]:
        return state.packages if Sight.WORLD_STATE in self._sees else dict.fromkeys(state.packages, "")

    def _diff(self) -> str:
        """The changes of code files since the last judged command, as a unified diff; a new file is all additions."""
        lines: list[str] = []
        for path in sorted(self._changed):
            before, after = self._judged_code.get(path), self._code[path]
            if before != after:
                old = "/dev/null" if before is None else path
                lines += difflib.unified_diff((before or "").splitlines(), after.splitlines(), old, path, lineterm="")
        return "\n".join(lines)

    def _programs(self, command: str) -> dict[str, str]:
        """The code files that the command runs or that changed since the last judged command, and programs inside the command."""
        pieces = [piece for part in classify(command) for piece in part.pieces]
        run = {path for piece in pieces for script in piece.scripts if (path := self._known(script))}
        programs = {path: self._code[path] for path in sorted(run | self._changed)}
        inline = [text for piece in pieces for text in piece.programs]
        names = ["<program>"] if len(inline) == 1 else [f"<program {number}>" for number in range(1, len(inline) + 1)]
        return programs | dict(zip(names, inline, strict=True))

    def _known(self, script: str) -> str | None:
        """The recorded file that a script's name means, also when the shell changed its folder before."""
        wanted = script.removeprefix("/workspace/").removeprefix("./")
        if wanted in self._code:
            return wanted
        same_name = [path for path in self._code if PurePosixPath(path).name == PurePosixPath(wanted).name]
        return same_name[0] if len(same_name) == 1 else None
