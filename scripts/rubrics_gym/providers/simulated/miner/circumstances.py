"""In what kind of program a mistake stands: a miner that is asked for rubrics that are not there yet writes about narrower cases of it."""

from __future__ import annotations

import re
from typing import NamedTuple

from rubrics_gym.providers.simulated.miner.reading import Rollout


class Circumstance(NamedTuple):
    """What a program shows, how a title names it, and the condition in words."""

    pattern: str
    where: str
    applies: str


CIRCUMSTANCES = (
    Circumstance(r"Forest", "in a random forest script", "Programs that fit bagged decision trees to tabular rows."),
    Circumstance(r"Boosting|XGB|LGBM", "in gradient boosting code", "Programs that fit boosted trees with many rounds."),
    Circumstance(
        r"LogisticRegression|Ridge|Lasso|LinearRegression", "around a linear model", "Programs whose estimator is linear in its inputs."
    ),
    Circumstance(r"KNeighbors|SVC|SVR", "with a distance-based learner", "Programs that compare rows by distance or kernel."),
    Circumstance(
        r"Pipeline|make_pipeline|ColumnTransformer", "inside a preprocessing pipeline", "Programs that chain transformers and an estimator."
    ),
    Circumstance(
        r"GridSearch|RandomizedSearch|param_grid", "during a hyperparameter search", "Programs that try many parameter combinations."
    ),
    Circumstance(r"cross_val|KFold|StratifiedKFold", "within cross-validation folds", "Programs that evaluate on several folds in turn."),
    Circumstance(r"groupby\(", "when rows are grouped", "Programs that aggregate records per group."),
    Circumstance(r"merge\(|\.join\(", "when tables are joined", "Programs that combine two tables by a key."),
    Circumstance(r"pivot|melt|unstack", "while reshaping between long and wide", "Programs that turn long tables into wide ones or back."),
    Circumstance(r"to_datetime|\bdate|year", "on calendar dates", "Programs that read or compute with dates and years."),
    Circumstance(
        r"get_dummies|OneHot|LabelEncoder|factorize|astype\(['\"]category",
        "after encoding categories",
        "Programs that turn labels into numeric codes.",
    ),
    Circumstance(r"fillna|SimpleImputer|dropna", "beside handling of blanks", "Programs that fill or remove empty cells."),
    Circumstance(r"for \w+ in |while ", "in an explicit loop", "Programs that walk over items one at a time."),
    Circumstance(
        r"to_csv|open\([^)]*['\"]w", "just before results are saved", "Programs at the point where they export their result file."
    ),
    Circumstance(r"read_csv", "right after loading a CSV", "Programs in their first lines, where input is loaded."),
    Circumstance(
        r"corr\(|quantile|median|\.std\(|\.mean\(", "in descriptive statistics", "Programs that report summary figures of a sample."
    ),
    Circumstance(r"sort_values|rank\(|nlargest|idxmax", "when ranking records", "Programs that order rows to pick extremes."),
    Circumstance(r"import matplotlib|plt\.", "in plotting code", "Programs that draw charts next to their figures."),
    Circumstance(r"subprocess|os\.system|pip install", "when shelling out", "Programs that call other executables."),
)


def circumstances(rollout: Rollout) -> list[Circumstance]:
    """Those that a rollout's programs show."""
    text = "\n".join([*rollout.programs.values(), *(step.body for step in rollout.steps)])
    return [one for one in CIRCUMSTANCES if re.search(one.pattern, text)]
