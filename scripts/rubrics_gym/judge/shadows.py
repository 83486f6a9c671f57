"""Shadow runs: which judged commands are run after the episode, with which chance, and what came of them.

Nothing flows back: the episode is over and its record is only read. The truth is the outcome in the state that the episode really had.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from rubrics_gym.failures.detection import failed_command, typed
from rubrics_gym.failures.types import Rules
from rubrics_gym.records.shadows import ShadowRun, ShadowState
from rubrics_gym.records.trajectory import CommandEvent, CommandKind, Event, Route, SnapshotEvent, StartEvent, VerdictEvent
from rubrics_gym.settings.study import Shadows

NO_SNAPSHOT = "no snapshot was taken: the attempt's snapshots would have passed their limit"
BACKGROUND = "it may depend on a background process of the same line, and a snapshot holds files only"
INFRASTRUCTURE = "the sandbox died"
_BACKGROUND = re.compile(r"(?<![&>|])&(?![&>\d])\s*$|\bnohup\b|\bsetsid\b|\bdisown\b", re.MULTILINE)


class Judged(NamedTuple):
    """A command that a prediction stood in for."""

    verdict: VerdictEvent
    command: CommandEvent
    snapshot: SnapshotEvent | None
    unexecuted_before: int
    in_background: bool  # an earlier part of its line left something running


Execute = Callable[[SnapshotEvent], CommandEvent | None]  # None: the sandbox died


def judged_commands(events: Sequence[Event]) -> Iterator[Judged]:
    """Every predicted command of an attempt with its verdict and snapshot, in order."""
    verdicts = {(event.step, event.index): event for event in events if isinstance(event, VerdictEvent)}
    snapshots = {(event.step, event.index): event for event in events if isinstance(event, SnapshotEvent)}
    unexecuted, background = 0, -1
    for event in events:
        if not isinstance(event, CommandEvent):
            continue
        place = event.step, event.index
        if event.route is Route.PREDICTED:
            yield Judged(verdicts[place], event, snapshots.get(place), unexecuted, background == event.step)
        if event.kind is CommandKind.CODE_RUN and event.route is not Route.EXECUTED:
            unexecuted += 1
        if _BACKGROUND.search(event.text):
            background = event.step


def shadow_runs(events: Sequence[Event], settings: Shadows, seed: int, cap_s: float, execute: Execute, rules: Rules) -> list[ShadowRun]:
    """Draw for every judged command whether it is run, run those, and say what came of them; every command is in the list.

    `execute` runs a snapshot's command. Raises ValueError for a trajectory without a start.
    """
    start = next((event for event in events if isinstance(event, StartEvent)), None)
    if start is None:
        raise ValueError("a trajectory begins with a start event; this one has none: its file was cut or edited")
    runs: list[ShadowRun] = []
    for judged in judged_commands(events):
        draws = random.Random(f"shadow/{seed}/{start.unit}/{judged.command.step}/{judged.command.index}")
        row = _row(start, judged, settings, draws.random(), cap_s)
        if row.state is not ShadowState.RAN or judged.snapshot is None:
            runs.append(row)
            continue
        runs.append(_with_outcome(row, execute(judged.snapshot), rules))
        if draws.random() < settings.repeat:
            runs.append(_with_outcome(row.model_copy(update={"repeat": 1}), execute(judged.snapshot), rules))
    return runs


def probability(settings: Shadows, flagged: bool | None) -> float:
    """The chance that a judged command is run; a verdict that abstained is sampled like a clean one."""
    return settings.flagged if flagged else settings.clean


def _row(start: StartEvent, judged: Judged, settings: Shadows, draw: float, cap_s: float) -> ShadowRun:
    chance = probability(settings, judged.verdict.verdict.flagged)
    state, reason = ShadowState.RAN, ""
    if draw >= chance:
        state = ShadowState.NOT_SAMPLED
    elif judged.in_background:
        state, reason = ShadowState.UNKNOWN, BACKGROUND
    elif judged.snapshot is None:
        state, reason = ShadowState.UNKNOWN, NO_SNAPSHOT
    return ShadowRun(
        unit=start.unit,
        benchmark=start.benchmark,
        task=start.task,
        arm=start.arm,
        step=judged.command.step,
        index=judged.command.index,
        command=judged.command.text,
        verdict=judged.verdict.verdict,
        probability=chance,
        draw=round(draw, 6),
        state=state,
        reason=reason,
        unexecuted_before=judged.unexecuted_before,
        cap_s=cap_s,
    )


def _with_outcome(row: ShadowRun, command: CommandEvent | None, rules: Rules) -> ShadowRun:
    if command is None:
        return row.model_copy(update={"state": ShadowState.UNKNOWN, "reason": INFRASTRUCTURE})
    failed = failed_command(command, rules)
    return row.model_copy(
        update={
            "exit_code": command.exit_code,
            "timed_out": command.timed_out,
            "out_of_memory": command.out_of_memory,
            "masked_pipe": command.masked_pipe,
            "failed": failed,
            "failure_type": typed(command, rules).type if failed else None,
            "duration_s": command.duration_s,
            "output_head": command.output_head,
            "output_tail": command.output_tail,
            "output_bytes": command.output_bytes,
        }
    )
