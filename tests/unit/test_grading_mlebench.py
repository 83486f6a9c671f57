"""MLE-bench: the worker's protocol, the canonical second score, outcomes, the self-test, and upstream's report. With stand-ins for upstream's functions."""

import datetime
import json
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
from tests.mlebench_shapes import traps
from tests.mlebench_stand_ins import FUNCTIONS, LOWER_IS_BETTER, answers_of, write_private, write_upstream

from rubrics_gym.grading import mlebench, programs
from rubrics_gym.grading.attempts import grade
from rubrics_gym.grading.bundle import PrivateBundle
from rubrics_gym.grading.denominators import load_denominators
from rubrics_gym.grading.leaderboards import load_cutoffs
from rubrics_gym.grading.mlebench_report import Graded, own_report, upstream_report
from rubrics_gym.grading.outside import worker
from rubrics_gym.grading.outside.canonical import Defect, canonical, shape_of
from rubrics_gym.grading.self_tests import GraderProblem, refuse_if_unsound
from rubrics_gym.records.grades import Grade, RuleResult
from rubrics_gym.records.outcomes import Outcome

CACTUS, NOMAD, JIGSAW, TAXI, TEXT, LEAF = FUNCTIONS
SAME = ("perfect", "shuffled rows", "reordered columns", "extra column")


@pytest.fixture(scope="module")
def upstream(tmp_path_factory) -> Path:
    return write_upstream(tmp_path_factory.mktemp("upstream"))


@pytest.fixture
def here(monkeypatch):
    """This Python stands for the grading environment."""
    monkeypatch.setenv("RUBRICS_GRADING_PYTHON", sys.executable)
    monkeypatch.setattr(mlebench, "PANDAS", pd.__version__)


def private(tmp_path, upstream, competition, answers=None, sample="own"):
    own_answers, own_sample = answers_of(competition)
    return write_private(
        tmp_path / "private.tar.gz",
        competition,
        own_answers if answers is None else answers,
        own_sample if isinstance(sample, str) else sample,
        upstream,
        competition not in LOWER_IS_BETTER,
    )


def asked(tmp_path, upstream, competition, text):
    """What the worker says about a submission, in this process."""
    answers, sample = answers_of(competition)
    paths = {name: tmp_path / f"{name}.csv" for name in ("answers", "sample", "submission")}
    answers.to_csv(paths["answers"], index=False)
    sample.to_csv(paths["sample"], index=False)
    paths["submission"].write_text(text)
    request = {name: str(path) for name, path in paths.items()}
    found = worker.main({**request, "competition": competition, "upstream": str(upstream), "gold": request["answers"]})
    for name in [name for name in sys.modules if name.split(".")[0] == "mlebench"]:
        del sys.modules[name]
    sys.path.remove(str(upstream))
    return found


@pytest.mark.parametrize("competition", [CACTUS, NOMAD, JIGSAW, TAXI, LEAF])
def test_the_corrected_rule_ends_every_trap_in_the_right_outcome(tmp_path, upstream, competition):
    answers, sample = answers_of(competition)
    best = 0.0 if competition in LOWER_IS_BETTER else 1.0
    for name, text in traps(answers, sample, str(sample.columns[0])).items():
        found = asked(tmp_path, upstream, competition, text)["corrected"]
        expected = ("scored", best) if name in SAME else ("invalid", None)
        assert (found["status"], found["score"]) == expected, (name, found)


@pytest.mark.parametrize(
    ("competition", "trap", "status", "score"),
    [
        (CACTUS, "shuffled rows", "scored", 1.0),
        (CACTUS, "no rows", "invalid", None),  # stops with an assertion, and something is visibly wrong with the submission
        (NOMAD, "wrong ids", "scored", 0.0),
        (NOMAD, "duplicated id", "scored", 0.0),
        (JIGSAW, "extra column", "error", None),  # stops although nothing is wrong: never an invalid submission
        (LEAF, "extra column", "invalid", None),
        (TAXI, "ragged CSV", "invalid", None),
    ],
)
def test_the_official_score_is_upstreams_with_its_defects(tmp_path, upstream, competition, trap, status, score):
    answers, sample = answers_of(competition)
    found = asked(tmp_path, upstream, competition, traps(answers, sample, str(sample.columns[0]))[trap])["official"]
    assert (found["status"], found["score"]) == (status, score), found


