"""DA-Code: the six comparisons, the two rules, and the benchmark's own gold."""

import json
import shutil
import sqlite3
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.corpus import CORPUS, needs_corpus

from rubrics_gym.grading import dacode
from rubrics_gym.grading.attempts import grade
from rubrics_gym.grading.dacode import CORRECTED, OFFICIAL, official_score, score
from rubrics_gym.grading.dacode.rules import corrected_options, corrected_scale, official_options, official_scale
from rubrics_gym.records.archives import write_archive
from rubrics_gym.records.outcomes import Outcome

DACODE = CORPUS / "DA-Code" / "da_code"
INVERTED = ("ml-competition-003", "ml-competition-005", "ml-competition-009")


class Case:
    """A gold folder and a work folder, and the evaluation record between them."""

    def __init__(self, place: Path, func: str, options: dict | None = None, config: dict | None = None, file="result.csv"):
        self.gold, self.work = place / "gold", place / "work"
        for folder in (self.gold, self.work):
            folder.mkdir(exist_ok=True)
        result = {"multi": True, "file": file} if isinstance(file, list) else {"file": file}
        self.evaluation = {"id": "t", "config": config or {}, "func": [func], "result": [result], "options": [options or {}]}

    def both(self) -> tuple[float, float]:
        """Official and corrected score."""
        return official_score(self.evaluation, self.work, self.gold, None), score(self.evaluation, self.work, self.gold, None, CORRECTED)


def tables(place, given, gold, func="compare_csv", options=None, config=None):
    case = Case(place, func, options, config)
    pd.DataFrame(gold).to_csv(case.gold / "result.csv", index=False)
    pd.DataFrame(given).to_csv(case.work / "result.csv", index=False)
    return case.both()


GOLD = {"name": ["Ann", "Bob", "Cy"], "mean": [1.0, 2.5, None]}


@pytest.mark.parametrize(
    ("given", "options", "expected"),
    [
        ({"b": [1.004, 2.5, None], "a": ["ann ", "BOB", "cy"]}, {}, 1.0),  # names and order of columns are free
        ({"name": ["Ann", "Bob", "Cy"], "mean": [1.0, 2.6, None]}, {}, 0.5),
        ({"name": ["Ann", "Bob", "Cy"], "mean": [1.0, 2.6, None]}, {"score_rule": "all"}, 0.0),
        ({"name": ["Ann", "Bob", "Cy"], "mean": [1.0, 2.6, None]}, {"condition_cols": [0]}, 1.0),
        ({"name": ["Cy", "Ann", "Bob"], "mean": [None, 1.0, 2.5]}, {}, 0.0),
        ({"name": ["Cy", "Ann", "Bob"], "mean": [None, 1.0, 2.5]}, {"ignore_order": True}, 1.0),
        ({"name": ["Ann", "Bob"], "mean": [1.0, 2.5]}, {}, 0.0),
    ],
)
def test_tables(tmp_path, given, options, expected):
    assert tables(tmp_path, given, GOLD, options=options) == (expected, expected)


def test_a_misspelt_option_is_honoured_by_the_corrected_rule_alone(tmp_path):
    given = {"name": ["x", "y", "z"], "mean": [1.0, 2.5, None]}
    assert tables(tmp_path, given, GOLD, options={"conditon_cols": [1]}) == (0.5, 1.0)
    misspelt = {"conditon_cols": [1], "target_colunm": "pm", "ignore_oder": True}
    assert official_options(misspelt) == {}
    assert corrected_options(misspelt) == {"condition_cols": [1], "target_column": "pm", "ignore_order": True}
    assert corrected_options({"cleaned_condition_cols": [[1]]}) == {"condition_cols": [[1]]}
    with pytest.raises(ValueError, match="'colour_scheme' is not known"):
        corrected_options({"colour_scheme": "red"})


def test_databases(tmp_path):
    case = Case(tmp_path, "compare_sqlite", {"ignore_order": [True, False]}, file=["made.db"])
    people, towns = pd.DataFrame(GOLD), pd.DataFrame({"town": ["a", "b"]})
    for folder in (case.gold, case.work):
        with sqlite3.connect(folder / "made.db") as database:
            people.iloc[:: -1 if folder == case.work else 1].to_sql("people", database, index=False)
            towns.to_sql("towns", database, index=False)
    assert case.both() == (1.0, 1.0)
    with sqlite3.connect(case.work / "made.db") as database:
        database.execute("DROP TABLE towns")
    assert case.both() == (0.0, 0.0)


