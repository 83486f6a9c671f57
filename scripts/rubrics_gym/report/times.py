"""Measured times: a table of their own, because they differ from run to run where everything else is equal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rubrics_gym.records.trajectory import CheckEvent, CommandEvent, CommandKind, EndEvent, Event, FinalEvent, Route, StartEvent
from rubrics_gym.report.writing import Row
from rubrics_gym.statistics.intervals import mean_t

MEASURED = ("episode_s", "real_run_s", "final_s")


@dataclass(frozen=True, slots=True)
class AttemptTimes:
    """Seconds of one attempt; None where the trajectory holds no measurement."""

    stage: str  # collect or evaluate
    group: str  # collection or arm
    benchmark: str
    task: str
    episode_s: float | None
    real_run_s: float | None
    final_s: float | None


def attempt_times(events: Sequence[Event]) -> AttemptTimes:
    """The times of one trajectory. Real runs are executed code-running commands and checks: no installs, inspection or final run."""
    start = next((event for event in events if isinstance(event, StartEvent)), None)
    if start is None:
        raise ValueError("attempt_times: the trajectory has no start event; it is not one, or its first line is damaged")
    stage, group = ("evaluate", start.arm) if start.unit.startswith("episodes/") else ("collect", start.unit.split("/")[1])
    runs = [
        event.duration_s or 0.0
        for event in events
        if isinstance(event, CheckEvent)
        or (isinstance(event, CommandEvent) and event.kind is CommandKind.CODE_RUN and event.route is Route.EXECUTED)
    ]
    end = next((event for event in events if isinstance(event, EndEvent)), None)
    final = next((event for event in events if isinstance(event, FinalEvent)), None)
    return AttemptTimes(
        stage, group, start.benchmark, start.task, end.wall_s if end else None, sum(runs), final.duration_s if final else None
    )


def time_rows(attempts: Iterable[AttemptTimes], study: str, simulated: bool, confidence: float = 0.95) -> list[Row]:
    """One row per stage and group, in the order of first appearance. Table `times`: mean over tasks of the mean of their attempts."""
    groups: dict[tuple[str, str], list[AttemptTimes]] = {}
    for attempt in attempts:
        groups.setdefault((attempt.stage, attempt.group), []).append(attempt)
    rows = []
    for (stage, group), members in groups.items():
        row: Row = {"stage": stage, "group": group}
        for name in MEASURED:
            interval = mean_t(_task_means(members, name), confidence)
            row |= {name: interval.estimate, f"{name}_low": interval.low, f"{name}_high": interval.high}
        tasks = {(attempt.benchmark, attempt.task) for attempt in members}
        row |= {
            "n": len(members),
            "clusters": len(tasks),
            "interval_kind": "cluster_t",
            "note": mean_t(_task_means(members, "episode_s")).note,
        }
        rows.append(row | {"study": study, "simulated": simulated})
    return rows


def _task_means(attempts: Sequence[AttemptTimes], name: str) -> list[float]:
    by_task: dict[tuple[str, str], list[float]] = {}
    for attempt in attempts:
        value = getattr(attempt, name)
        if value is not None:
            by_task.setdefault((attempt.benchmark, attempt.task), []).append(value)
    return [sum(values) / len(values) for values in by_task.values()]