def test_officially_rows_and_columns_in_another_order_cost_points(tmp_path, upstream):
    for competition, trap in ((NOMAD, "shuffled rows"), (JIGSAW, "reordered columns")):
        answers, sample = answers_of(competition)
        found = asked(tmp_path, upstream, competition, traps(answers, sample, "id")[trap])
        assert found["official"]["status"] == "scored"
        assert found["official"]["score"] != found["corrected"]["score"]


def test_a_function_that_stops_for_right_answers_is_a_grader_error_not_an_invalid_submission(tmp_path, upstream):
    """What pandas 3 does to the text competitions: empty answers stop the function for every submission."""
    answers, sample = answers_of(TEXT)
    if pd.__version__ < "3":
        pytest.skip("this environment has an older pandas")
    for name, text in traps(answers, sample, "id").items():
        if name in ("perfect", "shuffled rows", "missing prediction"):
            found = asked(tmp_path, upstream, TEXT, text)
            assert found["official"]["status"] == found["corrected"]["status"] == "error", (name, found)


# ---------------------------------------------------------------- the canonical form


def test_ids_are_what_sample_and_answers_share():
    answers, sample = answers_of(NOMAD)
    shape = shape_of(sample, answers)
    assert shape.ids == ("id",) and shape.count == len(answers)
    assert shape.columns == ("id", "spacegroup", "formation_energy_ev_natom", "bandgap_energy_ev")
    assert shape.required == ("id", "formation_energy_ev_natom", "bandgap_energy_ev")


def test_ids_of_several_columns_and_a_target_that_comes_first():
    answers = pd.DataFrame({"label": [1, 0, 1, 0], "sentence": [0, 0, 1, 1], "token": [0, 1, 0, 1]})
    shape = shape_of(answers.assign(label=0), answers)
    assert shape.ids == ("sentence", "token")
    given = answers.iloc[[3, 1, 0, 2]]
    assert canonical(given, shape)["label"].tolist() == [1, 0, 1, 0]
    with pytest.raises(Defect, match="1 ids have no prediction and 1 ids are not asked for"):
        canonical(answers.assign(token=[0, 1, 0, 7]), shape)


def test_without_a_table_of_answers_the_sample_gives_ids_and_order():
    sample = pd.DataFrame({"example_id": ["b", "a"], "prediction": ["", ""]})
    shape = shape_of(sample, [{"example_id": "a"}])
    assert shape.ids == ("example_id",)
    assert canonical(pd.DataFrame({"prediction": [1, 2], "example_id": ["a", "b"]}), shape)["prediction"].tolist() == [2, 1]


def test_rows_without_identity_keep_their_order():
    answers = pd.DataFrame({"comment": ["x", "x", "y"], "label": [0, 1, 1]})
    shape = shape_of(answers.assign(label=0), answers)
    assert shape.ids == ()
    assert canonical(answers.iloc[::-1], shape)["label"].tolist() == [1, 1, 0]
    with pytest.raises(Defect, match="2 rows; expected 3"):
        canonical(answers.iloc[:2], shape)


def test_ids_written_as_floats_are_the_same_ids():
    answers = pd.DataFrame({"id": [1, 2, 3], "y": [0.1, 0.2, 0.3]})
    shape = shape_of(answers.assign(y=0.5), answers)
    assert canonical(pd.DataFrame({"id": [3.0, 1.0, 2.0], "y": [0.3, 0.1, 0.2]}), shape)["y"].tolist() == [0.1, 0.2, 0.3]


def test_words_where_numbers_belong_are_a_defect_and_empty_answers_are_not():
    answers = pd.DataFrame({"id": [1, 2, 3], "after": ["a", None, "c"]})
    shape = shape_of(answers.assign(after="x"), answers)
    assert canonical(answers, shape)["after"].isna().sum() == 1
    numbers = pd.DataFrame({"id": [1, 2, 3], "y": [0.1, 0.2, 0.3]})
    with pytest.raises(Defect, match="column 'y' holds something other than numbers"):
        canonical(numbers.assign(y=["high", "low", "low"]), shape_of(numbers.assign(y=0.5), numbers))


# ---------------------------------------------------------------- the process


