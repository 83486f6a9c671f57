"""Small pieces that the tests of the judge share: an action, rubrics, and an encoder that needs no model."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rubrics_gym.judge.replay import ReplayedVerdict
from rubrics_gym.libraries.encoder import Vectors
from rubrics_gym.models.prompts import load_prompt
from rubrics_gym.records.rubrics import Rubric, RubricKind
from rubrics_gym.records.verdicts import JudgedAction, Verdict

PROMPT = load_prompt(str(Path(__file__).parents[1] / "resources/prompts/judge.yaml"))

STATEMENT = """# Who stays
For each row of `data/test.csv`, predict `stay`.
## Evaluation
Submissions are evaluated by **log loss** between the predicted and the true `stay`; lower is better.
## Submission format
Write one line for each `guest` of `data/test.csv` to `submission.csv`, in the shape of `data/sample_submission.csv`.
"""
PROFILE = """data/sample_submission.csv: 40 rows, 2 columns
  'guest': int, none missing
  'stay': float, none missing
data/test.csv: 40 rows, 4 columns
  'guest': int, none missing
  'nights': int, none missing
  'price': float, 3 missing (7.5%)
  'city': text with 5 different values, none missing
data/train.csv: 200 rows, 5 columns
  'guest': int, none missing
  'nights': int, none missing
  'price': float, 11 missing (5.5%)
  'city': text with 5 different values, none missing
  'stay': int, none missing"""
SOUND = """import pandas as pd
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

train = pd.read_csv("data/train.csv")
test = pd.read_csv("data/test.csv")
features = ["nights", "price"]
model = make_pipeline(SimpleImputer(), LogisticRegression())
print(cross_val_score(model, train[features], train["stay"], scoring="neg_log_loss", cv=5).mean())
model.fit(train[features], train["stay"])
out = pd.DataFrame({"guest": test["guest"], "stay": model.predict_proba(test[features])[:, 1]})
out.to_csv("submission.csv", index=False)
"""


def action(program: str = SOUND, command: str = "python final.py", **changes: Any) -> JudgedAction:
    """A judged action of a small prediction task."""
    known: dict[str, Any] = {
        "statement": STATEMENT,
        "command": command,
        "programs": {"final.py": program},
        "python": "3.11.7",
        "packages": {"numpy": "2.4.6", "pandas": "3.1.1", "scikit-learn": "1.9.1", "scipy": "1.17.1"},
        "limits": {"command_s": 8, "memory_mb": 3000},
        "files": {"data/train.csv": 4000, "data/test.csv": 900, "data/sample_submission.csv": 400, "final.py": 500},
        "data_profile": PROFILE,
    }
    return JudgedAction(**known | changes)


def rubric(title: str, pattern: str = "", **changes: Any) -> Rubric:
    known: dict[str, Any] = {
        "title": title,
        "applies_when": "task: any table",
        "pattern": pattern or title,
        "detect": "Read the code.",
        "not_a_violation": "It is handled.",
        "consequence": "The run dies.",
        "kind": RubricKind.CRASH,
        "category": "runtime",
        "runtime_type": "own_logic",
    }
    return Rubric(**known | changes)


def replayed(task: int, step: int, failure_type: str | None, flagged: bool | None) -> ReplayedVerdict:
    """A verdict without criteria on a command of competition `task`, and the type by which the command failed (None: it ran)."""
    said = Verdict(judge="j", library="l", flagged=flagged, abstained="no_rubric" if flagged is None else None)
    return ReplayedVerdict(
        unit=f"episodes/execute/0/packaged/t{task}", benchmark="packaged", task=f"t{task}", step=step, index=0, verdict=said,
        failed=failure_type is not None, failure_type=failure_type, timed_out=failure_type == "time_limit", out_of_memory=False,
        masked_pipe=False, duration_s=1.0, previous_failed=None,
    )  # fmt: skip


def replayed_study(
    seed: int, mix: dict[str, float], recall: dict[str, float], false_alarms: float, tasks: int = 22, commands: int = 40
) -> list[ReplayedVerdict]:
    """Verdicts with planted error rates: a recall per type of failure, over competitions that differ in how much fails. `mix`: the share of
    all commands that fails with each type."""
    rng = np.random.default_rng(seed)
    kinds, edges = list(mix), np.cumsum(list(mix.values()))
    rows = []
    for task in range(tasks):
        level = rng.uniform(0.4, 1.6)
        for step in range(commands):
            place = int(np.searchsorted(level * edges, rng.random(), side="right"))
            kind = kinds[place] if place < len(kinds) else None
            rows.append(replayed(task, step, kind, bool(rng.random() < (recall[kind] if kind else false_alarms))))
    return rows


class WordVectors:
    """Stands in for the sentence encoder: a text is the sum of its words, each a direction of its own. `limit`: words that are read."""

    def __init__(self, limit: int = 400):
        self.limit = limit

    def encode(self, texts: Sequence[str]) -> Vectors:
        rows = np.zeros((len(texts), 384), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in re.findall(r"\w+", text.lower())[: self.limit]:
                seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:4], "big")
                row += np.random.default_rng(seed).standard_normal(384, dtype=np.float32)
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        return [len(re.findall(r"\w+", text)) > self.limit for text in texts]
