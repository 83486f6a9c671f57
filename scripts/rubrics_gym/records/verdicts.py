"""What the judge was asked, and what it said."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from rubrics_gym.records.base import Record


class RealRun(Record):
    """The last real run that the judge may see."""

    command: str
    exit_code: int | None
    timed_out: bool
    output_tail: str


class JudgedAction(Record):
    """Everything the judge may know about one command before it runs. Never the output of that command, never an answer.

    `programs` are the code files that the command runs or that changed since the last judged command: path -> text.
    Fields that the arm does not let the judge see are None.
    """

    statement: str
    command: str
    programs: dict[str, str]
    changes: str | None = None  # unified diff of code files since the last judged command
    python: str | None = None
    packages: dict[str, str] | None = None  # name -> version, empty where versions are not shown
    limits: dict[str, Any] | None = None
    files: dict[str, int] | None = None
    time_left_s: int | None = None
    steps_left: int | None = None
    data_profile: str | None = None
    last_real_run: RealRun | None = None


class Criterion(Record):
    """One line of a verdict: a rubric, or the task criterion (rubric_id None)."""

    rubric_id: str | None
    title: str
    text: str = ""  # what the agent is shown when the criterion applies
    similarity: float | None = None  # of retrieval, in [-1, 1]
    applicable: bool
    violated: bool
    reason: str = ""


class Verdict(Record):
    """A prediction about one command.

    `predicted_reward` is the share of applicable criteria that are satisfied; None when none is applicable (the verdict is then
    "clean" and carries no reward). `flagged` means that an applicable criterion is violated. `abstained` names why there is no
    prediction at all (schema_invalid, provider_error, budget); then flagged is None.
    """

    judge: str  # name of the judge's settings: model and policy
    library: str | None  # None: the task criterion alone
    criteria: tuple[Criterion, ...] = ()
    predicted_reward: float | None = None
    flagged: bool | None = None
    abstained: str | None = None
    request_key: str | None = None
    request_sha256: str | None = None  # of the canonical JSON of what was asked
    cost_microdollars: int = 0
    query_truncated: bool = False  # statement or code was longer than the encoder reads
    slots: dict[str, int] = Field(default_factory=dict)  # category -> rubrics retrieved
    quotas: dict[str, float] = Field(default_factory=dict)  # group -> slots that it was due, before they became whole
    handed_on: int = 0  # slots that went elsewhere because a group had too few rubrics near enough
