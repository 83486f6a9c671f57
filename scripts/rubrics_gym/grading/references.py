"""Reference solutions of the prediction tasks, really run, and the medal cut-offs made from their scores.

Ten solutions, from a constant to boosted trees, with and without preparing the data, stand in for a leaderboard. The cut-offs follow
MLE-bench's rule for boards of fewer than 100 teams (positions floor(0.1 n), floor(0.2 n), floor(0.4 n), at least 1): with ten entries gold is the
best score, silver the second, bronze the fourth. The median is the median of the ten. A pool task only needs the best constant prediction.

    python -m rubrics_gym.grading.references

runs all of them (half a minute on one free core) and writes resources/benchmarks/packaged_thresholds.yaml.
"""

from __future__ import annotations

import platform
import statistics
import sys
import warnings
from collections.abc import Callable
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml

from rubrics_gym.grading import metrics
from rubrics_gym.records.files import write_text
from rubrics_gym.records.tasks import TaskKind, Thresholds
from rubrics_gym.tasks import predictions
from rubrics_gym.tasks.catalog import RESOURCES, load_benchmark, load_spec, load_tables
from rubrics_gym.tasks.metrics import METRICS
from rubrics_gym.tasks.specs import PredictionSpec
from rubrics_gym.tasks.tables import prepare_table

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

PACKAGES = ("numpy", "pandas", "scipy", "scikit-learn")
SEED = 0
LEVELS = 30  # a text column with more distinct values is left out by the prepared solutions
MEDAL_SHARES = {"gold": 0.1, "silver": 0.2, "bronze": 0.4}


class Data(NamedTuple):
    """What one task gives to a solution: cells as the files have them, the target as numbers or labels."""

    train: pd.DataFrame
    test: pd.DataFrame
    target: pd.Series
    metric: str

    @property
    def regression(self) -> bool:
        return METRICS[self.metric].prediction in ("number", "non_negative")


Solution = Callable[[Data], "np.ndarray"]


def load_data(benchmark: str, task: str) -> tuple[Data, pd.Series]:
    """The data of a prediction task and its true test targets, in the order of the test rows."""
    spec = load_spec(benchmark, task)
    assert isinstance(spec, PredictionSpec)
    table = load_tables(benchmark)[spec.table]
    parts = predictions.split(task, spec, table, prepare_table(spec.table, table))
    target = parts.train[spec.target]
    data = Data(parts.train.drop(columns=[spec.id, spec.target]), parts.test.drop(columns=[spec.id]), target, spec.metric)
    return data, parts.answers[spec.target]


# ---------------------------------------------------------------- two ways to make features


def raw_features(data: Data) -> tuple[pd.DataFrame, pd.DataFrame]:
    """No preparation: the columns that are numbers already, missing cells as zero. Text, and numbers written as text, are lost."""
    train = data.train.select_dtypes("number").fillna(0.0)
    if train.shape[1] == 0:
        train = train.assign(nothing=0.0)
    return train, data.test.reindex(columns=train.columns).fillna(0.0)


