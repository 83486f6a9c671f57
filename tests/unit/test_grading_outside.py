"""Benchmarks whose own evaluation programs are run: DSBench, MLGym, MLAgentBench; and those that are graded from tables or trees of marks."""

import json
import sys

import pytest
from tests.corpus import CORPUS, needs_corpus

from rubrics_gym.grading import dsbench, mlagentbench, paperbench, rebench
from rubrics_gym.grading.attempts import GRADERS, grade, grader_module
from rubrics_gym.grading.bundle import PrivateBundle
from rubrics_gym.grading.submissions import InvalidSubmission, same_key
from rubrics_gym.records.archives import UnsafeArchive, write_archive
from rubrics_gym.records.outcomes import Outcome

ANSWERS = "id,target\n1,10\n2,20\n3,40\n"
SHUFFLED = "id,target\n3,40\n1,10\n2,20\n"

DSBENCH = """
import argparse, os
import pandas as pd
parser = argparse.ArgumentParser()
for name in ("path", "name", "answer_file", "predict_file"):
    parser.add_argument("--" + name)
given = parser.parse_args()
error = (pd.read_csv(given.answer_file)["target"] - pd.read_csv(given.predict_file)["target"]).abs().mean()
open(os.path.join(given.path, given.name, "result.txt"), "w").write(str(error))
"""
MLGYM = """
import json, os, sys
import pandas as pd
place = "/home/agent/workspace"
true, given = pd.read_csv(os.path.join(place, "data", "answer.csv")), pd.read_csv(os.path.join(place, "submission.csv"))
if "target" not in given:
    sys.exit("there is no column target")
print("comparing ...")
print(json.dumps({"rmse": float(((true["target"] - given["target"]) ** 2).mean() ** 0.5)}))
"""
GAME = """
import json
from strategy import move
from target import other
print(json.dumps({"Score": sum(move(turn) == other(turn) for turn in range(10)) / 10}))
"""
MLAGENTBENCH = """
import os, sys
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../env"))
import pandas as pd
from train import error
def get_score(folder):
    return error(pd.read_csv("answer.csv")["target"], pd.read_csv(os.path.join(folder, "submission.csv"))["target"])
"""
TRAIN = "def error(true, given):\n    return (true - given).abs().mean()\n"


@pytest.fixture(autouse=True)
def here(monkeypatch):
    """This Python stands for the grading environment."""
    monkeypatch.setenv("RUBRICS_GRADING_PYTHON", sys.executable)


def private(
    tmp_path, benchmark, members, kind="prediction", metric="mae", greater=False, deliverables=("submission.csv",), task="t", **grading
):
    asked = {"benchmark": benchmark, "id": task, "kind": kind, "metric": {"name": metric, "greater_is_better": greater}}
    text = json.dumps({**asked, "deliverables": list(deliverables), **grading})
    files = {name: content.encode() for name, content in members.items()}
    write_archive(tmp_path / "private.tar.gz", {"grading.json": text.encode(), **files})
    return tmp_path / "private.tar.gz"


def submitted(tmp_path, text, name="submission.csv"):
    (tmp_path / name).write_text(text)
    return tmp_path / name


@pytest.fixture
def dsbench_task(tmp_path):
    members = {"answers.csv": ANSWERS, "evaluate.py": DSBENCH}
    return private(tmp_path, "dsbench", members, baseline=20.0, reference=0.0, columns=["id", "target"])


def test_dsbench_rows_in_another_order_count_in_full_by_the_corrected_rule_alone(tmp_path, dsbench_task):
    result = grade(dsbench_task, submitted(tmp_path, SHUFFLED), None)
    assert (result.outcome, result.score, result.correct_share, result.ended_wrong) == (Outcome.VALID, 0.0, 1.0, False)
    assert result.official is not None and result.official.score == 20.0 and result.official.correct_share == 0.0
    assert result.disagreement == "verdict"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("id,target\n1,10\n2,20\n", "2 rows; expected 3"),
        ("id,target\n1,10\n2,20\n9,40\n", "1 ids have no prediction and 1 ids are not asked for"),
        ("id,target\n1,10\n1,20\n3,40\n", "1 ids have no prediction"),
        ("id\n1\n2\n3\n", "columns are missing: target"),
        ("id,target\n1,10,5\n", "row 1 of submission.csv has 3 cells"),
        ("", "is empty"),
    ],
)
def test_dsbench_takes_no_other_rows(tmp_path, dsbench_task, text, says):
    result = grade(dsbench_task, submitted(tmp_path, text), None)
    assert result.outcome is Outcome.INVALID and says in result.reason and result.ended_wrong