def test_a_view_without_end_is_stopped(tmp_path):
    case = Case(tmp_path, "compare_sqlite", file=["made.db"])
    with sqlite3.connect(case.gold / "made.db") as database:
        pd.DataFrame({"n": [1]}).to_sql("t", database, index=False)
    with sqlite3.connect(case.work / "made.db") as database:
        database.execute("CREATE VIEW t AS WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n FROM c WHERE n < 2) SELECT sum(n) FROM c")
    assert official_score(case.evaluation, case.work, case.gold, None) == 0.0


@pytest.mark.parametrize(
    ("expected", "given", "official", "corrected"),
    [
        ({"Mean ": 0.461}, '{"mean": 0.465}', 1.0, 1.0),
        ({"mean": 0.461}, "the answer is {mean: '0.46',} as asked", 1.0, 1.0),
        ({"mean": 0.461}, '{"mean": 0.5}', 0.0, 0.0),
        ({"n": 3}, '{"n": 3.7}', 1.0, 0.0),
        ({"n": 3}, '{"n": "3"}', 1.0, 1.0),
        ({"who": ["Monaco"]}, '{"who": "monaco "}', 1.0, 1.0),
        ({"who": ["a", "b"]}, '{"who": ["b", "a"]}', 0.0, 0.0),
        ({"none": []}, '{"none": []}', 0.0, 1.0),
        ({"none": []}, '{"none": ["a"]}', 0.0, 0.0),
        ({"significant": True}, '{"significant": true}', 0.0, 1.0),
        ({"significant": True}, '{"significant": "no"}', 0.0, 0.0),
        ({"a": 1, "b": 2}, '{"a": 1}', 0.0, 0.0),
        ({"a": 1}, "no object here", 0.0, 0.0),
    ],
)
def test_answers_in_words(expected, given, official, corrected):
    evaluation = {"func": ["compare_text"], "result": [{"number": [expected]}], "options": [{}], "config": {}}
    place = Path()
    assert official_score(evaluation, place, place, given) == official
    assert score(evaluation, place, place, given, CORRECTED) == corrected


ML = {"type": "regression", "metric": "r2", "lower_bound": 0.5, "upper_bound": 0.9}


def test_predictions_are_joined_by_id_by_the_corrected_rule_alone(tmp_path):
    values = np.linspace(0, 1, 20).tolist()
    gold = {"id": range(20), "price": values}
    given = {"id": [*range(19, -1, -1)], "price": values[::-1]}
    assert tables(tmp_path, given, gold, "compare_ml", config=ML) == (0.0, 1.0)
    assert tables(tmp_path, {"price": values}, gold, "compare_ml", config=ML) == (1.0, 1.0)


def test_classes_by_weighted_f1_and_an_unknown_label(tmp_path):
    config = {"type": "binary classification", "metric": "f1", "lower_bound": 0.0, "upper_bound": 1.0}
    gold = {"id": range(4), "label": ["yes", "no", "yes", "no"]}
    assert tables(tmp_path, gold, gold, "compare_ml", {"target_column": "label"}, config) == (1.0, 1.0)
    wrong = {"id": range(4), "label": ["yes", "no", "perhaps", "no"]}
    assert tables(tmp_path, wrong, gold, "compare_ml", {"target_column": "label"}, config) == (0.0, 0.0)


def test_clusters_need_no_gold(tmp_path):
    points = np.repeat([0.0, 10.0], 10) + np.tile(np.linspace(0, 1, 10), 2)
    case = Case(tmp_path, "compare_ml", config={"type": "cluster", "metric": "silhouette", "lower_bound": 0.0, "upper_bound": 0.9})
    pd.DataFrame({"Feature_1": points, "Cluster": np.repeat([0, 1], 10)}).to_csv(case.work / "result.csv", index=False)
    assert case.both() == (1.0, 1.0)
    pd.DataFrame({"Feature_1": points, "Cluster": 0}).to_csv(case.work / "result.csv", index=False)
    assert case.both() == (0.0, 0.0)


@pytest.mark.parametrize(("lower", "upper"), [(0.14, 0.16), (0.16, 0.14)])
def test_less_is_better_whatever_the_order_of_the_bounds(lower, upper):
    assert corrected_scale(0.14, "rmsle", lower, upper) == 1.0
    assert corrected_scale(0.16, "rmsle", lower, upper) == 0.0
    assert corrected_scale(0.15, "mae", lower, upper) == pytest.approx(0.5)
    assert corrected_scale(0.15, "r2", 0.1, 0.2) == official_scale(0.15, "r2", 0.1, 0.2)
    assert official_scale(0.14, "rmsle", 0.14, 0.16) == 0.0


