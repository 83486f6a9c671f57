"""How much of the difference between two runs of one episode is the judge's own doing, on the share of its commands that it flags."""

from __future__ import annotations

import numpy as np

from rubrics_gym.judge.columns import FLAGGED, NO_PREDICTION, Judged
from rubrics_gym.statistics.noise import NoiseShare, noise_shares

Task = tuple[str, str]


def flag_shares(commands: Judged) -> dict[Task, list[float]]:
    """Task -> the share of flagged among the predictions in each of its episodes, in the order of their names: full repeats."""
    said = _predictions(commands)
    flagged = np.bincount(commands.units[commands.prediction == FLAGGED], minlength=len(said))
    row_of = {unit: row for row, (unit, _, _) in enumerate(commands.commands)}
    shares: dict[Task, list[float]] = {}
    for unit in sorted(row_of):
        code, task = commands.units[row_of[unit]], commands.cluster_names[int(commands.clusters[row_of[unit]])]
        if said[code]:
            shares.setdefault(task, []).append(float(flagged[code] / said[code]))
    return shares


def _predictions(commands: Judged) -> np.ndarray:
    """How many commands of each episode have a prediction, shape (episodes,)."""
    said: np.ndarray = np.bincount(commands.units[commands.prediction != NO_PREDICTION], minlength=int(commands.units.max()) + 1)
    return said


def judged_twice(commands: Judged) -> dict[Task, list[list[float]]]:
    """Task -> of each of its episodes with commands that were judged twice, the share of flagged among its predictions under either asking.

    The commands that were asked once are as they are in both, so the difference is scaled to what a second asking of all would bring:
    d * sqrt(predictions / asked twice), for independent answers.
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
    said = _predictions(commands)
    task_of = dict(zip(commands.units.tolist(), commands.clusters.tolist(), strict=True))
    pairs: dict[Task, list[list[float]]] = {}
    for unit, changes in differences.items():
        scaled = sum(changes) / float(np.sqrt(said[unit] * len(changes)))
        pairs.setdefault(commands.cluster_names[task_of[unit]], []).append([0.0, scaled])
    return pairs


def judge_noise(commands: Judged, confidence: float = 0.95) -> list[NoiseShare]:
    """Shares of the variance of full repeats: the judge's, from commands judged twice, and the agent's. The final run comes after every
    verdict, so it has no part in this quantity."""
    full = {task: [shares] for task, shares in flag_shares(commands).items()}
    return noise_shares(full, {"judge": judged_twice(commands)}, confidence=confidence)