def test_dsbench_a_script_that_stops_is_a_grader_error(tmp_path, dsbench_task):
    result = grade(dsbench_task, submitted(tmp_path, "id,target\n1,ten\n2,20\n3,40\n"), None)
    assert (result.outcome, result.score) == (Outcome.GRADER_ERROR, None) and "wrote no score" in result.reason


def test_dsbench_nothing_counts_zero_officially_and_has_no_score(tmp_path, dsbench_task):
    result = grade(dsbench_task, None, None)
    assert result.outcome is Outcome.NO_SUBMISSION and result.score is None and result.official is not None
    assert result.official.correct_share == 0.0 and result.official.score is None


@pytest.mark.parametrize(
    ("score", "baseline", "reference", "share"),
    [
        (0.5, 0.5, 1.0, 0.0),
        (1.0, 0.5, 1.0, 1.0),
        (0.75, 0.5, 1.0, 0.5),
        (0.2, 0.5, 1.0, 0.0),
        (5.0, 10.0, 0.0, 0.5),
        (12.0, 10.0, 0.0, 0.0),
        (1.5, 0.5, 1.0, 2.0),
        (float("nan"), 0.5, 1.0, 0.0),
    ],
)
def test_dsbench_normalises_between_baseline_and_reference(score, baseline, reference, share):
    assert dsbench.normalised(score, baseline, reference) == pytest.approx(share)


def test_dsbench_no_scale_without_a_distance():
    for baseline, reference in ((1.0, 1.0), (float("nan"), 1.0)):
        with pytest.raises(ValueError, match="give no scale"):
            dsbench.normalised(0.5, baseline, reference)


@needs_corpus
def test_dsbench_all_published_normalisers():
    folder = CORPUS / "DSBench" / "data_modeling" / "save_performance"

    def published(kind, name):
        path = folder / kind / name / "result.txt"
        return float(path.read_text()) if path.is_file() else None

    names = sorted(path.name for path in (folder / "GT").iterdir())
    pairs = {name: (published("baseline", name), published("GT", name)) for name in names}
    for baseline, reference in pairs.values():
        assert dsbench.normalised(baseline, baseline, reference) == 0.0
        assert dsbench.normalised(reference, baseline, reference) == 1.0
        assert dsbench.normalised((baseline + reference) / 2, baseline, reference) == pytest.approx(0.5)
        assert dsbench.normalised(2 * baseline - reference, baseline, reference) == 0.0
    assert len(pairs) == 74 and sum(reference > baseline for baseline, reference in pairs.values()) == 41


def test_mlgym_runs_the_shipped_program_on_a_workspace_of_its_own(tmp_path):
    members = {"evaluation/evaluate.py": MLGYM, "gold/answer.csv": ANSWERS}
    grading = {"entrypoint": "CSVSubmissionTasks", "baseline_scores": [{"rmse": 5.0}], "evaluation": ["evaluate.py"], "timeout_s": 60}
    archive = private(tmp_path, "mlgym", members, metric="rmse", **grading)
    (tmp_path / "evaluate.py").write_text("raise SystemExit('the agent edited this')")
    result = grade(archive, submitted(tmp_path, SHUFFLED), None)
    assert (result.score, result.ended_wrong) == (0.0, False)
    assert result.official is not None and result.official.score == pytest.approx(21.6025, abs=1e-3) and result.official.ended_wrong
    refused = grade(archive, submitted(tmp_path, "id,price\n1,1\n2,2\n3,3\n"), None)
    assert refused.outcome is Outcome.INVALID and "there is no column target" in refused.reason


def test_mlgym_a_program_of_the_agents_runs_in_the_sandbox_that_is_handed_in_or_not_at_all(tmp_path):
    members = {
        "evaluation/evaluate.py": GAME,
        "evaluation/target.py": "def other(turn):\n    return turn % 2\n",
        "evaluation/strategy.py": "",
    }
    grading = {"entrypoint": "PythonSubmissionTasks", "baseline_scores": [{"Score": 0.5}], "evaluation": ["evaluate.py"], "timeout_s": 60}
    archive = private(tmp_path, "mlgym", members, "program", "Score", True, ("strategy.py",), **grading)
    work = tmp_path / "work"
    work.mkdir()
    strategy = submitted(work, "def move(turn):\n    return turn % 2\n", "strategy.py")
    submitted(work, "def other(turn):\n    return 5\n", "target.py")
    assert "no sandbox was handed in" in grade(archive, strategy, None).reason
    asked = []

    def sandbox(folder, command, seconds):
        from rubrics_gym.grading.programs import run_python

        asked.append((sorted(path.name for path in folder.iterdir()), command, seconds))
        return run_python(command.split()[1:], folder, seconds)

    result = grade(archive, strategy, None, sandbox)
    assert (result.outcome, result.score, result.ended_wrong) == (Outcome.VALID, 1.0, False)  # against the shipped target.py
    assert asked == [(["evaluate.py", "strategy.py", "target.py"], "python evaluate.py", 60)]


