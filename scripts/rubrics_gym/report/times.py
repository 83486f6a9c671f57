"""Measured times: tables of their own, because they differ from run to run where everything else is equal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from rubrics_gym.judge.replay import ReplayedVerdict
from rubrics_gym.records.trajectory import (
    CheckEvent,
    CommandEvent,
    CommandKind,
    EndEvent,
    Event,
    FinalEvent,
    Route,
    StartEvent,
    VerdictEvent,
)
from rubrics_gym.report.contrasts import Options, Paired, contrast_rows, pair
from rubrics_gym.report.judges import NO_LIBRARY
from rubrics_gym.report.writing import Row
from rubrics_gym.statistics.intervals import Interval, mean_t, ratio

MEASURED = ("episode_s", "real_run_s", "final_s", "with_final_s")
EVALUATE = "evaluate"


@dataclass(frozen=True, slots=True)
class AttemptTimes:
    """Seconds of one attempt; None where the trajectory holds no measurement. `repeat` counts attempts at a task from 0."""

    stage: str  # collect or evaluate
    group: str  # collection or arm
    benchmark: str
    task: str
    episode_s: float | None
    real_run_s: float | None
    final_s: float | None
    repeat: int = 0
    cost_microdollars: int | None = None  # agent and judge; None where the record does not say

    @property
    def with_final_s(self) -> float | None:
        """Episode and final run together; None unless both were measured."""
        return None if self.episode_s is None or self.final_s is None else self.episode_s + self.final_s


def attempt_times(events: Sequence[Event]) -> AttemptTimes:
    """The times of one trajectory. Real runs are executed code-running commands and checks: no installs, inspection or final run."""
    start = next((event for event in events if isinstance(event, StartEvent)), None)
    if start is None:
        raise ValueError("attempt_times: the trajectory has no start event; it is not one, or its first line is damaged")
    parts = start.unit.split("/")
    evaluated = start.unit.startswith("episodes/")
    repeat = parts[-3] if evaluated else parts[-1]
    runs = [
        event.duration_s
        for event in events
        if isinstance(event, CheckEvent)
        or (isinstance(event, CommandEvent) and event.kind is CommandKind.CODE_RUN and event.route is Route.EXECUTED)
    ]
    end = next((event for event in events if isinstance(event, EndEvent)), None)
    final = next((event for event in events if isinstance(event, FinalEvent)), None)
    judged = [event.verdict.cost_microdollars for event in events if isinstance(event, VerdictEvent)]
    costs = [end.cost_microdollars if end else None, *judged]
    return AttemptTimes(
        stage=EVALUATE if evaluated else "collect",
        group=start.arm if evaluated else parts[1],
        benchmark=start.benchmark,
        task=start.task,
        episode_s=end.wall_s if end else None,
        real_run_s=None if None in runs else sum(seconds or 0.0 for seconds in runs),  # what was not measured is no zero
        final_s=final.duration_s if final else None,
        repeat=int(repeat) if repeat.isdigit() else 0,
        cost_microdollars=None if None in costs else sum(cost or 0 for cost in costs),
    )


def time_rows(
    attempts: Iterable[AttemptTimes], study: str, simulated: bool, confidence: float = 0.95, ceiling: str | None = None
) -> list[Row]:
    """One row per stage and group, in the order of first appearance. Table `times`: mean over tasks of the mean of their attempts.

    `ceiling` is the arm in which every command runs; the others' time is a ratio to its.
    """
    groups: dict[tuple[str, str], list[AttemptTimes]] = {}
    for attempt in attempts:
        groups.setdefault((attempt.stage, attempt.group), []).append(attempt)
    above = _task_means(groups.get((EVALUATE, ceiling or ""), []), "with_final_s")
    rows = []
    for (stage, group), members in groups.items():
        row: Row = {"stage": stage, "group": group}
        for name in MEASURED:
            means = _task_means(members, name)
            row |= _cells(name, mean_t(list(means.values()), confidence, sum(getattr(one, name) is not None for one in members)))
        row |= _cells("to_ceiling", _to_ceiling(_task_means(members, "with_final_s") if stage == EVALUATE else {}, above, confidence))
        tasks = {(attempt.benchmark, attempt.task) for attempt in members}
        costs = [attempt.cost_microdollars for attempt in members if attempt.cost_microdollars is not None]
        row |= {
            "cost_per_attempt": round(float(np.mean(costs))) if costs else None,
            "n": len(members),
            "clusters": len(tasks),
            "interval_kind": "cluster_t",
            "note": row["episode_s_note"],
        }
        rows.append(row | {"study": study, "simulated": simulated})
    return rows


def _to_ceiling(mine: dict[tuple[str, str], float], above: dict[tuple[str, str], float], confidence: float) -> Interval:
    """Ratio of the sums over the tasks that both have, the delta method's interval over tasks."""
    both = sorted(mine.keys() & above.keys())
    return ratio([mine[task] for task in both], [above[task] for task in both], confidence, n=len(both))


