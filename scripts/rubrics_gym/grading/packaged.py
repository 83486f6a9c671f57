"""Grading of the packaged benchmark: questions, result files and predictions, each by one rule.

`grading.json` holds, besides the common keys, `tolerance`, `key` (result files), `id_column`, `target`, `labels`, `thresholds`, `constant`
(predictions); `answers.json` or `answers.csv` the answers.
"""

from __future__ import annotations

import json
from pathlib import Path

from rubrics_gym.grading import answers, metrics, predictions, result_files
from rubrics_gym.grading.bundle import PrivateBundle
from rubrics_gym.grading.findings import Findings, not_scored
from rubrics_gym.grading.submissions import read_own_csv
from rubrics_gym.records.grades import RuleResult
from rubrics_gym.records.outcomes import Outcome
from rubrics_gym.records.tasks import DELIVERABLE, TaskKind, Thresholds


def grade(bundle: PrivateBundle, deliverable: Path) -> Findings:
    """Compare a deliverable with the answers. InvalidSubmission when it breaks a rule of the statement."""
    kind = TaskKind(bundle.grading["kind"])
    if kind is TaskKind.PREDICTION:
        return Findings(_competition(bundle, deliverable))
    tolerance = bundle.grading["tolerance"]
    if kind is TaskKind.QUESTION:
        share = answers.correct_share(deliverable, json.loads(bundle.members["answers.json"]), tolerance)
    else:
        truth = read_own_csv(bundle.members["answers.csv"])
        share = result_files.correct_share(deliverable, truth, tolerance, bundle.grading["key"])
    right = share == 1.0
    return Findings(RuleResult(outcome=Outcome.VALID, score=float(right), correct_share=share, ended_wrong=not right))


def reference(bundle: PrivateBundle) -> dict[str, bytes]:
    """The answers, in the form of the deliverable."""
    kind = TaskKind(bundle.grading["kind"])
    if kind is TaskKind.QUESTION:
        pairs = json.loads(bundle.members["answers.json"])
        return {DELIVERABLE[kind]: "".join(f"@{name}[{value}]\n" for name, value in pairs.items()).encode()}
    return {DELIVERABLE[kind]: bundle.members["answers.csv"]}


def missing(bundle: PrivateBundle, outcome: Outcome, reason: str) -> Findings:
    """The agent handed in nothing, or nothing that counts."""
    return Findings(not_scored(outcome, reason, competition=bundle.grading.get("thresholds") is not None))


def _competition(bundle: PrivateBundle, path: Path) -> RuleResult:
    rules, metric = bundle.grading, bundle.metric
    truth = read_own_csv(bundle.members["answers.csv"])
    score = predictions.score(path, truth, rules["id_column"], rules["target"], metric.name, rules["labels"])
    if rules["thresholds"] is None:
        wrong = not metrics.better(score, rules["constant"], metric.greater_is_better)
        return RuleResult(outcome=Outcome.VALID, score=score, ended_wrong=wrong)
    thresholds = Thresholds.model_validate(rules["thresholds"])
    above = metrics.better(score, thresholds.median, metric.greater_is_better)
    medal = predictions.medal(score, thresholds, metric.greater_is_better)
    return RuleResult(outcome=Outcome.VALID, score=score, medal=medal, above_median=above, ended_wrong=not above)
