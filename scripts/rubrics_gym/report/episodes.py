"""The planned episodes of an evaluation with their outcomes, and the outcomes as arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rubrics_gym.records.files import read_json
from rubrics_gym.records.grades import Grade
from rubrics_gym.records.outcomes import POLICY, Outcome

ENDPOINTS = ("valid", "medal", "above_median")  # 0 or 1; the first is primary
SCORE = "normalised_score"

Competition = tuple[str, str]  # benchmark, task
Outcomes = Mapping[Competition, Mapping[int, float]]  # competition -> repeat -> outcome, NaN where not known


@dataclass(frozen=True, slots=True)
class Episode:
    """One planned episode of the evaluation. `grade` is None when it was not run."""

    split: str
    arm: str
    repeat: int
    benchmark: str
    task: str
    grade: Grade | None

    @property
    def competition(self) -> Competition:
        return self.benchmark, self.task

    @property
    def known(self) -> bool:
        """Whether the outcome is the agent's doing: an infrastructure loss is not known, and not zero."""
        return self.grade is not None and POLICY[self.grade.outcome].agents_doing

    def value(self, endpoint: str) -> float:
        """1 or 0 by the endpoint, NaN when the outcome is not known."""
        if self.grade is None or not self.known:
            return float("nan")
        if endpoint == "valid":
            return float(self.grade.outcome is Outcome.VALID)
        if endpoint == "medal":
            return float(self.grade.medal is not None)
        if endpoint == "above_median":
            return float(self.grade.above_median is True)
        raise ValueError(f"unknown endpoint {endpoint!r}; expected one of {', '.join(ENDPOINTS)}")


def read_episode(path: str | Path) -> Episode:
    """The episode of a grade file `…/episodes/{split}/{arm}/{repeat}/{benchmark}/{task}/grade.json`. One that was not run has no grade."""
    parts = Path(path).parts
    if len(parts) < 7 or parts[-7] != "episodes":
        raise ValueError(f"{path}: expected …/episodes/SPLIT/ARM/REPEAT/BENCHMARK/TASK/grade.json")
    split, arm, repeat, benchmark, task = parts[-6:-1]
    grade = Grade.model_validate(read_json(path))
    return Episode(split, arm, int(repeat), benchmark, task, None if grade.outcome is Outcome.NOT_RUN else grade)


def read_repeated_final(path: str | Path) -> Episode:
    """The episode of a grade file `…/repeated_finals/{split}/{arm}/{repeat}/{benchmark}/{task}/{again}/grade.json`, as that final run ended it."""
    parts = Path(path).parts
    if len(parts) < 8 or parts[-8] != "repeated_finals":
        raise ValueError(f"{path}: expected …/repeated_finals/SPLIT/ARM/REPEAT/BENCHMARK/TASK/AGAIN/grade.json")
    split, arm, repeat, benchmark, task = parts[-7:-2]
    return Episode(split, arm, int(repeat), benchmark, task, Grade.model_validate(read_json(path)))


def one_split(episodes: Iterable[Episode]) -> list[Episode]:
    """The episodes, all of one split. ValueError when they are of several: a table that mixed them would compare different competitions."""
    found = list(episodes)
    splits = sorted({episode.split for episode in found})
    if len(splits) > 1:
        raise ValueError(f"episodes of more than one split ({', '.join(splits)}); call once per split")
    return found


def outcomes(episodes: Iterable[Episode], endpoint: str) -> dict[str, dict[Competition, dict[int, float]]]:
    """Arm -> competition -> repeat -> outcome of one endpoint, NaN where it is not known."""
    episodes = list(episodes)
    found: dict[str, dict[Competition, dict[int, float]]] = {}
    for episode, value in zip(episodes, endpoint_values(episodes, endpoint), strict=True):
        found.setdefault(episode.arm, {}).setdefault(episode.competition, {})[episode.repeat] = value
    return found


def endpoint_values(episodes: Sequence[Episode], endpoint: str) -> list[float]:
    """The outcome of each episode by one endpoint, in their order; NaN where it is not known."""
    if endpoint == SCORE:
        standing = standings(episodes)
        return [standing.get(place, float("nan")) for place in range(len(episodes))]
    return [episode.value(endpoint) for episode in episodes]


def standings(episodes: Sequence[Episode]) -> dict[int, float]:
    """Normalised score in [0, 1] of every known episode, by its place in the sequence.

    Where parts are checked (questions, replication rubrics), the share that is right. In a competition, where the score stands among all
    known scores of that competition in this study: the mid-rank, the worst 0 and the best 1, a single one or equal ones 0.5. Without a
    valid submission it is 0.
    """
    scores: dict[Competition, list[float]] = {}
    for episode in episodes:
        if episode.known and episode.grade is not None and episode.grade.score is not None:
            scores.setdefault(episode.competition, []).append(_upward(episode.grade))
    ordered = {competition: np.sort(values) for competition, values in scores.items()}
    found: dict[int, float] = {}
    for place, episode in enumerate(episodes):
        grade = episode.grade
        if grade is None or not episode.known:
            continue
        if grade.correct_share is not None:
            found[place] = grade.correct_share
        elif grade.score is None or grade.outcome is not Outcome.VALID:
            found[place] = 0.0
        else:
            others = ordered[episode.competition]
            below, upto = (int(np.searchsorted(others, _upward(grade), side)) for side in ("left", "right"))
            found[place] = 0.5 if len(others) == 1 else (below + upto - 1) / (2 * (len(others) - 1))
    return found


def _upward(grade: Grade) -> float:
    """The score with its sign turned so that more is better."""
    assert grade.score is not None
    return grade.score if grade.greater_is_better else -grade.score


def matrix(of_arm: Outcomes, competitions: Sequence[Competition]) -> np.ndarray:
    """Outcomes of one arm, shape (competitions, repeats of this arm); NaN where nothing is known or planned."""
    repeats = sorted({repeat for by_repeat in of_arm.values() for repeat in by_repeat})
    rows = [[of_arm.get(name, {}).get(repeat, float("nan")) for repeat in repeats] for name in competitions]
    return np.array(rows, dtype=float).reshape(len(competitions), len(repeats))
