"""Checks of how a problem is solved: validation, metric, statistics, and results that are not real."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from rubrics_gym.providers.simulated.judge.case import Case, Observation, Source, here, sought
from rubrics_gym.providers.simulated.judge.data import ESTIMATORS
from rubrics_gym.providers.simulated.judge.mistakes import Mistake
from rubrics_gym.providers.simulated.judge.syntax import called, calls, keyword

_VALIDATION = {
    "train_test_split", "cross_val_score", "cross_validate", "cross_val_predict", "KFold", "StratifiedKFold", "GroupKFold", "TimeSeriesSplit",
    "GridSearchCV", "RandomizedSearchCV", "RepeatedKFold", "ShuffleSplit", "StratifiedShuffleSplit", "oob_score", "oob_score_", "LeaveOneOut",
    "RidgeCV", "LassoCV", "LogisticRegressionCV", "ElasticNetCV", "validation_curve",
}  # fmt: skip
# What a metric is called in a statement, and in code.
_METRICS: dict[str, tuple[str, set[str]]] = {
    "root mean squared error": (r"\brmse\b|root mean squared? error", {"root_mean_squared_error", "neg_root_mean_squared_error", "mean_squared_error",
                                                                      "neg_mean_squared_error", "sqrt"}),
    "mean absolute error": (r"\bmae\b|mean absolute error", {"mean_absolute_error", "neg_mean_absolute_error", "median_absolute_error", "abs"}),
    "R squared": (r"\br2\b|r\^2|r²|r squared|coefficient of determination", {"r2_score", "r2"}),
    "area under the ROC curve": (r"\bauc\b|\broc\b|area under", {"roc_auc_score", "roc_auc", "roc_curve", "auc", "roc_auc_ovr"}),
    "log loss": (r"log[ -]?loss|cross[- ]entropy", {"log_loss", "neg_log_loss"}),
    "F1": (r"\bf1\b", {"f1_score", "f1", "f1_macro", "f1_weighted", "f1_micro"}),
    "balanced accuracy": (r"balanced accuracy", {"balanced_accuracy_score", "balanced_accuracy"}),
    "accuracy": (r"(?<!balanced )\baccuracy\b", {"accuracy_score", "accuracy"}),
    "Cohen's kappa": (r"\bkappa\b", {"cohen_kappa_score", "make_scorer"}),
}  # fmt: skip
_METRIC_NAMES = set().union(*(names for _, names in _METRICS.values())) - {"abs", "sqrt", "make_scorer"}
_CLUSTERERS = {"KMeans", "MiniBatchKMeans", "DBSCAN", "AgglomerativeClustering", "GaussianMixture", "SpectralClustering", "HDBSCAN"}
_LOOKS_AT_CLUSTERS = {
    "silhouette_score", "value_counts", "bincount", "unique", "inertia_", "bic", "calinski_harabasz_score", "davies_bouldin_score",
}  # fmt: skip
_INVENTING = {"rand", "randn", "random", "randint", "choice", "uniform", "normal", "DataFrame", "make_classification", "full", "zeros"}
_STATISTICS = {"mean", "sum", "median", "std", "corr", "count", "agg", "nunique", "var"}
_CONDITIONAL = r"\b(among|only (?:the|those|rows|for)|restrict|exclud|whose|for which|that are|rows where|where)\b"
_SELECTS = {"query", "loc", "groupby", "where", "isin", "between", "mask", "pivot_table", "crosstab"}


def not_validated(case: Case) -> Iterator[Observation]:
    for source in case.sources:
        if case.is_hand_in and source.story.predictions and source.words & ESTIMATORS:
            checked = bool(source.words & _VALIDATION) or bool(re.search(r"\b(X_)?(val|valid|holdout|dev)_?\w*\s*=", source.text))
            yield sought(Mistake.NOT_VALIDATED, [] if checked else ["a model is fitted and its predictions are handed in unchecked"])


def wrong_metric(case: Case) -> Iterator[Observation]:
    named = [metric for metric, (pattern, _) in _METRICS.items() if re.search(pattern, case.reading.statement.lower())]
    if len(named) != 1:
        return
    for source in case.sources:
        chosen = source.called | {scoring for node in source.calls for scoring in _scorings(node)}
        if used := sorted(chosen & _METRIC_NAMES):
            right = bool(chosen & _METRICS[named[0]][1])
            yield sought(Mistake.WRONG_METRIC, [] if right else [f"selects by {', '.join(used)}; the task is scored by {named[0]}"])


def wrong_scope(case: Case) -> Iterator[Observation]:
    conditional = re.search(_CONDITIONAL, case.reading.statement, re.IGNORECASE)
    for source in case.sources:
        if conditional and case.is_hand_in and source.called & _STATISTICS and not source.story.predictions:
            selects = bool(source.words & _SELECTS) or any(_compares(node) for node in ast.walk(source.parsed))
            yield sought(Mistake.WRONG_SCOPE, [] if selects else [f"no row is selected, though the task says '{conditional.group(0)}'"])


def wrong_statistic(case: Case) -> Iterator[Observation]:
    statement = case.reading.statement.lower()
    for source in case.sources:
        if "standard deviation" in statement:
            yield from _deviations(statement, source)
        if "spearman" in statement and source.called & {"corr", "corrcoef", "pearsonr", "spearmanr"}:
            other = [] if "spearman" in source.text.lower() else ["a Pearson correlation where Spearman's is asked for"]
            yield sought(Mistake.WRONG_STATISTIC, other)
        asks_median, asks_mean = re.search(r"\bmedian\b", statement), re.search(r"\b(mean|average)\b", statement)
        if bool(asks_median) != bool(asks_mean) and source.called & {"mean", "median"}:
            asked, other_one = ("median", "mean") if asks_median else ("mean", "median")
            swapped = other_one in source.called and asked not in source.text
            yield sought(Mistake.WRONG_STATISTIC, [f"a {other_one} where a {asked} is asked for"] if swapped else [])


def wrong_extreme(case: Case) -> Iterator[Observation]:
    statement = case.reading.statement.lower()
    low = bool(re.search(r"\b(lowest|smallest|minimum|least|fewest)\b", statement.replace("at least", "")))
    high = bool(re.search(r"\b(highest|largest|maximum|most|greatest)\b", statement.replace("at most", "")))
    for source in case.sources:
        tops, bottoms = source.called & {"idxmax", "argmax", "nlargest"}, source.called & {"idxmin", "argmin", "nsmallest"}
        if low != high and (tops or bottoms) and not source.story.predictions:
            opposite = (low and tops and not bottoms) or (high and bottoms and not tops)
            yield sought(Mistake.WRONG_EXTREME, [f"uses {', '.join(sorted(tops | bottoms))}"] if opposite else [])


def leakage(case: Case) -> Iterator[Observation]:
    for source in case.sources:
        splits = [node.lineno for node in source.calls if called(node) == "train_test_split"]
        if splits:
            early = [fit for fit in source.story.fits if fit.line < min(splits) and fit.model and not fit.model.tokens & ESTIMATORS]
            yield sought(Mistake.LEAKAGE, [f"fitted at {here(fit.line, source)}, before the split" for fit in early])


def made_up(case: Case) -> Iterator[Observation]:
    for source in case.sources:
        handlers = _handlers(source)
        if handlers:
            invented = [node for handler in handlers for node in calls(handler) if called(node) in _INVENTING]
            yield sought(
                Mistake.MADE_UP, [f"line {node.lineno}: {ast.unparse(node)[:60]} stands in when a step fails" for node in invented]
            )
        if case.is_hand_in and case.headers and source.story.writes and not source.story.fits:
            filled = sorted(source.called & {"full", "zeros", "ones", "rand", "random"})
            yield sought(Mistake.MADE_UP, [f"{name} fills the result without a model" for name in filled])


def hidden_failure(case: Case) -> Iterator[Observation]:
    for source in case.sources:
        if handlers := _handlers(source):
            broad = [node for node in handlers if node.type is None or ast.unparse(node.type) in ("Exception", "BaseException")]
            silent = [node for node in broad if len(node.body) <= 2 and not any(isinstance(part, ast.Raise) for part in ast.walk(node))]
            yield sought(Mistake.HIDDEN_FAILURE, [f"{here(node.lineno, source)} goes on after any error" for node in silent])


def clusters_unchecked(case: Case) -> Iterator[Observation]:
    for source in case.sources:
        if source.words & _CLUSTERERS:
            yield sought(Mistake.CLUSTERS_UNCHECKED, [] if source.words & _LOOKS_AT_CLUSTERS else ["cluster sizes are never looked at"])


def parameter_untested(case: Case) -> Iterator[Observation]:
    for source in case.sources:
        cuts = [node.lineno for node in ast.walk(source.parsed) if isinstance(node, ast.Compare) and _is_cut(node)]
        if case.is_hand_in and cuts:
            tested = source.words & {"linspace", "arange", "precision_recall_curve", "roc_curve", "GridSearchCV"}
            yield sought(Mistake.PARAMETER_UNTESTED, [] if tested else [f"a fixed cut at {here(line, source)}" for line in cuts])


def only_a_picture(case: Case) -> Iterator[Observation]:
    for source in case.sources:
        if "savefig" in source.words:
            saved = source.words & {"to_csv", "to_json", "savez", "savetxt", "dump"}
            yield sought(Mistake.ONLY_A_PICTURE, [] if saved else ["only a figure is saved"])


CHECKS = (
    not_validated, wrong_metric, wrong_scope, wrong_statistic, wrong_extreme, leakage, made_up, hidden_failure, clusters_unchecked,
    parameter_untested, only_a_picture,
)  # fmt: skip


def _scorings(node: ast.Call) -> set[str]:
    scoring = keyword(node, "scoring")
    return {str(part.value) for part in ast.walk(scoring) if isinstance(part, ast.Constant)} if scoring is not None else set()


def _compares(node: ast.AST) -> bool:
    """A row selection: a comparison inside square brackets, or one that is given a name."""
    if isinstance(node, ast.Subscript):
        return any(isinstance(part, ast.Compare) for part in ast.walk(node.slice))
    return isinstance(node, ast.Assign) and isinstance(node.value, ast.Compare | ast.BinOp)


def _deviations(statement: str, source: Source) -> Iterator[Observation]:
    """Numpy divides by n (the population's deviation), pandas by n - 1 (the sample's), unless ddof says otherwise."""
    plain = [node for node in source.calls if called(node) in ("std", "var") and keyword(node, "ddof") is None]
    of_numpy = [node for node in plain if re.match(r"(np|numpy)\.", ast.unparse(node.func))]
    if plain and "sample standard deviation" in statement:
        yield sought(Mistake.WRONG_STATISTIC, ["numpy's std is the population's (ddof=0)"] if of_numpy else [])
    elif plain and "population standard deviation" in statement:
        yield sought(Mistake.WRONG_STATISTIC, ["pandas' std is the sample's (ddof=1)"] if len(of_numpy) < len(plain) else [])


def _handlers(source: Source) -> list[ast.ExceptHandler]:
    return [node for node in ast.walk(source.parsed) if isinstance(node, ast.ExceptHandler)]


def _is_cut(node: ast.Compare) -> bool:
    """A probability or score that is compared with a number."""
    limit, left = node.comparators[0], ast.unparse(node.left)
    return isinstance(limit, ast.Constant) and isinstance(limit.value, float) and ("proba" in left or "score" in left)
