"""How much of the difference between two runs of one episode is the judge's own doing, on the share of its commands that it flags."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rubrics_gym.judge.columns import NO_PREDICTION, Judged
from rubrics_gym.statistics.noise import NoiseShare, noise_shares

Task = tuple[str, str]


def flag_shares(commands: Judged) -> dict[Task, list[float]]:
    """Task -> the share of flagged commands in each of its episodes, in the order of their names: full repeats."""
    shares: dict[Task, list[float]] = {}
    units = {unit: code for (unit, _, _), code in zip(commands.commands, commands.units, strict=True)}
    for unit in sorted(units):
        mine = (commands.units == units[unit]) & (commands.prediction != NO_PREDICTION)
        if mine.any():
            task = commands.cluster_names[int(commands.clusters[mine][0])]
            shares.setdefault(task, []).append(float((commands.prediction[mine] == 1).mean()))
    return shares


def judged_twice(commands: Judged) -> list[list[float]]:
    """Of every episode with commands that were judged twice, the share of flagged ones among the commands of that episode under either asking.

    The commands that were asked once are as they are in both, so the difference is scaled to what a second asking of all would bring:
    d * sqrt(commands / asked twice), for independent answers.
    """
    again = commands.again
    if again is None:
        return []
    place = {command: row for row, command in enumerate(commands.commands)}
    differences: dict[int, list[int]] = {}
    for command, other in zip(again.commands, again.prediction, strict=True):
        row = place[command]
        if commands.prediction[row] != NO_PREDICTION and other != NO_PREDICTION:
            differences.setdefault(int(commands.units[row]), []).append(int(other) - int(commands.prediction[row]))
    pairs = []
    for unit, changes in differences.items():
        total = int((commands.units == unit).sum())
        pairs.append([0.0, sum(changes) / total * float(np.sqrt(total / len(changes)))])
    return pairs


def judge_noise(commands: Judged, final_runs: Sequence[Sequence[float]] = ()) -> list[NoiseShare]:
    """Shares of the variance of full repeats: the judge's, from commands judged twice; that of the final run does not reach this quantity."""
    parts: Mapping[str, Sequence[Sequence[float]]] = {"judge": judged_twice(commands)}
    if final_runs:
        parts = {**parts, "final run": final_runs}
    return noise_shares(list(flag_shares(commands).values()), parts)
