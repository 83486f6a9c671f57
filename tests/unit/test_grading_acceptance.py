"""Acceptance agents through the harness, and how often two rules disagree."""

import shutil
from pathlib import Path

import pytest

from rubrics_gym.grading.acceptance import Acceptance, is_full, is_missing, oracle_verdict, reference_answer
from rubrics_gym.grading.attempts import grade
from rubrics_gym.grading.bundle import PrivateBundle
from rubrics_gym.grading.disagreements import disagreement_rows
from rubrics_gym.harness.acceptance import FOLDER, NOP, ORACLE, ScriptedAgent, lay_out
from rubrics_gym.harness.attempts import WorkPlace, record_attempt
from rubrics_gym.harness.episode import Attempt
from rubrics_gym.harness.outcomes import attempt_outcome
from rubrics_gym.harness.recorder import read_trajectory
from rubrics_gym.models.prompts import load_prompt
from rubrics_gym.records.archives import unpack_archive
from rubrics_gym.records.grades import Grade, RuleResult
from rubrics_gym.records.outcomes import Outcome
from rubrics_gym.settings.study import Arm, CodeRuns, Limits, ModelSettings, Sandbox
from rubrics_gym.tasks.bundles import build_task
from rubrics_gym.tasks.catalog import load_benchmark

PROMPTS = Path(__file__).parents[2] / "resources" / "prompts"


def one_of_each_kind() -> list[str]:
    entries = load_benchmark("packaged").entries
    return list({(entry.kind, entry.competition): entry.id for entry in reversed(entries)}.values())


def tried(tmp_path: Path, task: str, name: str, lines: tuple[str, ...], reference: dict[str, bytes]) -> Grade:
    """The grade of one agent's attempt, as scripts/grade_acceptance.py makes it."""
    folder = tmp_path / name
    folder.mkdir()
    with WorkPlace(tmp_path / "public.tar.gz") as place:
        lay_out(reference, place.work)
        model, arm = ModelSettings(model=name), Arm(code_runs=CodeRuns.EXECUTE)
        what = Attempt(unit=task, number=1, task=place.task, arm_name="execute", arm=arm, limits=Limits(), model=model, seed=0, code="c")
        prompts = load_prompt(PROMPTS / "agent.yaml"), load_prompt(PROMPTS / "feedback.yaml")
        record_attempt(what, ScriptedAgent(lines), None, Sandbox(), place, folder, *prompts)
        unpack_archive(folder / "artifacts.tar.gz", folder / "left")
        assert not (folder / "left" / FOLDER).exists()
        return grade(
            tmp_path / "private.tar.gz",
            folder / "left" / place.task.deliverable,
            attempt_outcome(read_trajectory(folder / "trajectory.jsonl")),
        )


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
@pytest.mark.parametrize("task", one_of_each_kind())
def test_the_reference_answer_scores_in_full_and_nothing_as_missing(tmp_path, task):
    build_task("packaged", task, tmp_path / "public.tar.gz", tmp_path / "private.tar.gz")
    reference = reference_answer(PrivateBundle(tmp_path / "private.tar.gz"))
    assert reference
    oracle, nop = tried(tmp_path, task, "oracle", ORACLE, reference), tried(tmp_path, task, "nop", NOP, {})
    assert is_full(oracle), oracle
    assert is_missing(nop) and nop.outcome is Outcome.NO_SUBMISSION
    assert oracle_verdict(Acceptance(benchmark="packaged", task=task, oracle=oracle, nop=nop)) == "full"
    assert oracle_verdict(Acceptance(benchmark="packaged", task=task, oracle=None, nop=nop)) == "no reference"
    assert oracle_verdict(Acceptance(benchmark="packaged", task=task, oracle=nop, nop=nop)) == "not full"


def result(outcome=Outcome.VALID, **found) -> RuleResult:
    return RuleResult(outcome=outcome, **found)


def graded(official: RuleResult | None, corrected: RuleResult | None, benchmark="dacode", task="t", **found) -> Grade:
    counts = corrected or result(**found)
    return Grade(
        benchmark=benchmark, task=task, metric="m", greater_is_better=True, official=official, corrected=corrected, **counts.model_dump()
    )


@pytest.mark.parametrize(
    ("found", "full"),
    [
        ({"score": 1.0}, True),
        ({"score": 0.999}, False),
        ({"score": 0.5, "correct_share": 1.0}, True),
        ({"score": 1.0, "correct_share": 0.5}, False),
        ({}, False),
    ],
)
def test_what_full_means(found, full):
    assert is_full(graded(None, None, **found)) is full


def test_losses_and_grader_errors_are_not_missing_answers():
    assert is_missing(graded(None, None, outcome=Outcome.NO_SUBMISSION))
    assert not is_missing(graded(None, None, outcome=Outcome.GRADER_ERROR))
    assert not is_missing(graded(None, None, outcome=Outcome.NODE_LOST))
    assert not is_missing(graded(None, None, score=0.0))


def test_disagreements_are_counted_by_the_gravest():
    right, wrong = result(score=1.0, ended_wrong=False), result(score=0.0, ended_wrong=True)
    invalid, medal = result(Outcome.INVALID, ended_wrong=True), result(score=1.0, ended_wrong=False, medal="gold")
    grades = [
        ("pool", graded(right, right)),
        ("pool", graded(wrong, right, task="b")),
        ("pool", graded(invalid, right, task="a")),
        ("pool", graded(right, result(score=0.9, ended_wrong=False), task="b")),
        ("pool", graded(None, None, "packaged")),
        ("arm", graded(medal, right, "mlebench")),
    ]
    assert disagreement_rows(grades) == [
        {
            "group": "arm",
            "benchmark": "mlebench",
            "graded": 1,
            "agree": 0,
            "outcome": 0,
            "medal": 1,
            "verdict": 0,
            "score": 0,
            "tasks": "t",
        },
        {
            "group": "pool",
            "benchmark": "dacode",
            "graded": 4,
            "agree": 1,
            "outcome": 1,
            "medal": 0,
            "verdict": 1,
            "score": 1,
            "tasks": "a b",
        },
    ]


def test_scores_that_differ_by_rounding_agree():
    assert graded(result(score=0.1 + 0.2), result(score=0.3)).disagreement == ""
