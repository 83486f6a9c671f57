"""Checks of what a program does with its tables: columns, missing values, text columns, rows, shapes, types."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from rubrics_gym.providers.simulated.judge.case import Case, Observation, Source, here, sought
from rubrics_gym.providers.simulated.judge.mistakes import Mistake
from rubrics_gym.providers.simulated.judge.reading import base
from rubrics_gym.providers.simulated.judge.story import Frame, Use
from rubrics_gym.providers.simulated.judge.syntax import called, keyword

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
_WHOLE = {"mean", "std", "median", "var", "corr", "quantile", "skew", "kurt", "cov", "prod"}
_LEAVES_PANDAS = {"len", "values", "to_numpy", "tolist", "shape", "size", "percentile", "corrcoef", "linregress", "polyfit"}
_CHECKS_MISSING = {
    "fillna", "dropna", "isna", "isnull", "notna", "notnull", "SimpleImputer", "KNNImputer", "nan_to_num", "interpolate", "ffill", "bfill",
    "nanmean", "nanmedian", "nanstd", "isnan", "count",
}  # fmt: skip
_SHORTENING = {"dropna", "drop_duplicates", "sample", "head", "query", "nlargest"}


def unknown_columns(case: Case) -> Iterator[Observation]:
    for source in case.sources:
        looked_up = [use for use in source.story.columns if use.frame.table is not None and use.frame.columns is not None]
        wrong = [use for use in looked_up if use.name not in (use.frame.columns or ()) and not _made_here(source, use.name)]
        if looked_up:
            yield sought(
                Mistake.UNKNOWN_COLUMN,
                [f"{use.name!r} ({here(use.line, source)}) is no column{_nearest(use.name, use.frame)}" for use in wrong],
            )


def missing_into_model(case: Case) -> Iterator[Observation]:
    for source, fit, frame in _fits(case, _STRICT):
        holes = sorted(frame.missing) if not _tokens(fit) & _FILLS else []
        yield sought(
            Mistake.MISSING_INTO_MODEL, [f"{name} still has missing values in the fit at {here(fit.line, source)}" for name in holes]
        )


def missing_into_statistic(case: Case) -> Iterator[Observation]:
    """Pandas skips missing values by itself; counting rows, or leaving pandas, does not."""
    for source in case.sources:
        used = sorted({use.name for use in source.story.columns if use.frame.table and use.name in use.frame.missing})
        if used and not source.story.fits:
            careless = not source.words & _CHECKS_MISSING and bool(source.words & _LEAVES_PANDAS)
            yield sought(Mistake.MISSING_INTO_STATISTIC, [f"missing values of {name} are never looked at" for name in used if careless])


def text_into_model(case: Case) -> Iterator[Observation]:
    for source, fit, frame in _fits(case, ESTIMATORS | _SCALERS | _FILLS):
        takes_text = _tokens(fit) & _CODES or (not _tokens(fit) & (ESTIMATORS | _SCALERS) and _tokens(fit) & {"most_frequent", "constant"})
        left = [] if takes_text else sorted(frame.text)
        yield sought(Mistake.TEXT_INTO_MODEL, [f"the text column {name} reaches the fit at {here(fit.line, source)}" for name in left])


def text_into_statistic(case: Case) -> Iterator[Observation]:
    for source in case.sources:
        for node in source.calls:
            owner = source.owner(node)
            if called(node) in _WHOLE and owner is not None and owner.table is not None and not owner.single:
                text = sorted(owner.text) if keyword(node, "numeric_only") is None else []
                yield sought(Mistake.TEXT_INTO_STATISTIC, [f".{called(node)}() over {name} ({here(node.lineno, source)})" for name in text])


def object_dtype(case: Case) -> Iterator[Observation]:
    pandas = (case.reading.packages or {}).get("pandas", "0")
    compared = [node for node in case.nodes(ast.Compare) if "dtype" in ast.unparse(node.left)]
    wrong = [node for node in compared if ast.unparse(node.comparators[0]) in ("object", "'object'", "'O'", "np.object_")]
    if compared and int(pandas.partition(".")[0]) >= 3:
        yield sought(
            Mistake.OBJECT_DTYPE, [f"{ast.unparse(node)} (line {node.lineno}) is never true for text in pandas {pandas}" for node in wrong]
        )


def unlike_features(case: Case) -> Iterator[Observation]:
    for source in case.sources:
        if sum(called(node) == "get_dummies" for node in source.calls) > 1:
            aligned = source.words & {"reindex", "align", "concat"}
            yield sought(
                Mistake.UNLIKE_FEATURES, [] if aligned else ["get_dummies is called on each table, and the columns are never aligned"]
            )
        for fit, trained, given in _fitted_and_given(source):
            differ = sorted(trained ^ given) if not _tokens(fit) & _CODES else []
            yield sought(Mistake.UNLIKE_FEATURES, [f"{name} is among the columns of the fit or of the prediction only" for name in differ])


def one_dimension(case: Case) -> Iterator[Observation]:
    for source, fit, _ in _fits(case, ESTIMATORS | _SCALERS):
        first = source.story.frames.get(id(fit.node.args[0])) if fit.node is not None and fit.node.args else None
        if first is not None:
            yield sought(
                Mistake.ONE_DIMENSION, [f"the first argument of fit at {here(fit.line, source)} is one column"] if first.single else []
            )


def wrong_unpacking(case: Case) -> Iterator[Observation]:
    for node in case.nodes(ast.Assign):
        if isinstance(node.value, ast.Call) and called(node.value) == "train_test_split" and isinstance(node.targets[0], ast.Tuple):
            parts, names = 2 * len(node.value.args), len(node.targets[0].elts)
            wrong = [f"line {node.lineno}: train_test_split gives {parts} parts, {names} names take them"] if parts != names else []
            yield sought(Mistake.WRONG_UNPACKING, wrong)


def text_plus_number(case: Case) -> Iterator[Observation]:
    sums = [
        node for node in case.nodes(ast.BinOp) if isinstance(node.op, ast.Add) and any(_is_text(side) for side in (node.left, node.right))
    ]
    wrong = [node for node in sums if any(_is_number(side) for side in (node.left, node.right))]
    if sums:
        yield sought(Mistake.TEXT_PLUS_NUMBER, [f"line {node.lineno}: {ast.unparse(node)[:80]}" for node in wrong])


def rows_dropped(case: Case) -> Iterator[Observation]:
    for source in case.sources:
        if source.story.predictions:
            shortened = [
                node for node in source.calls if called(node) in _SHORTENING and _is_test(source.owner(node)) and not _by_column(node)
            ]
            kept = [node for node in shortened if not _is_looked_at(source, node)]
            yield sought(Mistake.ROWS_DROPPED, [f".{called(node)}() on the test table ({here(node.lineno, source)})" for node in kept])


def rows_reordered(case: Case) -> Iterator[Observation]:
    for source in case.sources:
        if source.story.predictions:
            moved = [node for node in source.calls if called(node) in ("sort_values", "sample", "shuffle") and _is_test(source.owner(node))]
            yield sought(Mistake.ROWS_REORDERED, [f"the test table is reordered at {here(node.lineno, source)}" for node in moved])


def bad_conversion(case: Case) -> Iterator[Observation]:
    for source in case.sources:
        for node in source.calls:
            column = source.owner(node)
            if called(node) == "astype" and node.args and column is not None and column.single and column.table is not None:
                to = ast.unparse(node.args[0]).strip("'\"")
                wrong = (to.startswith("int") and column.missing) or (to.startswith(("int", "float")) and column.text)
                yield sought(Mistake.BAD_CONVERSION, [f"astype({to}) of {column.label} ({here(node.lineno, source)})"] if wrong else [])


def chained_assignment(case: Case) -> Iterator[Observation]:
    for source in case.sources:
        stores = [node for node in ast.walk(source.parsed) if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)]
        chained: list[ast.expr] = [
            node for node in stores if isinstance(node.value, ast.Subscript) and id(node.value) in source.story.frames
        ]
        inplace = [node for node in source.calls if keyword(node, "inplace") is not None and source.owner(node) is not None]
        lost = [node for node in inplace if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Subscript)]
        if stores or inplace:
            yield sought(Mistake.CHAINED_ASSIGNMENT, [ast.unparse(node)[:80] for node in [*chained, *lost]])


CHECKS = (
    unknown_columns, missing_into_model, missing_into_statistic, text_into_model, text_into_statistic, object_dtype, unlike_features,
    one_dimension, wrong_unpacking, text_plus_number, rows_dropped, rows_reordered, bad_conversion, chained_assignment,
)  # fmt: skip


def _fits(case: Case, kinds: set[str]) -> Iterator[tuple[Source, Use, Frame]]:
    """Every fit of a model of some kind on a frame that was read from a table."""
    for source in case.sources:
        for fit in source.story.fits:
            if _tokens(fit) & kinds and fit.frame is not None and fit.frame.table is not None:
                yield source, fit, fit.frame


def _tokens(fit: Use) -> frozenset[str]:
    return frozenset() if fit.model is None else fit.model.tokens


def _fitted_and_given(source: Source) -> Iterator[tuple[Use, frozenset[str], frozenset[str]]]:
    """Each prediction's last fit of the same model, with the columns of both, where they are known."""
    for prediction in source.story.predictions:
        same = [fit for fit in source.story.fits if fit.model == prediction.model and fit.line <= prediction.line]
        trained, given = _columns(same[-1].frame) if same else None, _columns(prediction.frame)
        if trained is not None and given is not None:
            yield same[-1], trained, given


def _columns(frame: Frame | None) -> frozenset[str] | None:
    return None if frame is None or frame.table is None or frame.single else frame.columns


def _is_test(frame: Frame | None) -> bool:
    return frame is not None and frame.table is not None and not frame.single and base(frame.table.path).startswith("test")


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
    return f"; the table has {close[0]!r}" if close else ""


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _is_number(node: ast.expr) -> bool:
    if isinstance(node, ast.Call):
        return called(node) in ("len", "int", "float", "round", "sum", "mean", "max", "min", "std", "median", "abs")
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool)


def _by_column(node: ast.Call) -> bool:
    axis = keyword(node, "axis")
    return isinstance(axis, ast.Constant) and axis.value in (1, "columns")


def _is_looked_at(source: Source, node: ast.Call) -> bool:
    """A call whose result is only shown: `test.head()` as a statement, or inside `print` or `display`."""
    shown = [call for call in source.calls if called(call) in ("print", "display")]
    lines = [statement.value for statement in ast.walk(source.parsed) if isinstance(statement, ast.Expr)]
    return any(line is node for line in lines) or any(inner is node for call in shown for inner in ast.walk(call))
