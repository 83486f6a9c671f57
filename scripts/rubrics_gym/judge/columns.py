"""Judged commands as columns: a million verdicts fit in memory, and every measure is a sum over clusters.

A *prediction* here is of execution: that the command fails. A rubric about a wrong result says that a program runs and is wrong, so a
verdict that violates only such rubrics predicts no failure, and a command that then ends with 0 is no false alarm. What the agent was
shown is `shown_flagged`; wrong-result rubrics are measured against the cause at grading (judge.wrong_results).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from rubrics_gym.judge.replay import ReplayedVerdict
from rubrics_gym.records.rubrics import Rubric, RubricKind
from rubrics_gym.records.verdicts import Criterion, Verdict

CLEAN, FLAGGED, NO_PREDICTION = 0, 1, -1
Command = tuple[str, int, int]  # unit, step, index


class UnknownRubric(ValueError):
    """A verdict names a rubric that its library does not hold."""


@dataclass(frozen=True)
class Exposures:
    """Rubrics that were before the judge, one entry per command and rubric: shapes (exposures,)."""

    command: np.ndarray  # row of the command
    rubric: np.ndarray  # place of the rubric in `Judged.rubrics`
    applicable: np.ndarray
    violated: np.ndarray  # of the applicable


@dataclass(frozen=True)
class Judged:
    """The verdicts of one judge with one library, shapes (commands,). Strings are codes into the tuples of names beside them."""

    judge: str
    library: str | None
    commands: tuple[Command, ...]
    units: np.ndarray  # code of the episode
    clusters: np.ndarray  # code of the competition
    cluster_names: tuple[tuple[str, str], ...]
    failed: np.ndarray
    timed_out: np.ndarray
    masked: np.ndarray
    types: np.ndarray  # code of the failure type, -1 where it did not fail
    type_names: tuple[str, ...]
    prediction: np.ndarray  # FLAGGED, CLEAN or NO_PREDICTION of execution
    shown_flagged: np.ndarray  # the verdict as the agent sees it, same codes
    score: np.ndarray  # how strongly a failure is predicted, in [0, 1]; NaN without a prediction
    abstained: np.ndarray  # code of the reason, -1 where there is a verdict
    reasons: tuple[str, ...]
    previous_failed: np.ndarray  # 1, 0, or -1 where there was no earlier run
    cost_microdollars: np.ndarray
    truncated: np.ndarray
    exposures: Exposures
    rubrics: tuple[Rubric, ...] = ()
    again: Judged | None = field(default=None, repr=False)  # the same commands judged a second time, where they were

    def __len__(self) -> int:
        return len(self.failed)


def judged(rows: Iterable[ReplayedVerdict], rubrics: Mapping[str, Rubric] | None = None) -> Judged:
    """The columns of the verdicts of one judge, in one pass over their records; second judgements are apart in `again`.

    `rubrics` maps ids to the rubrics of the library. Raises UnknownRubric for a criterion with another id, ValueError when there are no
    verdicts.
    """
    known = dict(rubrics or {})
    first, second = _Columns(known), _Columns(known)
    for row in rows:
        (first if row.repeat == 0 else second).add(row)
    if not first.commands:
        raise ValueError("no verdicts to measure: replay the judge over at least one episode in which code ran")
    return first.finish(second.finish(None) if second.commands else None)


def predicted(verdict: Verdict, kinds: Mapping[str, RubricKind]) -> tuple[int, float]:
    """What a verdict says about execution: the prediction and its score, the share of applicable criteria about execution that are violated.

    A verdict without criteria (a baseline's) is taken by its flag and reward. Raises UnknownRubric for a rubric that `kinds` does not hold.
    """
    if verdict.flagged is None:
        return NO_PREDICTION, float("nan")
    if not verdict.criteria:
        return int(verdict.flagged), float(verdict.flagged) if verdict.predicted_reward is None else 1 - verdict.predicted_reward
    about = [criterion for criterion in verdict.criteria if criterion.applicable and _about_execution(criterion, kinds, verdict.library)]
    violated = sum(criterion.violated for criterion in about)
    return int(violated > 0), violated / len(about) if about else 0.0


def _about_execution(criterion: Criterion, kinds: Mapping[str, RubricKind], library: str | None) -> bool:
    """The task criterion and every rubric that is not about a wrong result alone."""
    if criterion.rubric_id is None:
        return True
    if criterion.rubric_id not in kinds:
        raise UnknownRubric(
            f"a verdict names the rubric {criterion.rubric_id} ({criterion.title!r}), which library {library} does not hold: "
            "the verdicts were made with another version of it; replay the judge again"
        )
    return kinds[criterion.rubric_id] is not RubricKind.WRONG_RESULT


class _Codes:
    """Names as small numbers, in the order of first appearance."""

    def __init__(self) -> None:
        self.of: dict[object, int] = {}

    def __call__(self, name: object) -> int:
        return self.of.setdefault(name, len(self.of))


class _Columns:
    """Collects the columns of verdicts one record at a time."""

    def __init__(self, rubrics: Mapping[str, Rubric]):
        self.kinds = {key: rubric.kind for key, rubric in rubrics.items()}
        self.place = {key: place for place, key in enumerate(rubrics)}
        self.rubrics = tuple(rubrics.values())
        self.commands: list[Command] = []
        self.units, self.clusters, self.types, self.reasons = _Codes(), _Codes(), _Codes(), _Codes()
        self.rows: list[tuple[float, ...]] = []
        self.exposed: list[tuple[int, int, bool, bool]] = []
        self.judge = ""
        self.library: str | None = None

    def add(self, row: ReplayedVerdict) -> None:
        verdict = row.verdict
        self.judge, self.library = verdict.judge, verdict.library
        prediction, score = predicted(verdict, self.kinds)
        number = len(self.commands)
        self.commands.append((row.unit, row.step, row.index))
        self.rows.append(
            (
                self.units(row.unit),
                self.clusters((row.benchmark, row.task)),
                row.failed,
                row.timed_out,
                row.masked_pipe,
                -1 if row.failure_type is None else self.types(row.failure_type),
                prediction,
                NO_PREDICTION if verdict.flagged is None else int(verdict.flagged),
                score,
                -1 if verdict.abstained is None else self.reasons(verdict.abstained),
                -1 if row.previous_failed is None else int(row.previous_failed),
                verdict.cost_microdollars,
                verdict.query_truncated,
            )
        )
        for criterion in verdict.criteria:
            if criterion.rubric_id is not None:
                violated = criterion.applicable and criterion.violated
                self.exposed.append((number, self.place[criterion.rubric_id], criterion.applicable, violated))

    def finish(self, again: Judged | None) -> Judged:
        table = np.array(self.rows, dtype=float).reshape(len(self.rows), 13)
        exposed = np.array(self.exposed, dtype=np.int32).reshape(len(self.exposed), 4)
        whole = np.nan_to_num(table).astype(np.int64)  # a score is the one column that may not be a number
        return Judged(
            judge=self.judge,
            library=self.library,
            commands=tuple(self.commands),
            units=whole[:, 0],
            clusters=whole[:, 1],
            cluster_names=tuple(self.clusters.of),  # type: ignore[arg-type]
            failed=table[:, 2] == 1,
            timed_out=table[:, 3] == 1,
            masked=table[:, 4] == 1,
            types=whole[:, 5],
            type_names=tuple(self.types.of),  # type: ignore[arg-type]
            prediction=whole[:, 6],
            shown_flagged=whole[:, 7],
            score=table[:, 8],
            abstained=whole[:, 9],
            reasons=tuple(self.reasons.of),  # type: ignore[arg-type]
            previous_failed=whole[:, 10],
            cost_microdollars=whole[:, 11],
            truncated=table[:, 12] == 1,
            exposures=Exposures(exposed[:, 0], exposed[:, 1], exposed[:, 2] == 1, exposed[:, 3] == 1),
            rubrics=self.rubrics,
            again=again,
        )
