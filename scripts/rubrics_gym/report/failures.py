"""What failed among all that ran, and how far the failure mixes are from each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations

import numpy as np

from rubrics_gym.failures.distributions import on_21, unsplit
from rubrics_gym.failures.taxonomy import Taxonomy
from rubrics_gym.records.failures import Distribution, ObservedCommand
from rubrics_gym.report.writing import Row
from rubrics_gym.settings.study import Statistics
from rubrics_gym.statistics.intervals import proportion
from rubrics_gym.statistics.mixes import counts_of, distance_interval

# Name of a predicate in the table -> kind of command, and what counts.
PREDICATES: tuple[tuple[str, str, Callable[[ObservedCommand], bool]], ...] = (
    ("failed_command", "code_run", lambda command: command.failed),
    ("failed_command, masked ones too", "code_run", lambda command: command.failed or command.masked),
    ("error_step", "code_run", lambda command: command.error_step),
    ("failed install", "install", lambda command: command.failed),
)
VIEWS = ("split", "22", "21")


def failure_rate_rows(
    commands: Mapping[str, Sequence[ObservedCommand]], study: str, simulated: bool, confidence: float = 0.95
) -> list[Row]:
    """One row per collection and predicate. Table `failure_rates`. Clusters are tasks."""
    rows = []
    for collection, observed in commands.items():
        for name, kind, holds in PREDICATES:
            of_kind = [command for command in observed if command.kind == kind]
            tasks = sorted({(command.benchmark, command.task) for command in of_kind})
            place = {task: number for number, task in enumerate(tasks)}
            tried, failed = np.zeros(len(tasks)), np.zeros(len(tasks))
            for command in of_kind:
                tried[place[command.benchmark, command.task]] += 1
                failed[place[command.benchmark, command.task]] += holds(command)
            interval = proportion(failed, tried, confidence)
            rows.append(
                {
                    "collection": collection,
                    "predicate": name,
                    "commands": len(of_kind),
                    "counted": int(failed.sum()),
                    "share": interval.estimate,
                    "share_low": interval.low,
                    "share_high": interval.high,
                    "n": interval.n,
                    "clusters": interval.clusters,
                    "interval_kind": interval.kind,
                    "note": interval.note,
                    "study": study,
                    "simulated": simulated,
                }
            )
    return rows


def mix_distance_rows(mixes: Mapping[str, Distribution], taxonomy: Taxonomy, statistics: Statistics, seed: int) -> list[Row]:
    """Every two failure mixes, on the split bins, on the 22 categories and on the 21 that came first. Table `mix_distances`."""
    rows = []
    for (first_name, first), (second_name, second) in combinations(mixes.items(), 2):
        for view in VIEWS:
            viewed = [[_view(task.counts, view, taxonomy) for task in mix.tasks] for mix in (first, second)]
            bins = sorted({name for tasks in viewed for task in tasks for name in task})
            interval, floor = distance_interval(
                counts_of(viewed[0], bins), counts_of(viewed[1], bins), statistics.confidence, statistics.draws, seed
            )
            rows.append(
                {
                    "first": first_name,
                    "second": second_name,
                    "view": view,
                    "distance": interval.estimate,
                    "distance_low": interval.low,
                    "distance_high": interval.high,
                    "noise_floor": floor,
                    "n": interval.n,
                    "clusters": interval.clusters,
                    "interval_kind": interval.kind,
                    "note": interval.note,
                    "distribution": f"{first.id} ~ {second.id}",
                    "simulated": first.simulated or second.simulated,
                }
            )
    return rows


def _view(counts: Mapping[str, int], view: str, taxonomy: Taxonomy) -> dict[str, int]:
    if view == "split":
        return dict(counts)
    seen = unsplit(counts) if view == "22" else on_21(counts, taxonomy)
    return {name: int(count) for name, count in seen.items()}