COMPETITION = {"type": "regression", "metric": "rmsle", "upper_bound": 0.155808, "lower_bound": 0.143739}


def test_an_inverted_competition_rewards_bad_predictions_officially(tmp_path):
    gold = {"id": range(30), "cost": np.linspace(1, 90, 30).tolist()}
    assert tables(tmp_path, gold, gold, "compare_competition_ml", config=COMPETITION) == (0.0, 1.0)
    bad = {**gold, "cost": [10 * value for value in gold["cost"]]}
    assert tables(tmp_path, bad, gold, "compare_competition_ml", config=COMPETITION) == (1.0, 0.0)


def test_metrics_that_are_not_what_they_are_called():
    gold, given = pd.DataFrame({"y": [1.0, 3.0]}), pd.DataFrame({"y": [3.0, 3.0]})
    squared = np.log(2) ** 2 / 2
    assert OFFICIAL.metrics["rmsle"](gold, given, "regression", "") == pytest.approx(squared)
    assert CORRECTED.metrics["rmsle"](gold, given, "regression", "") == pytest.approx(squared**0.5)
    classes, chances = pd.DataFrame({"a": [1, 0], "b": [0, 1]}), pd.DataFrame({"a": [0.5, 0.5], "b": [0.5, 0.5]})
    assert OFFICIAL.metrics["logloss_total"](classes, chances, "binary", "") == pytest.approx(0.5)
    assert CORRECTED.metrics["logloss_total"](classes, chances, "binary", "") == pytest.approx(np.log(2))
    ratings = pd.DataFrame({"quality": [3, 4, 5, 6, 3, 6]})
    near = pd.DataFrame({"quality": [3, 5, 5, 6, 3, 6]})
    from sklearn.metrics import cohen_kappa_score

    truth = cohen_kappa_score(ratings["quality"], near["quality"], weights="quadratic")
    assert CORRECTED.metrics["quadratic_weighted_kappa"](ratings, near, "multi", "") == pytest.approx(truth)
    assert OFFICIAL.metrics["quadratic_weighted_kappa"](ratings, near, "multi", "") != pytest.approx(truth)
    labels = pd.DataFrame({"label": ["a", "b"]})
    assert OFFICIAL.metrics["accuracy"](labels, labels, "multi", "") is None
    assert CORRECTED.metrics["accuracy"](labels, labels, "multi", "") == 1.0


def picture(path: Path, shade: int = 200, size: tuple[int, int] = (20, 10)) -> None:
    from PIL import Image

    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, (shade, shade, shade)).save(path)


def plots(tmp_path, keys=("graph_title", "x_label")):
    case = Case(tmp_path, "compare_image", {"keys": list(keys)}, file=["result.png", "dabench/plot.json", "dabench/result.npy"])
    picture(case.gold / "result.png")
    np.save(case.gold / "result.npy", np.array([[3.0, 1.0], [2.0, 4.0]]))
    (case.gold / "plot.json").write_text(json.dumps({"graph_title": "Sales per year", "x_label": "Year", "figsize": [8, 6]}))
    (case.work / "dabench").mkdir(exist_ok=True)
    return case


def test_plots_by_pixels_or_by_what_is_behind_them(tmp_path):
    case = plots(tmp_path)
    picture(case.work / "result.png")
    assert case.both() == (1.0, 1.0)
    picture(case.work / "result.png", shade=10)
    assert case.both() == (0.0, 0.0)
    np.save(case.work / "dabench" / "result.npy", np.array([[2.0, 4.0], [3.0, 1.0]]) * 7)  # as shares of the sum, columns sorted
    (case.work / "dabench" / "plot.json").write_text(json.dumps({"graph_title": "sales per year", "x_label": "year"}))
    assert case.both() == (1.0, 1.0)
    (case.work / "dabench" / "plot.json").write_text(json.dumps({"graph_title": "Costs of things", "x_label": "year"}))
    assert case.both() == (0.0, 0.0)


def test_a_pickle_of_the_agents_is_never_loaded(tmp_path):
    case = plots(tmp_path)
    picture(case.work / "result.png", shade=10)
    np.save(case.work / "dabench" / "result.npy", np.array([print, {}], dtype=object), allow_pickle=True)
    assert case.both() == (0.0, 0.0)


ARRAY = b"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': False, 'shape': %b, }"


