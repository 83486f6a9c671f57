"""How the models of a predicting program go wrong: own logic, time, validation, the wrong metric."""

from __future__ import annotations

import re

from rubrics_gym.providers.simulated.agent.dice import Dice
from rubrics_gym.providers.simulated.agent.goals import PredictionGoal
from rubrics_gym.providers.simulated.agent.mistakes import Mistake, alike, extend, swap
from rubrics_gym.providers.simulated.agent.prediction import LOG_TARGET, Names
from rubrics_gym.providers.simulated.agent.program import Part
from rubrics_gym.providers.simulated.agent.slips_prediction_libraries import candidate, kind_of

Goal = PredictionGoal

# ---------------------------------------------------------------- own logic


def _text_plus_number(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    words = dice.pick("words", ["best score: ", "CV: ", "chosen model scores ", "Best mean score = "])
    return extend(part, f'print("{words}" + max(scores.values()))')


def _local_before_set(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    best, top = dice.pick("names", [("best_score", "choose"), ("highest", "select_model"), ("top", "pick_best")])
    body = f"""{best} = -float("inf")


def {top}(results):
    for name, value in results.items():
        if value > {best}:
            {best}, winner = value, name
    return winner


{n.best} = {n.models}[{top}(scores)]"""
    return extend(part, body)


def _key_of_other_name(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    wrong = dice.pick("wrong", ["random_forest", "rf", "gbm", "hist", "gb", "logreg", "lr"])
    return swap(
        part,
        r"^(\w+) = (\w+)\[max\(scores, key=scores\.get\)\]$",
        rf'print("forest:", scores["{wrong}"])\n\1 = \2[max(scores, key=scores.get)]',
    )


def _wrong_scorer(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    wrong = dice.pick("wrong", ["rmse", "root_mean_squared_error", "auc", "logloss", "kappa", "mean_absolute_error", "f1-macro"])
    return swap(part, r"scoring=.*?\)\.mean", f'scoring="{wrong}").mean')


def _never_made(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    wrong = dice.pick("wrong", ["X_valid", "X_val", "valid_features", "holdout"])
    return extend(part, f'print("validation prediction", {n.best}.predict({wrong})[:5])')


def _lengths_differ(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    cut = dice.pick("cut", ["int(len({X}) * 0.8)", "len({X}) - 50", "len({X}) * 3 // 4"]).format(X=n.X)
    return swap(part, r"^(.*\.fit)\((\w+), (\w+)\)", rf"cut = {cut}\n\1(\2[:cut], \3)")


def _class_too_many(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    return swap(part, r"\[:, positive\]", f"[:, {dice.pick('number', [2, 3])}]")


def _no_probabilities(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    if goal.output != "probability":
        return None
    model = dice.pick("model", ["LinearSVC(C=0.5)", "RidgeClassifier()", "SVC(C=2.0)"])
    name = model.split("(")[0]
    module = "sklearn.linear_model" if name == "RidgeClassifier" else "sklearn.svm"
    return extend(
        part,
        f"{n.best} = make_pipeline(preprocess, {model})",
        [f"from {module} import {name}", "from sklearn.pipeline import make_pipeline"],
        first=True,
    )


# ---------------------------------------------------------------- time


def _huge_grid(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    model = f"GradientBoosting{kind_of(goal)}"
    trees = dice.pick("trees", ["[500, 1000, 2000]", "[400, 800, 1600, 3200]", "[1000, 2000, 3000]"])
    folds = dice.pick("folds", [5, 10])
    text = f"""grid = {{
    "model__n_estimators": {trees},
    "model__max_depth": {dice.pick("depths", ["[3, 4, 5, 6]", "[2, 3, 5, 7, 9]", "list(range(2, 9))"])},
    "model__learning_rate": {dice.pick("rates", ["[0.01, 0.03, 0.1]", "[0.005, 0.01, 0.05, 0.1]"])},
    "model__subsample": [0.6, 0.8, 1.0],
}}
search = GridSearchCV(Pipeline([("prep", preprocess), ("model", {model}(random_state={n.seed}))]), grid, cv={folds})
search.fit({n.X}, {n.y})
print(search.best_params_)
{n.best} = search.best_estimator_"""
    return Part(
        "validate",
        text,
        (
            f"from sklearn.ensemble import {model}",
            "from sklearn.model_selection import GridSearchCV",
            "from sklearn.pipeline import Pipeline",
        ),
    )


def _random_search(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    model = dice.pick("model", ["ExtraTrees", "RandomForest"]) + kind_of(goal)
    text = f"""space = {{
    "model__n_estimators": [800, 1200, 2000, 3000],
    "model__max_features": [0.2, 0.4, 0.6, 0.8, 1.0],
    "model__min_samples_leaf": [1, 2, 4, 8],
}}
pipeline = Pipeline([("prep", preprocess), ("model", {model}(random_state={n.seed}))])
search = RandomizedSearchCV(pipeline, space, n_iter={dice.pick("n", [40, 60, 80])}, cv={dice.pick("cv", [5, 10])}, random_state={n.seed})
search.fit({n.X}, {n.y})
{n.best} = search.best_estimator_"""
    return Part(
        "validate",
        text,
        (
            f"from sklearn.ensemble import {model}",
            "from sklearn.model_selection import RandomizedSearchCV",
            "from sklearn.pipeline import Pipeline",
        ),
    )


def _leave_one_out(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    if goal.rows and goal.rows < 400:
        return None
    text = re.sub(r"cv = \w+\(.*\)", "cv = LeaveOneOut()", part.text)
    scorer = '"accuracy"' if goal.is_classification else '"neg_mean_absolute_error"'
    text = re.sub(r"scoring=.*?\)\.mean", f"scoring={scorer}).mean", text)
    return Part(part.name, text, (*part.imports, "from sklearn.model_selection import LeaveOneOut")) if text != part.text else None


def _thousands_of_trees(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    trees = dice.pick("trees", [20_000, 30_000, 40_000, 50_000])
    changed = swap(part, r"(RandomForest\w+)\(n_estimators=\d+", rf"\1(n_estimators={trees}")
    return changed


def _repeated_folds(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    splitter = "RepeatedStratifiedKFold" if goal.is_classification else "RepeatedKFold"
    changed = swap(
        part, r"cv = \w+\(.*\)", f"cv = {splitter}(n_splits=10, n_repeats={dice.pick('repeats', [50, 80, 100])}, random_state={n.seed})"
    )
    return None if changed is None else extend(changed, "", [f"from sklearn.model_selection import {splitter}"])


def _pairwise_loops(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    """Distances between all rows, in Python, again and again."""
    rounds = dice.pick("rounds", [2000, 3000, 5000])
    text = f"""# average similarity of every row to the others, smoothed over several passes
values = {n.X}.select_dtypes("number").fillna(0).to_numpy().tolist()
density = [0.0] * len(values)
for step in range({rounds}):
    for i in range(len(values)):
        for j in range(len(values)):
            density[i] += sum(abs(p - q) for p, q in zip(values[i], values[j])) / (1 + step)
print("densest row", density.index(min(density)))"""
    return extend(part, text)


def _forward_selection(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    model = f"RandomForest{kind_of(goal)}(n_estimators={dice.pick('trees', [500, 800])}, random_state={n.seed})"
    text = f"""# try random subsets of the columns
rng = np.random.default_rng({n.seed})
kept, top = None, -np.inf
for trial in range({dice.pick("trials", [400, 600, 1000])}):
    columns = [c for c in {n.X}.select_dtypes("number").columns if rng.random() < 0.7]
    if not columns:
        continue
    value = cross_val_score({model}, {n.X}[columns].fillna(0), {n.y}, cv=5).mean()
    if value > top:
        kept, top = columns, value
print(kept, top)"""
    return extend(
        part,
        text,
        [
            "import numpy as np",
            f"from sklearn.ensemble import RandomForest{kind_of(goal)}",
            "from sklearn.model_selection import cross_val_score",
        ],
    )


def _long_network(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    model = f"MLP{kind_of(goal)}"
    sizes = dice.pick("sizes", ["(512, 512, 256)", "(1024, 512)", "(600, 600)"])
    wrong = f"{model}(hidden_layer_sizes={sizes}, max_iter={dice.pick('iterations', [5000, 10000])}, tol=0.0, n_iter_no_change=10000, random_state={n.seed})"
    return candidate(part, "network", wrong, f"from sklearn.neural_network import {model}")


# ---------------------------------------------------------------- nothing checked on held-out rows


def _unchecked(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    """One model, chosen without a comparison; it is a poor one."""
    kind = kind_of(goal)
    options = [
        (f"DecisionTree{kind}(random_state={n.seed})", "sklearn.tree", "a single tree fits the training rows perfectly"),
        (f"DecisionTree{kind}(max_depth=1)", "sklearn.tree", "one split is easy to explain"),
        (f"KNeighbors{kind}(n_neighbors=1)", "sklearn.neighbors", "the closest known row decides"),
        (f"KNeighbors{kind}(n_neighbors={(goal.rows or 200) // 2})", "sklearn.neighbors", "many neighbours make it stable"),
    ]
    if goal.is_classification:
        options += [
            (
                f"LogisticRegression(C={dice.pick('C', ['1e-5', '1e-6'])})",
                "sklearn.linear_model",
                "strong regularisation against overfitting",
            ),
            ("DummyClassifier()", "sklearn.dummy", "start with the base rate"),
        ]
    else:
        options += [
            ("Ridge(alpha=1e6)", "sklearn.linear_model", "strong regularisation against overfitting"),
            ("Lasso(alpha=1000.0)", "sklearn.linear_model", "keep few coefficients"),
        ]
    model, module, why = dice.pick("model", options)
    name = model.split("(")[0]
    lines = [f"# {why}", f"{n.best} = make_pipeline(preprocess, {model})"]
    if dice.chance("training score", 0.6):
        lines.append(f'print("score", {n.best}.fit({n.X}, {n.y}).score({n.X}, {n.y}))')
    return Part("validate", "\n".join(lines), (f"from {module} import {name}", "from sklearn.pipeline import make_pipeline"))


# ---------------------------------------------------------------- another metric than the task's


def _labels_for_ranking(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    if goal.output != "probability" or goal.positive is None:
        return None
    threshold = dice.pick("threshold", [0.5, 0.4, 0.6])
    return extend(part, f"{n.pred} = ({n.pred} >= {threshold}).astype(int)")


def _log_scale_kept(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    """Trained on logarithms for a metric on the plain scale, and never turned back."""
    if goal.is_classification or goal.metric in LOG_TARGET:
        return None
    return swap(part, r"\.fit\((\w+), (\w+)\)", r".fit(\1, np.log1p(\2.clip(lower=0)))", ["import numpy as np"])


def _mean_for_everyone(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    if goal.is_classification:
        return None
    weight = dice.pick("weight", [0.5, 0.6, 0.7])
    return extend(
        part, f"# shrink towards the mean to lower the variance\n{n.pred} = {round(1 - weight, 1)} * {n.pred} + {weight} * {n.y}.mean()"
    )


def _majority_bias(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    """Plain accuracy is served, so that rare classes disappear."""
    if goal.output != "label" or goal.metric not in {"f1_macro", "balanced_accuracy", "f1"}:
        return None
    limit = dice.pick("limit", [0.8, 0.85, 0.9])
    text = f"confidence = {n.best}.predict_proba({n.X_test}).max(axis=1)\n{n.pred} = np.where(confidence >= {limit}, {n.pred}, {n.y}.mode()[0])"
    return extend(part, text, ["import numpy as np"])


def _rounded_down(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    return swap(part, r"np\.rint\(", "np.floor(") if goal.metric == "qwk" else None


MODEL_MISTAKES: tuple[Mistake, ...] = (
    *alike("runtime:own_logic", "validate", "TypeError", "own_logic", _text_plus_number),
    *alike("runtime:own_logic", "validate", "UnboundLocalError", "own_logic", _local_before_set),
    *alike("runtime:own_logic", "validate", "KeyError", "own_logic", _key_of_other_name),
    *alike("runtime:own_logic", "validate", "InvalidParameterError", "own_logic", _wrong_scorer),
    *alike("runtime:own_logic", "validate", "NameError", "own_logic", _never_made),
    *alike("runtime:own_logic", "predict", "ValueError", "own_logic", _lengths_differ),
    *alike("runtime:own_logic", "predict", "IndexError", "own_logic", _class_too_many),
    *alike("runtime:own_logic", "predict", "AttributeError", "own_logic", _no_probabilities),
    *alike("runtime:time_limit", "validate", "", "time_limit", _huge_grid, _random_search, _leave_one_out, _repeated_folds),
    *alike("runtime:time_limit", "models", "", "time_limit", _thousands_of_trees, _long_network),
    *alike("runtime:time_limit", "target", "", "time_limit", _pairwise_loops, _forward_selection),
    *alike("not_validated_against_baseline", "validate", "", None, _unchecked),
    *alike("wrong_metric", "predict", "", None, _labels_for_ranking, _log_scale_kept, _mean_for_everyone, _majority_bias, _rounded_down),
)
