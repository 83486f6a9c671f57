"""The metrics of DA-Code's machine-learning tasks: as its script computes them, and as their names say where it does something else.

Every metric is a function of the gold values, the given ones (pandas Series or DataFrames with the same rows), the task's type and the option
`average`. None when it cannot be computed for what was given, which scores 0 on any scale.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from rubrics_gym.grading import metrics as plain

Value = float | None
_SAMPLE = 6000  # of the rows of a clustering, drawn with seed 42 in the shares of the clusters, when there are more
_EPSILON = 1e-15


def _none_where_impossible(metric: Callable[..., float]) -> Callable[..., Value]:
    @functools.wraps(metric)
    def computed(gold: Any, given: Any, kind: str, average: str) -> Value:
        try:
            return float(metric(gold, given, kind, average))
        except (ValueError, TypeError, IndexError, ZeroDivisionError):
            return None

    return computed


# ---------------------------------------------------------------- classes


def f1(gold: Any, given: Any, kind: str, average: str) -> float:
    """F1 over classes, weighted by their counts unless `average` says otherwise."""
    from sklearn.metrics import f1_score

    true, predicted = _classes(gold, given)
    return float(f1_score(true, predicted, average=average or "weighted"))


def accuracy(gold: Any, given: Any, kind: str, average: str) -> float:
    """Share of rows with the right class."""
    return plain.accuracy(*_classes(gold, given))


def official_accuracy(gold: Any, given: Any, kind: str, average: str) -> float:
    """The script cannot handle a table, which is what a competition hands it."""
    if getattr(gold, "ndim", 1) > 1:
        raise ValueError("the official accuracy takes one column")
    return accuracy(gold, given, kind, average)


def _classes(gold: Any, given: Any) -> tuple[list[int], list[int]]:
    """Two columns of labels as numbers. Texts are numbered in the order of the gold's; ValueError for one that the gold does not have."""
    gold, given = (column.iloc[:, 0] if column.ndim > 1 else column for column in (gold, given))
    numbering: dict[str, int] = {}
    true = _numbered(gold, numbering)
    return true, _numbered(given, numbering)


def _numbered(column: Any, numbering: dict[str, int]) -> list[int]:
    if column.dtype.kind in "fiub":  # fractions are cut off
        return [int(value) for value in column]
    texts = [value.lower().strip() for value in column]
    if not numbering:
        numbering.update({text: number for number, text in enumerate(sorted(set(texts)))})
    if not numbering.keys() >= set(texts):
        raise ValueError("a label that the gold does not have")
    return [numbering[text] for text in texts]


def official_kappa(gold: Any, given: Any, kind: str, average: str) -> float:
    """Quadratic weighted kappa whose observed matrix is over labels 0..n-1, whatever the labels are; none unless both ranges agree."""
    import numpy as np
    from sklearn.metrics import confusion_matrix

    true = gold.to_numpy().reshape(-1)
    predicted = given.to_numpy().reshape(-1).astype(true.dtype)
    if true.min() != predicted.min() or true.max() != predicted.max():
        raise ValueError("the ranges of the labels differ")
    size = len(np.unique(true))
    observed = confusion_matrix(true, predicted, labels=np.arange(size))
    weights = (np.subtract.outer(np.arange(size), np.arange(size)) ** 2) / (size - 1) ** 2
    counts = [np.bincount(labels - true.min(), minlength=size) for labels in (true, predicted)]
    expected = np.outer(*counts)
    expected = expected / expected.sum() * observed.sum()
    return float(1 - (weights * observed).sum() / (weights * expected).sum())


def kappa(gold: Any, given: Any, kind: str, average: str) -> float:
    """Quadratic weighted kappa over whatever labels occur."""
    true, predicted = (column.to_numpy().reshape(-1) for column in (gold, given))
    return plain.quadratic_weighted_kappa([int(value) for value in true], [round(float(value)) for value in predicted])


# ---------------------------------------------------------------- probabilities


def official_roc_auc(gold: Any, given: Any, kind: str, average: str) -> float:
    """Mean over columns for two classes. With more, the script's call is one that scikit-learn refuses."""
    if kind != "binary":
        raise ValueError("the official area under the curve takes two classes")
    return _column_auc(gold, given)


def roc_auc(gold: Any, given: Any, kind: str, average: str) -> float:
    """Mean over the columns of the area under the curve; for several classes each against the rest."""
    return _column_auc(gold, given)


def _column_auc(gold: Any, given: Any) -> float:
    from sklearn.metrics import roc_auc_score

    columns = [_table(gold)[:, column] for column in range(_table(gold).shape[1])]
    scores = [roc_auc_score(true, _table(given)[:, number]) for number, true in enumerate(columns)]
    return float(sum(scores) / len(scores))


def _log_loss(gold: Any, given: Any, per_class: bool) -> Any:
    """Sum over classes of the mean of -ln p of the true class: the mean over its own rows, or over all rows."""
    import numpy as np

    true, predicted = _table(gold), _table(given).astype(float)
    if true.shape != predicted.shape:
        raise ValueError("another number of columns")
    predicted = np.clip(predicted / (predicted.sum(axis=1, keepdims=True) + (0 if per_class else _EPSILON)), _EPSILON, 1 - _EPSILON)
    return -np.where(true != 0, np.log(predicted), 0).sum(axis=0) / (np.count_nonzero(true, axis=0) if per_class else len(true))


def official_logloss_class(gold: Any, given: Any, kind: str, average: str) -> float:
    """To base 2, and halved however many classes there are."""
    import numpy as np

    return float(_log_loss(gold, given, per_class=True).sum() / np.log(2) / 2)


