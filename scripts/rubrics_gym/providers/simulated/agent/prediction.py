"""Programs for tasks that ask for predictions, part by part."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from rubrics_gym.providers.simulated.agent.dice import Dice
from rubrics_gym.providers.simulated.agent.goals import PredictionGoal
from rubrics_gym.providers.simulated.agent.program import Part, Program

PARTS = ("load", "target", "features", "preprocess", "models", "validate", "predict", "write")


@dataclass(frozen=True)
class Names:
    """How one program calls its things."""

    train: str
    test: str
    sample: str
    X: str
    y: str
    X_test: str
    models: str
    best: str
    pred: str
    out: str
    data: str  # how a path below data/ begins, e.g. `"data/`
    seed: int


def draw_names(dice: Dice) -> Names:
    """One person's habits, kept for a whole program."""
    train, test = dice.pick(
        "tables", [("train", "test"), ("train_df", "test_df"), ("df_train", "df_test"), ("tr", "te"), ("train_data", "test_data")]
    )
    X, y, X_test = dice.pick(
        "arrays",
        [("X", "y", "X_test"), ("features", "labels", "test_features"), ("X_train", "y_train", "X_test"), ("X_all", "y_all", "X_sub")],
    )
    return Names(
        train=train,
        test=test,
        sample=dice.pick("sample", ["sample", "sample_sub", "template", "ss"]),
        X=X,
        y=y,
        X_test=X_test,
        models=dice.pick("models", ["models", "candidates", "estimators", "pipelines"]),
        best=dice.pick("best", ["best", "model", "final_model", "clf" if dice.chance("clf", 0.5) else "winner"]),
        pred=dice.pick("pred", ["pred", "preds", "predictions", "test_pred"]),
        out=dice.pick("out", ["submission", "sub", "out", "result"]),
        data=dice.pick("data", ['"data/', 'DATA / "', 'f"{DATA_DIR}/', '"./data/', '"/workspace/data/']),
        seed=dice.pick("seed", [0, 42, 7, 13, 2024, 1]),
    )


def base_name(path: str) -> str:
    return path.rsplit("/", 1)[-1]


def read(names: Names, path: str) -> str:
    """The call that reads one file."""
    return f'pd.read_csv({names.data}{base_name(path)}")'


def data_folder(data: str) -> tuple[tuple[str, ...], str]:
    """Imports and first line that the way of writing paths needs."""
    if data.startswith("DATA /"):
        return ("from pathlib import Path",), 'DATA = Path("data")\n'
    if data.startswith("f"):
        return (), 'DATA_DIR = "data"\n'
    return (), ""


def _load(goal: PredictionGoal, names: Names, dice: Dice) -> Part:
    imports, first = data_folder(names.data)
    text = first + "\n".join(
        f"{name} = {read(names, path)}"
        for name, path in ((names.train, goal.train.path), (names.test, goal.test), (names.sample, goal.sample))
    )
    if dice.chance("shapes", 0.6):
        text += "\n" + dice.pick(
            "show",
            [
                f"print({names.train}.shape, {names.test}.shape)",
                f'print("rows:", len({names.train}), len({names.test}))',
                f'print(f"train {{{names.train}.shape}}, test {{{names.test}.shape}}")',
            ],
        )
    return Part("load", text, ("import pandas as pd", *imports))


def _target(goal: PredictionGoal, names: Names, dice: Dice) -> Part:
    dropped = [goal.target, *[name for name in goal.ids if name in {column.name for column in goal.train.columns}]]
    drop = ", ".join(repr_(name) for name in dropped)
    lines = [
        f"{names.y} = {names.train}[{repr_(goal.target)}]",
        f"{names.X} = {names.train}.drop(columns=[{drop}])",
        f"{names.X_test} = {names.test}[{names.X}.columns]",
    ]
    return Part("target", "\n".join(lines), ())


def repr_(text: str) -> str:
    """A string literal in double quotes."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _features(goal: PredictionGoal, names: Names, dice: Dice) -> Part:
    """Dates become numbers, and so do numbers that are written as text; the rest is left alone."""
    column = dice.pick("loop", ["column", "col", "c"])
    frame = dice.pick("frame", ["frame", "part", "table"])
    blocks = []
    dates = [item.name for item in goal.features if item.kind == "date"]
    if dates:
        listed = ", ".join(repr_(name) for name in dates)
        blocks.append(f"""# calendar features instead of raw date strings
