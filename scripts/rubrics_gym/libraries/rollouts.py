"""Reading the recorded rollouts that a library is written from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from rubrics_gym.harness.recorder import read_trajectory
from rubrics_gym.records.archives import read_archive
from rubrics_gym.records.files import DamagedFile, attempt_files, read_json
from rubrics_gym.records.grades import Grade
from rubrics_gym.records.outcomes import POLICY
from rubrics_gym.records.trajectory import Event, StartEvent


class Rollout(NamedTuple):
    """One graded rollout: its events (the first is its start), its grade, and what was handed in as text (empty when nothing was)."""

    collection: str
    unit: str
    events: list[Event]
    grade: Grade
    deliverable: str

    @property
    def may_be_mined(self) -> bool:
        """A loss of infrastructure says nothing about the agent."""
        return POLICY[self.grade.outcome].may_mine


def read_rollouts(trajectories: Iterable[str], archives: Iterable[str], grades: Iterable[str]) -> Iterator[Rollout]:
    """Rollouts one by one, from paths in the same order; a folder stands for all attempts in it. DamagedFile names a trajectory that does not
    begin with its start."""
    attempts = zip(
        attempt_files(trajectories, "trajectory.jsonl"),
        attempt_files(archives, "artifacts.tar.gz"),
        attempt_files(grades, "grade.json"),
        strict=True,
    )
    for trajectory, archive, grade_file in attempts:
        events = read_trajectory(trajectory)
        if not events or not isinstance(events[0], StartEvent):
            raise DamagedFile(f"{trajectory}: a trajectory begins with a start event; this one does not: its file was cut or edited.")
        start = events[0]
        grade = Grade.model_validate(read_json(grade_file))
        deliverable = read_archive(archive).get(start.deliverable, b"").decode(errors="replace")
        yield Rollout(start.unit.split("/")[1], start.unit, list(events), grade, deliverable)
