"""Checks of what a program expects from its surroundings: packages, library versions, files, a network, and names that exist."""

from __future__ import annotations

import ast
import builtins
import re
import sys
from collections.abc import Iterator

from rubrics_gym.providers.simulated.judge.case import Case, Observation, Source, here, is_under, sought
from rubrics_gym.providers.simulated.judge.mistakes import Mistake
from rubrics_gym.providers.simulated.judge.reading import base, normal
from rubrics_gym.providers.simulated.judge.syntax import called, keyword

# Import name -> name of the distribution, where they differ.
_DISTRIBUTIONS = {
    "sklearn": "scikit-learn", "cv2": "opencv-python", "PIL": "pillow", "yaml": "pyyaml", "bs4": "beautifulsoup4", "skimage": "scikit-image",
    "dateutil": "python-dateutil", "Crypto": "pycryptodome", "imblearn": "imbalanced-learn", "umap": "umap-learn", "dotenv": "python-dotenv",
    "fitz": "pymupdf", "attr": "attrs", "docx": "python-docx", "category_encoders": "category-encoders", "pkg_resources": "setuptools",
}  # fmt: skip

# (library, name on its module, version that no longer has it)
_GONE_NAMES = [
    *(("numpy", name, "1.24") for name in ("float", "int", "object", "str", "complex")),
    *(
        ("numpy", name, "2.0")
        for name in ("float_", "complex_", "unicode_", "string_", "Inf", "Infinity", "NaN", "infty", "NINF", "PINF", "product", "cumproduct",
                     "sometrue", "alltrue", "asfarray", "msort", "round_", "mat", "cast", "find_common_type", "lookfor", "who", "issubclass_")
    ),
    ("numpy", "in1d", "2.4"), ("numpy", "trapz", "2.4"),
    ("pandas", "Panel", "0.25"), ("pandas", "Int64Index", "2.0"), ("pandas", "Float64Index", "2.0"), ("pandas", "UInt64Index", "2.0"),
    ("pandas", "datetime", "2.0"), ("pandas", "np", "2.0"), ("pandas", "TimeGrouper", "1.0"), ("pandas", "value_counts", "3.0"),
    ("scipy", "mean", "1.0"), ("scipy.integrate", "simps", "1.14"), ("scipy.integrate", "trapz", "1.14"), ("scipy.integrate", "cumtrapz", "1.14"),
    ("scipy.stats", "binom_test", "1.12"), ("scipy.stats", "median_absolute_deviation", "1.9"), ("scipy.misc", "imread", "1.2"),
    ("sklearn.datasets", "load_boston", "1.2"), ("sklearn.preprocessing", "Imputer", "0.22"), ("sklearn.metrics", "plot_confusion_matrix", "1.2"),
    ("sklearn.metrics", "plot_roc_curve", "1.2"), ("sklearn.metrics", "SCORERS", "1.3"), ("sklearn.externals", "joblib", "0.23"),
]  # fmt: skip

# (library, method of its objects, version that no longer has it)
_GONE_METHODS = [
    *(("pandas", name, "2.0") for name in ("iteritems", "mad", "lookup", "tshift", "slice_shift")),
    *(("pandas", name, "1.0") for name in ("ix", "get_value", "set_value", "as_matrix", "get_dtype_counts", "from_items")),
    ("pandas", "applymap", "3.0"), ("pandas", "swapaxes", "3.0"), ("scikit-learn", "get_feature_names", "1.2"),
]  # fmt: skip
_GONE_FRAME_METHODS = [
    ("pandas", "append", "2.0"),
    ("pandas", "pad", "3.0"),
    ("pandas", "backfill", "3.0"),
    ("pandas", "first", "3.0"),
    ("pandas", "last", "3.0"),
]

# (library, function or class, keyword, version that no longer takes it)
_GONE_KEYWORDS = [
    *(("pandas", "read_csv", name, "2.0") for name in ("error_bad_lines", "warn_bad_lines", "squeeze", "prefix", "mangle_dupe_cols")),
    *(("pandas", "read_csv", name, "3.0") for name in ("date_parser", "infer_datetime_format", "delim_whitespace", "keep_date_col")),
    ("pandas", "fillna", "method", "3.0"), ("pandas", "to_datetime", "infer_datetime_format", "3.0"), ("pandas", "groupby", "axis", "3.0"),
    ("pandas", "to_csv", "line_terminator", "2.0"), ("pandas", "concat", "join_axes", "1.0"), ("pandas", "resample", "how", "2.0"),
    ("scikit-learn", "OneHotEncoder", "sparse", "1.4"), ("scikit-learn", "mean_squared_error", "squared", "1.6"),
    *(("scikit-learn", name, "normalize", "1.2") for name in ("LinearRegression", "Ridge", "Lasso", "ElasticNet", "LassoCV", "RidgeCV")),
    *(("scikit-learn", name, "base_estimator", "1.4") for name in ("BaggingClassifier", "BaggingRegressor", "AdaBoostClassifier", "AdaBoostRegressor",
                                                                   "CalibratedClassifierCV")),
    ("scikit-learn", "AgglomerativeClustering", "affinity", "1.4"), ("scikit-learn", "KMeans", "n_jobs", "1.0"),
    ("scikit-learn", "LogisticRegression", "multi_class", "1.8"), ("scikit-learn", "TSNE", "n_iter", "1.7"),
    ("scikit-learn", "AdaBoostClassifier", "algorithm", "1.8"), ("scikit-learn", "GradientBoostingClassifier", "presort", "0.24"),
]  # fmt: skip