def test_a_submission_is_graded_by_both_rules_in_a_process_of_its_own(tmp_path, upstream, here):
    archive = private(tmp_path, upstream, NOMAD)
    answers, sample = answers_of(NOMAD)
    submission = tmp_path / "submission.csv"
    submission.write_text(traps(answers, sample, "id")["shuffled rows"])
    result = grade(archive, submission, None)
    assert result.outcome is Outcome.VALID and result.official is not None and result.corrected is not None
    assert result.score == result.official.score and result.official.medal is None
    assert (result.corrected.score, result.corrected.medal, result.corrected.above_median) == (0.0, "gold", True)
    assert result.disagreement == "medal"


def test_no_submission_and_one_that_is_no_csv_are_the_agents_doing(tmp_path, upstream):
    archive = private(tmp_path, upstream, CACTUS)
    nothing = grade(archive, tmp_path / "submission.csv", None)
    assert (nothing.outcome, nothing.above_median, nothing.ended_wrong, nothing.score) == (Outcome.NO_SUBMISSION, False, True, None)
    (tmp_path / "submission.txt").write_text("id\n")
    assert grade(archive, tmp_path / "submission.txt", None).outcome is Outcome.INVALID


def test_no_environment_another_pandas_a_time_limit_and_a_crash_are_grader_errors(tmp_path, upstream, here, monkeypatch):
    archive = private(tmp_path, upstream, CACTUS)
    submission = tmp_path / "submission.csv"
    answers_of(CACTUS)[0].to_csv(submission, index=False)

    def reason():
        result = grade(archive, submission, None)
        assert (result.outcome, result.score, result.ended_wrong) == (Outcome.GRADER_ERROR, None, None)
        return result.reason

    monkeypatch.setattr(mlebench, "PANDAS", "2.1.")
    assert "expected 2.1.*. Make it again with `make grading`" in reason()
    monkeypatch.setattr(mlebench, "WORKER", "no_such_module")
    assert "ended with exit code 1 and no answer" in reason() and "no_such_module" in reason()
    monkeypatch.setattr(mlebench, "TIMEOUT_S", 0.01)
    assert "was stopped after its limit of 0.01 s (grader_timeout)" in reason()
    monkeypatch.setenv("RUBRICS_GRADING_PYTHON", str(tmp_path / "python"))
    assert "Run `make grading` once" in reason()


def test_a_program_that_takes_too_long_is_ended_with_all_that_it_started(tmp_path, monkeypatch):
    monkeypatch.setenv("RUBRICS_GRADING_PYTHON", sys.executable)
    code = "import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']); print('begun', flush=True); time.sleep(60)"
    began = time.monotonic()
    run = programs.run_python(["-c", code], tmp_path, 3.0)
    assert run.exit_code is None and time.monotonic() - began < 30


def test_what_a_grading_function_prints_does_not_reach_the_answer(tmp_path, upstream, here):
    noisy = tmp_path / "noisy"
    write_upstream(noisy)
    path = noisy / "mlebench" / "competitions" / CACTUS / "grade.py"
    path.write_text(
        path.read_text().replace("def grade(submission, answers):\n", "def grade(submission, answers):\n    print('{\"status\": 1}')\n")
    )
    archive = private(tmp_path, noisy, CACTUS)
    submission = tmp_path / "submission.csv"
    answers_of(CACTUS)[0].to_csv(submission, index=False)
    assert grade(archive, submission, None).score == 1.0


def test_the_self_test_knows_perfect_answers_and_an_order_that_matters(tmp_path, upstream, here):
    found = mlebench.self_test(PrivateBundle(private(tmp_path, upstream, NOMAD)))
    assert found.perfect and found.gold == 0.0 and found.order_matters and found.shuffled_canonical == 0.0
    assert found.sample is not None and found.ids == ("id",)
    refuse_if_unsound(found)


def test_a_grader_whose_reference_answers_are_not_perfect_grades_nothing(tmp_path, upstream, here):
    broken = tmp_path / "broken"
    write_upstream(broken)
    path = broken / "mlebench" / "competitions" / CACTUS / "grade.py"
    path.write_text(path.read_text().replace('given["has_cactus"]', '1 - given["has_cactus"]'))
    found = mlebench.self_test(PrivateBundle(private(tmp_path, broken, CACTUS)))
    assert found.gold == 0.0 and not found.perfect
    with pytest.raises(GraderProblem, match=rf"{CACTUS} gives the reference answers a score of 0\.0"):
        refuse_if_unsound(found)