def prepared_features(data: Data) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Numbers written as text become numbers, dates become month and day of the year, missing cells the median, text one column per value."""
    import pandas as pd

    columns: dict[str, tuple[pd.Series, pd.Series]] = {}
    for name in data.train.columns:
        train, test = data.train[name], data.test[name]
        if not pd.api.types.is_numeric_dtype(train):
            number = _text_as_number(train)
            if number.notna().any():
                train, test = number, _text_as_number(test)
            elif name == "date":
                for part in ("month", "dayofyear"):
                    columns[f"{name}_{part}"] = (getattr(pd.to_datetime(train).dt, part), getattr(pd.to_datetime(test).dt, part))
                continue
            else:
                levels = train.dropna().unique()
                if len(levels) <= LEVELS:
                    for level in sorted(levels):
                        columns[f"{name}={level}"] = (train.eq(level).astype(float), test.eq(level).astype(float))
                continue
        middle = train.median()
        columns[name] = (train.astype(float).fillna(middle), test.astype(float).fillna(middle))
    train_columns = {name: pair[0] for name, pair in columns.items()}
    test_columns = {name: pair[1] for name, pair in columns.items()}
    return pd.DataFrame(train_columns), pd.DataFrame(test_columns)


def _text_as_number(cells: pd.Series) -> pd.Series:
    import pandas as pd

    return pd.to_numeric(cells.astype(str).str.replace("[,%$]", "", regex=True), errors="coerce")


# ---------------------------------------------------------------- the solutions


def constant(data: Data) -> np.ndarray:
    """The best constant for the metric: mean, median, mean of the logarithms, most frequent label, or share of class 1."""
    import numpy as np

    target = data.target
    if data.metric == "root_mean_squared_log_error":
        value: Any = np.expm1(np.log1p(target).mean())
    elif data.metric == "mean_absolute_error":
        value = target.median()
    elif data.regression or METRICS[data.metric].prediction == "probability":
        value = target.mean()
    else:
        value = target.mode()[0]
    return np.full(len(data.test), value)


def _fitted(features: Callable[[Data], tuple[pd.DataFrame, pd.DataFrame]], regressor: str, classifier: str, **options: Any) -> Solution:
    """A solution that fits a scikit-learn estimator, given as module.Class, and predicts what the metric needs."""

    def solve(data: Data) -> np.ndarray:
        train, test = features(data)
        if data.regression:
            return _regress(_estimator(regressor, options), data, train, test)
        return _classify(_estimator(classifier, options), data, train, test)

    return solve


def _estimator(path: str, options: dict[str, Any]) -> Any:
    """A scaled pipeline around one estimator; options that its class does not know are left out."""
    import importlib

    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    module, name = path.rsplit(".", 1)
    make = getattr(importlib.import_module(f"sklearn.{module}"), name)
    known = make().get_params()
    chosen = {key: value for key, value in {"random_state": SEED, **options}.items() if key in known}
    return make_pipeline(StandardScaler(), make(**chosen))


def _regress(estimator: Any, data: Data, train: pd.DataFrame, test: pd.DataFrame) -> np.ndarray:
    import numpy as np

    if data.metric == "root_mean_squared_log_error":
        estimator.fit(train, np.log1p(data.target))
        return np.asarray(np.clip(np.expm1(estimator.predict(test)), 0, None))
    estimator.fit(train, data.target)
    return np.asarray(estimator.predict(test))


def _classify(estimator: Any, data: Data, train: pd.DataFrame, test: pd.DataFrame) -> np.ndarray:
    import numpy as np

    estimator.fit(train, data.target)
    if METRICS[data.metric].prediction == "probability":
        return np.asarray(estimator.predict_proba(test)[:, 1])
    return np.asarray(estimator.predict(test))


# kd_tree breaks ties between equally near rows in the same way for any number of threads; the default may not
SOLUTIONS: dict[str, Solution] = {
    "constant": constant,
    "raw linear": _fitted(raw_features, "linear_model.Ridge", "linear_model.LogisticRegression", max_iter=2000),
    "raw nearest neighbours": _fitted(
        raw_features, "neighbors.KNeighborsRegressor", "neighbors.KNeighborsClassifier", n_neighbors=15, algorithm="kd_tree"
    ),
    "raw tree": _fitted(raw_features, "tree.DecisionTreeRegressor", "tree.DecisionTreeClassifier", max_depth=5),
    "raw forest": _fitted(raw_features, "ensemble.RandomForestRegressor", "ensemble.RandomForestClassifier", n_estimators=100),
    "prepared linear": _fitted(prepared_features, "linear_model.Ridge", "linear_model.LogisticRegression", max_iter=2000),
    "prepared balanced tree": _fitted(
        prepared_features, "tree.DecisionTreeRegressor", "tree.DecisionTreeClassifier", max_depth=5, class_weight="balanced"
    ),
    "prepared nearest neighbours": _fitted(
        prepared_features, "neighbors.KNeighborsRegressor", "neighbors.KNeighborsClassifier", n_neighbors=15, algorithm="kd_tree"
    ),
    "prepared forest": _fitted(
        prepared_features,
        "ensemble.RandomForestRegressor",
        "ensemble.RandomForestClassifier",
        n_estimators=100,
        min_samples_leaf=3,
        class_weight="balanced_subsample",
    ),
    "prepared boosting": _fitted(
        prepared_features, "ensemble.GradientBoostingRegressor", "ensemble.GradientBoostingClassifier", n_estimators=100
    ),
}


# ---------------------------------------------------------------- scores and cut-offs


def run(benchmark: str, task: str, names: tuple[str, ...] = tuple(SOLUTIONS)) -> dict[str, float]:
    """The scores of the named reference solutions on the test rows of one task."""
    data, truth = load_data(benchmark, task)
    scores = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a solution that does not converge is a fair opponent all the same
        for name in names:
            scores[name] = metrics.score(data.metric, truth.tolist(), SOLUTIONS[name](data).tolist())
    return scores


def cut_offs(scores: list[float], greater_is_better: bool) -> Thresholds:
    """Medal cut-offs and median of a small leaderboard (fewer than 100 entries; rule of MLE-bench)."""
    board = sorted(scores, reverse=greater_is_better)
    medals = {name: board[max(1, int(share * len(board))) - 1] for name, share in MEDAL_SHARES.items()}
    return Thresholds(**medals, median=round(statistics.median(board), metrics.DECIMALS))


def main(benchmark: str = "packaged") -> None:
    """Run all reference solutions and write the thresholds file."""
    tasks: dict[str, Any] = {}
    for entry in load_benchmark(benchmark).entries:
        if entry.kind is not TaskKind.PREDICTION:
            continue
        scores = run(benchmark, entry.id, tuple(SOLUTIONS) if entry.competition else ("constant",))
        tasks[entry.id] = {"constant": scores["constant"]}
        if entry.competition:
            spec = load_spec(benchmark, entry.id)
            assert isinstance(spec, PredictionSpec)
            greater = METRICS[spec.metric].greater_is_better
            tasks[entry.id] |= {"references": scores, "thresholds": cut_offs(list(scores.values()), greater).model_dump()}
        print(f"{entry.id}: {scores}", file=sys.stderr)
    made_with = {"python": platform.python_version(), **{package: version(package) for package in PACKAGES}}
    content = {"made_by": "python -m rubrics_gym.grading.references", "made_with": made_with, "tasks": tasks}
    path = RESOURCES / f"{benchmark}_thresholds.yaml"
    write_text(path, yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=140))


if __name__ == "__main__":
    main()