def _cells(name: str, interval: Interval) -> Row:
    """An interval of a time, or of a ratio of times: neither is below 0, where a t interval may reach."""
    return {
        name: interval.estimate,
        f"{name}_low": None if interval.low is None else max(0.0, interval.low),
        f"{name}_high": interval.high,
        f"{name}_n": interval.n,
        f"{name}_clusters": interval.clusters,
        f"{name}_interval": interval.kind,
        f"{name}_note": interval.note,
    }


def _task_means(attempts: Iterable[AttemptTimes], name: str) -> dict[tuple[str, str], float]:
    by_task: dict[tuple[str, str], list[float]] = {}
    for attempt in attempts:
        value = getattr(attempt, name)
        if value is not None:
            by_task.setdefault((attempt.benchmark, attempt.task), []).append(value)
    return {task: float(np.mean(values)) for task, values in by_task.items()}


def time_contrasts(
    attempts: Iterable[AttemptTimes],
    pairs: Sequence[tuple[str, str]],
    study: str,
    simulated: bool,
    split: str,
    options: Options,
    endpoints: Sequence[str] = ("real_run_s", "with_final_s"),
) -> list[Row]:
    """One row per pair of arms and time, in seconds, by the same paired machinery as the outcomes. Table `time_contrasts`."""
    evaluated = [attempt for attempt in attempts if attempt.stage == EVALUATE]
    rows = []
    for name in endpoints:
        values: dict[str, dict[tuple[str, str], dict[int, float]]] = {}
        for one in evaluated:
            seconds = getattr(one, name)
            of_arm = values.setdefault(one.group, {})
            of_arm.setdefault((one.benchmark, one.task), {})[one.repeat] = float("nan") if seconds is None else seconds
        family: list[Paired] = [
            pair(first, second, name, values.get(first, {}), values.get(second, {}), scale=1.0, bounded=False) for first, second in pairs
        ]
        rows += contrast_rows(family, study, simulated, split, options)
    return rows


def replaced_row(rows: Sequence[ReplayedVerdict], study: str, simulated: bool, confidence: float = 0.95) -> Row:
    """Execution time of the commands on which one judge gave a verdict. Table `replaced`."""
    once = [row for row in rows if row.repeat == 0]
    timed = [(row, row.duration_s) for row in once if row.duration_s is not None]
    left_out = len(once) - len(timed)
    by_unit: dict[tuple[str, str], dict[str, float]] = {}
    for row, seconds in timed:
        of_task = by_unit.setdefault((row.benchmark, row.task), {})
        of_task[row.unit] = of_task.get(row.unit, 0.0) + seconds * (row.verdict.flagged is not None)
    mean = mean_t([float(np.mean(list(units.values()))) for units in by_unit.values()], confidence, sum(map(len, by_unit.values())))
    return {
        "judge": once[0].verdict.judge,
        "library": once[0].verdict.library or NO_LIBRARY,
        "minutes": sum(seconds for row, seconds in timed if row.verdict.flagged is not None) / 60,
        "clean_minutes": sum(seconds for row, seconds in timed if row.verdict.flagged is False) / 60,
        "per_episode": mean.estimate,
        "per_episode_low": None if mean.low is None else max(0.0, mean.low),
        "per_episode_high": mean.high,
        "n": mean.n,
        "clusters": mean.clusters,
        "interval_kind": mean.kind,
        "note": "; ".join(filter(None, [mean.note, f"{left_out} commands without a recorded time left out" if left_out else ""])),
        "study": study,
        "simulated": simulated,
    }
