"""Grading of OpenML classification tasks: balanced accuracy on the rows of a fixed fold.

`grading.json` holds, besides the common keys, `id_column`, `target`, `classes` and `folds`; `answers.csv` the row, repeat, fold and class of every test
row. An attempt ended wrong when it does no better than always naming one class.
"""

from __future__ import annotations

from pathlib import Path

from rubrics_gym.grading import metrics, predictions
from rubrics_gym.grading.bundle import PrivateBundle
from rubrics_gym.grading.findings import Findings, not_scored
from rubrics_gym.grading.submissions import csv_bytes, read_own_csv, same_key
from rubrics_gym.records.grades import RuleResult
from rubrics_gym.records.outcomes import Outcome

METRIC = "balanced_accuracy"


def grade(bundle: PrivateBundle, deliverable: Path) -> Findings:
    """Grade a table of classes. InvalidSubmission when its columns, ids or classes are not what the statement asks for."""
    rules, answers = bundle.grading, read_own_csv(bundle.members["answers.csv"])
    labels = sorted({same_key(name) for name in [*rules["classes"], *(row[rules["target"]] for row in answers)]})
    score = predictions.score(deliverable, answers, rules["id_column"], rules["target"], METRIC, labels)
    classes = {row[rules["target"]] for row in answers}
    constant = round(1 / len(classes), metrics.DECIMALS)  # as scores are: 1 / 6 rounds up, and would beat itself
    return Findings(RuleResult(outcome=Outcome.VALID, score=score, ended_wrong=score <= constant))


def missing(bundle: PrivateBundle, outcome: Outcome, reason: str) -> Findings:
    """No predictions are no score and wrong."""
    return Findings(not_scored(outcome, reason))


def reference(bundle: PrivateBundle) -> dict[str, bytes]:
    """The true classes."""
    rules = bundle.grading
    rows = [{name: row[name] for name in (rules["id_column"], rules["target"])} for row in read_own_csv(bundle.members["answers.csv"])]
    return {"submission.csv": csv_bytes(rows)}
