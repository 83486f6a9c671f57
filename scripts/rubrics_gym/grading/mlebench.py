"""Grading of MLE-bench: upstream's own grading function, in a process of its own in the grading environment, and medals by upstream's rule.

`grading.json` holds, besides the common keys, `competition`; `answers`, `gold_submission` (names below `private/`, the latter null where the answers are
themselves a submission) and `sample_submission` (a member, such as `public/sample_submission.csv`). `private/` holds upstream's private files,
`upstream/` the modules of the pinned commit that its grading function imports, so that a grade depends on its inputs alone.

The official rule is upstream's score of the submission as it is; it counts, because it is what everybody reports. The corrected rule is the same
function on the canonical form: columns and rows in the order of the answers, joined by id. A grading function that stops is a grader error by
both rules, unless something is visibly wrong with the submission. Upstream counts it as an invalid submission; its report format, which knows
nothing else, is written that way (`mlebench_report`).
"""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rubrics_gym.grading.bundle import PrivateBundle
from rubrics_gym.grading.findings import Findings, by_official, not_scored
from rubrics_gym.grading.leaderboards import Cutoffs, LeaderboardProblem, load_cutoffs
from rubrics_gym.grading.programs import last_words, run_python
from rubrics_gym.grading.self_tests import GraderProblem, SelfTest
from rubrics_gym.grading.submissions import InvalidSubmission
from rubrics_gym.records.grades import RuleResult
from rubrics_gym.records.outcomes import Outcome

if TYPE_CHECKING:  # named so that it is part of this module's code; it runs in another environment
    from rubrics_gym.grading.outside import worker  # noqa: F401

WORKER = "rubrics_gym.grading.outside.worker"
PANDAS = "2.2."  # under pandas 3 some grading functions stop for every submission
TIMEOUT_S = 1800.0
PERFECT = {True: 1.0, False: 0.0}  # greater is better -> the best score of nearly all metrics


def grade(bundle: PrivateBundle, deliverable: Path) -> Findings:
    """Grade a submission by both rules. GraderProblem when the environment, the time limit or the grading function gave no answer."""
    if deliverable.is_symlink() or not deliverable.is_file():
        raise InvalidSubmission(f"{deliverable.name} is not a regular file")
    if deliverable.suffix.lower() != ".csv":
        raise InvalidSubmission(f"{deliverable.name} is not a .csv file")
    answer = _ask(bundle, deliverable)
    standings = _cutoffs(bundle)
    return by_official(*(_result(answer[rule], standings) for rule in ("official", "corrected")))


def missing(bundle: PrivateBundle, outcome: Outcome, reason: str) -> Findings:
    """No submission, or none that is one: no medal and not above the median, by both rules."""
    result = not_scored(outcome, reason, competition=True)
    return by_official(result, result)


def reference(bundle: PrivateBundle) -> dict[str, bytes]:
    """Upstream's gold submission; where there is none the answers are one."""
    rules = bundle.grading
    name = rules["gold_submission"] or rules["answers"]
    return {"submission.csv": bundle.members[f"private/{name}"]} if name.endswith(".csv") else {}


def self_test(bundle: PrivateBundle) -> SelfTest:
    """Grade the reference answers, the sample submission and shuffled reference answers. GraderProblem when there is no answer.

    The result is a finding, not a verdict: `self_tests.refuse_if_unsound` draws the consequence.
    """
    answer = _ask(bundle, None)
    found = {
        name: answer[name] or {"score": None, "reason": "there is none"} for name in ("gold", "sample", "shuffled", "shuffled_canonical")
    }
    gold, shuffled = found["gold"]["score"], found["shuffled"]["score"]
    return SelfTest(
        competition=bundle.grading["competition"],
        gold=gold,
        perfect=gold is not None and _is_perfect(gold, bundle),
        sample=found["sample"]["score"],
        shuffled=shuffled,
        shuffled_canonical=found["shuffled_canonical"]["score"],
        ids=tuple(answer["ids"]),
        order_matters=gold != shuffled,
        reasons={name: result["reason"] for name, result in found.items() if result["score"] is None},
        packages=answer["packages"],
    )


def _ask(bundle: PrivateBundle, submission: Path | None) -> dict[str, Any]:
    rules = bundle.grading
    with tempfile.TemporaryDirectory(prefix="rubrics-gym-mlebench-") as name:
        folder = Path(name)
        for part in ("private", "public", "upstream"):
            bundle.write(part, folder / part)
        request = {
            "competition": rules["competition"],
            "upstream": str(folder / "upstream"),
            "answers": str(folder / "private" / rules["answers"]),
            "gold": _existing(folder / "private" / (rules["gold_submission"] or rules["answers"])),
            "sample": _existing(folder / (rules["sample_submission"] or "none")),
            "submission": None,
        }
        if submission is not None:  # a copy, so that the grader sees one file of the agent's and no folder
            request["submission"] = str(shutil.copyfile(submission, folder / "submission.csv"))
        return _answer(rules["competition"], request, folder)


def _answer(competition: str, request: dict[str, Any], folder: Path) -> dict[str, Any]:
    run = run_python(["-m", WORKER], folder, TIMEOUT_S, json.dumps(request))
    if run.exit_code is None:
        raise GraderProblem(f"grading {competition} was stopped after its limit of {TIMEOUT_S:g} s (grader_timeout)")
    try:
        answer: dict[str, Any] = json.loads(run.stdout)
    except ValueError:
        raise GraderProblem(f"the grader of {competition} ended with exit code {run.exit_code} and no answer: {last_words(run)}") from None
    version = answer["packages"]["pandas"]
    if not version.startswith(PANDAS):
        raise GraderProblem(f"the grading environment has pandas {version}; expected {PANDAS}*. Make it again with `make grading`.")
    if answer["status"] == "error":
        raise GraderProblem(f"the grader of {competition} could not be opened: {answer['reason']}")
    return answer


def _existing(path: Path) -> str | None:
    return str(path) if path.is_file() and path.suffix == ".csv" else None


def _cutoffs(bundle: PrivateBundle) -> Cutoffs | None:
    try:
        return load_cutoffs(bundle.grading["competition"])
    except LeaderboardProblem:
        return None  # then there is a score, and no medal is known


def _result(answer: dict[str, Any], standings: Cutoffs | None) -> RuleResult:
    if answer["status"] == "error":
        return RuleResult(outcome=Outcome.GRADER_ERROR, reason=f"the grading function stopped: {answer['reason']}")
    if answer["status"] == "invalid":
        return not_scored(Outcome.INVALID, answer["reason"], competition=True)
    score: float = answer["score"]
    if standings is None:
        return RuleResult(outcome=Outcome.VALID, score=score, reason="no leaderboard is known, so no medal and no median")
    above = standings.above_median(score)
    return RuleResult(outcome=Outcome.VALID, score=score, medal=standings.medal(score), above_median=above, ended_wrong=not above)


def _is_perfect(score: float, bundle: PrivateBundle) -> bool:
    """The best value of the metric. For metrics whose best is neither 0 nor 1 no submission can be worse than the best teams' and be the answers."""
    if score == PERFECT[bundle.metric.greater_is_better]:
        return True
    standings = _cutoffs(bundle)
    return standings is not None and standings.medal(score) == "gold"
