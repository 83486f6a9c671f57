"""The metrics of the prediction tasks, as scikit-learn defines them.

They are written out in plain Python because importing scikit-learn takes longer (1 to 3 s) than all the rest of grading one submission; a test
compares each of them with scikit-learn's function of the same name.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

DECIMALS = 5  # scores are rounded so, as in MLE-bench, so that equal work gets equal scores


def score(name: str, truth: Sequence[Any], predicted: Sequence[Any]) -> float:
    """One number for aligned sequences of length n; `predicted` holds labels, numbers, or probabilities of class 1.

    Directions are in `tasks.metrics`. KeyError for a name that is not known.
    """
    return round(FUNCTIONS[name](truth, predicted), DECIMALS)


def better(first: float, second: float, greater_is_better: bool) -> bool:
    """Is the first score strictly better than the second?"""
    return first > second if greater_is_better else first < second


def root_mean_squared_error(truth: Sequence[float], predicted: Sequence[float]) -> float:
    return math.sqrt(_mean((y - p) ** 2 for y, p in zip(truth, predicted, strict=True)))


def root_mean_squared_log_error(truth: Sequence[float], predicted: Sequence[float]) -> float:
    """RMSE of log(1 + value); no value may be negative."""
    return root_mean_squared_error([math.log1p(y) for y in truth], [math.log1p(p) for p in predicted])


def mean_absolute_error(truth: Sequence[float], predicted: Sequence[float]) -> float:
    return _mean(abs(y - p) for y, p in zip(truth, predicted, strict=True))


def accuracy(truth: Sequence[Any], predicted: Sequence[Any]) -> float:
    return _mean(y == p for y, p in zip(truth, predicted, strict=True))


def balanced_accuracy(truth: Sequence[Any], predicted: Sequence[Any]) -> float:
    """Mean recall of the classes that occur in the truth."""
    counts = Counter(truth)
    right = Counter(y for y, p in zip(truth, predicted, strict=True) if y == p)
    return _mean(right[label] / count for label, count in counts.items())


def f1_macro(truth: Sequence[Any], predicted: Sequence[Any]) -> float:
    """Mean over the classes that occur in either of 2 TP / (2 TP + FP + FN)."""
    true_counts, predicted_counts = Counter(truth), Counter(predicted)
    right = Counter(y for y, p in zip(truth, predicted, strict=True) if y == p)
    labels = true_counts.keys() | predicted_counts.keys()
    return _mean(2 * right[label] / (true_counts[label] + predicted_counts[label]) for label in labels)


def quadratic_weighted_kappa(truth: Sequence[int], predicted: Sequence[int]) -> float:
    """Cohen's kappa with squared distances: 1 - observed / expected disagreement, expected over all pairs of the two sequences."""
    observed = _mean((y - p) ** 2 for y, p in zip(truth, predicted, strict=True))
    true_counts, predicted_counts = Counter(truth), Counter(predicted)
    pairs = sum(m * n * (y - p) ** 2 for y, m in true_counts.items() for p, n in predicted_counts.items())
    return 1 - observed / (pairs / len(truth) ** 2)


def roc_auc(truth: Sequence[int], predicted: Sequence[float]) -> float:
    """Chance that a row of class 1 is ranked above a row of class 0, ties counting half (Mann-Whitney)."""
    positives: Counter[float] = Counter()
    negatives: Counter[float] = Counter()
    for y, p in zip(truth, predicted, strict=True):
        (positives if y == 1 else negatives)[p] += 1
    wins, below = 0.0, 0
    for value in sorted(positives.keys() | negatives.keys()):
        wins += positives[value] * (below + negatives[value] / 2)
        below += negatives[value]
    return wins / (positives.total() * negatives.total())


def log_loss(truth: Sequence[int], predicted: Sequence[float]) -> float:
    """Mean of -log of the probability given to the class that is true; probabilities are kept a machine epsilon away from 0 and 1."""
    epsilon = sys.float_info.epsilon
    given = (p if y == 1 else 1 - p for y, p in zip(truth, predicted, strict=True))
    return _mean(-math.log(min(max(p, epsilon), 1 - epsilon)) for p in given)


def _mean(values: Any) -> float:
    numbers = list(values)
    return math.fsum(numbers) / len(numbers)


FUNCTIONS: dict[str, Callable[[Sequence[Any], Sequence[Any]], float]] = {
    function.__name__: function
    for function in (
        root_mean_squared_error,
        root_mean_squared_log_error,
        mean_absolute_error,
        accuracy,
        balanced_accuracy,
        f1_macro,
        quadratic_weighted_kappa,
        roc_auc,
        log_loss,
    )
}
