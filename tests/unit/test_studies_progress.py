"""A slot in which nothing is attempted keeps a record of what it is, and its place among the planned ones."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests import attempt_records

from rubrics_gym.harness.attempts import PLAN, record_closed
from rubrics_gym.harness.episode import Attempt
from rubrics_gym.harness.final import FINAL, leave_unrun
from rubrics_gym.harness.outcomes import attempt_outcome, final_outcome, was_run
from rubrics_gym.harness.recorder import read_trajectory
from rubrics_gym.records.files import read_json, write_json, write_json_lines
from rubrics_gym.records.grades import Grade
from rubrics_gym.records.outcomes import Outcome
from rubrics_gym.records.tasks import Task, TaskKind
from rubrics_gym.records.trajectory import CommandEvent, EndEvent, FinalEvent, SnapshotEvent
from rubrics_gym.report.arms import results_per_arm
from rubrics_gym.report.episodes import read_episode
from rubrics_gym.settings.study import Arm, CodeRuns, Limits, ModelSettings
from rubrics_gym.store.attempts import AttemptRow, AttemptState, AttemptStore
from rubrics_gym.store.serving import Closed
from rubrics_gym.studies.progress import CLOSED, progress, slots_that_ended

KEY = "a" * 64


@pytest.fixture
def what() -> Attempt:
    task = Task.model_construct(benchmark="packaged", id="some-task", statement="Predict it.", kind=TaskKind.PREDICTION)
    model = ModelSettings(model="simulated-agent-1")
    return Attempt(attempt_records.UNIT, 0, task, "matched", Arm(code_runs=CodeRuns.EXECUTE), Limits(), model, 1, "c")


def slot(folder: Path, name: str, *events: object) -> Path:
    write_json_lines(folder / name / "trajectory.jsonl", events)
    return folder / name


def test_a_slot_that_was_never_begun_says_so_and_has_no_commands(tmp_path: Path, what: Attempt) -> None:
    record_closed(what, Closed("the study stands still", "2026-01-01"), tmp_path, [])
    start, end = read_trajectory(tmp_path / "trajectory.jsonl")
    assert (start.unit, start.attempt) == (attempt_records.UNIT, 0)
    assert (end.outcome, end.reason, end.wall_s) == (Outcome.NOT_RUN, "not_run: the study stands still", None)
    assert not was_run([start, end]) and attempt_outcome([start, end]) is Outcome.NOT_RUN
    assert (tmp_path / PLAN).read_text() == "" and (tmp_path / "artifacts.tar.gz").exists()


def test_a_slot_that_was_cut_off_keeps_what_was_recorded_and_gives_the_same_bytes_again(tmp_path: Path, what: Attempt) -> None:
    store = AttemptStore(tmp_path / "store")
    with store.begin(attempt_records.UNIT, KEY) as attempt:
        write_json_lines(attempt.folder / "trajectory.jsonl", attempt_records.attempt()[:-1])
    (lost,) = store.lost(attempt_records.UNIT, KEY)
    closed = Closed("the deadline has passed", lost.begun.at, lost)
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        record_closed(what, closed, tmp_path / name, [])
    events = read_trajectory(tmp_path / "first" / "trajectory.jsonl")
    assert [event for event in events if isinstance(event, CommandEvent)] == [
        event for event in attempt_records.attempt() if isinstance(event, CommandEvent)
    ]
    assert not any(isinstance(event, SnapshotEvent) for event in events)
    end = events[-1]
    assert (
        isinstance(end, EndEvent) and end.outcome is Outcome.UNKNOWN and end.reason.startswith("no_end: ") and end.cost_microdollars == 20
    )
    for name in ("trajectory.jsonl", "artifacts.tar.gz"):
        assert (tmp_path / "first" / name).read_bytes() == (tmp_path / "second" / name).read_bytes()


def test_an_episode_that_was_not_run_has_no_final_run_and_no_grade_but_is_planned(tmp_path: Path, what: Attempt) -> None:
    record_closed(what, Closed("stopped", "2026-01-01"), tmp_path, [])
    leave_unrun(tmp_path, 8)
    outcome = final_outcome(read_trajectory(tmp_path / "trajectory.jsonl"), FinalEvent.model_validate(read_json(tmp_path / FINAL)))
    assert outcome is Outcome.NOT_RUN
    episodes = []
    for task, ended in (("a", Outcome.VALID), ("b", Outcome.NOT_RUN), ("c", Outcome.UNKNOWN)):
        path = tmp_path / f"results/episodes/quick/matched/0/packaged/{task}/grade.json"
        write_json(path, Grade(benchmark="packaged", task=task, outcome=ended, metric="none", greater_is_better=True, ended_wrong=None))
        episodes.append(read_episode(path))
    (row,) = results_per_arm(episodes, "study", True)
    assert (row["planned"], row["finished"], row["lost"], row["not_run"], row["valid"]) == (3, 1, 1, 1, 1)
    assert (row["bound_low"], row["bound_high"]) == (pytest.approx(1 / 3), 1.0)


def test_progress_counts_every_planned_slot_once(tmp_path: Path) -> None:
    ended = attempt_records.attempt()
    end = ended[-1]
    assert isinstance(end, EndEvent)
    folders = [
        slot(tmp_path, "ended", *ended),
        slot(tmp_path, "not_run", ended[0], end.model_copy(update={"outcome": Outcome.NOT_RUN})),
        slot(tmp_path, "lost", ended[0], end.model_copy(update={"outcome": Outcome.SANDBOX_DIED})),
        slot(tmp_path, "cut_off", *ended[:-1]),
        tmp_path / "nothing_there",
    ]
    continued = AttemptRow(unit="u", key=KEY, attempt=2, state=AttemptState.COMPLETE, begun_at="", code="", continuation=True)
    write_json_lines(folders[0] / "attempts.jsonl", [continued])
    (row,) = progress([("episodes/matched", folders)])
    assert (row.planned, row.ended, row.lost, row.not_run, row.in_continuation) == (5, 1, 2, 2, 1)
    assert [path.name for path in slots_that_ended(folders, CLOSED)] == ["not_run", "cut_off"]
    shutil.rmtree(folders[1])
    assert progress([("episodes/matched", folders)])[0].not_run == 2
