"""Rubrics about wrong results against the cause that was named at grading.

Such a rubric says that a program runs and is wrong: no command fails by it, so its truth is not an exit code. The unit is an episode with its
last program: the last verdict of the episode against whether it ended wrong, and why.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from rubrics_gym.judge.columns import Judged
from rubrics_gym.judge.exposure import UNSORTED, bin_of
from rubrics_gym.judge.rates import Rate, share
from rubrics_gym.records.base import Record
from rubrics_gym.records.rubrics import RubricKind

TOTAL = "every cause"
ABOUT_RESULTS = (RubricKind.WRONG_RESULT, RubricKind.CRASH_CAUSED_WRONG_RESULT)


@dataclass(frozen=True, slots=True)
class Ending:
    """How an episode ended: wrong or not (None: not known, the attempt was lost), and the bin of the cause that was named."""

    wrong: bool | None
    cause: str | None


class WrongResultLine(Record):
    """One judge by one cause: episodes that ended wrong by it, flagged by any rubric about results (`recall_any`) or by one of its category;
    and of the episodes that a rubric of the category flagged, those that ended wrong at all, and by this cause."""

    judge: str
    library: str | None
    cause: str
    episodes: int
    wrong: int
    rubrics: int
    flagged: int
    recall_any: Rate
    recall_exact: Rate
    precision_any: Rate
    precision_exact: Rate


def by_cause(commands: Judged, endings: Mapping[str, Ending], confidence: float = 0.95) -> list[WrongResultLine]:
    """One line for every cause together, then one per cause that occurred or that a rubric is about. Episodes whose end is not known, or without
    a verdict, are left out. Raises KeyError for an episode without an ending."""
    last: dict[str, tuple[tuple[int, int], int]] = {}
    for row, (unit, step, index) in enumerate(commands.commands):
        if unit not in last or (step, index) > last[unit][0]:
            last[unit] = (step, index), row
    chosen = [(row, endings[unit]) for unit, (_, row) in last.items() if endings[unit].wrong is not None and commands.abstained[row] < 0]
    rows = np.array([row for row, _ in chosen], dtype=int)
    wrong = np.array([bool(ending.wrong) for _, ending in chosen], dtype=bool)
    causes = np.array([(ending.cause or UNSORTED) if ending.wrong else "" for _, ending in chosen], dtype=object)
    clusters = commands.clusters[rows]
    about = [bin_of(rubric) if rubric.kind in ABOUT_RESULTS else None for rubric in commands.rubrics]
    alarms = _alarms(commands, rows, about)
    any_alarm = np.logical_or.reduce([*alarms.values(), np.zeros(len(rows), dtype=bool)])
    lines = []
    for cause in [TOTAL, *sorted(set(causes[wrong]) | {name for name in about if name})]:
        whole = cause == TOTAL
        mine = wrong if whole else causes == cause
        alarmed = any_alarm if whole else alarms.get(cause, np.zeros(len(rows), dtype=bool))
        never, silent = "no episode ended wrong by it", "no rubric about it flagged"
        lines.append(
            WrongResultLine(
                judge=commands.judge, library=commands.library, cause=cause, episodes=len(rows), wrong=int(mine.sum()),
                rubrics=sum(name is not None and (whole or name == cause) for name in about), flagged=int(alarmed.sum()),
                recall_any=share(clusters, any_alarm, mine, confidence, never), recall_exact=share(clusters, alarmed, mine, confidence, never),
                precision_any=share(clusters, wrong, alarmed, confidence, silent), precision_exact=share(clusters, mine, alarmed, confidence, silent),
            )
        )  # fmt: skip
    return lines


def _alarms(commands: Judged, rows: np.ndarray, about: list[str | None]) -> dict[str, np.ndarray]:
    """Category -> which of the chosen commands a rubric of it about results flagged."""
    place = {int(row): number for number, row in enumerate(rows)}
    found: dict[str, np.ndarray] = {}
    seen = commands.exposures
    for entry in np.flatnonzero(seen.violated & np.isin(seen.command, rows)):
        name = about[seen.rubric[entry]]
        if name is not None:
            found.setdefault(name, np.zeros(len(rows), dtype=bool))[place[int(seen.command[entry])]] = True
    return found