@pytest.fixture
def agent_task(tmp_path):
    members = {"scripts/eval.py": MLAGENTBENCH, "scripts/answer.csv": ANSWERS, "env/train.py": TRAIN}
    return private(tmp_path, "mlagentbench", members, metric="mean_absolute_error", baseline=10.0)


def test_mlagentbench_imports_the_shipped_code_and_not_the_agents(tmp_path, agent_task):
    (tmp_path / "train.py").write_text("def error(true, given):\n    return -1\n")
    result = grade(agent_task, submitted(tmp_path, "id,target\n1,11\n2,21\n3,41\n"), None)
    assert (result.outcome, result.score, result.ended_wrong, result.disagreement) == (Outcome.VALID, 1.0, False, "")
    shuffled = grade(agent_task, submitted(tmp_path, SHUFFLED), None)
    assert shuffled.score == 0.0 and shuffled.official is not None and shuffled.official.score == 20.0


def test_mlagentbench_success_is_a_tenth_better_than_the_starter():
    assert mlagentbench.improves(0.9, 1.0, greater_is_better=False) and not mlagentbench.improves(0.91, 1.0, greater_is_better=False)
    assert mlagentbench.improves(0.55, 0.5, greater_is_better=True) and not mlagentbench.improves(0.54, 0.5, greater_is_better=True)


def test_mlagentbench_a_score_that_the_agent_reports_itself_is_none(tmp_path):
    evaluation = "def get_score(folder):\n    return float(open(folder + '/submission.csv').read())\n"
    archive = private(tmp_path, "mlagentbench", {"scripts/eval.py": evaluation}, task="vectorization", baseline=2.0)
    result = grade(archive, submitted(tmp_path, "0.001"), None)
    assert result.outcome is Outcome.VALID and result.score is None and "reports this score itself" in result.reason
    assert result.official is not None and result.official.score == 0.001


def test_mlagentbench_labels_that_are_drawn_at_random_are_drawn_alike(tmp_path):
    evaluation = "import random\ndef get_score(folder):\n    return random.random()\n"
    archive = private(tmp_path, "mlagentbench", {"scripts/eval.py": evaluation, "scripts/answer.csv": ANSWERS}, baseline=None)
    bundle = PrivateBundle(archive)
    first, second = (mlagentbench.evaluate(bundle, "submission.csv", ANSWERS.encode()) for _ in range(2))
    assert first == second


def test_rebench_score_tables(tmp_path):
    archive = private(
        tmp_path, "rebench", {}, metric="log_ms", family="f", start=2.0, reference=1.0, aggregate="min", deliverables=("scores.csv",)
    )
    result = grade(archive, submitted(tmp_path, "elapsed,score\n10,2.0\n20,\n30,1.25\n40,1.5\n", "scores.csv"), None)
    assert (result.score, result.correct_share, result.ended_wrong) == (1.25, 0.75, False)
    assert rebench.read_scores('{"score": 0.1}\n{"score": null}\n{"score": 0.4}\n') == [0.1, 0.4]
    assert rebench.aggregate([0.4, 0.1], "last") == 0.1 and rebench.aggregate([0.4, 0.1], "max") == 0.4
    for text in ("elapsed,score\n10,\n", "nothing", "", '{"score": "high"}'):
        with pytest.raises(InvalidSubmission, match="score table"):
            rebench.read_scores(text)


def test_openml_balanced_accuracy_on_the_fixed_rows(tmp_path):
    answers = "row_id,repeat,fold,class\n5,0,0,a\n9,0,0,a\n11,0,0,a\n12,0,0,b\n"
    grading = {"id_column": "row_id", "target": "class", "classes": ["a", "b", "c"], "folds": 10}
    archive = private(tmp_path, "openml", {"answers.csv": answers}, metric="balanced_accuracy", greater=True, **grading)
    perfect = grade(archive, submitted(tmp_path, "class,row_id\nb,12\na,5\na,9\na,11\n"), None)
    assert (perfect.score, perfect.ended_wrong) == (1.0, False)
    constant = grade(archive, submitted(tmp_path, "row_id,class\n5,a\n9,a\n11,a\n12,a\n"), None)
    assert (constant.score, constant.ended_wrong) == (0.5, True)
    assert grade(archive, submitted(tmp_path, "row_id,class\n5,a\n9,a\n11,a\n12,z\n"), None).outcome is Outcome.INVALID


