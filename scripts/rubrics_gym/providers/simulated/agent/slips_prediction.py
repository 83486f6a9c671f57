"""How programs that predict go wrong: one function per shape. Each was seen to fail with the packages of the sandbox."""

from __future__ import annotations

from rubrics_gym.providers.simulated.agent.dice import Dice
from rubrics_gym.providers.simulated.agent.goals import PredictionGoal
from rubrics_gym.providers.simulated.agent.mistakes import Change, Mistake, extend, swap
from rubrics_gym.providers.simulated.agent.prediction import Names, base_name, repr_
from rubrics_gym.providers.simulated.agent.program import Part
from rubrics_gym.providers.simulated.agent.slips_prediction_libraries import LIBRARY_MISTAKES
from rubrics_gym.providers.simulated.agent.slips_prediction_models import MODEL_MISTAKES
from rubrics_gym.providers.simulated.agent.slips_prediction_output import OUTPUT_MISTAKES

Goal = PredictionGoal

# ---------------------------------------------------------------- packages that are not there


def _plotted(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    if goal.is_classification:
        draw = f'{n.train}[{repr_(goal.target)}].value_counts().plot.bar()\nplt.savefig("target.png")'
    else:
        draw = f'plt.hist({n.train}[{repr_(goal.target)}], bins={dice.pick("bins", [20, 30, 50])})\nplt.savefig("target.png")'
    return extend(part, draw, ["import matplotlib.pyplot as plt"])


def _seaborn(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    call = dice.pick("call", ["histplot", "boxplot", "kdeplot"])
    return extend(part, f'sns.{call}(x={n.train}[{repr_(goal.target)}]).figure.savefig("{call}.png")', ["import seaborn as sns"])


def _polars(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    return swap(part, r"pd\.read_csv\((.*)\)$", r"pl.read_csv(\1).to_pandas()", ["import polars as pl"])


def _unidecode(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    return extend(
        part, f"{n.train} = {n.train}.rename(columns={{c: unidecode(c) for c in {n.train}.columns}})", ["from unidecode import unidecode"]
    )


def _category_encoders(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    name = dice.pick("encoder", ["TargetEncoder", "CatBoostEncoder", "JamesSteinEncoder"])
    return swap(part, r"OneHotEncoder\(.*?\)\)", f"ce.{name}())", ["import category_encoders as ce"], drop="OneHotEncoder")


# ---------------------------------------------------------------- library API changed


def _sparse(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    return swap(part, r"sparse_output=False", "sparse=False")


def _old_imputer(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    changed = swap(
        part, r'SimpleImputer\(strategy="(mean|median)"\)', r'Imputer(strategy="\1")', ["from sklearn.preprocessing import Imputer"]
    )
    return changed


def _applymap(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    v = dice.pick("v", ["v", "x", "cell"])
    lines = f"# stray blanks in text cells\n{n.train} = {n.train}.applymap(lambda {v}: {v}.strip() if isinstance({v}, str) else {v})\n{n.test} = {n.test}.applymap(lambda {v}: {v}.strip() if isinstance({v}, str) else {v})"
    return extend(part, lines)


def _append(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    name = dice.pick("name", ["everything", "both", "full", "combined"])
    return extend(
        part, f'{name} = {n.train}.append({n.test}, ignore_index=True)\nprint("distinct values per column")\nprint({name}.nunique())'
    )


def _iteritems(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    return extend(part, f"for name, count in {n.train}.isna().sum().iteritems():\n    if count:\n        print(name, count)")


def _ffill(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    method = dice.pick("method", ["ffill", "bfill", "pad"])
    return extend(part, f'{n.X} = {n.X}.fillna(method="{method}")\n{n.X_test} = {n.X_test}.fillna(method="{method}")')


def _drop_axis(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    return swap(part, r"\.drop\(columns=(\[.*\])\)", r".drop(\1, 1)")


def _np_alias(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    if goal.is_classification:
        return None
    return swap(part, r"(\w+ = \w+\[.*\])$", r"\1.astype(np.float)", ["import numpy as np"])


def _np_object(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    return extend(part, f"print({n.train}.select_dtypes(include=[np.object]).columns.tolist())", ["import numpy as np"])


# ---------------------------------------------------------------- paths


def _wrong_folder(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    folder = dice.pick("folder", ["../input", "input", "/kaggle/input", "dataset", "data/raw", "./datasets", "/data"])
    path = dice.pick("path", [goal.train.path, goal.test, goal.sample])
    name = base_name(path)
    return swap(part, rf"read_csv\([^()]*{name.replace('.', '[.]')}\"\)", f'read_csv("{folder}/{name}")')


def _wrong_name(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    old = dice.pick("file", [base_name(goal.train.path), base_name(goal.sample)])
    stem = old.rsplit(".", 1)[0]
    new = dice.pick("name", [f"{stem}.tsv", f"{stem}_data.csv", f"{stem.title()}.csv", f"{stem}s.csv", f"{stem}_set.csv", f"{stem}.csv.gz"])
    return swap(part, old.replace(".", "[.]"), new)


# ---------------------------------------------------------------- own logic


def _misspelt_column(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    numeric = [column.name for column in goal.features if column.kind == "number"]
    if not numeric:
        return None
    name = dice.pick("column", numeric)
    variants = [name.upper(), name.title(), name.replace("_", " "), name.replace("_", ""), name + "_", name.replace(" ", "_")]
    wrong = dice.pick("variant", [variant for variant in variants if variant not in {column.name for column in goal.train.columns}])
    new = dice.pick("new", ["squared", "log", "centred"])
    how = {"squared": "{0} ** 2", "log": "np.log1p({0}.abs())", "centred": "{0} - {0}.mean()"}[new]
    lines = "\n".join(f"{x}[{repr_(name + '_' + new)}] = " + how.format(f"{x}[{repr_(wrong)}]") for x in (n.X, n.X_test))
    return extend(part, f"{n.X}, {n.X_test} = {n.X}.copy(), {n.X_test}.copy()\n{lines}", ["import numpy as np"] if new == "log" else [])


def _target_in_test(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    return swap(
        part,
        r"^\w+ = \w+\[\w+\.columns\]$",
        f"{n.X_test} = {n.test}.drop(columns=[{', '.join(repr_(name) for name in (goal.target, *goal.ids))}])",
    )


def _column_lost(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    """A column is left out of the test rows only."""
    name = dice.pick("column", [column.name for column in goal.features if column.kind in {"number", "category"}])
    return swap(
        part,
        r"^\w+ = \w+\[\w+\.columns\]$",
        f"{n.X_test} = {n.test}.drop(columns=[{', '.join(repr_(item) for item in (*goal.ids, name))}])",
    )


def _text_arithmetic(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    text = [column.name for column in goal.features if column.kind == "category"]
    if not text:
        return None
    name = repr_(dice.pick("column", text))
    call = dice.pick(
        "call", [f"{n.train}[{name}].astype(float)", f"{n.train}[{name}].mean()", f"{n.train}[{name}] / 2", f"{n.train}[{name}] > 0"]
    )
    return extend(part, f"level = {call}\nprint(level)")


def _nothing_returned(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    frame = dice.pick("frame", [n.X, n.X_test])
    wanted = dice.pick("call", ["columns", "shape", "head()"])
    return extend(part, f"{frame} = {frame}.copy().drop_duplicates(inplace=True)\nprint({frame}.{wanted})")


def _raw_text(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    """Categories are handed to the models as they are."""
    if not any(column.kind == "category" for column in goal.features):
        return None
    scaler = dice.pick("scaler", ["StandardScaler", "MinMaxScaler", "RobustScaler"])
    imports = (
        "from sklearn.impute import SimpleImputer",
        "from sklearn.pipeline import make_pipeline",
        f"from sklearn.preprocessing import {scaler}",
    )
    return Part("preprocess", f'preprocess = make_pipeline(SimpleImputer(strategy="mean"), {scaler}())', imports)


def _undefined_columns(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    wrong = dice.pick("wrong", ["numeric_features", "num_features", "numerical_cols", "cont_cols"])
    return swap(part, r"\), (numeric|num_cols|num)\)", f"), {wrong})")


def _position_beyond(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    position = len(goal.train.columns) + dice.pick("over", [0, 1, 3])
    return extend(part, f"print({n.train}.iloc[:, {position}].describe())")


# ---------------------------------------------------------------- missing values, memory, what happens before the split


def _no_imputer(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    if not any(column.missing and column.kind == "number" for column in goal.features):
        return None
    return swap(part, r"make_pipeline\(SimpleImputer\(strategy=\"\w+\"\), StandardScaler\(\)\), (\w+)\)", r"StandardScaler(), \1)")


def _rows_with_gaps_dropped(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    """Test rows with a gap get no prediction."""
    if not any(column.missing for column in goal.features):
        return None
    return extend(
        part,
        f"{n.train} = {n.train}.dropna()\n{n.test} = {n.test}.dropna()" + (".reset_index(drop=True)" if dice.chance("reset", 0.5) else ""),
    )


def _kernel_matrix(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    points = dice.pick("points", [400_000, 600_000, 1_000_000])
    width = dice.pick("width", [0.5, 0.1, 2.0])
    lines = f"# smooth weights on a fine grid\ngrid = np.linspace(0.0, 1.0, {points})\nkernel = np.exp(-((grid[:, None] - grid[None, :]) ** 2) / {width})\nprint(kernel.sum())"
    return extend(part, lines, ["import numpy as np"])


def _dense_blocks(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    buckets = dice.pick("buckets", [2**31, 2**32, 2**33])
    return extend(
        part,
        f"# hashed crosses of all columns\nhashed = np.ones((len({n.X}), {buckets}), dtype=np.float32)\nprint(hashed.shape)",
        ["import numpy as np"],
    )


def _bootstrap_at_once(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    draws = dice.pick("draws", [50_000_000, 80_000_000, 200_000_000])
    lines = f'rng = np.random.default_rng({n.seed})\nresampled = rng.integers(0, len({n.y}), size=({draws}, len({n.y})))\nprint("bootstrap rows", resampled.shape)'
    return extend(part, lines, ["import numpy as np"])


def _outliers_out(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    share = dice.pick("share", [0.85, 0.9, 0.95] if goal.is_classification else [0.5, 0.6, 0.7])
    numeric = [column.name for column in goal.features if column.kind == "number"]
    if goal.is_classification:
        if not numeric:
            return None
        name = repr_(dice.pick("column", numeric))
        lines = f"# keep typical rows only\nlimit = {n.train}[{name}].quantile({share})\n{n.train} = {n.train}[{n.train}[{name}] <= limit]\n{n.test} = {n.test}[{n.test}[{name}] <= limit]"
    else:
        name = repr_(goal.target)
        lines = (
            f"# extreme targets are noise\nlimit = {n.train}[{name}].quantile({share})\n{n.train} = {n.train}[{n.train}[{name}] <= limit]"
        )
    return extend(part, lines)


def _everything_text(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    """All cells are read as text, so that numbers become categories."""
    text = part.text.replace(f'{base_name(goal.train.path)}")', f'{base_name(goal.train.path)}", dtype=str)').replace(
        f'{base_name(goal.test)}")', f'{base_name(goal.test)}", dtype=str)'
    )
    changed = text != part.text and goal.is_classification and goal.metric not in {"qwk"}
    ids = "".join(f'\n{n.test}["{name}"] = {n.test}["{name}"].str.zfill({dice.pick("width", [6, 8, 10])})' for name in goal.ids)
    y = f"\n{n.train}[{repr_(goal.target)}] = pd.to_numeric({n.train}[{repr_(goal.target)}])" if goal.positive == "1" else ""
    return extend(Part(part.name, text, part.imports), (y + ids).strip("\n")) if changed else None


def _separators_lost(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    """What is not a plain number becomes a gap."""
    return swap(part, r"pd\.to_numeric\(cells.*?regex=True\)\)", 'pd.to_numeric(cells, errors="coerce")')


def _ids_in_words(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    if not goal.ids:
        return None
    name, word = repr_(goal.ids[0]), dice.pick("word", ["row_", "id_", "#", "test-"])
    return extend(part, f'{n.test}[{name}] = "{word}" + {n.test}[{name}].astype(str)')


def _own(part: str, error: str, change: Change) -> Mistake:
    return Mistake("runtime:own_logic", part, error, change, "own_logic")


def _api(part: str, error: str, change: Change) -> Mistake:
    return Mistake("runtime:api_changed", part, error, change, "api_changed")


def _missing(part: str, change: Change) -> Mistake:
    return Mistake("runtime:missing_package", part, "ModuleNotFoundError", change, "missing_package")


MISTAKES: tuple[Mistake, ...] = (
    *(_missing("load", change) for change in (_plotted, _seaborn, _polars, _unidecode)),
    _missing("preprocess", _category_encoders),
    _api("preprocess", "TypeError", _sparse),
    _api("preprocess", "ImportError", _old_imputer),
    *(_api("load", "AttributeError", change) for change in (_applymap, _append, _iteritems, _np_object)),
    _api("target", "TypeError", _ffill),
    _api("target", "TypeError", _drop_axis),
    _api("target", "AttributeError", _np_alias),
    *(Mistake("runtime:file_not_found", "load", "FileNotFoundError", change, "file_not_found") for change in (_wrong_folder, _wrong_name)),
    _own("target", "KeyError", _misspelt_column),
    _own("target", "KeyError", _target_in_test),
    _own("target", "ValueError", _column_lost),
    _own("load", "", _text_arithmetic),
    _own("target", "AttributeError", _nothing_returned),
    _own("preprocess", "ValueError", _raw_text),
    _own("preprocess", "NameError", _undefined_columns),
    _own("load", "IndexError", _position_beyond),
    Mistake("missing_values_unchecked", "preprocess", "ValueError", _no_imputer, "own_logic"),
    Mistake("missing_values_unchecked", "load", "", _rows_with_gaps_dropped),
    *(
        Mistake("runtime:out_of_memory", "target", "MemoryError", change, "out_of_memory")
        for change in (_kernel_matrix, _dense_blocks, _bootstrap_at_once)
    ),
    Mistake("altered_before_split", "load", "", _outliers_out),
    Mistake("parsing_corrupted", "load", "", _everything_text),
    Mistake("parsing_corrupted", "load", "", _ids_in_words),
    Mistake("parsing_corrupted", "features", "", _separators_lost),
    *LIBRARY_MISTAKES,
    *MODEL_MISTAKES,
    *OUTPUT_MISTAKES,
)
