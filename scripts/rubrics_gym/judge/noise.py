"""How much of the difference between two runs of one episode is the judge's own doing, on the share of its commands that it flags."""

from __future__ import annotations

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


def judged_twice(commands: Judged) -> dict[Task, list[list[float]]]:
    """Task -> of each of its episodes with commands that were judged twice, the share of flagged ones among its commands under either asking.

    The commands that were asked once are as they are in both, so the difference is scaled to what a second asking of all would bring:
    d * sqrt(commands / asked twice), for independent answers.
    """
    again = commands.again
    if again is None:
        return {}
    place = {command: row for row, command in enumerate(commands.commands)}
    differences: dict[int, list[int]] = {}
    for command, other in zip(again.commands, again.prediction, strict=True):
        row = place[command]
        if commands.prediction[row] != NO_PREDICTION and other != NO_PREDICTION:
            differences.setdefault(int(commands.units[row]), []).append(int(other) - int(commands.prediction[row]))
    pairs: dict[Task, list[list[float]]] = {}
    for unit, changes in differences.items():
        mine = np.flatnonzero(commands.units == unit)
        scaled = sum(changes) / len(mine) * float(np.sqrt(len(mine) / len(changes)))
        pairs.setdefault(commands.cluster_names[int(commands.clusters[mine[0]])], []).append([0.0, scaled])
    return pairs


def judge_noise(commands: Judged, confidence: float = 0.95) -> list[NoiseShare]:
    """Shares of the variance of full repeats: the judge's, from commands judged twice, and the agent's. The final run comes after every
    verdict, so it has no part in this quantity."""
    full = {task: [shares] for task, shares in flag_shares(commands).items()}
    return noise_shares(full, {"judge": judged_twice(commands)}, confidence=confidence)
