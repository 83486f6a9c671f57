"""Answers of questions and result files on small tables that can be checked by hand."""

import pandas as pd
import pytest

from rubrics_gym.tasks import questions, result_files
from rubrics_gym.tasks.questions import AmbiguousAnswer
from rubrics_gym.tasks.specs import QuestionSpec, ResultFileSpec

FRAME = pd.DataFrame({"group": ["a", "a", "b", "b"], "x": [1.0, 3.0, None, 6.0], "y": [3.0, 7.0, 5.0, 13.0]})


def answer(frame=FRAME, **fields):
    spec = QuestionSpec.model_validate({"table": "t", "answers": [{"name": "n", **fields}]})
    return questions.solve(spec, frame)["n"]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"statistic": "mean", "column": "x", "decimals": 3}, "3.333"),
        ({"statistic": "median", "column": "y", "decimals": 1}, "6.0"),
        ({"statistic": "std", "column": "x", "decimals": 3}, "2.517"),
        ({"statistic": "sum", "column": "y", "decimals": 1}, "28.0"),
        ({"statistic": "count", "where": [["y", ">", 4]]}, "3"),
        ({"statistic": "missing_percent", "column": "x", "decimals": 2}, "25.00"),
        ({"statistic": "distinct", "column": "group"}, "2"),
        ({"statistic": "correlation", "column": "y", "against": "x", "decimals": 3}, "1.000"),  # y = 2 x + 1 where both are known
        ({"statistic": "slope", "column": "y", "against": "x", "decimals": 2}, "2.00"),
        ({"statistic": "intercept", "column": "y", "against": "x", "decimals": 2}, "1.00"),
        ({"statistic": "top_group", "column": "x", "against": "group"}, "b"),
    ],
)
def test_statistics(fields, expected):
    assert answer(**fields) == expected


def test_skewness_is_adjusted_for_bias():
    # y = 3, 5, 7, 13: m2 = 14, m3 = 36, g1 = m3 / m2^1.5, G1 = g1 sqrt(n (n - 1)) / (n - 2)
    assert float(answer(statistic="skewness", column="y", decimals=4)) == pytest.approx(36 / 14**1.5 * 12**0.5 / 2, abs=1e-4)


def test_ambiguous_questions_are_refused():
    ties = pd.DataFrame({"group": ["a", "b"], "x": [1.0, 2.0], "y": [1.0, 1.0]})
    with pytest.raises(AmbiguousAnswer, match="edge of rounding"):
        answer(ties, statistic="mean", column="x", decimals=0)
    with pytest.raises(AmbiguousAnswer, match="a and b tie"):
        answer(ties, statistic="top_group", column="y", against="group")


def solve(steps, columns, frames=None, decimals=2):
    spec = ResultFileSpec.model_validate({"tables": ["t"], "goal": "g", "steps": steps, "columns": columns, "decimals": decimals})
    return result_files.solve(spec, frames or {"t": FRAME}).values.tolist()


def test_filter_aggregate_derive_sort():
    steps = [
        {"step": "drop_missing", "columns": ["x"]},
        {"step": "aggregate", "by": ["group"], "columns": {"rows": ["count", None], "total": ["sum", "y"]}},
        {"step": "derive", "column": "per_row", "left": "total", "operator": "/", "right": "rows"},
        {"step": "sort", "by": [["per_row", "descending"]]},
    ]
    assert solve(steps, ["group", "rows", "per_row"]) == [["b", 1, 13.0], ["a", 2, 5.0]]


def test_join_keeps_matches_only():
    frames = {"t": FRAME, "names": pd.DataFrame({"group": ["b", "c"], "name": ["B", "C"]})}
    assert solve([{"step": "join", "table": "names", "by": "group"}], ["name", "y"], frames) == [["B", 5.0], ["B", 13.0]]


def test_dates_pivot_and_head():
    frame = pd.DataFrame({"day": ["Jan 5 2000", "Feb 1 2001", "Feb 1 2001"], "kind": ["u", "u", "v"], "z": [1, 2, 3]})
    steps = [
        {"step": "date_part", "column": "year", "of": "day", "part": "year"},
        {"step": "filter", "where": [["year", "==", 2001]]},
        {"step": "pivot", "index": "year", "columns": "kind", "values": "z"},
        {"step": "head", "rows": 1},
    ]
    assert solve(steps, ["year", "u", "v"], {"t": frame}) == [[2001, 2, 3]]
