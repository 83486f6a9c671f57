"""A package laid out as MLE-bench's, with grading functions of ours that have the known defects of the published ones, and answers of the right shape.

The published functions are of another repository and need its checkout; these stand for them where it is not at hand.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from rubrics_gym.records.archives import write_archive

ROWS = 40

COMMON = """
class InvalidSubmissionError(Exception):
    pass
"""

# Rows are joined by id; columns and ids are checked. How it should be, but that it stops with an assertion where rows are missing.
CAREFUL = """
from sklearn.metrics import roc_auc_score
from mlebench.grade_helpers import InvalidSubmissionError

def grade(submission, answers):
    for name in ("id", "has_cactus"):
        if name not in submission.columns:
            raise InvalidSubmissionError(f"there is no column {name}")
    assert len(submission) == len(answers), "the number of rows differs"
    given, true = submission.sort_values("id"), answers.sort_values("id")
    if list(given["id"]) != list(true["id"]):
        raise InvalidSubmissionError("the ids differ")
    return roc_auc_score(true["has_cactus"], given["has_cactus"])
"""

# Rows are taken in the order of the file, and ids are not looked at.
BY_POSITION = """
import numpy as np
from mlebench.grade_helpers import InvalidSubmissionError

TARGETS = ["formation_energy_ev_natom", "bandgap_energy_ev"]

def grade(submission, answers):
    if not set(TARGETS) <= set(submission.columns):
        raise InvalidSubmissionError("a target is missing")
    if len(submission) != len(answers):
        raise InvalidSubmissionError("the number of rows differs")
    return float(np.mean([np.sqrt(np.mean((np.log1p(submission[t].values) - np.log1p(answers[t].values)) ** 2)) for t in TARGETS]))
"""

# Columns are taken in the order of the file.
BY_COLUMN_ORDER = """
from sklearn.metrics import roc_auc_score
from mlebench.grade_helpers import InvalidSubmissionError

def grade(submission, answers):
    wanted = set(answers.columns)
    if not wanted <= set(submission.columns):
        raise InvalidSubmissionError("a class is missing")
    assert len(submission) == len(answers)
    return roc_auc_score(answers.set_index("id").sort_index().to_numpy(), submission.set_index("id").sort_index().to_numpy())
"""

# Rows are sorted by key, but nobody asks whether the keys are the right ones.
ANY_IDS = """
import numpy as np
from mlebench.grade_helpers import InvalidSubmissionError

def grade(submission, answers):
    if "key" not in submission.columns or "fare_amount" not in submission.columns:
        raise InvalidSubmissionError("a column is missing")
    given, true = submission.sort_values("key"), answers.sort_values("key")
    if len(given) != len(true):
        raise ValueError("shapes differ")
    return float(np.sqrt(np.mean((given["fare_amount"].values - true["fare_amount"].values) ** 2)))
"""

# Text is compared as text. Where an answer is empty it is a missing cell, which pandas 3 no longer turns into a text.
AS_TEXT = """
from sklearn.metrics import accuracy_score
from mlebench.grade_helpers import InvalidSubmissionError

def grade(submission, answers):
    if len(submission) != len(answers):
        raise InvalidSubmissionError("the number of rows differs")
    given, true = submission.sort_values("id"), answers.sort_values("id")
    if (given["id"].values != true["id"].values).any():
        raise InvalidSubmissionError("the ids differ")
    return accuracy_score(true["after"].astype(str).to_numpy(), given["after"].astype(str).to_numpy())
"""

# A column too many is refused.
STRICT_COLUMNS = """
from sklearn.metrics import log_loss
from mlebench.grade_helpers import InvalidSubmissionError

def grade(submission, answers):
    if set(submission.columns) != set(answers.columns):
        raise InvalidSubmissionError("other columns than those of the sample submission")
    if len(submission) != len(answers):
        raise InvalidSubmissionError("the number of rows differs")
    given, true = submission.sort_values("id"), answers.sort_values("id")
    assert given["id"].tolist() == true["id"].tolist(), "the ids differ"
    names = [name for name in answers.columns if name != "id"]
    return log_loss(true[names].to_numpy(), given[names].to_numpy())