def logloss_class(gold: Any, given: Any, kind: str, average: str) -> float:
    """Balanced log loss: the mean over classes of the mean of -ln p over the rows of the class."""
    return float(_log_loss(gold, given, per_class=True).mean())


def official_logloss_total(gold: Any, given: Any, kind: str, average: str) -> float:
    """To base 2, and halved."""
    import numpy as np

    return float(_log_loss(gold, given, per_class=False).sum() / np.log(2) / 2)


def logloss_total(gold: Any, given: Any, kind: str, average: str) -> float:
    """Log loss: the mean of -ln p of the true class over all rows."""
    return float(_log_loss(gold, given, per_class=False).sum())


# ---------------------------------------------------------------- numbers


def r2(gold: Any, given: Any, kind: str, average: str) -> float:
    from sklearn.metrics import r2_score

    return float(r2_score(gold.to_numpy(), given.to_numpy()))


def mse(gold: Any, given: Any, kind: str, average: str) -> float:
    return float(((_table(gold) - _table(given)) ** 2).mean())


def rmse(gold: Any, given: Any, kind: str, average: str) -> float:
    return float(mse(gold, given, kind, average) ** 0.5)


def mae(gold: Any, given: Any, kind: str, average: str) -> float:
    return float(abs(_table(gold) - _table(given)).mean())


def medae(gold: Any, given: Any, kind: str, average: str) -> float:
    """Median absolute error, averaged over columns."""
    import numpy as np

    return float(np.median(abs(_table(gold) - _table(given)), axis=0).mean())


def smape(gold: Any, given: Any, kind: str, average: str) -> float:
    """Mean of |p - y| / ((|p| + |y|) / 2) in percent; 0 where both are 0."""
    import numpy as np

    true, predicted = _table(gold).astype(float), _table(given).astype(float)
    middle = (abs(true) + abs(predicted)) / 2
    return float(np.divide(abs(predicted - true), middle, out=np.zeros_like(middle), where=middle != 0).mean() * 100)


def official_rmsle(gold: Any, given: Any, kind: str, average: str) -> float:
    """The mean squared log error: the root is not taken. Negative predictions count as 0."""
    import numpy as np

    return float(((np.log1p(_table(gold)) - np.log1p(np.clip(_table(given), 0, None))) ** 2).mean())


def rmsle(gold: Any, given: Any, kind: str, average: str) -> float:
    return float(official_rmsle(gold, given, kind, average) ** 0.5)


def _table(values: Any) -> Any:
    """A Series or DataFrame of numbers as an array of shape (rows, columns). ValueError for NaN and for anything that is no number."""
    import numpy as np

    array = values.to_numpy()
    if array.dtype.kind not in "fiub" or np.isnan(array.astype(float)).any():
        raise ValueError("not all of it is numbers")
    return array.reshape(-1, 1) if array.ndim == 1 else array


# ---------------------------------------------------------------- clusters


def silhouette(features: Any, labels: Any) -> Value:
    """Mean silhouette of a clustering, not below 0; None for one cluster or for features that are no numbers.

    As the script computes it: `features` holds the column of labels too, and a row's distance to its own cluster includes that to itself (0).
    """
    import numpy as np
    from sklearn.metrics.pairwise import pairwise_distances
    from sklearn.utils import resample

    features = features.copy()
    for name in features.columns:
        if features[name].dtype.kind not in "fiub":
            texts = features[name].astype(str)
            features[name] = texts.map({text: number for number, text in enumerate(sorted(texts.unique()))})
    clusters = labels.to_numpy()
    points = features.to_numpy(dtype=float)
    if len(np.unique(clusters)) == 1 or np.isnan(points).any():
        return None
    if len(clusters) > _SAMPLE:
        try:
            points, clusters = resample(points, clusters, n_samples=_SAMPLE, random_state=42, stratify=clusters)
        except ValueError:  # a cluster of one row cannot be drawn from
            return None
    distances = pairwise_distances(points)
    # mean distance of every row to every cluster, shape (rows, clusters)
    names, own = np.unique(clusters, return_inverse=True)
    means = np.stack([distances[:, own == number].mean(axis=1) for number in range(len(names))], axis=1)
    rows = np.arange(len(clusters))
    inside = means[rows, own]
    means[rows, own] = np.inf
    outside = means.min(axis=1)
    return max(float(((outside - inside) / np.maximum(inside, outside)).mean()), 0.0)


_SHARED: dict[str, Callable[..., float]] = {"f1": f1, "r2": r2, "mse": mse, "rmse": rmse, "mae": mae, "medae": medae, "smape": smape}
OFFICIAL: dict[str, Callable[..., Value]] = {
    name: _none_where_impossible(metric)
    for name, metric in {
        **_SHARED,
        "accuracy": official_accuracy,
        "quadratic_weighted_kappa": official_kappa,
        "roc_auc_score": official_roc_auc,
        "logloss_class": official_logloss_class,
        "logloss_total": official_logloss_total,
        "rmsle": official_rmsle,
    }.items()
}
CORRECTED: dict[str, Callable[..., Value]] = {
    name: _none_where_impossible(metric)
    for name, metric in {
        **_SHARED,
        "accuracy": accuracy,
        "quadratic_weighted_kappa": kappa,
        "roc_auc_score": roc_auc,
        "logloss_class": logloss_class,
        "logloss_total": logloss_total,
        "rmsle": rmsle,
    }.items()
}
