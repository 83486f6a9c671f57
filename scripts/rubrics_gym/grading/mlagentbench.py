"""Grading of MLAgentBench: the task's own `scripts/eval.py`, beside the starter files as shipped.

`grading.json` holds, besides the common keys, `baseline`: the score of the starter program, or null. `scripts/` holds the task's scripts and the
answers, `env/` the starter files as shipped. Some evaluation programs import metric code from `env/train.py`, which agents edit: it is the shipped
one that they find here, and nothing of the agent's but the file that was asked for.

`get_score` is called with the chances of `random` and numpy fixed, because one program (fathomnet) draws labels at random. The corrected rule
joins tables by id where the answers have ids, which officially are compared by position, and gives no score where the agent reports it itself.
"""

from __future__ import annotations

import math
import shutil
import tempfile
from pathlib import Path

from rubrics_gym.grading.bundle import PrivateBundle
from rubrics_gym.grading.findings import Findings, by_corrected, not_scored
from rubrics_gym.grading.joining import in_order_of
from rubrics_gym.grading.programs import Ended, ProgramFailed, SandboxRun, last_words, run_python
from rubrics_gym.grading.submissions import InvalidSubmission, csv_bytes, read_own_csv, read_table
from rubrics_gym.records.grades import RuleResult
from rubrics_gym.records.outcomes import Outcome

TIMEOUT_S = 1800.0
MAX_BYTES = 500_000_000
IMPROVEMENT = 0.1  # over the starter program, relative; the paper's success
SELF_REPORTED = frozenset({"vectorization"})  # its score is a number of seconds that the agent's own program writes down
_MARK = "rubrics-gym score:"
_CALL = f"""
import random, runpy
random.seed(0)
try:
    import numpy
    numpy.random.seed(0)
except ImportError:
    pass
print({_MARK!r}, float(runpy.run_path("eval.py")["get_score"]("../submission")))
"""


def grade(bundle: PrivateBundle, deliverable: Path) -> Findings:
    """Grade a table of predictions by both rules. InvalidSubmission when its ids are not those of the answers."""
    if bundle.task in SELF_REPORTED:
        official = _result(bundle, evaluate(bundle, deliverable.name, _content(deliverable)))
        return by_corrected(official, RuleResult(outcome=Outcome.VALID, reason="the agent reports this score itself"))
    header, rows = read_table(deliverable, MAX_BYTES)
    ordered = _in_order(bundle, header, rows)
    official = _result(bundle, evaluate(bundle, deliverable.name, _content(deliverable)))
    return by_corrected(official, official if ordered == rows else _result(bundle, evaluate(bundle, deliverable.name, csv_bytes(ordered))))


def grade_in_sandbox(bundle: PrivateBundle, deliverable: Path, run: SandboxRun) -> Findings:
    """Grade a checkpoint or another file that only the agent's framework reads: in a sandbox, with the shipped scripts."""
    with tempfile.TemporaryDirectory(prefix="rubrics-gym-mlagentbench-") as name:
        folder = _laid_out(bundle, Path(name))
        place = folder / "submission" / deliverable.name
        if deliverable.is_symlink():
            raise InvalidSubmission(f"{deliverable.name} is a link")
        if deliverable.is_dir():
            shutil.copytree(deliverable, place, symlinks=True)
        else:
            shutil.copyfile(deliverable, place)
        (folder / "scripts" / "call.py").write_text(_CALL, encoding="utf-8")
        ended = run(folder, "cd scripts && python call.py", TIMEOUT_S)
    result = _result(bundle, _score(bundle, ended))
    return by_corrected(result, result)


def missing(bundle: PrivateBundle, outcome: Outcome, reason: str) -> Findings:
    """No submission has no score and is no success, by both rules."""
    result = not_scored(outcome, reason)
    return by_corrected(result, result)


def reference(bundle: PrivateBundle) -> dict[str, bytes] | None:
    """The answers, where they are a table."""
    answers = bundle.members.get("scripts/answer.csv")
    return None if answers is None or bundle.task in SELF_REPORTED else {bundle.grading["deliverables"][0]: answers}


def evaluate(bundle: PrivateBundle, name: str, submission: bytes) -> float:
    """What the task's `get_score` says about a submission. ProgramFailed when it says nothing."""
    with tempfile.TemporaryDirectory(prefix="rubrics-gym-mlagentbench-") as place:
        folder = _laid_out(bundle, Path(place))
        (folder / "submission" / name).write_bytes(submission)
        run = run_python(["-c", _CALL], folder / "scripts", TIMEOUT_S)
    return _score(bundle, run)


def _laid_out(bundle: PrivateBundle, folder: Path) -> Path:
    bundle.write("scripts", folder / "scripts")
    bundle.write("env", folder / "env")
    (folder / "submission").mkdir()
    return folder


def _score(bundle: PrivateBundle, run: Ended) -> float:
    marked = [line.removeprefix(_MARK) for line in run.stdout.splitlines() if line.startswith(_MARK)]
    if not marked:
        stopped, silent = f"was stopped after {TIMEOUT_S:g} s", f"gave no score (exit code {run.exit_code}): {last_words(run)}"
        raise ProgramFailed(f"scripts/eval.py of {bundle.task} {stopped if run.exit_code is None else silent}")
    return float(marked[-1])


def _in_order(bundle: PrivateBundle, header: list[str], rows: list[dict[str, str]]) -> list[dict[str, str]]:
    answers = read_own_csv(bundle.members["scripts/answer.csv"]) if "scripts/answer.csv" in bundle.members else []
    return in_order_of(header, rows, answers, next(iter(answers[0]))) if answers else rows


def _content(path: Path) -> bytes:
    if path.is_symlink() or not path.is_file():
        raise InvalidSubmission(f"{path.name} is not a regular file")
    return path.read_bytes()


def _result(bundle: PrivateBundle, score: float) -> RuleResult:
    if not math.isfinite(score):
        return RuleResult(outcome=Outcome.VALID, reason=f"the score is {score}", ended_wrong=True)
    baseline = bundle.grading["baseline"]
    return RuleResult(
        outcome=Outcome.VALID,
        score=score,
        ended_wrong=None if baseline is None else not improves(score, baseline, bundle.metric.greater_is_better),
    )


def improves(score: float, baseline: float, greater_is_better: bool) -> bool:
    """Whether a score is at least 10% better than that of the starter program (Huang et al. 2023, "success")."""
    gain = score - baseline if greater_is_better else baseline - score
    return gain >= IMPROVEMENT * abs(baseline) - 1e-12  # of floating-point differences
