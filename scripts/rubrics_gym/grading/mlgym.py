"""Grading of MLGym: the task's own evaluation program, in a workspace that is put together afresh.

`grading.json` holds, besides the common keys, `entrypoint`, `baseline_scores` (metric -> value per data set), `evaluation` (names of evaluation
programs) and `timeout_s`. `evaluation/` holds these programs and what they import, `gold/` the answers, both as shipped: what the agent left of
them is never read. A program prints one JSON object of metrics.

The programs are written for a workspace at /home/agent/workspace with the answers inside. The corrected rule differs where tables are handed in
with an id column that the answers have: officially some are compared by position, and some by an inner join that leaves out what does not match.
Tasks whose evaluation runs the agent's own program are graded in a sandbox, which the caller hands in.
"""

from __future__ import annotations

import json
import math
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

from rubrics_gym.grading.bundle import PrivateBundle
from rubrics_gym.grading.findings import Findings, by_corrected, not_scored
from rubrics_gym.grading.joining import in_order_of
from rubrics_gym.grading.metrics import better
from rubrics_gym.grading.programs import Ended, ProgramFailed, SandboxRun, last_words, run_python
from rubrics_gym.grading.submissions import InvalidSubmission, csv_bytes, read_own_csv, read_table
from rubrics_gym.records.grades import RuleResult
from rubrics_gym.records.outcomes import Outcome

WORKSPACE = "/home/agent/workspace"
TABLES = "CSVSubmissionTasks"
MAX_BYTES = 500_000_000


def grade(bundle: PrivateBundle, deliverable: Path) -> Findings:
    """Grade a table of predictions by both rules. InvalidSubmission when its ids are not those of the answers, or the program refuses it."""
    header, rows = read_table(deliverable, MAX_BYTES)
    ordered = _in_order(header, rows, bundle)
    official = _result(bundle, evaluate(bundle, deliverable.read_bytes()))
    return by_corrected(official, official if ordered == rows else _result(bundle, evaluate(bundle, csv_bytes(ordered))))


def grade_in_sandbox(bundle: PrivateBundle, deliverable: Path, run: SandboxRun) -> Findings:
    """Grade a program of the agent's: the evaluation program imports it, so both run in a sandbox that holds nothing else.

    The deliverables are laid over the shipped files under their own names and nowhere else.
    """
    program = bundle.grading["evaluation"][0]
    with tempfile.TemporaryDirectory(prefix="rubrics-gym-mlgym-") as name:
        workspace = bundle.write("evaluation", Path(name))
        for asked in bundle.grading["deliverables"]:
            _copy(deliverable.parent / asked, workspace / asked)
        run_of = run(workspace, f"python {program}", bundle.grading.get("timeout_s") or 1800)
    result = _result(bundle, read_metrics(bundle.task, run_of))
    return by_corrected(result, result)


def missing(bundle: PrivateBundle, outcome: Outcome, reason: str) -> Findings:
    """Upstream scores no submission as infinitely bad; here it has no score and ended wrong, by both rules."""
    result = not_scored(outcome, reason)
    return by_corrected(result, result)


def reference(bundle: PrivateBundle) -> dict[str, bytes] | None:
    """The answers, where a task has a table of them."""
    gold = bundle.files("gold")
    if bundle.grading["entrypoint"] != TABLES or len(gold) != 1:
        return None
    return {"submission.csv": next(iter(gold.values()))}


def evaluate(bundle: PrivateBundle, submission: bytes) -> dict[str, float]:
    """The metrics that the evaluation program prints about a table. InvalidSubmission when it refuses it, ProgramFailed when it prints none."""
    program = bundle.grading["evaluation"][0]
    with tempfile.TemporaryDirectory(prefix="rubrics-gym-mlgym-") as name:
        workspace = Path(name)
        bundle.write("evaluation", workspace)
        bundle.write("gold", workspace / "data")
        _move_paths(workspace / program, workspace)
        (workspace / "submission.csv").write_bytes(submission)
        run = run_python([program, "--submission_file", "submission.csv"], workspace, bundle.grading.get("timeout_s") or 1800)
    return read_metrics(bundle.task, run)


def read_metrics(task: str, run: Ended) -> dict[str, float]:
    """The last line of the output that is a JSON object of numbers. InvalidSubmission when the program ends with an error of its own words."""
    for line in reversed(run.stdout.splitlines()):
        try:
            found = json.loads(line)
        except ValueError:
            continue
        if isinstance(found, dict) and found and all(isinstance(value, int | float) for value in found.values()):
            return {name: float(value) for name, value in found.items()}
    if run.exit_code is None:
        raise ProgramFailed(f"the evaluation program of {task} was stopped at its time limit")
    if run.exit_code == 1 and "Traceback" not in run.stderr + run.stdout:  # it says what is wrong and leaves
        raise InvalidSubmission(f"the evaluation program refuses it: {last_words(run)}")
    raise ProgramFailed(f"the evaluation program of {task} printed no metrics (exit code {run.exit_code}): {last_words(run)}")


def _in_order(header: list[str], rows: list[dict[str, str]], bundle: PrivateBundle) -> list[dict[str, str]]:
    gold = bundle.files("gold")
    if len(gold) != 1:
        return rows
    answers = read_own_csv(next(iter(gold.values())))
    return in_order_of(header, rows, answers, next(iter(answers[0])))


def _copy(given: Path, place: Path) -> None:
    """Files and folders of the agent's, without links."""
    if given.is_symlink() or not given.exists():
        raise InvalidSubmission(f"{given.name} is missing or a link")
    if given.is_dir():
        shutil.copytree(
            given, place, dirs_exist_ok=True, ignore=lambda folder, names: [name for name in names if (Path(folder) / name).is_symlink()]
        )
    else:
        shutil.copyfile(given, place)


def _move_paths(program: Path, workspace: Path) -> None:
    """The program names a workspace of upstream's container; it is the same program at another place."""
    text = program.read_text(encoding="utf-8")
    program.write_text(re.sub(re.escape(WORKSPACE), str(workspace), text), encoding="utf-8")


def _result(bundle: PrivateBundle, found: dict[str, float]) -> RuleResult:
    """The task's metric; it ended wrong when it is not better than the baseline."""
    name = bundle.metric.name
    if name not in found:
        raise ProgramFailed(f"the evaluation program of {bundle.task} printed {', '.join(found)}, but the task is scored by {name}")
    if not math.isfinite(found[name]):
        return RuleResult(outcome=Outcome.VALID, reason=f"{name} is {found[name]}", ended_wrong=True)
    baseline: dict[str, Any] = (bundle.grading["baseline_scores"] or [{}])[0]
    wrong = not better(found[name], baseline[name], bundle.metric.greater_is_better) if name in baseline else None
    return RuleResult(outcome=Outcome.VALID, score=found[name], ended_wrong=wrong)
