"""How the models of a predicting program lean on libraries that are not there, or on what libraries no longer offer."""

from __future__ import annotations

from rubrics_gym.providers.simulated.agent.dice import Dice
from rubrics_gym.providers.simulated.agent.goals import PredictionGoal
from rubrics_gym.providers.simulated.agent.mistakes import Mistake, alike, extend, swap
from rubrics_gym.providers.simulated.agent.prediction import Names
from rubrics_gym.providers.simulated.agent.program import Part

Goal = PredictionGoal
_LINE = r'"boosting": make_pipeline\(preprocess, .*\),$'  # the boosting candidate


def kind_of(goal: Goal) -> str:
    return "Classifier" if goal.is_classification else "Regressor"


def candidate(part: Part, name: str, model: str, line: str, drop: str = "HistGradientBoosting") -> Part | None:
    """Put another model in place of the boosting candidate."""
    return swap(part, _LINE, f'"{name}": make_pipeline(preprocess, {model}),', [line], drop=drop)


# ---------------------------------------------------------------- packages that are not there


def _lightgbm(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    options = f"n_estimators={dice.pick('n', [200, 300, 400, 500])}, learning_rate={dice.pick('rate', [0.02, 0.03, 0.05])}, num_leaves={dice.pick('leaves', [15, 31, 63])}"
    if dice.chance("alias", 0.5):
        return candidate(part, "lgbm", f"lgb.LGBM{kind_of(goal)}({options}, verbose=-1)", "import lightgbm as lgb")
    return candidate(part, "lightgbm", f"LGBM{kind_of(goal)}({options})", f"from lightgbm import LGBM{kind_of(goal)}")


def _xgboost(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    options = f"n_estimators={dice.pick('n', [200, 300, 400])}, max_depth={dice.pick('depth', [3, 4, 5, 6])}, learning_rate={dice.pick('rate', [0.03, 0.05, 0.1])}, subsample=0.8"
    if dice.chance("alias", 0.5):
        return candidate(part, "xgb", f"xgb.XGB{kind_of(goal)}({options})", "import xgboost as xgb")
    return candidate(part, "xgboost", f'XGB{kind_of(goal)}({options}, tree_method="hist")', f"from xgboost import XGB{kind_of(goal)}")


def _catboost(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    options = f"iterations={dice.pick('n', [300, 500, 800])}, depth={dice.pick('depth', [4, 6, 8])}, verbose=0, random_seed={n.seed}"
    return candidate(part, "catboost", f"CatBoost{kind_of(goal)}({options})", f"from catboost import CatBoost{kind_of(goal)}")


def _progress_bar(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    return swap(part, r" in (\w+)\.items\(\):", r" in tqdm(\1.items()):", ["from tqdm import tqdm"])


def _pretty_scores(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    style = dice.pick("style", ["github", "simple", "plain", "pipe"])
    shapes = [
        (f'print(tabulate(sorted(scores.items()), headers=["model", "score"], tablefmt="{style}"))', "from tabulate import tabulate"),
        (
            'table = PrettyTable(["model", "score"])\nfor row in scores.items():\n    table.add_row(list(row))\nprint(table)',
            "from prettytable import PrettyTable",
        ),
        (f'print("compared", humanize.apnumber(len(scores)), "models on", humanize.intcomma(len({n.X})), "rows")', "import humanize"),
    ]
    text, line = dice.pick("shape", shapes)
    return extend(part, text, [line])


def _tuned_elsewhere(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    trials = dice.pick("trials", [10, 20, 30])
    text = f"""def objective(trial):
    name = trial.suggest_categorical("model", list({n.models}))
    return cross_val_score({n.models}[name], {n.X}, {n.y}, cv=3).mean()


study = optuna.create_study(direction="maximize")
study.optimize(objective, n_trials={trials})
{n.best} = {n.models}[study.best_params["model"]]"""
    return Part("validate", text, ("import optuna", "from sklearn.model_selection import cross_val_score"))


# ---------------------------------------------------------------- library API changed


def _auto_features(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    return swap(part, r", max_features=0\.5", ', max_features="auto"') or swap(part, r"(RandomForest\w+)\(", r'\1(max_features="auto", ')


def _old_criterion(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    return swap(part, r"(RandomForestRegressor)\(", rf'\1(criterion="{dice.pick("name", ["mse", "mae"])}", ')


def _old_loss(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    if goal.is_classification:
        return swap(part, r"(HistGradientBoostingClassifier)\(", rf'\1(loss="{dice.pick("name", ["binary_crossentropy", "auto"])}", ')
    name = dice.pick("name", ["least_squares", "least_absolute_deviation"])
    return swap(part, r"(HistGradientBoostingRegressor)\((.*?)(, loss=\"\w+\")?, random", rf'\1(\2, loss="{name}", random')


def _old_penalty(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    option = dice.pick("option", ['penalty="none"', 'multi_class="auto"', 'multi_class="ovr"'])
    return swap(
        part,
        r"LogisticRegression\(C=[\d.]+",
        rf"LogisticRegression({option}" if "none" in option else rf"LogisticRegression({option}, C=1.0",
    )


def _normalize(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    return swap(part, r"Ridge\(", "Ridge(normalize=True, ")


def _old_module(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    lines = tuple(line.replace("sklearn.model_selection", "sklearn.cross_validation") for line in part.imports)
    return Part(part.name, part.text, lines) if lines != part.imports else None


def _squared(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    if goal.is_classification:
        return None
    size = dice.pick("size", [0.2, 0.25, 0.3])
    text = f'a, b, c, d = train_test_split({n.X}, {n.y}, test_size={size}, random_state={n.seed})\nprint("holdout RMSE", mean_squared_error(d, {n.best}.fit(a, c).predict(b), squared=False))'
    return extend(part, text, ["from sklearn.metrics import mean_squared_error", "from sklearn.model_selection import train_test_split"])


def _base_estimator(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    name = dice.pick("ensemble", ["AdaBoost", "Bagging"]) + kind_of(goal)
    tree = f"DecisionTree{kind_of(goal)}"
    changed = candidate(
        part,
        "trees",
        f"{name}(base_estimator={tree}(max_depth={dice.pick('depth', [2, 3, 5])}), n_estimators=100)",
        f"from sklearn.ensemble import {name}",
    )
    return None if changed is None else extend(changed, "", [f"from sklearn.tree import {tree}"])


LIBRARY_MISTAKES: tuple[Mistake, ...] = (
    *alike("runtime:missing_package", "models", "ModuleNotFoundError", "missing_package", _lightgbm, _xgboost, _catboost),
    *alike(
        "runtime:missing_package", "validate", "ModuleNotFoundError", "missing_package", _progress_bar, _pretty_scores, _tuned_elsewhere
    ),
    *alike("runtime:api_changed", "models", "InvalidParameterError", "api_changed", _auto_features, _old_criterion, _old_loss),
    *alike("runtime:api_changed", "models", "TypeError", "api_changed", _normalize, _base_estimator),
    *alike("runtime:api_changed", "models", "", "api_changed", _old_penalty),
    *alike("runtime:api_changed", "validate", "ModuleNotFoundError", "api_changed", _old_module),
    *alike("runtime:api_changed", "validate", "TypeError", "api_changed", _squared),
)
