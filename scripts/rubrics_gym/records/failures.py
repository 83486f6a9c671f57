"""Failure events, their categories, causes at grading, and distributions over them."""

from __future__ import annotations

from pydantic import Field

from rubrics_gym.records.base import Record


class FailureEvent(Record):
    """A code-running command that failed. Only executed commands can become one."""

    event_id: str  # hash of unit, step, index
    unit: str
    benchmark: str
    task: str
    attempt: int
    step: int
    index: int
    command: str
    exit_code: int | None
    timed_out: bool
    out_of_memory: bool
    output_tail: str
    failure_type: str  # id in resources/failure_types.yaml
    evidence: str  # the text (or recorder fact) that decided the type


class ObservedCommand(Record):
    """A command that really ran, code or install, as the predicates see it: the denominator of every rate of failures."""

    unit: str
    benchmark: str
    task: str
    step: int
    index: int
    kind: str  # code_run or install
    failed: bool  # by `failed_command`
    error_step: bool  # by the published rule for weights
    masked: (
        bool  # exit code 0 behind a pipe or a condition that may hide a failure, with an error text in its output: not counted as failed
    )
    failure_type: str | None = None  # of a failed one


class Categorized(Record):
    """A classifier's answer for one event or rubric: exactly one of the taxonomy's categories, or an abstention (None)."""

    item_id: str
    category: str | None
    runtime_type: str | None = None  # only inside the Runtime category
    confidence: float | None = None
    request_key: str | None = None
    abstained: str | None = None


class Cause(Record):
    """The one category that explains why an attempt ended wrong."""

    unit: str
    benchmark: str
    task: str
    category: str | None
    runtime_type: str | None = None
    confidence: float | None = None
    reason: str = ""
    request_key: str | None = None
    abstained: str | None = None


class Share(Record):
    bin: str  # a category, or "runtime:<type>"
    count: int
    commands: int  # failed commands among them; the others are causes of wrong results
    share: float | None  # of all counted items; None when nothing was counted


class TaskCounts(Record):
    """What one task contributes to a distribution: tasks are the units that are taken as independent."""

    benchmark: str
    task: str
    counts: dict[str, int]  # bin -> failures


class Distribution(Record):
    """How often each bin occurs. `id` names collections x target x classifier x taxonomy version; no share travels without it."""

    id: str
    collections: tuple[str, ...]
    target: str  # trace or complete
    classifier: str
    taxonomy_version: str
    simulated: bool
    n_events: int
    n_causes: int
    n_unclassified: int
    n_tasks: int
    shares: tuple[Share, ...] = Field(default_factory=tuple)
    tasks: tuple[TaskCounts, ...] = Field(default_factory=tuple)