# (library, keyword, value that is no longer a choice, version)
_GONE_CHOICES = [
    ("scikit-learn", "max_features", "auto", "1.3"), ("scikit-learn", "criterion", "mse", "1.2"), ("scikit-learn", "criterion", "mae", "1.2"),
    ("scikit-learn", "loss", "ls", "1.2"), ("scikit-learn", "loss", "lad", "1.2"), ("scikit-learn", "loss", "deviance", "1.3"),
    ("scikit-learn", "loss", "log", "1.3"), ("scikit-learn", "penalty", "none", "1.4"),
]  # fmt: skip
_GONE_FREQUENCIES = {"M", "Q", "Y", "A", "BM", "BQ", "H", "T", "S", "L", "U"}  # pandas 3.0
_NETWORK = {
    "urlopen", "urlretrieve", "fetch_openml", "fetch_california_housing", "fetch_20newsgroups", "load_dataset", "hf_hub_download", "from_pretrained",
}  # fmt: skip


def missing_packages(case: Case) -> Iterator[Observation]:
    packages = case.reading.packages
    own = {base(path).removesuffix(".py") for path in {*case.reading.programs, *(case.reading.files or ())} if path.endswith(".py")}
    for source in case.sources:
        wanted = sorted(_imports(source.parsed) - own)
        if wanted and packages is not None:
            absent = [name for name in wanted if name not in sys.stdlib_module_names and _distribution(name) not in packages]
            yield sought(Mistake.MISSING_PACKAGE, [f"imports {name}, which is not among the installed packages" for name in absent])


def removed_api(case: Case) -> Iterator[Observation]:
    for source in case.sources:
        if _imports(source.parsed) & {"pandas", "numpy", "sklearn", "scipy"}:
            yield sought(Mistake.REMOVED_API, sorted(set(_removed(source, case.reading.packages or {}))))


def missing_files(case: Case) -> Iterator[Observation]:
    for source in case.sources:
        written = {normal(use.path) for use in source.story.writes if use.path}
        read = [
            (use.line, use.path) for use in source.story.reads if use.path and "://" not in use.path and not use.path.startswith("/dev/")
        ]
        if read and case.reading.files is not None:
            wrong = [(line, path) for line, path in read if normal(path) not in case.reading.files | written]
            yield sought(Mistake.NO_SUCH_FILE, [f"{path} ({here(line, source)}) is not in the listing" for line, path in wrong])


def missing_script(case: Case) -> Iterator[Observation]:
    known = {base(path) for path in {*case.reading.programs, *(case.reading.files or ())}}
    for script in re.findall(r"python[\d.]*\s+(?:-u\s+)?([\w./-]+\.py)\b", case.reading.command):
        made_first = re.search(rf">\s*{re.escape(script)}", case.reading.command)
        if case.reading.files is not None and not made_first:
            yield sought(Mistake.NO_SUCH_FILE, [] if base(script) in known else [f"the script {script} is not there"])


def missing_folders(case: Case) -> Iterator[Observation]:
    folders = {normal(path).rpartition("/")[0] for path in case.reading.files or ()} | {"/workspace", "/tmp"}
    for source in case.sources:
        makes = bool(source.words & {"makedirs", "mkdir"}) or "mkdir" in case.reading.command
        targets = [(use.line, normal(use.path)) for use in source.story.writes if use.path]
        if targets and case.reading.files is not None:
            lost = [(line, path) for line, path in targets if path.rpartition("/")[0] not in folders and not makes]
            forbidden = [(line, path) for line, path in targets if is_under(path, "/workspace/data")]
            yield sought(Mistake.NO_FOLDER, [f"{path} ({here(line, source)}) cannot be written" for line, path in lost + forbidden])


def network(case: Case) -> Iterator[Observation]:
    for source in case.sources:
        remote = [use.path for use in source.story.reads if use.path and re.match(r"(https?|ftp|s3)://", use.path)]
        remote += [ast.unparse(node.func) for node in source.calls if called(node) in _NETWORK]
        remote += [ast.unparse(node.func) for node in source.calls if re.match(r"requests\.(get|post)", ast.unparse(node.func))]
        if remote:
            yield sought(Mistake.NO_NETWORK, [f"{what} needs a network" for what in remote])


