"""The three comparisons on deliverables that can be judged by hand."""

import math

import pytest

from rubrics_gym.grading import answers, metrics, predictions, result_files
from rubrics_gym.grading.submissions import InvalidSubmission


def deliverable(tmp_path, text):
    path = tmp_path / "deliverable"
    path.write_text(text)
    return path


# ---------------------------------------------------------------- questions

TRUTH = {"mean": "34.65", "country": "Libya", "rows": "76"}


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("@mean[34.65] @country[Libya] @rows[76]", 3),
        ("The mean is @mean[34.650].\n@country[Libya]\n@rows[76.0]", 3),
        ("@mean[34.651]\n@country[libya]\n@rows[ 76]", 1),  # not rounded; another spelling; spaces do no harm to numbers
        ("@mean[34.65%]\n@rows[seventy-six]\n@country[Libya]", 1),
        ("@mean[1]\n@mean[34.65]", 1),  # the last one counts
        ("@mean[nan]\n@rows[inf]", 0),
    ],
)
def test_sub_answers(tmp_path, text, right):
    assert answers.correct_share(deliverable(tmp_path, text), TRUTH, 1e-6) == pytest.approx(right / 3)


def test_an_answer_file_without_any_asked_name_is_invalid(tmp_path):
    with pytest.raises(InvalidSubmission, match=r"@mean\[value\]"):
        answers.correct_share(deliverable(tmp_path, "mean: 34.65 @other[1]"), TRUTH, 1e-6)


# ---------------------------------------------------------------- result files

ROWS = [{"state": "AK", "airports": "263", "mean": "61.334"}, {"state": "TX", "airports": "209", "mean": "31.485"}]


def share(tmp_path, text, key=()):
    return result_files.correct_share(deliverable(tmp_path, text), ROWS, 0.001, list(key))


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("state,airports,mean\nAK,263,61.334\nTX,209,31.485\n", 3),
        ("mean,state,airports\n61.3345,AK,263.0\n31.4850000,TX,209\n", 3),  # columns by name, another rounding
        ("state,airports,mean\nAK,263,61.34\nTX,209,31.485\n", 2),
        ("state,airports,mean\nAK,262,61.334\nTX,209,31.485\n", 2),
        ("state,airports,mean\nTX,209,31.485\nAK,263,61.334\n", 0),  # the order counts
        ("state,airports,mean\nAK,263,61.334\n", 0),
        ("state,airports,mean\nAK,263,\nTX,209,31.485\n", 2),
    ],
)
def test_result_files(tmp_path, text, right):
    assert share(tmp_path, text) == pytest.approx(right / 3)


def test_a_key_matches_rows_in_any_order(tmp_path):
    assert share(tmp_path, "state,airports,mean\nTX,209,31.485\nAK,263,61.334\n", key=["state"]) == 1.0


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("state,airports\nAK,263\n", "expected 'state', 'airports', 'mean'"),
        (",state,airports,mean\n0,AK,263,61.334\n", "has the columns"),  # an index column
        ("state,airports,mean\nAK,263\n", "row 1 .* has 2 cells"),
        ("state,airports,mean\n", "no rows"),
    ],
)
def test_other_shapes_are_invalid(tmp_path, text, why):
    with pytest.raises(InvalidSubmission, match=why):
        share(tmp_path, text)


# ---------------------------------------------------------------- predictions


def score(tmp_path, text, truth, metric, labels=()):
    rows = [{"id": key, "y": value} for key, value in truth.items()]
    return predictions.score(deliverable(tmp_path, text), rows, "id", "y", metric, list(labels))


@pytest.mark.parametrize(
    ("metric", "truth", "predicted", "labels", "expected"),
    [
        ("root_mean_squared_error", "1 2 3", "1 2 6", "", math.sqrt(3)),
        ("mean_absolute_error", "1 2 3", "1 2 6", "", 1.0),
        ("root_mean_squared_log_error", "0 0", "0 1", "", math.log(2) / math.sqrt(2)),
        ("accuracy", "0 1 1 1", "0 1 0 0", "0 1", 0.5),
        ("balanced_accuracy", "0 1 1 1", "0 1 0 0", "0 1", (1 + 1 / 3) / 2),
        ("f1_macro", "a a b b", "a a a b", "a b", (0.8 + 2 / 3) / 2),
        ("quadratic_weighted_kappa", "1 2 3", "1 2 3", "1 2 3", 1.0),
        ("quadratic_weighted_kappa", "1 3", "3 1", "1 2 3", -1.0),
        ("roc_auc", "0 0 1 1", "0.1 0.4 0.35 0.8", "", 0.75),
        ("log_loss", "0 1", "0.5 0.5", "", math.log(2)),
    ],
)
def test_metrics_by_hand(tmp_path, metric, truth, predicted, labels, expected):
    truths = dict(enumerate(truth.split()))
    lines = [f"{number},{value}" for number, value in enumerate(predicted.split())]
    text = "\n".join(["id,y", *lines[::-1]])  # rows are joined by id: their order does not matter
    result = score(tmp_path, text, {str(number): value for number, value in truths.items()}, metric, labels.split())
    assert result == pytest.approx(expected, abs=1e-5)


def test_ids_and_labels_written_as_floats_are_the_same(tmp_path):
    assert score(tmp_path, "id,y\n1.0,1.0\n2.0,0.0\n", {"1": "1", "2": "0"}, "accuracy", ["0", "1"]) == 1.0


@pytest.mark.parametrize(
    ("text", "metric", "why"),
    [
        ("id,y\n1,5\n", "mean_absolute_error", "1 ids of test.csv have no prediction"),
        ("id,y\n1,5\n2,5\n3,5\n", "mean_absolute_error", "1 ids are not in test.csv"),
        ("id,y\n1,5\n2,5\n2,6\n", "mean_absolute_error", "1 ids occur more than once"),
        ("id,y\n1,5\n2,\n", "mean_absolute_error", "prediction for id 2 is missing"),
        ("id,y\n1,5\n2,nan\n", "mean_absolute_error", "'nan' for id 2 is not a number"),
        ("id,y\n1,5\n2,inf\n", "mean_absolute_error", "'inf' for id 2 is not a number"),
        ("id,y\n1,5\n2,abc\n", "mean_absolute_error", "'abc' for id 2 is not a number"),
        ("id,y\n1,5\n2,-1\n", "root_mean_squared_log_error", "-1 for id 2 is negative"),
        ("id,y\n1,0.5\n2,1.2\n", "roc_auc", "1.2 for id 2 is not a probability"),
        ("id,y\n1,0\n2,2\n", "accuracy", "'2' for id 2 is none of the labels 0, 1"),
        ("id,y\n1,0\n2,0.7\n", "accuracy", "'0.7' for id 2 is none of the labels"),
        ("id,target\n1,0\n2,0\n", "accuracy", "has the columns 'id', 'target'; expected 'id', 'y'"),
        (",id,y\n0,1,0\n1,2,0\n", "accuracy", "has the columns '', 'id', 'y'"),
    ],
)
def test_invalid_predictions_say_why(tmp_path, text, metric, why):
    with pytest.raises(InvalidSubmission, match=why):
        score(tmp_path, text, {"1": "0", "2": "1"}, metric, ["0", "1"])


def test_better_knows_the_direction():
    assert metrics.better(2, 1, greater_is_better=True) and metrics.better(1, 2, greater_is_better=False)
    assert not metrics.better(1, 1, greater_is_better=True) and not metrics.better(1, 1, greater_is_better=False)