def add_calendar({frame}):
    {frame} = {frame}.copy()
    for {column} in [{listed}]:
        when = pd.to_datetime({frame}[{column}])
        {frame}[{column} + "_ordinal"] = (when - pd.Timestamp("1970-01-01")).dt.days
        {frame}[{column} + "_year"] = when.dt.year
        {frame}[{column} + "_month"] = when.dt.month
        {frame}[{column} + "_day"] = when.dt.dayofyear
    return {frame}.drop(columns=[{listed}])


{names.X}, {names.X_test} = add_calendar({names.X}), add_calendar({names.X_test})""")
    written = [item.name for item in goal.features if item.kind == "number_text"]
    if written:
        listed = ", ".join(repr_(name) for name in written)
        blocks.append(f"""# numbers that are written as text, with separators or a percent sign
def to_number(cells):
    return pd.to_numeric(cells.astype("string").str.replace(r"[,%\\s]", "", regex=True)).astype("float64")


{names.X}, {names.X_test} = {names.X}.copy(), {names.X_test}.copy()
for {column} in [{listed}]:
    {names.X}[{column}] = to_number({names.X}[{column}])
    {names.X_test}[{column}] = to_number({names.X_test}[{column}])""")
    return Part("features", "\n\n".join(blocks), ("import pandas as pd",) if blocks else ())


def _preprocess(goal: PredictionGoal, names: Names, dice: Dice) -> Part:
    strategy = dice.pick("strategy", ["median", "mean", "median"])
    numeric, categorical = dice.pick("columns", [("numeric", "categorical"), ("num_cols", "cat_cols"), ("num", "cat")])
    most = dice.pick("most", [10, 12, 15])
    how = dice.pick("selector", [0, 1])
    if how:
        columns = f'{numeric} = {names.X}.select_dtypes("number").columns.tolist()\n{categorical} = [c for c in {names.X}.columns if c not in {numeric}]'
    else:
        columns = f"{numeric} = [c for c in {names.X}.columns if pd.api.types.is_numeric_dtype({names.X}[c])]\n{categorical} = [c for c in {names.X}.columns if c not in {numeric}]"
    text = f"""{columns}
