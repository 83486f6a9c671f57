"""Grading: the true answers get full marks in every task, nothing is no_submission, garbage is invalid, and our own defects are ours."""

import functools
import json
import subprocess
import sys
from pathlib import Path

import pytest

from rubrics_gym.grading import packaged
from rubrics_gym.grading.attempts import grade
from rubrics_gym.records.archives import UnsafeArchive, write_archive
from rubrics_gym.records.outcomes import POLICY, Outcome
from rubrics_gym.records.tasks import TaskKind
from rubrics_gym.tasks.bundles import make_task
from rubrics_gym.tasks.catalog import load_benchmark

ENTRIES = load_benchmark("packaged").entries
LOSSES = [outcome for outcome in Outcome if not POLICY[outcome].agents_doing]
SCRIPTS = str(Path(__file__).resolve().parents[2] / "scripts")
build = functools.cache(functools.partial(make_task, "packaged"))


def bundle(folder, task, **changes):
    """The private archive of a task, in `folder`; `changes` replace keys of grading.json."""
    members = dict(build(task).private)
    members["grading.json"] = json.dumps({**json.loads(members["grading.json"]), **changes}).encode()
    write_archive(folder / "private.tar.gz", members)
    return folder / "private.tar.gz"


def oracle(folder, task):
    """The private answers in the shape of the deliverable."""
    built = build(task)
    path = folder / built.task.deliverable
    if built.task.kind is TaskKind.QUESTION:
        answers = json.loads(built.private["answers.json"])
        path.write_text("\n".join(f"@{name}[{value}]" for name, value in answers.items()))
    else:
        path.write_bytes(built.private["answers.csv"])
    return path


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.id)
def test_the_oracle_gets_full_marks(tmp_path, entry):
    result = grade(bundle(tmp_path, entry.id), oracle(tmp_path, entry.id), None)
    assert result.outcome is Outcome.VALID and result.ended_wrong is False
    assert result.score == pytest.approx(1.0 if result.greater_is_better else 0.0, abs=1e-5)
    assert result.submission_sha256 is not None
    if entry.competition:
        assert result.medal == "gold" and result.above_median is True
    elif entry.kind is not TaskKind.PREDICTION:
        assert result.correct_share == 1.0 and result.medal is None


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.id)
def test_nothing_and_garbage(tmp_path, entry):
    private = bundle(tmp_path, entry.id)
    nothing = grade(private, None, None)
    assert (nothing.outcome, nothing.score, nothing.ended_wrong) == (Outcome.NO_SUBMISSION, None, True)
    path = tmp_path / build(entry.id).task.deliverable
    assert grade(private, path, None) == nothing  # a path where nothing is
    for garbage in (b"", b"\xff\xfe\x00", b"hello\n", b'a,b\n"1,2\n', b"id,target\n"):
        path.write_bytes(garbage)
        result = grade(private, path, None)
        assert (result.outcome, result.score, result.ended_wrong) == (Outcome.INVALID, None, True)
        assert result.reason
        assert result.above_median is (False if entry.competition else None)


@pytest.mark.parametrize("entry", [entry for entry in ENTRIES if entry.kind is TaskKind.PREDICTION], ids=lambda entry: entry.id)
def test_the_sample_submission_is_valid_and_wins_nothing(tmp_path, entry):
    path = tmp_path / "submission.csv"
    path.write_bytes(build(entry.id).public["data/sample_submission.csv"])
    result = grade(bundle(tmp_path, entry.id), path, None)
    assert result.outcome is Outcome.VALID and result.ended_wrong is True and result.medal is None


@pytest.mark.parametrize("outcome", LOSSES)
def test_a_loss_passes_through_without_a_score(tmp_path, outcome):
    result = grade(bundle(tmp_path, "barley-yields"), oracle(tmp_path, "barley-yields"), outcome)
    assert (result.outcome, result.score, result.correct_share, result.ended_wrong) == (outcome, None, None, None)


@pytest.mark.parametrize("outcome", [Outcome.LIMIT_REACHED, Outcome.AGENT_OUT_OF_MEMORY])
def test_a_limit_stands_without_a_deliverable_and_does_not_void_one(tmp_path, outcome):
    private = bundle(tmp_path, "barley-yields")
    alone = grade(private, None, outcome)
    assert (alone.outcome, alone.score, alone.ended_wrong) == (outcome, None, True)
    assert grade(private, oracle(tmp_path, "barley-yields"), outcome).outcome is Outcome.VALID


def test_a_defect_of_the_grader_is_never_the_agents(tmp_path, monkeypatch):
    def broken(*arguments):
        raise ZeroDivisionError("a bug")

    private = bundle(tmp_path, "barley-yields")
    monkeypatch.setattr(packaged.answers, "correct_share", broken)
    result = grade(private, oracle(tmp_path, "barley-yields"), None)
    assert (result.outcome, result.score, result.ended_wrong) == (Outcome.GRADER_ERROR, None, None)
    assert "ZeroDivisionError: a bug" in result.reason


def test_grading_a_question_loads_no_data_library(tmp_path):
    arguments = [str(bundle(tmp_path, "barley-yields")), str(oracle(tmp_path, "barley-yields"))]
    program = (
        "import sys; from rubrics_gym.grading.attempts import grade; print(grade(*sys.argv[1:], None).score);"
        "print([name for name in ('pandas', 'numpy', 'sklearn', 'scipy') if name in sys.modules])"
    )
    run = subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True, env={"PYTHONPATH": SCRIPTS}
    )
    assert run.stdout.split("\n")[:2] == ["1.0", "[]"]


def test_a_damaged_private_bundle_is_an_error_not_a_grade(tmp_path):
    (tmp_path / "private.tar.gz").write_bytes(b"not an archive")
    with pytest.raises(UnsafeArchive, match=r"private\.tar\.gz"):
        grade(tmp_path / "private.tar.gz", None, None)


def test_a_link_to_the_answers_is_not_a_submission(tmp_path):
    (tmp_path / "secret.csv").write_bytes(build("penguins-body-mass").private["answers.csv"])
    (tmp_path / "submission.csv").symlink_to(tmp_path / "secret.csv")
    result = grade(bundle(tmp_path, "penguins-body-mass"), tmp_path / "submission.csv", None)
    assert result.outcome is Outcome.INVALID and "regular file" in result.reason and result.submission_sha256 is None


def test_a_pool_prediction_must_beat_the_constant_strictly(tmp_path):
    path = oracle(tmp_path, "restaurants-inspection-score")
    assert grade(bundle(tmp_path, "restaurants-inspection-score", constant=0.0), path, None).ended_wrong is True
    assert grade(bundle(tmp_path, "restaurants-inspection-score", constant=0.1), path, None).ended_wrong is False


def test_the_median_must_be_passed_and_a_medal_only_reached(tmp_path):
    path = oracle(tmp_path, "carseats-store-sales")  # score 0, lower is better
    board = {"gold": -1.0, "silver": -0.5, "bronze": 0.0, "median": 0.0}
    result = grade(bundle(tmp_path, "carseats-store-sales", thresholds=board), path, None)
    assert (result.medal, result.above_median, result.ended_wrong) == ("bronze", False, True)
