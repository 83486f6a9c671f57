"""Checks of how a problem is solved: validation, metric, statistics, and results that are not real."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from rubrics_gym.providers.simulated.judge.case import Case, Observation, here
from rubrics_gym.providers.simulated.judge.data import ESTIMATORS
from rubrics_gym.providers.simulated.judge.following import called, calls, keyword, words
from rubrics_gym.providers.simulated.judge.mistakes import Mistake

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
_CLUSTERERS = {"KMeans", "MiniBatchKMeans", "DBSCAN", "AgglomerativeClustering", "GaussianMixture", "SpectralClustering", "HDBSCAN"}
_SELECTS = {"query", "loc", "groupby", "where", "isin", "between", "mask", "pivot_table", "crosstab"}


def not_validated(case: Case) -> Iterator[Observation]:
    if not case.is_hand_in:
        return
    for source in case.sources:
        if source.story.predictions and words(source.parsed) & ESTIMATORS:
            checked = bool(words(source.parsed) & _VALIDATION) or bool(re.search(r"\b(val|valid|holdout|X_val|dev)_?\w*\s*=", source.text))
            yield Observation(
                Mistake.NOT_VALIDATED, not checked, "it is fitted and submitted unchecked" if not checked else "it is validated"
            )


def wrong_metric(case: Case) -> Iterator[Observation]:
    statement = case.reading.statement.lower()
    named = [metric for metric, (pattern, _) in _METRICS.items() if re.search(pattern, statement)]
    if len(named) != 1:
        return
    right = _METRICS[named[0]][1]
    every = set().union(*(names for _, names in _METRICS.values())) - {"abs", "sqrt", "make_scorer"}
    for source in case.sources:
        chosen = {part for node in calls(source.parsed) for part in _scorings(node)} | {called(node) for node in calls(source.parsed)}
        used = chosen & every
        if used:
            wrong = not chosen & right
            yield Observation(
                Mistake.WRONG_METRIC,
                wrong,
                f"selects by {', '.join(sorted(used))}; the task is scored by {named[0]}" if wrong else "the task's metric",
            )


def wrong_scope(case: Case) -> Iterator[Observation]:
    conditional = re.search(r"\b(among|only (?:the|those|rows|for)|restrict|exclud|whose|for which|that are|with an? \w+ (?:of|above|below)|rows where|where)\b",
                            case.reading.statement, re.IGNORECASE)  # fmt: skip
    if not (conditional and case.is_hand_in):
        return
    for source in case.sources:
        computes = {called(node) for node in calls(source.parsed)} & {
            "mean",
            "sum",
            "median",
            "std",
            "corr",
            "count",
            "agg",
            "nunique",
            "var",
        }
        if not computes or source.story.predictions:
            continue
        selects = bool(words(source.parsed) & _SELECTS) or any(
            isinstance(node, ast.Subscript) and any(isinstance(part, ast.Compare) for part in ast.walk(node.slice)) for node in ast.walk(source.parsed)
        ) or any(isinstance(node, ast.Assign) and isinstance(node.value, ast.Compare | ast.BinOp) for node in ast.walk(source.parsed))  # fmt: skip
        yield Observation(
            Mistake.WRONG_SCOPE,
            not selects,
            f"no row is selected, though the task says '{conditional.group(0)}'" if not selects else "rows are selected",
        )


def wrong_statistic(case: Case) -> Iterator[Observation]:
    statement = case.reading.statement.lower()
    for source in case.sources:
        text, names = source.text, {called(node) for node in calls(source.parsed)}
        numpy_std = [
            node
            for node in calls(source.parsed)
            if re.match(r"(np|numpy)\.(std|var)$", ast.unparse(node.func)) and keyword(node, "ddof") is None
        ]
        pandas_std = [
            node
            for node in calls(source.parsed)
            if called(node) in ("std", "var") and node not in numpy_std and keyword(node, "ddof") is None
        ]
        if "sample standard deviation" in statement and (numpy_std or pandas_std):
            yield Observation(
                Mistake.WRONG_STATISTIC, bool(numpy_std), "numpy's std is the population's (ddof=0)" if numpy_std else "a sample deviation"
            )
        elif "population standard deviation" in statement and (numpy_std or pandas_std):
            yield Observation(
                Mistake.WRONG_STATISTIC,
                bool(pandas_std),
                "pandas' std is the sample's (ddof=1)" if pandas_std else "a population deviation",
            )
        if "spearman" in statement and names & {"corr", "corrcoef", "pearsonr", "spearmanr"}:
            yield Observation(
                Mistake.WRONG_STATISTIC, "spearman" not in text.lower(), "a Pearson correlation where Spearman's is asked for"
            )
        if re.search(r"\bmedian\b", statement) and not re.search(r"\b(mean|average)\b", statement) and names & {"mean", "median", "agg"}:
            yield Observation(Mistake.WRONG_STATISTIC, "mean" in names and "median" not in text, "a mean where a median is asked for")
        elif re.search(r"\b(mean|average)\b", statement) and not re.search(r"\bmedian\b", statement) and names & {"mean", "median"}:
            yield Observation(Mistake.WRONG_STATISTIC, "median" in names and "mean" not in text, "a median where a mean is asked for")


def wrong_extreme(case: Case) -> Iterator[Observation]:
    statement = case.reading.statement.lower()
    low, high = (
        re.search(r"\b(lowest|smallest|minimum|least|fewest)\b", statement),
        re.search(r"\b(highest|largest|maximum|most|greatest)\b", statement),
    )
    if bool(low) == bool(high):
        return
    for source in case.sources:
        names = {called(node) for node in calls(source.parsed)}
        tops, bottoms = names & {"idxmax", "argmax", "nlargest"}, names & {"idxmin", "argmin", "nsmallest"}
        if (tops or bottoms) and not source.story.predictions:
            wrong = bool(tops and low and not bottoms) or bool(bottoms and high and not tops)
            yield Observation(
                Mistake.WRONG_EXTREME, wrong, f"uses {', '.join(sorted(tops | bottoms))}" if wrong else "the extreme that is asked for"
            )


def leakage(case: Case) -> Iterator[Observation]:
    for source in case.sources:
        splits = [node.lineno for node in calls(source.parsed) if called(node) == "train_test_split"]
        early = [fit for fit in source.story.fits if splits and fit.line < min(splits) and fit.model and not fit.model.tokens & ESTIMATORS]
        if splits:
            yield Observation(
                Mistake.LEAKAGE,
                bool(early),
                f"fitted at {here(early[0].line, source)}, before the split" if early else "split before anything is fitted",
            )


def made_up(case: Case) -> Iterator[Observation]:
    for source in case.sources:
        fallbacks = [handler for handler in ast.walk(source.parsed) if isinstance(handler, ast.ExceptHandler)]
        invents = [
            node
            for handler in fallbacks
            for node in calls(handler)
            if called(node)
            in ("rand", "randn", "random", "randint", "choice", "uniform", "normal", "DataFrame", "make_classification", "full", "zeros")
        ]
        if fallbacks:
            yield Observation(
                Mistake.MADE_UP,
                bool(invents),
                f"line {invents[0].lineno}: {ast.unparse(invents[0])[:60]} stands in when a step fails"
                if invents
                else "no stand-in values",
            )
        if case.is_hand_in and case.headers and source.story.writes and not source.story.fits:
            constant = bool({called(node) for node in calls(source.parsed)} & {"full", "zeros", "ones", "rand", "random"})
            yield Observation(Mistake.MADE_UP, constant, "the submission is filled without a model")


def hidden_failure(case: Case) -> Iterator[Observation]:
    for source in case.sources:
        handlers = [node for node in ast.walk(source.parsed) if isinstance(node, ast.ExceptHandler)]
        broad = [
            node
            for node in handlers
            if node.type is None or (isinstance(node.type, ast.Name) and node.type.id in ("Exception", "BaseException"))
        ]
        silent = [node for node in broad if not any(isinstance(part, ast.Raise) for part in ast.walk(node)) and len(node.body) <= 2]
        if handlers:
            yield Observation(
                Mistake.HIDDEN_FAILURE,
                bool(silent),
                f"{here(silent[0].lineno, source)} goes on after any error" if silent else "errors are not hidden",
            )


def clusters_unchecked(case: Case) -> Iterator[Observation]:
    for source in case.sources:
        if words(source.parsed) & _CLUSTERERS:
            looked = bool(
                words(source.parsed)
                & {
                    "silhouette_score",
                    "value_counts",
                    "bincount",
                    "unique",
                    "inertia_",
                    "bic",
                    "calinski_harabasz_score",
                    "davies_bouldin_score",
                }
            )
            yield Observation(
                Mistake.CLUSTERS_UNCHECKED, not looked, "cluster sizes are never looked at" if not looked else "clusters are looked at"
            )


def parameter_untested(case: Case) -> Iterator[Observation]:
    if not case.is_hand_in:
        return
    for source in case.sources:
        cuts = [
            node.lineno
            for node in ast.walk(source.parsed)
            if isinstance(node, ast.Compare) and isinstance(node.comparators[0], ast.Constant) and isinstance(node.comparators[0].value, float)
            and ("proba" in ast.unparse(node.left) or "score" in ast.unparse(node.left))
        ]  # fmt: skip
        if cuts:
            tested = bool(words(source.parsed) & {"linspace", "arange", "precision_recall_curve", "roc_curve", "GridSearchCV"})
            yield Observation(
                Mistake.PARAMETER_UNTESTED,
                not tested,
                f"a fixed cut at {here(cuts[0], source)}" if not tested else "the cut is searched for",
            )


def only_a_picture(case: Case) -> Iterator[Observation]:
    for source in case.sources:
        if "savefig" in words(source.parsed):
            saved = bool(words(source.parsed) & {"to_csv", "to_json", "savez", "savetxt", "dump"})
            yield Observation(Mistake.ONLY_A_PICTURE, not saved, "only a figure is saved" if not saved else "the data is saved too")


CHECKS = (
    not_validated, wrong_metric, wrong_scope, wrong_statistic, wrong_extreme, leakage, made_up, hidden_failure, clusters_unchecked,
    parameter_untested, only_a_picture,
)  # fmt: skip


def _scorings(node: ast.Call) -> set[str]:
    scoring = keyword(node, "scoring")
    return {str(part.value) for part in ast.walk(scoring) if isinstance(part, ast.Constant)} if scoring is not None else set()
