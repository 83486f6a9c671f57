"""How much of the difference between two runs of one episode is the judge's own doing, on the share of its commands that it flags."""

from __future__ import annotations

from collections import Counter

import numpy as np

from rubrics_gym.judge.columns import FLAGGED, NO_PREDICTION, Judged
from rubrics_gym.statistics.noise import NoiseShare, Squares, noise_shares, squares_of

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


def judged_twice(commands: Judged) -> Squares:
    """What a second asking adds to the variance of an episode's share, from the commands that were asked about twice, whichever episode they are of.

    An episode of n predictions has the variance of its answers over n². That of one answer is half the square of the difference of two; a command that
    was asked twice stands for all predictions over those asked twice (drawn with one chance). Every episode counts, also one in which no command was
    drawn: long ones are drawn more often, and the judge moves them less.
    """
    said = _predictions(commands)
    task_of = {int(unit): commands.cluster_names[int(cluster)] for unit, cluster in zip(commands.units, commands.clusters, strict=True)}
    freedom = Counter(task_of[unit] for unit in task_of if said[unit])
    place = {command: row for row, command in enumerate(commands.commands)}
    squares: dict[Task, float] = {}
    asked: Counter[Task] = Counter()
    for command, other in () if commands.again is None else zip(commands.again.commands, commands.again.prediction, strict=True):
        first, unit = commands.prediction[place[command]], int(commands.units[place[command]])
        if first != NO_PREDICTION and other != NO_PREDICTION:
            asked[task_of[unit]] += 1
            squares[task_of[unit]] = squares.get(task_of[unit], 0.0) + (int(other) - int(first)) ** 2 / (2 * float(said[unit]) ** 2)
    twice = asked.total()
    stands_for = float(said.sum()) / twice if twice else 0.0
    return Squares(
        squares={task: stands_for * total for task, total in squares.items()},
        freedom={task: float(count) for task, count in freedom.items()} if twice else {},
        repeated=frozenset(asked),
        n=2 * twice,
        groups=twice,
    )


def judge_noise(commands: Judged, confidence: float = 0.95) -> list[NoiseShare]:
    """Shares of the variance of full repeats: the judge's, from commands judged twice, and the agent's. The final run comes after every
    verdict, so it has no part in this quantity."""
    full = squares_of({task: [shares] for task, shares in flag_shares(commands).items()})
    return noise_shares(full, {"judge": judged_twice(commands)}, confidence=confidence)