def undefined_names(case: Case) -> Iterator[Observation]:
    for source in case.sources:
        used = {node.id: node.lineno for node in ast.walk(source.parsed) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
        bound = _bound(source.parsed)
        if used and "*" not in bound:
            unknown = sorted(used.keys() - bound - set(dir(builtins)) - {"__file__"})
            yield sought(Mistake.NO_SUCH_NAME, [f"{name} ({here(used[name], source)}) is never defined" for name in unknown])


def broken_syntax(case: Case) -> Iterator[Observation]:
    for source in case.sources:
        yield sought(Mistake.BROKEN_SYNTAX, [f"{base(source.path)}: {source.error}"] if source.error else [])


CHECKS = (missing_packages, removed_api, missing_files, missing_script, missing_folders, network, undefined_names, broken_syntax)


def _imports(tree: ast.Module) -> set[str]:
    """Top-level names of the modules imported, without those under a `try` (the program then means to do without)."""
    guarded = {id(inner) for node in ast.walk(tree) if isinstance(node, ast.Try) for inner in ast.walk(ast.Module(node.body, []))}
    found: set[str] = set()
    for node in ast.walk(tree):
        if id(node) in guarded:
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
    return found


def _distribution(module: str) -> str:
    return _DISTRIBUTIONS.get(module, module).lower().replace("_", "-")


def _aliases(tree: ast.Module) -> dict[str, str]:
    """Local name -> dotted name of the module or member that it stands for."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {
                alias.asname or alias.name.partition(".")[0]: alias.name if alias.asname else alias.name.partition(".")[0]
                for alias in node.names
            }
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    return names


def _dotted(node: ast.expr, aliases: dict[str, str]) -> str:
    if isinstance(node, ast.Name):
        return aliases.get(node.id, "")
    if isinstance(node, ast.Attribute):
        owner = _dotted(node.value, aliases)
        return f"{owner}.{node.attr}" if owner else ""
    return ""


def _removed(source: Source, packages: dict[str, str]) -> Iterator[str]:
    """A sentence for every use of something that the listed versions no longer have."""
    aliases = _aliases(source.parsed)
    gone_names = {f"{module}.{name}": (_distribution(module.partition(".")[0]), version) for module, name, version in _GONE_NAMES}
    for member in aliases.values():
        if member in gone_names and _is_gone(packages, *gone_names[member]):
            yield f"{member} was removed in {gone_names[member][0]} {gone_names[member][1]}"
    for node in ast.walk(source.parsed):
        if isinstance(node, ast.Attribute):
            yield from _removed_attribute(node, source, packages, aliases, gone_names)
        elif isinstance(node, ast.Call):
            yield from _removed_parameter(node, packages)


def _removed_attribute(
    node: ast.Attribute, source: Source, packages: dict[str, str], aliases: dict[str, str], gone_names: dict[str, tuple[str, str]]
) -> Iterator[str]:
    dotted = _dotted(node, aliases)
    if dotted in gone_names and _is_gone(packages, *gone_names[dotted]):
        yield f"{dotted} was removed in {gone_names[dotted][0]} {gone_names[dotted][1]} (line {node.lineno})"
    on_frame = id(node.value) in source.story.frames
    for library, name, version in _GONE_METHODS + (_GONE_FRAME_METHODS if on_frame else []):
        if node.attr == name and not dotted and _is_gone(packages, library, version):
            yield f".{name} was removed in {library} {version} (line {node.lineno})"


def _removed_parameter(node: ast.Call, packages: dict[str, str]) -> Iterator[str]:
    name = called(node)
    for library, function, parameter, version in _GONE_KEYWORDS:
        if name == function and keyword(node, parameter) is not None and _is_gone(packages, library, version):
            yield f"{function}({parameter}=...) was removed in {library} {version} (line {node.lineno})"
    for library, parameter, choice, version in _GONE_CHOICES:
        value = keyword(node, parameter)
        if isinstance(value, ast.Constant) and value.value == choice and name[:1].isupper() and _is_gone(packages, library, version):
            yield f"{name}({parameter}={choice!r}) is no longer a choice in {library} {version} (line {node.lineno})"
    if name in ("resample", "date_range", "Grouper", "asfreq", "to_period") and _is_gone(packages, "pandas", "3.0"):
        given = keyword(node, "freq") or (node.args[0] if node.args and name in ("resample", "asfreq") else None)
        if isinstance(given, ast.Constant) and given.value in _GONE_FREQUENCIES and name != "to_period":
            yield f"the frequency {given.value!r} was renamed in pandas 3.0 (line {node.lineno})"


def _is_gone(packages: dict[str, str], library: str, version: str) -> bool:
    """Whether the installed version is at least the one that removed it. A library that is not listed removes nothing."""
    installed = packages.get(library)
    return installed is not None and _number(installed) >= _number(version)


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2])


def _bound(tree: ast.Module) -> set[str]:
    """Every name that the program binds anywhere: a reader does not follow scopes to the letter."""
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del)}
    names |= {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)}
    names |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    names |= {node.name for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler) and node.name}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names |= {alias.asname or alias.name.partition(".")[0] for alias in node.names}
    return names
