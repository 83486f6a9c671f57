"""Checks of time and memory: a rough count of the work, against the limits of the sandbox.

The rates are orders of magnitude for one core, from general experience; a factor of three either way is expected.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator

from rubrics_gym.providers.simulated.judge.case import Case, Observation, Source, sought
from rubrics_gym.providers.simulated.judge.mistakes import Mistake
from rubrics_gym.providers.simulated.judge.syntax import called, calls, keyword

_STATEMENT_S = 1e-7  # one simple statement of the interpreter
_PANDAS_CALL_S = 1e-4  # one call on a frame or an array
_ROW_S = 4e-5  # one row of iterrows or apply(axis=1)
_TREE_S = 3e-6  # per row and tree, a few features
_BOOST_S = 4e-6  # per row and boosting round
_PAIR_S = 4e-8  # per pair of rows (kernel machines, distances)
_LINEAR_S = 2e-6  # per row
_START_S = 1.5  # importing the usual libraries
_UNKNOWN_ROWS = 1000
_FORESTS = {
    "RandomForestClassifier",
    "RandomForestRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "BaggingClassifier",
    "BaggingRegressor",
}
_BOOSTED = {"GradientBoostingClassifier", "GradientBoostingRegressor", "AdaBoostClassifier", "AdaBoostRegressor", "HistGradientBoostingClassifier",
            "HistGradientBoostingRegressor", "XGBClassifier", "XGBRegressor", "LGBMClassifier", "LGBMRegressor"}  # fmt: skip
_PAIRWISE = {"SVC", "SVR", "NuSVC", "NuSVR", "GaussianProcessClassifier", "GaussianProcessRegressor", "AgglomerativeClustering", "SpectralClustering",
             "TSNE", "KernelRidge", "pdist", "pairwise_distances", "cdist", "euclidean_distances"}  # fmt: skip
_NETS = {"MLPClassifier", "MLPRegressor"}
_ALLOCATORS = {"zeros", "ones", "empty", "full", "rand", "randn", "random", "normal", "uniform", "standard_normal", "eye"}


def too_slow(case: Case) -> Iterator[Observation]:
    for source in case.sources:
        work = list(_costs(source, _rows(case, source)))
        if work and case.seconds is not None:
            total, worst = _START_S + sum(seconds for seconds, _ in work), max(work)[1]
            late = [f"about {total:,.0f} s of {case.seconds:,.0f} s, most of it in {worst}"] if total > case.seconds else []
            yield sought(Mistake.TOO_SLOW, late)


def too_big(case: Case) -> Iterator[Observation]:
    for source in case.sources:
        sizes = list(_sizes(source, _rows(case, source)))
        if sizes and case.megabytes is not None:
            large = [f"{what} takes about {size:,.0f} MB of {case.megabytes:,.0f} MB" for size, what in sizes if size > case.megabytes]
            yield sought(Mistake.TOO_BIG, large)


CHECKS = (too_slow, too_big)


def _rows(case: Case, source: Source) -> int:
    """Rows of the largest table that the program reads."""
    read = [case.reading.table(use.path) for use in source.story.reads if use.path]
    return max((table.rows for table in read if table is not None), default=_UNKNOWN_ROWS)


def _costs(source: Source, rows: int) -> Iterator[tuple[float, str]]:
    """(seconds, what) of everything that looks expensive."""
    constants = _constants(source.parsed)
    yield from _loops(source.parsed, 1.0, constants, rows)
    for node in calls(source.parsed):
        name = called(node)
        if name in ("fit", "fit_transform", "fit_predict", "cross_val_score", "cross_validate", "cross_val_predict"):
            model = next((use.model for use in source.story.fits if use.node is node), None)
            yield _fit_cost(source, node, rows, constants, model.line if model else None)
        elif name in _PAIRWISE and not name[:1].isupper():
            yield rows**2 * _PAIR_S, f"{name} over {rows:,} rows (line {node.lineno})"
        elif name == "sleep" and node.args:
            yield _number(node.args[0], constants) or 0.0, f"sleep (line {node.lineno})"
        elif name == "apply" and isinstance(axis := keyword(node, "axis"), ast.Constant) and axis.value == 1:
            yield rows * _ROW_S, f"apply over {rows:,} rows (line {node.lineno})"


def _fit_cost(source: Source, node: ast.Call, rows: int, constants: dict[str, float], made_at: int | None) -> tuple[float, str]:
    """Cost of one call that fits: the dearest estimator made in the program, times folds and grid points, times the loops around it."""
    makers = [maker for maker in calls(source.parsed) if made_at is None or maker.lineno <= node.lineno]
    cost = max((_estimator(maker, rows, constants) for maker in makers), default=0.0) or rows * _LINEAR_S
    searches = [maker for maker in makers if called(maker) in ("GridSearchCV", "RandomizedSearchCV", "HalvingGridSearchCV")]
    search = searches[-1] if searches and called(node) == "fit" else None
    times = _search_points(search, constants) * _folds(search, constants) if search is not None else 1.0
    if called(node).startswith("cross_val"):
        times = _folds(node, constants)
    times *= _times_around(source.parsed, node, constants, rows)
    return cost * times, f"{times:,.0f} fits on {rows:,} rows (line {node.lineno})"


def _estimator(node: ast.Call, rows: int, constants: dict[str, float]) -> float:
    """Seconds for one fit of the estimator that a call makes."""
    name = called(node)
    if name in _FORESTS:
        trees = _number(keyword(node, "n_estimators"), constants) or 100
        return trees * rows * _TREE_S * max(1.0, math.log10(max(rows, 10)) - 1)
    if name in _BOOSTED:
        rounds = _number(keyword(node, "n_estimators") or keyword(node, "max_iter"), constants) or 100
        return rounds * rows * _BOOST_S
    if name in _PAIRWISE and name[:1].isupper():
        return rows**2 * _PAIR_S * 5
    if name in _NETS:
        return rows * (_number(keyword(node, "max_iter"), constants) or 200) * 1e-5
    if name == "KNeighborsClassifier" or name == "KNeighborsRegressor":
        return rows * 1e-5
    return 0.0


def _search_points(node: ast.Call, constants: dict[str, float]) -> float:
    """Points of a search: `n_iter`, or the product of the lengths of the lists in the grid."""
    if called(node) == "RandomizedSearchCV":
        return _number(keyword(node, "n_iter"), constants) or 10
    grid = keyword(node, "param_grid") or (node.args[1] if len(node.args) > 1 else None)
    points = 1.0
    if isinstance(grid, ast.Name):
        return constants.get(f"grid:{grid.id}", 10.0)
    for values in grid.values if isinstance(grid, ast.Dict) else []:
        points *= _length(values, constants)
    return points


def _length(node: ast.expr, constants: dict[str, float]) -> float:
    if isinstance(node, ast.List | ast.Tuple):
        return len(node.elts)
    if isinstance(node, ast.Call):
        return _iterations(node, constants, 10) or 10
    return 5.0


def _folds(node: ast.Call | None, constants: dict[str, float]) -> float:
    folds = keyword(node, "cv") if node is not None else None
    return _number(folds, constants) or 5.0


def _loops(node: ast.AST, times: float, constants: dict[str, float], rows: int) -> Iterator[tuple[float, str]]:
    """Cost of the statements in loops, with the loops around them multiplied."""
    for child in ast.iter_child_nodes(node):
        inner = times
        if isinstance(child, ast.For):
            inner = times * (_iterations(child.iter, constants, rows) or 1.0)
        elif isinstance(child, ast.While):
            endless = isinstance(child.test, ast.Constant) and not any(isinstance(part, ast.Break | ast.Return) for part in ast.walk(child))
            inner = times * (1e12 if endless else _bound(child.test, constants))
        if inner > times:
            body = [part for part in child.body if not isinstance(part, ast.For | ast.While)]  # type: ignore[attr-defined]
            heavy = any(
                called(call) not in ("range", "len", "append", "abs", "min", "max", "int", "float", "sqrt")
                for part in body
                for call in calls(part)
            )
            nodes = sum(
                1 for part in body for item in ast.walk(part) if isinstance(item, ast.BinOp | ast.Compare | ast.Subscript | ast.Call)
            )
            seconds = inner * (_PANDAS_CALL_S if heavy and _touches_frames(body) else _STATEMENT_S * (1 + nodes))
            yield seconds, f"a loop of {inner:,.0f} turns (line {child.lineno})"  # type: ignore[attr-defined]
        yield from _loops(child, inner, constants, rows)


def _touches_frames(body: list[ast.stmt]) -> bool:
    names = {part.attr for statement in body for part in ast.walk(statement) if isinstance(part, ast.Attribute)}
    return bool(
        names & {"loc", "iloc", "at", "iat", "mean", "sample", "concat", "apply", "groupby", "choice", "values", "sum", "query", "merge"}
    )


def _times_around(tree: ast.AST, node: ast.AST, constants: dict[str, float], rows: int) -> float:
    """How often the loops around a node make it run."""
    times = 1.0
    for loop in ast.walk(tree):
        if isinstance(loop, ast.For) and any(part is node for statement in loop.body for part in ast.walk(statement)):
            times *= _iterations(loop.iter, constants, rows) or 1.0
    return times


def _iterations(node: ast.expr, constants: dict[str, float], rows: int) -> float | None:
    """Turns of a loop over this expression; None where it cannot be told."""
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return float(len(node.elts))
    if not isinstance(node, ast.Call):
        return constants.get(f"list:{node.id}") if isinstance(node, ast.Name) else None
    name = called(node)
    if name in ("iterrows", "itertuples"):
        return float(rows) * (_ROW_S / _STATEMENT_S / 10)
    if name in ("enumerate", "tqdm", "list", "sorted", "reversed") and node.args:
        return _iterations(node.args[0], constants, rows)
    if name == "product":
        sizes = [_iterations(argument, constants, rows) or 1.0 for argument in node.args]
        return math.prod(sizes)
    if name == "split":
        return 5.0
    numbers = [float(rows) if called_len(argument) else _number(argument, constants) for argument in node.args]
    if name in ("range", "arange") and numbers and None not in numbers:
        known = [number for number in numbers if number is not None]
        start, stop = (0.0, known[0]) if len(known) == 1 else (known[0], known[1])
        return max(0.0, (stop - start) / (known[2] if len(known) > 2 and known[2] else 1.0))
    if name in ("linspace", "logspace", "geomspace"):
        return numbers[2] if len(numbers) > 2 else 50.0
    return None


def called_len(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and called(node) == "len"


def _bound(test: ast.expr, constants: dict[str, float]) -> float:
    """Turns of `while name < number`, by its number."""
    numbers = [_number(side, constants) for side in [test.left, *test.comparators]] if isinstance(test, ast.Compare) else []
    return max((abs(number) for number in numbers if number is not None), default=1.0)


def _number(node: ast.expr | None, constants: dict[str, float]) -> float | None:
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return float(value)
        case ast.Name(id=name):
            return constants.get(name)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            negated = _number(operand, constants)
            return None if negated is None else -negated
        case ast.Call(args=[argument]) if called(node) in ("int", "float"):
            return _number(argument, constants)
        case ast.BinOp(left=left, op=operator, right=right):
            return _arithmetic(_number(left, constants), operator, _number(right, constants))
    return None


def _arithmetic(left: float | None, operator: ast.operator, right: float | None) -> float | None:
    if left is None or right is None:
        return None
    match operator:
        case ast.Add():
            return left + right
        case ast.Sub():
            return left - right
        case ast.Mult():
            return left * right
        case ast.Div() | ast.FloorDiv() if right:
            return left / right
        case ast.Pow() if abs(right) < 20 and abs(left) < 1e9:
            return float(left**right)
    return None


def _constants(tree: ast.Module) -> dict[str, float]:
    """Numbers, lengths of lists (`list:name`) and sizes of grids (`grid:name`) that are assigned to names."""
    found: dict[str, float] = {}
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name)):
            continue
        name, value = node.targets[0].id, node.value
        if (number := _number(value, found)) is not None:
            found[name] = number
        elif isinstance(value, ast.List | ast.Tuple | ast.Set):
            found[f"list:{name}"] = float(len(value.elts))
        elif isinstance(value, ast.Dict):
            found[f"grid:{name}"] = math.prod(_length(part, found) for part in value.values)
        elif isinstance(value, ast.Call) and (turns := _iterations(value, found, _UNKNOWN_ROWS)) is not None:
            found[f"list:{name}"] = turns
    return found


def _sizes(source: Source, rows: int) -> Iterator[tuple[float, str]]:
    """(megabytes, what) of everything that is allocated at once."""
    constants = _constants(source.parsed)
    for node in calls(source.parsed):
        name = called(node)
        if name in _ALLOCATORS and node.args:
            shape = (
                node.args[0].elts
                if isinstance(node.args[0], ast.Tuple | ast.List)
                else node.args
                if name in ("rand", "randn", "eye")
                else node.args[:1]
            )
            size = keyword(node, "size")
            shape = size.elts if isinstance(size, ast.Tuple) else [size] if size is not None else shape
            cells = math.prod(float(rows) if _is_rows(part) else _number(part, constants) or 1.0 for part in shape)
            yield cells * 8 / 1e6, f"{ast.unparse(node)[:60]} (line {node.lineno})"
        elif name in ("pairwise_distances", "cdist", "euclidean_distances", "cosine_similarity", "squareform", "rbf_kernel"):
            yield float(rows) ** 2 * 8 / 1e6, f"{name} of {rows:,} rows (line {node.lineno})"
        elif name in ("merge", "join") and isinstance(how := keyword(node, "how"), ast.Constant) and how.value == "cross":
            yield float(rows) ** 2 * 40 / 1e6, f"a cross join of {rows:,} rows (line {node.lineno})"
        elif name in ("repeat", "tile") and node.args:
            yield (_number(node.args[-1], constants) or 1.0) * rows * 8 / 1e6, f"{ast.unparse(node)[:60]} (line {node.lineno})"
    for product in ast.walk(source.parsed):
        if isinstance(product, ast.BinOp) and isinstance(product.op, ast.Mult) and isinstance(product.left, ast.List):
            times, names = (
                _number(product.right, constants) or 1.0,
                {part.id for part in ast.walk(product.left) if isinstance(part, ast.Name)},
            )
            yield times * (rows * 80 if names else 8 * len(product.left.elts)) / 1e6, f"{ast.unparse(product)[:60]} (line {product.lineno})"


def _is_rows(node: ast.expr) -> bool:
    return called_len(node) or (isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute) and node.value.attr == "shape")
