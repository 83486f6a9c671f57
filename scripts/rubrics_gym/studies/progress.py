"""How far a study has come: of every planned slot (a rollout, an episode) what became of it, read from what is delivered."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from pydantic import ValidationError

from rubrics_gym.records.base import Record
from rubrics_gym.records.files import read_records
from rubrics_gym.records.outcomes import POLICY, Outcome
from rubrics_gym.records.trajectory import EndEvent
from rubrics_gym.store.attempts import AttemptRow, AttemptState

ENDS = "trajectory.jsonl"
LAST_BYTES = 1_000_000  # more than an end event has
CLOSED = frozenset({Outcome.NOT_RUN, Outcome.UNKNOWN})  # never run, or cut off and not attempted again
# to the infrastructure, with an end of the attempt on record (a final run and a grade have records of their own)
LOST = frozenset(outcome for outcome, policy in POLICY.items() if policy.may_retry) - CLOSED - {Outcome.LOST_FINAL, Outcome.GRADER_ERROR}


class Progress(Record):
    """The slots of one group. planned = ended + lost + not_run, always."""

    group: str  # rollouts/COLLECTION or episodes/ARM
    planned: int
    ended: int  # by the agent's own doing
    lost: int  # begun, and lost to the infrastructure or cut off
    not_run: int
    in_continuation: int  # slots with an attempt that was begun after the study had been stopped and resumed

    def __str__(self) -> str:
        counts = f"{self.ended} ended, {self.lost} lost, {self.not_run} not run"
        return f"{self.group}: {self.planned} planned, {counts}" + (
            f", {self.in_continuation} in a continuation" if self.in_continuation else ""
        )


def progress(groups: Iterable[tuple[str, list[Path]]]) -> list[Progress]:
    """One row per group of slots. `groups`: name, and the folder of each slot below the results, there or not."""
    return [_progress(name, folders) for name, folders in groups]


def _progress(name: str, folders: list[Path]) -> Progress:
    outcomes = [outcome_of(folder / ENDS) for folder in folders]
    not_run = sum(outcome is Outcome.NOT_RUN for outcome in outcomes)
    lost = sum(outcome is not None and outcome is not Outcome.NOT_RUN and not POLICY[outcome].agents_doing for outcome in outcomes)
    return Progress(
        group=name,
        planned=len(folders),
        ended=len(folders) - not_run - lost,
        lost=lost,
        not_run=not_run,
        in_continuation=sum(_in_continuation(folder / "attempts.jsonl") for folder in folders),
    )


def resumption_mark(results: Path, slot: str) -> Path:
    """What a resumption leaves for a slot (its folder below the results) that was closed: a new input, so that the slot is planned again."""
    return results / "resumed" / slot


def slots_of_unit(results: Path, unit: str) -> Iterator[str]:
    """The slots (their folders below the results) that a unit's attempts are delivered to; the unit of an episode does not name the split."""
    kind, _, rest = unit.partition("/")
    if kind == "rollouts" and (results / unit).is_dir():
        yield unit
    if kind in ("episodes", "finals"):
        for split in sorted((results / "episodes").glob("*")):
            if (split / rest).is_dir():
                yield f"{kind}/{split.name}/{rest}"


def slots_that_ended(folders: Iterable[Path], outcomes: Collection[Outcome]) -> Iterator[Path]:
    """Those of some slots whose record says that they ended in one of these ways."""
    for folder in folders:
        if (folder / ENDS).exists() and outcome_of(folder / ENDS) in outcomes:
            yield folder


def outcome_of(path: Path) -> Outcome | None:
    """How an attempt ended by its record; None when only a grader can tell."""
    if not path.exists():
        return Outcome.NOT_RUN
    with open(path, "rb") as record:
        record.seek(max(0, record.seek(0, os.SEEK_END) - LAST_BYTES))
        lines = record.read().splitlines()
    try:
        return EndEvent.model_validate_json(lines[-1]).outcome
    except (IndexError, ValidationError):
        return Outcome.UNKNOWN


def _in_continuation(path: Path) -> bool:
    rows = read_records(path, AttemptRow) if path.exists() else []
    return any(row.continuation and row.state is AttemptState.COMPLETE for row in rows)