"""

FUNCTIONS = {
    "aerial-cactus-identification": CAREFUL,
    "nomad2018-predict-transparent-conductors": BY_POSITION,
    "jigsaw-toxic-comment-classification-challenge": BY_COLUMN_ORDER,
    "new-york-city-taxi-fare-prediction": ANY_IDS,
    "text-normalization-challenge-english-language": AS_TEXT,
    "leaf-classification": STRICT_COLUMNS,
}
LOWER_IS_BETTER = {"nomad2018-predict-transparent-conductors", "new-york-city-taxi-fare-prediction", "leaf-classification"}


def write_upstream(folder: Path) -> Path:
    """The package `mlebench` below a folder."""
    package = folder / "mlebench"
    files = {"__init__.py": "", "grade_helpers.py": COMMON, "competitions/__init__.py": ""}
    files |= {f"competitions/{name}/grade.py": text for name, text in FUNCTIONS.items()}
    for name, text in files.items():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(text)
    return folder


def answers_of(competition: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Answers and sample submission of the right shape."""
    chances = np.random.default_rng(0)
    ids = [f"id{number:03d}" for number in chances.permutation(ROWS)]
    classes = {name: (chances.random(ROWS) < 0.5).astype(int) for name in ("toxic", "obscene", "threat")}
    species = np.eye(4, dtype=int)[np.arange(ROWS) % 4]
    targets: dict[str, dict[str, Any]] = {
        "aerial-cactus-identification": {"id": ids, "has_cactus": np.arange(ROWS) % 2},
        "nomad2018-predict-transparent-conductors": {
            "id": np.arange(1, ROWS + 1),
            "spacegroup": 12,
            "formation_energy_ev_natom": chances.random(ROWS),
            "bandgap_energy_ev": 5 * chances.random(ROWS),
        },
        "jigsaw-toxic-comment-classification-challenge": {"id": ids, **classes},
        "new-york-city-taxi-fare-prediction": {"key": ids, "fare_amount": 50 * chances.random(ROWS), "passenger_count": 1},
        "text-normalization-challenge-english-language": {
            "id": [f"{number}_0" for number in range(ROWS)],
            "after": ["" if number % 7 == 0 else f"word {number}" for number in range(ROWS)],
        },
        "leaf-classification": {"id": chances.permutation(1000)[:ROWS], **{f"species_{number}": species[:, number] for number in range(4)}},
    }
    placeholder = {"after": "x", "fare_amount": 11.35}
    answers = pd.DataFrame(targets[competition])
    left_out = {"spacegroup", "passenger_count"}
    sample = answers[[name for name in answers.columns if name not in left_out]].copy()
    for name in sample.columns[1:]:
        sample[name] = placeholder.get(str(name), 0.25)
    return answers, sample


def write_private(
    archive: Path,
    competition: str,
    answers: pd.DataFrame,
    sample: pd.DataFrame | None,
    upstream: Path,
    greater_is_better: bool,
    is_module: Callable[[Path], bool] = lambda path: True,
) -> Path:
    """A private bundle of a competition, as the loader makes it."""
    grading = {
        "benchmark": "mlebench",
        "id": competition,
        "kind": "prediction",
        "metric": {"name": "stand-in", "greater_is_better": greater_is_better},
        "deliverables": [],
        "competition": competition,
        "answers": "test.csv",
        "gold_submission": None,
        "sample_submission": "public/sample_submission.csv",
    }
    modules = [path for path in upstream.rglob("*.py") if is_module(path)]
    members: dict[str, Path | bytes] = {
        "grading.json": json.dumps(grading).encode(),
        "private/test.csv": answers.to_csv(index=False).encode(),
        **{f"upstream/{path.relative_to(upstream).as_posix()}": path for path in modules},
    }
    if sample is not None:
        members["public/sample_submission.csv"] = sample.to_csv(index=False).encode()
    write_archive(archive, members)
    return archive