# ---------------------------------------------------------------- reports


def graded(task: str, outcome: Outcome, score: float | None, sha256: str | None, corrected: float | None = None) -> Grade:
    cutoffs = load_cutoffs(task)

    def result(value: float | None) -> RuleResult:
        if value is None:
            return RuleResult(outcome=outcome, ended_wrong=True, above_median=False)
        return RuleResult(outcome=outcome, score=value, medal=cutoffs.medal(value), above_median=cutoffs.above_median(value))

    official, other = result(score), result(score if corrected is None else corrected)
    return Grade(
        benchmark="mlebench",
        task=task,
        metric="m",
        greater_is_better=True,
        submission_sha256=sha256,
        official=official,
        corrected=other,
        **official.model_dump(),
    )


WHEN = datetime.datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=datetime.UTC)
REPORT = """{
  "total_runs": 2,
  "total_runs_with_submissions": 1,
  "total_valid_submissions": 1,
  "total_medals": 1,
  "total_gold_medals": 0,
  "total_silver_medals": 1,
  "total_bronze_medals": 0,
  "total_above_median": 1,
  "competition_reports": [
    {
      "competition_id": "spaceship-titanic",
      "score": 0.82,
      "gold_threshold": 0.82066,
      "silver_threshold": 0.81388,
      "bronze_threshold": 0.80967,
      "median_threshold": 0.79565,
      "any_medal": true,
      "gold_medal": false,
      "silver_medal": true,
      "bronze_medal": false,
      "above_median": true,
      "submission_exists": true,
      "valid_submission": true,
      "is_lower_better": false,
      "created_at": "2026-01-02T03:04:05.000678",
      "submission_path": "a/submission.csv"
    },
    {
      "competition_id": "leaf-classification",
      "score": null,
      "gold_threshold": 0.0,
      "silver_threshold": 0.00791,
      "bronze_threshold": 0.01526,
      "median_threshold": 0.108345,
      "any_medal": false,
      "gold_medal": false,
      "silver_medal": false,
      "bronze_medal": false,
      "above_median": false,
      "submission_exists": false,
      "valid_submission": false,
      "is_lower_better": true,
      "created_at": "2026-01-02T03:04:05.000678",
      "submission_path": "b/submission.csv"
    }
  ]
}"""


def test_the_report_is_upstreams_byte_for_byte():
    attempts = [
        Graded(graded("spaceship-titanic", Outcome.VALID, 0.82, "0" * 64), WHEN, "a/submission.csv"),
        Graded(graded("leaf-classification", Outcome.NO_SUBMISSION, None, None), WHEN, "b/submission.csv"),
        Graded(graded("aerial-cactus-identification", Outcome.NODE_LOST, None, None), WHEN, "c/submission.csv"),  # no row: it was lost
    ]
    assert upstream_report(attempts).decode() == REPORT


def test_our_report_counts_over_declared_denominators_and_keeps_losses_out_of_the_zeros():
    grades = [
        graded("leaf-classification", Outcome.VALID, 0.5, "0" * 64, corrected=0.001),
        graded("random-acts-of-pizza", Outcome.VALID, 0.99, "0" * 64),
        graded("aerial-cactus-identification", Outcome.NODE_LOST, None, None),
    ]
    found = own_report([Graded(one, WHEN, "submission.csv") for one in grades])
    lite, fair = found["denominators"]["lite"], found["denominators"]["undisputed"]
    assert lite["official"] == {"planned": 22, "known": 2, "valid": 2, "above_median": 1, "any_medal": 1}
    assert lite["corrected"]["any_medal"] == 2 and found["disagreements"] == {"medal": 1}
    assert fair["official"] == {"planned": 17, "known": 1, "valid": 1, "above_median": 0, "any_medal": 0}
    assert found["outcomes"] == {"node_lost": 1, "valid": 2}
    json.dumps(found)


def test_the_declared_denominators():
    sizes = {name: len(one.tasks) for name, one in load_denominators().items()}
    assert sizes == {"lite": 22, "obtainable": 20, "undisputed": 17, "undisputed_obtainable": 15, "full_comparison": 69}
    assert all(reason for one in load_denominators().values() for reason in one.without.values())
