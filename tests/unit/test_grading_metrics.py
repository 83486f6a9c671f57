"""The metrics are scikit-learn's: equal on random cases, including ties, absent classes and certain predictions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as sklearn_metrics

from rubrics_gym.grading import metrics
from rubrics_gym.tasks.metrics import METRICS

SKLEARN = {
    "root_mean_squared_error": sklearn_metrics.root_mean_squared_error,
    "root_mean_squared_log_error": sklearn_metrics.root_mean_squared_log_error,
    "mean_absolute_error": sklearn_metrics.mean_absolute_error,
    "accuracy": sklearn_metrics.accuracy_score,
    "balanced_accuracy": sklearn_metrics.balanced_accuracy_score,
    "f1_macro": lambda y, p: sklearn_metrics.f1_score(y, p, average="macro", zero_division=0.0),
    "quadratic_weighted_kappa": lambda y, p: sklearn_metrics.cohen_kappa_score(y, p, weights="quadratic", labels=[1, 2, 3, 4, 5]),
    "roc_auc": sklearn_metrics.roc_auc_score,
    "log_loss": lambda y, p: sklearn_metrics.log_loss(y, p, labels=[0, 1]),
}
TRUE_VALUES = {"number": st.floats(0, 1e4), "label": st.sampled_from("abcd"), "rating": st.integers(1, 5), "probability": st.integers(0, 1)}
PREDICTED = {**TRUE_VALUES, "probability": st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.9, 1.0])}


def test_every_metric_is_computed_and_compared():
    assert metrics.FUNCTIONS.keys() == METRICS.keys() == SKLEARN.keys()


@pytest.mark.filterwarnings("ignore::UserWarning")  # scikit-learn says that a predicted class is not in the truth
@pytest.mark.parametrize("name", METRICS)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_equal_to_scikit_learn(name, data):
    kind = METRICS[name].prediction.replace("non_negative", "number")
    pairs = data.draw(st.lists(st.tuples(TRUE_VALUES[kind], PREDICTED[kind]), min_size=2, max_size=30))
    if kind in ("rating", "probability"):  # a truth of one class alone has no such score
        first, last = (1, 5) if kind == "rating" else (0, 1)
        pairs += [(first, pairs[0][1]), (last, pairs[0][1])]
    truth, predicted = map(list, zip(*pairs, strict=True))
    expected = SKLEARN[name](np.array(truth), np.array(predicted))
    assert metrics.score(name, truth, predicted) == pytest.approx(expected, rel=1e-6, abs=6e-6)
