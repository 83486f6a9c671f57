"""Grading one attempt at a task of any benchmark: how it ended, and what the benchmark's grader says about what it left."""

from __future__ import annotations

import hashlib
import importlib
from pathlib import Path
from typing import Protocol

from rubrics_gym.grading.bundle import PrivateBundle
from rubrics_gym.grading.findings import Findings
from rubrics_gym.grading.programs import ProgramFailed, SandboxRun
from rubrics_gym.grading.submissions import InvalidSubmission
from rubrics_gym.records.grades import Grade, RuleResult
from rubrics_gym.records.outcomes import POLICY, Outcome
from rubrics_gym.records.tasks import TaskKind

# Benchmarks that can be graded, each by the module of this room that has its name. It is opened by that name, so that a grading job reaches no
# grader but its own.
GRADERS = (
    "packaged",
    "dabench",
    "dacode",
    "dsbench",
    "mlgym",
    "mlagentbench",
    "rebench",
    "openml",
    "mlebench",
    "paperbench",
)


class Grader(Protocol):
    """What a grader module offers."""

    def grade(self, bundle: PrivateBundle, deliverable: Path) -> Findings:
        """Grade a deliverable; other files of the task lie beside it. InvalidSubmission when no rule takes it."""
        ...

    def grade_in_sandbox(self, bundle: PrivateBundle, deliverable: Path, run: SandboxRun) -> Findings:
        """The same for tasks of the kind `program`, whose evaluation runs what the agent wrote."""
        ...

    def reference(self, bundle: PrivateBundle) -> dict[str, bytes] | None:
        """The files of a perfect submission; None or empty when there is no reference answer."""
        ...

    def missing(self, bundle: PrivateBundle, outcome: Outcome, reason: str) -> Findings:
        """What it means when there is no deliverable, or one that no rule takes."""
        ...


def grader_module(benchmark: str) -> str:
    """Name of the module that grades a benchmark. KeyError when there is none."""
    if benchmark not in GRADERS:
        raise KeyError(f"no grader for benchmark {benchmark!r}; known are {', '.join(GRADERS)}")
    return f"rubrics_gym.grading.{benchmark}"


def grade(
    private_archive: str | Path, deliverable: str | Path | None, outcome: Outcome | None, run_in_sandbox: SandboxRun | None = None
) -> Grade:
    """Grade what an attempt left behind.

    `deliverable` is the file that the task asks for, or None (or a path where nothing is) when there is none; where a task asks for several
    (`deliverables` in its bundle), it is the first, and the others lie beside it. `outcome` is how the
    attempt ended when that is known already: an infrastructure loss passes through without a score; an end of the agent's own (a limit,
    no memory) stands when there is no deliverable, and does not void one that is there. What is wrong with the deliverable is `invalid`;
    what goes wrong in here is `grader_error`, which is never the agent's doing. `run_in_sandbox` is for tasks whose evaluation runs the agent's own
    program; without it they are grader errors.
    """
    bundle = PrivateBundle(private_archive)
    path = Path(deliverable) if deliverable is not None else None
    return _grade(bundle, _findings(bundle, path, outcome, run_in_sandbox), path)


def _findings(bundle: PrivateBundle, path: Path | None, outcome: Outcome | None, run_in_sandbox: SandboxRun | None) -> Findings:
    if outcome is not None and not POLICY[outcome].agents_doing:
        reason = "nothing was attempted" if outcome is Outcome.NOT_RUN else f"the attempt was lost: {outcome}"
        return Findings(RuleResult(outcome=outcome, reason=reason))
    try:
        grader: Grader = importlib.import_module(grader_module(bundle.benchmark))
        if path is None or not _handed_in(bundle, path):
            own_end = outcome if outcome in (Outcome.LIMIT_REACHED, Outcome.AGENT_OUT_OF_MEMORY) else Outcome.NO_SUBMISSION
            return grader.missing(bundle, own_end, "nothing was handed in")
        try:
            if bundle.grading["kind"] != TaskKind.PROGRAM:
                return grader.grade(bundle, path)
            if run_in_sandbox is None:
                raise ProgramFailed("the evaluation runs the agent's own program, and no sandbox was handed in")
            return grader.grade_in_sandbox(bundle, path, run_in_sandbox)
        except InvalidSubmission as error:
            return grader.missing(bundle, Outcome.INVALID, str(error))
    except Exception as error:  # a defect of ours, or of the benchmark's grader, must not count against the agent
        return Findings(RuleResult(outcome=Outcome.GRADER_ERROR, reason=f"{type(error).__name__}: {error}"))


def _handed_in(bundle: PrivateBundle, path: Path) -> bool:
    """Whether any of the files that the task asks for is there; most ask for one."""
    asked = [path, *(path.parent / name for name in bundle.grading.get("deliverables", []))]
    return any(file.exists() or file.is_symlink() for file in asked)


def _grade(bundle: PrivateBundle, findings: Findings, path: Path | None) -> Grade:
    return Grade(
        benchmark=bundle.benchmark,
        task=bundle.task,
        metric=bundle.metric.name,
        greater_is_better=bundle.metric.greater_is_better,
        submission_sha256=_sha256(path),
        official=findings.official,
        corrected=findings.corrected,
        **findings.counts.model_dump(),
    )


def _sha256(path: Path | None) -> str | None:
    if path is None or path.is_symlink() or not path.is_file():
        return None
    with open(path, "rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