preprocess = ColumnTransformer([
    ("num", make_pipeline(SimpleImputer(strategy="{strategy}"), StandardScaler()), {numeric}),
    ("cat", make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore", max_categories={most}, sparse_output=False)), {categorical}),
])"""
    return Part(
        "preprocess",
        text,
        (
            "import pandas as pd",
            "from sklearn.compose import ColumnTransformer",
            "from sklearn.impute import SimpleImputer",
            "from sklearn.pipeline import make_pipeline",
            "from sklearn.preprocessing import OneHotEncoder, StandardScaler",
        ),
    )


def _candidates(goal: PredictionGoal, names: Names, dice: Dice) -> list[tuple[str, str, str]]:
    """(name, constructor, import) of the models that are compared: linear, forest, boosting."""
    rate = dice.pick("rate", [0.1, 0.12])
    rounds = dice.pick("rounds", [35, 40, 45])
    trees = dice.pick("trees", [40, 50, 60]) if goal.rows and goal.rows < 1000 else dice.pick("fewer", [25, 30])
    leaf = dice.pick("leaf", [2, 3, 4])
    s = names.seed
    if goal.metric == "qwk":  # ordered classes: regression, rounded to the scale
        goal = replace(goal, output="number")
    if goal.is_classification:
        C = dice.pick("C", [0.3, 0.5, 1.0])
        even = ', class_weight="balanced"' if goal.metric in EVEN_CLASSES else ""
        return [
            ("logistic", f"LogisticRegression(C={C}, max_iter=2000{even})", "from sklearn.linear_model import LogisticRegression"),
            (
                "forest",
                f"RandomForestClassifier(n_estimators={trees}, min_samples_leaf={leaf}{even}, random_state={s})",
                "from sklearn.ensemble import RandomForestClassifier",
            ),
            (
                "boosting",
                f"HistGradientBoostingClassifier(learning_rate={rate}, max_iter={rounds}, max_leaf_nodes=10{even}, random_state={s})",
                "from sklearn.ensemble import HistGradientBoostingClassifier",
            ),
        ]
    alpha = dice.pick("alpha", [1.0, 3.0, 5.0])
    loss = ', loss="absolute_error"' if goal.metric in {"mae", "mape", "medae"} else ""
    return [
        ("ridge", f"Ridge(alpha={alpha})", "from sklearn.linear_model import Ridge"),
        (
            "forest",
            f"RandomForestRegressor(n_estimators={trees}, min_samples_leaf={leaf}, max_features=0.5, random_state={s})",
            "from sklearn.ensemble import RandomForestRegressor",
        ),
        (
            "boosting",
            f"HistGradientBoostingRegressor(learning_rate={rate}, max_iter={rounds}, max_leaf_nodes=10{loss}, random_state={s})",
            "from sklearn.ensemble import HistGradientBoostingRegressor",
        ),
    ]


LOG_TARGET = {"rmsle", "msle"}
EVEN_CLASSES = {"balanced_accuracy", "f1_macro"}


def _models(goal: PredictionGoal, names: Names, dice: Dice) -> Part:
    chosen = dice.shuffled("order", _candidates(goal, names, dice))
    wrap = goal.metric in LOG_TARGET
    imports = [line for _, _, line in chosen] + ["from sklearn.pipeline import make_pipeline"]
    lines = [f"{names.models} = {{"]
    for name, constructor, _ in chosen:
        inner = f"TransformedTargetRegressor({constructor}, func=np.log1p, inverse_func=np.expm1)" if wrap else constructor
        lines.append(f'    "{name}": make_pipeline(preprocess, {inner}),')
    lines.append("}")
    if wrap:
        imports += ["import numpy as np", "from sklearn.compose import TransformedTargetRegressor"]
    return Part("models", "\n".join(lines), tuple(imports))


# metric -> (scorer for model_selection, imports, lines before)
def _scorer(goal: PredictionGoal) -> tuple[str, tuple[str, ...]]:
    plain = {
        "roc_auc": "roc_auc", "roc_auc_ovr": "roc_auc_ovr", "log_loss": "neg_log_loss", "accuracy": "accuracy", "f1": "f1", "f1_macro": "f1_macro", "f1_weighted": "f1_weighted",
        "balanced_accuracy": "balanced_accuracy", "average_precision": "average_precision", "brier": "neg_brier_score", "rmse": "neg_root_mean_squared_error",
        "mse": "neg_mean_squared_error", "mae": "neg_mean_absolute_error", "medae": "neg_median_absolute_error", "rmsle": "neg_root_mean_squared_log_error", "msle": "neg_mean_squared_log_error",
        "mape": "neg_mean_absolute_percentage_error", "r2": "r2", "spearman": "r2", "pinball": "neg_mean_absolute_error",
    }  # fmt: skip
    if goal.metric == "qwk":
        rounded = 'make_scorer(lambda t, p: cohen_kappa_score(t, np.clip(np.rint(p), t.min(), t.max()).astype(int), weights="quadratic"))'
        return rounded, ("import numpy as np", "from sklearn.metrics import cohen_kappa_score, make_scorer")
    if goal.metric == "mcc":
        return "make_scorer(matthews_corrcoef)", ("from sklearn.metrics import make_scorer, matthews_corrcoef",)
    if goal.metric == "f1" and goal.positive not in (None, "1"):
        return f"make_scorer(f1_score, pos_label={goal.positive})", ("from sklearn.metrics import f1_score, make_scorer",)
    return f'"{plain.get(goal.metric, "accuracy" if goal.is_classification else "r2")}"', ()


def _validate(goal: PredictionGoal, names: Names, dice: Dice) -> Part:
    scorer, imports = _scorer(goal)
    if goal.rows and goal.rows < 1000:
        splitter = "StratifiedKFold" if goal.is_classification else "KFold"
        cut = f"{splitter}(n_splits=3, shuffle=True, random_state={names.seed})"
    else:  # enough rows for one held-out part
        splitter = "StratifiedShuffleSplit" if goal.is_classification else "ShuffleSplit"
        cut = f"{splitter}(n_splits=1, test_size={dice.pick('size', [0.25, 0.3])}, random_state={names.seed})"
    score, name = dice.pick("words", [("score", "name"), ("cv_score", "label"), ("value", "key")])
    text = f"""# compare the candidates on held-out rows with the metric of the task
cv = {cut}
scores = {{}}
for {name}, pipeline in {names.models}.items():
    {score} = cross_val_score(pipeline, {names.X}, {names.y}, cv=cv, scoring={scorer}).mean()
    scores[{name}] = {score}
    print({name}, round({score}, 4))
{names.best} = {names.models}[max(scores, key=scores.get)]"""
    return Part("validate", text, (*imports, f"from sklearn.model_selection import {splitter}, cross_val_score"))


def _predict(goal: PredictionGoal, names: Names, dice: Dice) -> Part:
    fit = f"{names.best}.fit({names.X}, {names.y})\n"
    if goal.output == "probability":
        positive = goal.positive if goal.positive is not None else f"{names.best}.classes_[1]"
        text = (
            fit
            + f"positive = list({names.best}.classes_).index({positive})\n{names.pred} = {names.best}.predict_proba({names.X_test})[:, positive]"
        )
    elif goal.output == "probabilities":
        text = (
            fit
            + f"{names.pred} = pd.DataFrame({names.best}.predict_proba({names.X_test}), columns=[str(c) for c in {names.best}.classes_])"
        )
    else:
        text = fit + f"{names.pred} = {names.best}.predict({names.X_test})"
    imports: tuple[str, ...] = ()
    if goal.metric == "qwk":
        text += f"\n{names.pred} = np.clip(np.rint({names.pred}), {names.y}.min(), {names.y}.max()).astype(int)"
        imports = ("import numpy as np",)
    if goal.metric in LOG_TARGET:
        text += f"\n{names.pred} = np.clip({names.pred}, 0, None)"
        imports = ("import numpy as np",)
    return Part("predict", text, (*imports, "import pandas as pd"))


def column_of_class(column: str, columns: tuple[str, ...]) -> str:
    """The class that a submission's column stands for: its name without what all columns begin with."""
    return column if len(columns) < 2 else column[len(common_stem(columns)) :]


def common_stem(columns: tuple[str, ...]) -> str:
    """What all names begin with, up to the last separator (`proba_`, `class_`)."""
    stem = columns[0]
    for column in columns:
        while not column.startswith(stem):
            stem = stem[:-1]
    cut = max(stem.rfind("_"), stem.rfind("-"), stem.rfind(" "))
    return stem[: cut + 1]


def _write(goal: PredictionGoal, names: Names, dice: Dice) -> Part:
    ids = [f"{repr_(name)}: {names.test}[{repr_(name)}]" for name in goal.ids]
    if goal.output == "probabilities":
        values = [f"{repr_(column)}: {names.pred}[{repr_(column_of_class(column, goal.outputs))}].to_numpy()" for column in goal.outputs]
    else:
        values = [f"{repr_(goal.outputs[0])}: {names.pred}"]
    text = (
        f"{names.out} = pd.DataFrame({{{', '.join(ids + values)}}})\n"
        if len(ids + values) < 4
        else f"{names.out} = pd.DataFrame({{\n    " + ",\n    ".join(ids + values) + ",\n})\n"
    )
    if dice.chance("order", 0.5):
        text += f"{names.out} = {names.out}[{names.sample}.columns]\n"
    text += f'{names.out}.to_csv("{goal.deliverable}", index=False)\n'
    text += dice.pick(
        "last",
        [
            f"print({names.out}.head())",
            f'print("wrote", len({names.out}), "rows")',
            f'print("saved {goal.deliverable}", {names.out}.shape)',
        ],
    )
    return Part("write", text, ("import pandas as pd",))


_COMPOSE: dict[str, Callable[[PredictionGoal, Names, Dice], Part]] = {
    "load": _load, "target": _target, "features": _features, "preprocess": _preprocess, "models": _models, "validate": _validate, "predict": _predict, "write": _write,
}  # fmt: skip


def compose_part(goal: PredictionGoal, name: str, names: Names, dice: Dice) -> Part:
    """One part, written properly."""
    return _COMPOSE[name](goal, names, dice.at(name))


def compose(goal: PredictionGoal, names: Names, dice: Dice) -> Program:
    """A whole program, written properly."""
    opening = dice.pick(
        "opening", ["", f"Predict {goal.target} and write {goal.deliverable}.", "Compare a few models and predict the test rows.", ""]
    )
    return Program(
        "final.py", tuple(compose_part(goal, name, names, dice) for name in PARTS), in_main=dice.chance("main", 0.35), opening=opening
    )
