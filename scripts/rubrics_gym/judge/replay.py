"""Judge every executed code-running command of a finished attempt, and keep beside each verdict what execution did.

The truth is what execution did, under the limits of the attempt; never what anybody planned. Every judge is replayed over the same
commands, so that judges and libraries compare pair by pair.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from rubrics_gym.failures.detection import failed_command, typed
from rubrics_gym.failures.types import Rules
from rubrics_gym.judge.actions import judged_actions
from rubrics_gym.records.base import Record
from rubrics_gym.records.trajectory import CommandEvent, Event, StartEvent
from rubrics_gym.records.verdicts import JudgedAction, Verdict
from rubrics_gym.settings.study import Sight


class ReplayedVerdict(Record):
    """One judged command: the verdict, and what really came of it."""

    unit: str
    benchmark: str
    task: str
    step: int
    index: int
    verdict: Verdict
    failed: bool
    failure_type: str | None  # None where it did not fail
    timed_out: bool
    out_of_memory: bool
    masked_pipe: bool  # exit code 0 of a pipeline that may hide a failure: not counted as failed
    duration_s: float | None  # of the real execution
    previous_failed: bool | None  # the last real run before it; None for the first of the attempt
    repeat: int = 0  # 1: the same command judged a second time, for the judge's own noise


@dataclass(frozen=True)
class Again:
    """A second asking of the same judge about a share of the commands, drawn from `seed` and the place of the command."""

    judge: Callable[[JudgedAction], Verdict]
    share: float
    seed: int

    def drawn(self, unit: str, command: CommandEvent) -> bool:
        return random.Random(f"again/{self.seed}/{unit}/{command.step}/{command.index}").random() < self.share


def replay(
    events: Sequence[Event], judge: Callable[[JudgedAction], Verdict], sees: Collection[Sight], rules: Rules, again: Again | None = None
) -> list[ReplayedVerdict]:
    """Judge every code-running command of an attempt in order, each with exactly the state before it.

    Raises judge.actions.NotExecuted when a code-running command was not executed, ValueError when the trajectory has no start, and
    whatever the judge raises.
    """
    start = next((event for event in events if isinstance(event, StartEvent)), None)
    if start is None:
        raise ValueError("a trajectory begins with a start event; this one has none: its file was cut or edited")
    rows: list[ReplayedVerdict] = []
    for command, action in judged_actions(events, sees):
        previous_failed = rows[-1].failed if rows else None
        rows.append(_row(start, command, judge(action), rules, previous_failed))
        if again is not None and again.drawn(start.unit, command):
            rows.append(_row(start, command, again.judge(action), rules, previous_failed).model_copy(update={"repeat": 1}))
    return rows


def _row(start: StartEvent, command: CommandEvent, verdict: Verdict, rules: Rules, previous_failed: bool | None) -> ReplayedVerdict:
    failed = failed_command(command, rules)
    return ReplayedVerdict(
        unit=start.unit,
        benchmark=start.benchmark,
        task=start.task,
        step=command.step,
        index=command.index,
        verdict=verdict,
        failed=failed,
        failure_type=typed(command, rules).type if failed else None,
        timed_out=command.timed_out,
        out_of_memory=command.out_of_memory,
        masked_pipe=command.masked_pipe,
        duration_s=command.duration_s,
        previous_failed=previous_failed,
    )
