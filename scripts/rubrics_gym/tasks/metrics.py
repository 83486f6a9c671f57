"""The metrics of the prediction tasks: their words, their direction, and what a prediction is. No computation: that is the graders' room."""

from __future__ import annotations

from typing import Literal, NamedTuple

from rubrics_gym.records.tasks import Metric

Prediction = Literal["number", "non_negative", "label", "rating", "probability"]


class MetricWords(NamedTuple):
    words: str  # as the statement names it
    greater_is_better: bool
    prediction: Prediction  # what one predicted value must be


METRICS: dict[str, MetricWords] = {
    "root_mean_squared_error": MetricWords("root mean squared error (RMSE)", False, "number"),
    "root_mean_squared_log_error": MetricWords("root mean squared logarithmic error (RMSLE)", False, "non_negative"),
    "mean_absolute_error": MetricWords("mean absolute error (MAE)", False, "number"),
    "accuracy": MetricWords("accuracy", True, "label"),
    "balanced_accuracy": MetricWords("balanced accuracy", True, "label"),
    "f1_macro": MetricWords("macro-averaged F1 score", True, "label"),
    "quadratic_weighted_kappa": MetricWords("quadratic weighted kappa", True, "rating"),
    "roc_auc": MetricWords("area under the ROC curve (ROC AUC)", True, "probability"),
    "log_loss": MetricWords("log loss", False, "probability"),
}


def metric(name: str) -> Metric:
    """The record of a metric and its direction. KeyError names the known ones."""
    if name not in METRICS:
        raise KeyError(f"metric {name!r} is not known; known are {', '.join(METRICS)}")
    return Metric(name=name, greater_is_better=METRICS[name].greater_is_better)