@pytest.mark.parametrize(
    "content",
    [b"PK\x03\x04no archive", ARRAY % b"(9000000000000,)" + b" " * 58 + b"\n", ARRAY.replace(b"{'", b"{{'") % b"(2,)" + b" " * 68 + b"\n"],
)
def test_a_damaged_array_is_a_wrong_one_and_no_defect_of_the_grader(tmp_path, content):
    case = plots(tmp_path)
    picture(case.work / "result.png", shade=10)
    (case.work / "dabench" / "result.npy").write_bytes(content)
    assert case.both() == (0.0, 0.0)


@pytest.mark.parametrize("text", ['{"figsize": 5}', '{"figsize": [8, 6], "color": 7}', '{"figsize": [8, 6], "labels": 3}', "[" * 100_000])
def test_properties_of_another_kind_are_wrong_and_no_defect_of_the_grader(tmp_path, text):
    case = plots(tmp_path, keys=("figsize", "color", "labels"))
    (case.gold / "plot.json").write_text(json.dumps({"figsize": [8, 6], "color": ["#112233"], "labels": ["a"]}))
    picture(case.work / "result.png", shade=10)
    shutil.copyfile(case.gold / "result.npy", case.work / "dabench" / "result.npy")
    (case.work / "dabench" / "plot.json").write_text(text)
    assert case.both() == (0.0, 0.0)


def test_several_files_are_averaged_and_a_missing_one_is_nothing(tmp_path):
    case = Case(tmp_path, "compare_csv", file="a.csv")
    case.evaluation["result"] = [{"file": ["a.csv"]}, {"file": ["b.csv"]}]
    for folder in (case.gold, case.work):
        pd.DataFrame(GOLD).to_csv(folder / "a.csv", index=False)
    pd.DataFrame(GOLD).to_csv(case.gold / "b.csv", index=False)
    assert case.both() == (0.5, 0.5)


def bundle(tmp_path, case, deliverables):
    grading = {"benchmark": "dacode", "id": "t", "kind": "result_file", "metric": {"name": "m", "greater_is_better": True}}
    text = json.dumps({**grading, "deliverables": deliverables, "evaluation": case.evaluation})
    gold = {f"gold/{path.name}": path for path in case.gold.iterdir()}
    write_archive(tmp_path / "private.tar.gz", {"grading.json": text.encode(), **gold})
    return tmp_path / "private.tar.gz"


def test_links_and_unreadable_tables_are_invalid_and_nothing_is_missing(tmp_path):
    case = Case(tmp_path, "compare_csv")
    pd.DataFrame(GOLD).to_csv(case.gold / "result.csv", index=False)
    archive = bundle(tmp_path, case, ["result.csv"])
    asked = case.work / "result.csv"
    assert grade(archive, asked, None).outcome is Outcome.NO_SUBMISSION
    asked.symlink_to(case.gold / "result.csv")
    assert grade(archive, asked, None).outcome is Outcome.INVALID
    asked.unlink()
    asked.write_text('a,b\n1,2\n1,2,3\n"')
    assert grade(archive, asked, None).outcome is Outcome.INVALID
    pd.DataFrame(GOLD).to_csv(asked, index=False)
    result = grade(archive, asked, None)
    assert (result.outcome, result.score, result.ended_wrong, result.disagreement) == (Outcome.VALID, 1.0, False, "")


def lines(name: str) -> dict[str, dict]:
    return {line["id"]: line for line in map(json.loads, (DACODE / "configs" / "eval" / name).read_text().splitlines())}


@needs_corpus
def test_gold_scores_in_full_in_every_task_of_the_corpus(tmp_path):
    seen = 0
    for name, evaluation in lines("eval_all.jsonl").items():
        gold, work, answer = DACODE / "gold" / name, tmp_path / name, None
        work.mkdir()
        if dacode.asks_for_text(evaluation):
            answer = json.dumps(evaluation["result"][0]["number"][0])
        else:
            files = [file for group in dacode.asked_files(evaluation) for file in group]
            if not all((gold / Path(file).name).is_file() for file in files):
                continue
            for file in files:
                shutil.copy(gold / Path(file).name, work / Path(file).name)
        seen += 1
        expected = 0.0 if name in INVERTED else None
        assert score(evaluation, work, gold, answer, CORRECTED) == 1.0, name
        if expected is not None:
            assert official_score(evaluation, work, gold, answer) == expected
    assert seen >= 80


@needs_corpus
def test_every_evaluation_of_the_benchmark_can_be_read():
    for name, evaluation in lines("eval_all.jsonl").items():
        assert set(evaluation["func"]) <= dacode.COMPARISONS.keys(), name
        for options in evaluation["options"]:
            corrected_options(options or {})
        metric = evaluation["config"].get("metric")
        assert not metric or metric == "silhouette" or metric in CORRECTED.metrics, name