@pytest.mark.parametrize("classes", range(2, 13))
def test_one_class_for_all_rows_is_never_better_than_itself(tmp_path, classes):
    answers = "row_id,repeat,fold,class\n" + "".join(f"{row},0,0,c{row}\n" for row in range(classes))
    grading = {"id_column": "row_id", "target": "class", "classes": [], "folds": 10}
    archive = private(tmp_path, "openml", {"answers.csv": answers}, metric="balanced_accuracy", greater=True, **grading)
    constant = grade(archive, submitted(tmp_path, "row_id,class\n" + "".join(f"{row},c0\n" for row in range(classes))), None)
    assert constant.score == pytest.approx(1 / classes, abs=1e-5) and constant.ended_wrong is True


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("12", "12.0", True),
        ("-12", "-12.00", True),
        ("007", "7", True),
        ("12", "1.200000000000000000e+01", True),  # numpy.savetxt
        ("12.5", "12", False),
        ("1.25e+00", "1", False),
        ("12345678901234567890", "12345678901234567891", False),  # more digits than a float holds
        ("12e4", "120000", False),  # a hash that looks like a number
        ("1_0", "10", False),
    ],
)
def test_ids_are_the_same_only_when_they_are_the_same_whole_number(first, second, same):
    assert (same_key(first) == same_key(second)) is same


def leaf(name, score, weight=1, category="Code Development", **more):
    return {"id": name, "requirements": name, "weight": weight, "sub_tasks": [], "task_category": category, "score": score, **more}


def node(name, *parts, weight=1):
    return {"id": name, "requirements": name, "weight": weight, "sub_tasks": list(parts), "task_category": None}


TREE = node(
    "root", leaf("a", 1, 3), node("b", leaf("c", 0), leaf("d", 1, 1, "Result Analysis"), weight=1), node("e", leaf("f", 1, 0), weight=4)
)


def test_paperbench_weighted_tree():
    assert paperbench.tree_score(TREE) == pytest.approx((3 * 1 + 1 * 0.5 + 4 * 0.0) / 8)
    code = paperbench.only_category(TREE, "Code Development")
    assert [one["id"] for one in paperbench.leaves(code)] == ["a", "c", "f"] and paperbench.tree_score(code) == pytest.approx(3 / 8)
    with pytest.raises(ValueError, match="no part of the category 'Cooking'"):
        paperbench.only_category(TREE, "Cooking")
    with pytest.raises(ValueError, match="expected 0 to 1"):
        paperbench.tree_score(leaf("a", 2))


def test_paperbench_marks_are_counted_by_the_rubrics_own_weights(tmp_path):
    archive = private(
        tmp_path, "paperbench", {"rubric.json": json.dumps(TREE)}, metric="replication_score", greater=True, code_development_only=False
    )
    forged = node("root", leaf("a", 0, 0), leaf("c", 1, 100), leaf("d", 1), leaf("f", 1, valid_score=False))
    result = grade(archive, submitted(tmp_path, json.dumps(forged), "marks.json"), None)
    assert result.score == pytest.approx(1 / 8) and "could not mark 1 of 4" in result.reason
    lacking = grade(archive, submitted(tmp_path, json.dumps(node("root", leaf("a", 1))), "marks.json"), None)
    assert lacking.outcome is Outcome.INVALID and "3 of 4 requirements have no mark" in lacking.reason


@needs_corpus
def test_paperbench_a_stored_tree_gives_its_stored_root():
    marked = json.loads(next(CORPUS.glob("PaperBench/**/expected_result.json")).read_text())
    assert paperbench.tree_score(marked) == pytest.approx(marked["score"], abs=1e-12) == pytest.approx(0.91)


def test_every_benchmark_has_a_grader_that_offers_what_is_asked_of_one():
    import importlib

    for name in GRADERS:
        module = importlib.import_module(grader_module(name))
        assert all(callable(getattr(module, function)) for function in ("grade", "missing", "reference")), name
    with pytest.raises(KeyError, match="no grader for benchmark 'titanic'"):
        grader_module("titanic")


def test_an_archive_without_rules_is_no_private_bundle(tmp_path):
    write_archive(tmp_path / "private.tar.gz", {"answers.json": b"{}"})
    with pytest.raises(UnsafeArchive, match=r"holds no grading\.json"):
        grade(tmp_path / "private.tar.gz", None, None)
