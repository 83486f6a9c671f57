"""Grading of DSBench's data modelling: the competition's own script, and the score between a baseline and the reference.

`grading.json` holds, besides the common keys, `baseline` and `reference` (published scores of the script, for the baseline and for the true answers)
and `columns` (the header of the sample submission, ids first). `answers.csv` holds the true answers, `evaluate.py` the script.

The scripts compare rows by position: they sort by id and drop the result. The corrected rule puts the rows in the order of the answers first, and
refuses submissions whose ids are not those of the answers. Normalised, the baseline is 0 and the reference 1, whichever direction the metric has
(`show_result.py`); officially a score below the baseline is 0, and one that is no number too.
"""

from __future__ import annotations

import math
import tempfile
from pathlib import Path

from rubrics_gym.grading.bundle import PrivateBundle
from rubrics_gym.grading.findings import Findings, by_corrected, not_scored
from rubrics_gym.grading.joining import in_order_of
from rubrics_gym.grading.programs import ProgramFailed, last_words, run_python
from rubrics_gym.grading.submissions import InvalidSubmission, csv_bytes, read_own_csv, read_table
from rubrics_gym.records.grades import RuleResult
from rubrics_gym.records.outcomes import Outcome

TIMEOUT_S = 600.0
MAX_BYTES = 500_000_000  # of a submission


def grade(bundle: PrivateBundle, deliverable: Path) -> Findings:
    """Grade a submission by both rules. InvalidSubmission when its ids or columns are not those of the answers."""
    columns = bundle.grading["columns"]
    header, rows = read_table(deliverable, MAX_BYTES)
    lacking = [name for name in columns if name not in header]
    if lacking:
        raise InvalidSubmission(f"columns are missing: {', '.join(lacking[:5])}")
    ordered = in_order_of(header, rows, read_own_csv(bundle.members["answers.csv"]), columns[0])
    official = _result(bundle, evaluate(bundle, deliverable.read_bytes()))
    return by_corrected(official, official if ordered == rows else _result(bundle, evaluate(bundle, csv_bytes(ordered))))


def missing(bundle: PrivateBundle, outcome: Outcome, reason: str) -> Findings:
    """Officially a task without a result counts 0 in the mean; by the corrected rule it ended wrong and has no score."""
    zero = RuleResult(outcome=outcome, reason=reason, correct_share=0.0, ended_wrong=True)
    return by_corrected(zero, not_scored(outcome, reason))


def reference(bundle: PrivateBundle) -> dict[str, bytes]:
    """The true answers."""
    return {"submission.csv": bundle.members["answers.csv"]}


def normalised(score: float, baseline: float, reference: float) -> float:
    """(score - baseline) / (reference - baseline), but not below 0: the task's share of the benchmark's headline figure, its mean over all tasks.

    It is not capped at 1, which only a metric whose reference is not its best value passes. A score that is no number counts as 0. ValueError
    when baseline and reference are equal or no numbers: then nothing can be told apart.
    """
    if not (math.isfinite(baseline) and math.isfinite(reference)) or baseline == reference:
        raise ValueError(f"baseline {baseline} and reference {reference} give no scale")
    return max(0.0, (score - baseline) / (reference - baseline)) if math.isfinite(score) else 0.0


def evaluate(bundle: PrivateBundle, submission: bytes) -> float:
    """The score that the competition's script writes. ProgramFailed when it writes none."""
    with tempfile.TemporaryDirectory(prefix="rubrics-gym-dsbench-") as name:
        folder = Path(name)
        (folder / "evaluate.py").write_bytes(bundle.members["evaluate.py"])
        (folder / "answers.csv").write_bytes(bundle.members["answers.csv"])
        (folder / "submission.csv").write_bytes(submission)
        (folder / "results" / "task").mkdir(parents=True)
        files = ["--answer_file", "answers.csv", "--predict_file", "submission.csv"]
        run = run_python(["evaluate.py", *files, "--path", "results", "--name", "task"], folder, TIMEOUT_S)
        result = folder / "results" / "task" / "result.txt"
        if run.exit_code is None:
            raise ProgramFailed(f"DSBench's script for {bundle.task} was stopped after {TIMEOUT_S:g} s")
        if not result.is_file():
            raise ProgramFailed(f"DSBench's script for {bundle.task} wrote no score (exit code {run.exit_code}): {last_words(run)}")
        return float(result.read_text(encoding="utf-8"))


def _result(bundle: PrivateBundle, score: float) -> RuleResult:
    """A pool task ended wrong when it does not beat the baseline."""
    share = normalised(score, bundle.grading["baseline"], bundle.grading["reference"])
    known = score if math.isfinite(score) else None
    return RuleResult(outcome=Outcome.VALID, score=known, correct_share=share, ended_wrong=share <= 0)
