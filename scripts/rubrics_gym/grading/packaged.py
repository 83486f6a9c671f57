"""Grading one attempt at a task of the packaged benchmark. Reads the private bundle; nothing that runs an agent imports this."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from rubrics_gym.grading import answers, metrics, predictions, result_files
from rubrics_gym.grading.submissions import InvalidSubmission, read_own_csv
from rubrics_gym.records.archives import read_archive
from rubrics_gym.records.grades import Grade
from rubrics_gym.records.outcomes import POLICY, Outcome
from rubrics_gym.records.tasks import Metric, TaskKind, Thresholds


class PrivateBundle:
    """The answers of one task and what its grader needs. UnsafeArchive or KeyError when it is damaged: then there is nothing to grade by."""

    def __init__(self, archive: str | Path):
        members = read_archive(archive)
        self.grading: dict[str, Any] = json.loads(members["grading.json"])
        self.benchmark: str = self.grading["benchmark"]
        self.task: str = self.grading["id"]
        self.kind = TaskKind(self.grading["kind"])
        self.metric = Metric.model_validate(self.grading["metric"])
        self.answers: Any = json.loads(members["answers.json"]) if "answers.json" in members else read_own_csv(members["answers.csv"])


def grade(private_archive: str | Path, deliverable: str | Path | None, outcome: Outcome | None) -> Grade:
    """Grade what an attempt left behind.

    `deliverable` is the file that the task asks for, or None (or a path where nothing is) when there is none. `outcome` is how the
    attempt ended when that is known already: an infrastructure loss passes through without a score; an end of the agent's own (a limit,
    no memory) stands when there is no deliverable, and does not void one that is there. What is wrong with the deliverable is `invalid`;
    what goes wrong in here is `grader_error`, which is never the agent's doing.
    """
    bundle = PrivateBundle(private_archive)
    if outcome is not None and not POLICY[outcome].agents_doing:
        return _grade(bundle, outcome, reason=f"the attempt was lost: {outcome}")
    path = Path(deliverable) if deliverable is not None else None
    if path is None or not (path.exists() or path.is_symlink()):
        own_end = outcome if outcome in (Outcome.LIMIT_REACHED, Outcome.AGENT_OUT_OF_MEMORY) else Outcome.NO_SUBMISSION
        return _not_graded(bundle, own_end, "nothing was handed in")
    try:
        return _compare(bundle, path)
    except InvalidSubmission as error:
        return _not_graded(bundle, Outcome.INVALID, str(error), path)
    except Exception as error:  # a defect of ours must not count against the agent
        return _grade(bundle, Outcome.GRADER_ERROR, reason=f"{type(error).__name__}: {error}", submission=path)


def _compare(bundle: PrivateBundle, path: Path) -> Grade:
    if bundle.kind is TaskKind.PREDICTION:
        return _competition(bundle, path)
    if bundle.kind is TaskKind.QUESTION:
        share = answers.correct_share(path, bundle.answers, bundle.grading["tolerance"])
    else:
        share = result_files.correct_share(path, bundle.answers, bundle.grading["tolerance"], bundle.grading["key"])
    right = share == 1.0
    return _grade(bundle, Outcome.VALID, score=float(right), correct_share=share, ended_wrong=not right, submission=path)


def _competition(bundle: PrivateBundle, path: Path) -> Grade:
    rules, greater = bundle.grading, bundle.metric.greater_is_better
    score = predictions.score(path, bundle.answers, rules["id_column"], rules["target"], bundle.metric.name, rules["labels"])
    if rules["thresholds"] is None:
        wrong = not metrics.better(score, rules["constant"], greater)
        return _grade(bundle, Outcome.VALID, score=score, ended_wrong=wrong, submission=path)
    thresholds = Thresholds.model_validate(rules["thresholds"])
    above = metrics.better(score, thresholds.median, greater)
    medal = predictions.medal(score, thresholds, greater)
    return _grade(bundle, Outcome.VALID, score=score, medal=medal, above_median=above, ended_wrong=not above, submission=path)


def _not_graded(bundle: PrivateBundle, outcome: Outcome, reason: str, path: Path | None = None) -> Grade:
    """The agent handed in nothing, or nothing that counts: wrong, and in a competition not above the median."""
    competition = bundle.grading.get("thresholds") is not None
    return _grade(bundle, outcome, reason=reason, ended_wrong=True, above_median=False if competition else None, submission=path)


def _grade(bundle: PrivateBundle, outcome: Outcome, *, submission: Path | None = None, **found: Any) -> Grade:
    return Grade(
        benchmark=bundle.benchmark,
        task=bundle.task,
        outcome=outcome,
        metric=bundle.metric.name,
        greater_is_better=bundle.metric.greater_is_better,
        submission_sha256=_sha256(submission),
        **found,
    )


def _sha256(path: Path | None) -> str | None:
    if path is None or path.is_symlink() or not path.is_file():
        return None
    with open(path, "rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
