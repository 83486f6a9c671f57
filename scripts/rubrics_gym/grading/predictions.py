"""Grading of predictions: the shape of the sample submission, rows joined by id, one metric."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from rubrics_gym.grading import metrics
from rubrics_gym.grading.submissions import InvalidSubmission, as_number, read_csv, same_key
from rubrics_gym.records.tasks import Thresholds
from rubrics_gym.tasks.metrics import METRICS

Value = float | int | str


def score(deliverable: Path, truth: list[dict[str, str]], id_column: str, target: str, metric: str, labels: list[str]) -> float:
    """The score of a submission. InvalidSubmission when columns, ids or values are not what the statement asks for."""
    given = _by_id(deliverable, id_column, target)
    expected = {same_key(row[id_column]): row[target] for row in truth}
    missing, stray = expected.keys() - given.keys(), given.keys() - expected.keys()
    if missing or stray:
        raise InvalidSubmission(f"{len(missing)} ids of test.csv have no prediction and {len(stray)} ids are not in test.csv")
    prediction = METRICS[metric].prediction
    predicted = [_value(key, given[key], prediction, labels) for key in expected]
    return metrics.score(metric, [_true_value(text, prediction) for text in expected.values()], predicted)


def medal(score: float, thresholds: Thresholds, greater_is_better: bool) -> str | None:
    """The best medal whose cut-off the score reaches (MLE-bench: reaching it is enough)."""
    for name, cutoff in (("gold", thresholds.gold), ("silver", thresholds.silver), ("bronze", thresholds.bronze)):
        if not metrics.better(cutoff, score, greater_is_better):
            return name
    return None


def _by_id(deliverable: Path, id_column: str, target: str) -> dict[str, str]:
    rows = read_csv(deliverable, [id_column, target])
    counts = Counter(same_key(row[id_column]) for row in rows)
    repeated = [key for key, count in counts.items() if count > 1]
    if repeated:
        raise InvalidSubmission(f"{len(repeated)} ids occur more than once in {deliverable.name}, for example {repeated[0]!r}")
    return {same_key(row[id_column]): row[target] for row in rows}


def _value(key: str, text: str, prediction: str, labels: list[str]) -> Value:
    """One prediction as the metric needs it, checked against what the statement allows."""
    if prediction in ("label", "rating"):
        label = same_key(text)
        if label not in labels:
            raise InvalidSubmission(f"the prediction {text!r} for id {key} is none of the labels {', '.join(labels)}")
        return int(label) if prediction == "rating" else label
    number = as_number(text)
    if number is None:
        raise InvalidSubmission(
            f"the prediction {text!r} for id {key} is not a number" if text else f"the prediction for id {key} is missing"
        )
    if prediction == "non_negative" and number < 0:
        raise InvalidSubmission(f"the prediction {text} for id {key} is negative")
    if prediction == "probability" and not 0 <= number <= 1:
        raise InvalidSubmission(f"the prediction {text} for id {key} is not a probability between 0 and 1")
    return number


def _true_value(text: str, prediction: str) -> Value:
    if prediction == "label":
        return same_key(text)
    return int(same_key(text)) if prediction in ("rating", "probability") else float(text)
