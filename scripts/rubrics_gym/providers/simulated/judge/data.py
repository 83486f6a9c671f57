"""Checks of what a program does with its tables: columns, missing values, text columns, rows, shapes, types."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from rubrics_gym.providers.simulated.judge.case import Case, Observation, Source, here
from rubrics_gym.providers.simulated.judge.following import Frame, Use, called, calls, keyword, words
from rubrics_gym.providers.simulated.judge.mistakes import Mistake
from rubrics_gym.providers.simulated.judge.reading import base

_STRICT = {
    "LinearRegression", "LogisticRegression", "LogisticRegressionCV", "Ridge", "RidgeCV", "RidgeClassifier", "Lasso", "LassoCV", "ElasticNet",
    "ElasticNetCV", "SGDClassifier", "SGDRegressor", "SVC", "SVR", "LinearSVC", "LinearSVR", "KNeighborsClassifier", "KNeighborsRegressor",
    "MLPClassifier", "MLPRegressor", "GradientBoostingClassifier", "GradientBoostingRegressor", "AdaBoostClassifier", "AdaBoostRegressor",
    "GaussianNB", "MultinomialNB", "BernoulliNB", "LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis", "GaussianProcessRegressor",
    "PCA", "TruncatedSVD", "NMF", "KMeans", "MiniBatchKMeans", "DBSCAN", "AgglomerativeClustering", "GaussianMixture", "PoissonRegressor",
    "HuberRegressor", "Perceptron", "TSNE", "PolynomialFeatures", "SelectKBest",
}  # fmt: skip
_TREES = {
    "RandomForestClassifier", "RandomForestRegressor", "ExtraTreesClassifier", "ExtraTreesRegressor", "DecisionTreeClassifier",
    "DecisionTreeRegressor", "HistGradientBoostingClassifier", "HistGradientBoostingRegressor", "BaggingClassifier", "BaggingRegressor",
}  # fmt: skip
_SCALERS = {"StandardScaler", "MinMaxScaler", "RobustScaler", "MaxAbsScaler"}
ESTIMATORS = _STRICT | _TREES
_FILLS = {"SimpleImputer", "KNNImputer", "IterativeImputer"}
_CODES = {
    "OneHotEncoder",
    "OrdinalEncoder",
    "TargetEncoder",
    "TfidfVectorizer",
    "CountVectorizer",
    "ColumnTransformer",
    "HashingVectorizer",
}
_WHOLE = {"mean", "sum", "std", "median", "var", "corr", "quantile", "skew", "kurt", "cov", "prod"}
_PLAIN_NUMPY = {"mean", "std", "median", "var", "percentile", "corrcoef", "average", "quantile", "sum", "max", "min"}
_CHECKS_MISSING = {
    "fillna",
    "dropna",
    "isna",
    "isnull",
    "notna",
    "notnull",
    "SimpleImputer",
    "KNNImputer",
    "nan_to_num",
    "interpolate",
    "ffill",
    "bfill",
}


def unknown_columns(case: Case) -> Iterator[Observation]:
    for source in case.sources:
        made = {node.value for node in ast.walk(source.parsed) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
        looked_up = [use for use in source.story.columns if use.frame.table is not None and use.frame.columns is not None]
        wrong = [use for use in looked_up if use.name not in (use.frame.columns or ()) and not _made_here(source, use.name)]
        if looked_up and made:
            reason = "; ".join(f"{use.name!r} ({here(use.line, source)}), {_nearest(use.name, use.frame)}" for use in wrong[:3])
            yield Observation(Mistake.UNKNOWN_COLUMN, bool(wrong), f"no such column: {reason}" if wrong else "the columns named exist")


def missing_into_model(case: Case) -> Iterator[Observation]:
    for source, fit in _fits(case, _STRICT):
        frame = fit.frame
        if frame is None or frame.table is None:
            continue
        holes = sorted(frame.missing) if not fit.model.tokens & _FILLS else []  # type: ignore[union-attr]
        yield Observation(
            Mistake.MISSING_INTO_MODEL,
            bool(holes),
            f"{', '.join(holes[:4])} still missing in the fit at {here(fit.line, source)}" if holes else "no missing values reach the fit",
        )


def missing_into_statistic(case: Case) -> Iterator[Observation]:
    for source in case.sources:
        checked = bool(words(source.parsed) & _CHECKS_MISSING)
        for node in calls(source.parsed):
            if not (isinstance(node.func, ast.Attribute) and node.func.attr in _PLAIN_NUMPY and node.args):
                continue
            frame = source.story.frames.get(id(node.args[0]))
            plain = isinstance(node.func.value, ast.Name) and node.func.value.id in ("np", "numpy", "stats", "statistics")
            if frame is not None and frame.table is not None and plain:
                wrong = bool(frame.missing) and _is_array(node.args[0])
                yield Observation(
                    Mistake.MISSING_INTO_STATISTIC,
                    wrong,
                    f"{', '.join(sorted(frame.missing))} has missing values ({here(node.lineno, source)})",
                )
        used = {name for use in source.story.columns if use.frame.table for name in ([use.name] if use.name in use.frame.missing else [])}
        if used and not source.story.fits:
            yield Observation(
                Mistake.MISSING_INTO_STATISTIC, not checked, f"missing values of {', '.join(sorted(used)[:4])} are never looked at"
            )


def text_into_model(case: Case) -> Iterator[Observation]:
    for source, fit in _fits(case, ESTIMATORS | _SCALERS | _FILLS):
        frame = fit.frame
        if frame is None or frame.table is None or fit.model is None:
            continue
        if fit.model.tokens & _FILLS and not fit.model.tokens & ESTIMATORS and _keeps_text(fit):
            continue
        words_left = sorted(frame.text) if not fit.model.tokens & _CODES else []
        yield Observation(
            Mistake.TEXT_INTO_MODEL,
            bool(words_left),
            f"text columns {', '.join(words_left[:4])} reach the fit at {here(fit.line, source)}"
            if words_left
            else "no text column reaches the fit",
        )


def text_into_statistic(case: Case) -> Iterator[Observation]:
    for source in case.sources:
        for node in calls(source.parsed):
            owner = source.story.frames.get(id(node.func.value)) if isinstance(node.func, ast.Attribute) else None
            if owner is None or owner.single or called(node) not in _WHOLE or owner.table is None:
                continue
            wrong = bool(owner.text) and keyword(node, "numeric_only") is None and called(node) not in ("sum",)
            yield Observation(
                Mistake.TEXT_INTO_STATISTIC,
                wrong,
                f".{called(node)}() over {', '.join(sorted(owner.text)[:3])} ({here(node.lineno, source)})",
            )


def object_dtype(case: Case) -> Iterator[Observation]:
    pandas = (case.reading.packages or {}).get("pandas", "0")
    for source in case.sources:
        for node in ast.walk(source.parsed):
            if not (isinstance(node, ast.Compare) and any(name in ast.unparse(node.left) for name in ("dtype", "dtypes"))):
                continue
            other = ast.unparse(node.comparators[0])
            if other in ("object", "'object'", "'O'", "np.object_") and int(pandas.partition(".")[0]) >= 3:
                yield Observation(
                    Mistake.OBJECT_DTYPE,
                    True,
                    f"{ast.unparse(node)} ({here(node.lineno, source)}) is never true for text in pandas {pandas}",
                )


def unlike_features(case: Case) -> Iterator[Observation]:
    for source in case.sources:
        dummies = [node for node in calls(source.parsed) if called(node) == "get_dummies"]
        if len(dummies) > 1:
            aligned = bool(words(source.parsed) & {"reindex", "align", "concat"})
            yield Observation(
                Mistake.UNLIKE_FEATURES, not aligned, "get_dummies is called on each table by itself and the columns are never aligned"
            )
        for fit, prediction in _pairs(source):
            assert fit.frame is not None and prediction.frame is not None
            trained, given = fit.frame.columns or frozenset(), prediction.frame.columns or frozenset()
            differ = sorted(trained ^ given)
            wrong = bool(differ) and not (fit.model and fit.model.tokens & _CODES)
            yield Observation(
                Mistake.UNLIKE_FEATURES,
                wrong,
                f"fitted and predicted columns differ in {', '.join(differ[:4])}" if wrong else "the same columns",
            )


def one_dimension(case: Case) -> Iterator[Observation]:
    for source, fit in _fits(case, ESTIMATORS | _SCALERS):
        if fit.node is not None and fit.node.args and fit.frame is not None and source.story.frames.get(id(fit.node.args[0])) is not None:
            single = source.story.frames[id(fit.node.args[0])].single
            yield Observation(
                Mistake.ONE_DIMENSION,
                single,
                f"the first argument of fit at {here(fit.line, source)} is one column" if single else "a table of features",
            )


def wrong_unpacking(case: Case) -> Iterator[Observation]:
    for node in case.nodes(ast.Assign):
        if isinstance(node.value, ast.Call) and called(node.value) == "train_test_split" and isinstance(node.targets[0], ast.Tuple):
            expected, got = 2 * len(node.value.args), len(node.targets[0].elts)
            yield Observation(
                Mistake.WRONG_UNPACKING,
                expected != got,
                f"line {node.lineno}: train_test_split gives {expected} parts, {got} names take them",
            )


def text_plus_number(case: Case) -> Iterator[Observation]:
    numbers = {"len", "int", "float", "round", "sum", "mean", "max", "min", "std", "median", "abs"}
    for node in case.nodes(ast.BinOp):
        sides = (node.left, node.right)
        text = any(isinstance(side, ast.JoinedStr) or (isinstance(side, ast.Constant) and isinstance(side.value, str)) for side in sides)
        number = any((isinstance(side, ast.Call) and called(side) in numbers) or _is_number(side) for side in sides)
        if isinstance(node.op, ast.Add) and text and number:
            yield Observation(Mistake.TEXT_PLUS_NUMBER, True, f"line {node.lineno}: {ast.unparse(node)[:80]}")


def rows_dropped(case: Case) -> Iterator[Observation]:
    for source in case.sources:
        predicted = any(use.model for use in source.story.predictions)
        for node in calls(source.parsed):
            owner = source.story.frames.get(id(node.func.value)) if isinstance(node.func, ast.Attribute) else None
            of_test = owner is not None and owner.table is not None and base(owner.table.path).startswith("test") and not owner.single
            by_row = called(node) in ("dropna", "drop_duplicates", "sample", "head", "query", "nlargest") and not _by_column(node)
            if predicted and of_test and by_row:
                looks = called(node) == "head" and isinstance(_parent_statement(source, node), ast.Expr)
                yield Observation(Mistake.ROWS_DROPPED, not looks, f".{called(node)}() on the test table ({here(node.lineno, source)})")


def rows_reordered(case: Case) -> Iterator[Observation]:
    for source in case.sources:
        if not source.story.predictions:
            continue
        sorted_at = [
            node.lineno
            for node in calls(source.parsed)
            if called(node) in ("sort_values", "shuffle", "permutation")
            and isinstance(node.func, ast.Attribute)
            and _is_test(source.story.frames.get(id(node.func.value)))
        ]
        yield Observation(
            Mistake.ROWS_REORDERED,
            bool(sorted_at),
            f"the test table is reordered at line {sorted_at[0]}" if sorted_at else "the test rows keep their order",
        )


def bad_conversion(case: Case) -> Iterator[Observation]:
    for source in case.sources:
        for node in calls(source.parsed):
            owner = source.story.frames.get(id(node.func.value)) if isinstance(node.func, ast.Attribute) else None
            if called(node) != "astype" or owner is None or not owner.single or owner.table is None or not node.args:
                continue
            to = ast.unparse(node.args[0]).strip("'\"")
            wrong = (to.startswith("int") and bool(owner.missing)) or (to.startswith(("int", "float")) and bool(owner.text))
            yield Observation(Mistake.BAD_CONVERSION, wrong, f"astype({to}) of {owner.label} ({here(node.lineno, source)})")


def chained_assignment(case: Case) -> Iterator[Observation]:
    for source in case.sources:
        for node in ast.walk(source.parsed):
            chained = isinstance(node, ast.Assign) and any(
                isinstance(target, ast.Subscript) and isinstance(target.value, ast.Subscript) and id(target.value) in source.story.frames
                for target in node.targets
            )
            inplace = (
                isinstance(node, ast.Call)
                and keyword(node, "inplace") is not None
                and isinstance(node.func, ast.Attribute)
                and isinstance(node.func.value, ast.Subscript)
            )
            if chained or inplace:
                yield Observation(Mistake.CHAINED_ASSIGNMENT, True, f"{ast.unparse(node)[:80]}")


CHECKS = (
    unknown_columns, missing_into_model, missing_into_statistic, text_into_model, text_into_statistic, object_dtype, unlike_features,
    one_dimension, wrong_unpacking, text_plus_number, rows_dropped, rows_reordered, bad_conversion, chained_assignment,
)  # fmt: skip


def _fits(case: Case, kinds: set[str]) -> Iterator[tuple[Source, Use]]:
    for source in case.sources:
        for fit in source.story.fits:
            if fit.model is not None and fit.model.tokens & kinds:
                yield source, fit


def _pairs(source: Source) -> Iterator[tuple[Use, Use]]:
    """Each prediction with the last fit of the same model, where the columns of both are known."""
    for prediction in source.story.predictions:
        same = [fit for fit in source.story.fits if fit.model == prediction.model and fit.line <= prediction.line]
        if same and _known(same[-1].frame) and _known(prediction.frame):
            yield same[-1], prediction


def _known(frame: Frame | None) -> bool:
    return frame is not None and frame.table is not None and frame.columns is not None and not frame.single


def _is_test(frame: Frame | None) -> bool:
    return frame is not None and frame.table is not None and base(frame.table.path).startswith("test")


def _keeps_text(fit: Use) -> bool:
    """An imputer that fills with the most frequent value or a constant takes text as well."""
    return fit.model is not None and bool(fit.model.tokens & {"most_frequent", "constant", "ColumnTransformer"})


def _made_here(source: Source, name: str) -> bool:
    """Whether the program makes a column of that name somewhere: as a key, a keyword, or the target of an assignment."""
    for node in ast.walk(source.parsed):
        if (
            isinstance(node, ast.Subscript)
            and isinstance(node.ctx, ast.Store)
            and isinstance(node.slice, ast.Constant)
            and node.slice.value == name
        ):
            return True
        if isinstance(node, ast.Dict) and any(isinstance(part, ast.Constant) and part.value == name for part in [*node.keys, *node.values]):
            return True
        if isinstance(node, ast.keyword) and node.arg == name:
            return True
    return False


def _nearest(name: str, frame: Frame) -> str:
    import difflib

    close = difflib.get_close_matches(name, sorted(frame.columns or ()), 1)
    return f"the table has {close[0]!r}" if close else "nothing like it in the table"


def _is_array(node: ast.expr) -> bool:
    """`.values`, `.to_numpy()` and the like: numpy then no longer skips missing values as pandas does."""
    return bool(words(node) & {"values", "to_numpy", "array", "asarray", "tolist"})


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool)


def _by_column(node: ast.Call) -> bool:
    axis = keyword(node, "axis")
    return isinstance(axis, ast.Constant) and axis.value in (1, "columns")


def _parent_statement(source: Source, node: ast.Call) -> ast.stmt | None:
    return next(
        (part for part in ast.walk(source.parsed) if isinstance(part, ast.Expr) and any(inner is node for inner in ast.walk(part))), None
    )
