"""Arms of the evaluation: what happens to a command that would run code, and what the judge has before it."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator

from rubrics_gym.settings.base import Name, Positive, Probability, Seconds, Settings


class CodeRuns(StrEnum):
    EXECUTE = "execute"
    NOTICE = "notice"
    JUDGE = "judge"
    CHECKS = "checks"


class Retrieval(StrEnum):
    SIMILARITY = "similarity"
    KIND_WEIGHT = "kind_weight"
    KIND_WEIGHT_SQUARED = "kind_weight_squared"
    CATEGORY_SPLIT = "category_split"


class Split(Settings):
    """How the rubrics of one verdict are divided, and which are too far away."""

    rounding: Literal["largest_remainder", "carried", "randomised"] = Field(
        "largest_remainder",
        description="largest_remainder: the same whole slots for every verdict; carried: what a bin was short of is added to its next verdict in the "
        "episode; randomised: whole slots drawn so that every bin has exactly its share in expectation.",
    )
    protected: dict[str, Positive] = Field(default_factory=dict, description="Slots that a bin has before the others are divided.")
    floors: dict[str, Probability] = Field(default_factory=dict, description="Smallest share of a bin, before slots are divided.")
    costs: dict[str, Annotated[float, Field(gt=0)]] = Field(
        default_factory=dict,
        description="What a failure of a bin costs, by which its share is multiplied; a bin that is not named costs 1.",
    )
    similarity_floor: Annotated[float, Field(ge=-1, le=1)] | None = Field(
        None, description="Rubrics less similar than this are not given; their slots are handed on. null: none is too far."
    )
    weight_bonus: Annotated[float, Field(ge=0)] = Field(
        0.05, description="kind_weight only: how much the heaviest rubric gains in similarity over one without weight."
    )


class Sight(StrEnum):
    WORLD_STATE = "world_state"  # Python, packages with versions, limits, files
    WORLD_STATE_UNVERSIONED = "world_state_unversioned"  # the same without versions, as the earlier harness showed it
    TIME_LEFT = "time_left"
    DATA_PROFILE = "data_profile"
    LAST_REAL_RUN = "last_real_run"
    CODE_DIFF = "code_diff"  # what changed in code files since the last judged command, beside their whole text


class JudgeSettings(Settings):
    """What the judge has before it."""

    library: Name | None = Field(None, description="Library that rubrics are retrieved from; null: the task criterion alone.")
    retrieval: Retrieval = Field(
        Retrieval.CATEGORY_SPLIT,
        description="similarity: the k most similar; category_split: each bin gets its share of k; kind_weight: each kind by the sum of its weights, "
        "heavier rubrics a little nearer; kind_weight_squared: rubrics with a weight only, each kind by the sum of squared weights.",
    )
    split: Split = Field(Split(), description="How the k rubrics are divided.")
    k: Positive = Field(12, description="Rubrics per verdict.")
    sees: tuple[Sight, ...] = Field((Sight.WORLD_STATE, Sight.DATA_PROFILE, Sight.LAST_REAL_RUN), description="What else the judge sees.")


class Checks(Settings):
    """Real runs of the deliverable on a fixed schedule."""

    every: Positive = Field(2, description="Every so many code-running commands.")
    cap_s: Seconds = Field(8, description="Seconds until the check is stopped (censored, not passed).")


class Submit(Settings):
    """What happens when the agent submits."""

    run_final: bool = Field(False, description="Run final.py for real before the submission is taken.")
    cap_s: Seconds = Field(8, description="Seconds until that run is stopped.")
    hold_on: tuple[Literal["crash", "flag"], ...] = Field(
        (), description="Send the submission back on a real crash, or on a flagged verdict."
    )
    max_holds: Annotated[int, Field(ge=0)] = Field(2, description="Most times a submission is sent back.")


class Escalate(Settings):
    """Chances that a judged command is run for real, drawn from the episode's seed and logged. `never` and `clean` are short for 0 and 1."""

    flagged: Probability = Field(0.0, description="After a flagged verdict.")
    clean: Probability = Field(0.0, description="After a clean verdict.")
    and_run: Literal["final.py"] | None = Field(
        None, description="final.py: it really runs as well after a clean command that ran, for at most the limit of a command."
    )


class Arm(Settings):
    """One policy of the evaluation: what happens to a command that would run code."""

    code_runs: CodeRuns = Field(
        description="execute: it runs; notice: a fixed notice; judge: a prediction; checks: a notice and real checks on schedule."
    )
    judge: JudgeSettings | None = Field(None, description="The judge; needed where code_runs is judge.")
    checks: Checks | None = Field(None, description="Real runs of final.py on schedule.")
    submit: Submit = Field(Submit(), description="What happens at submit.")
    escalate: Escalate = Field(
        Escalate(), description="When a judged command runs for real all the same: never, clean, or a block of probabilities."
    )
    preamble: bool = Field(
        True, description="Each prediction begins with what it is: the command did not run, and what reward and criteria mean."
    )
    installs: Literal["always", "bare"] = Field(
        "always",
        description="always: every install runs; bare: one that is chained or piped counts as code, as the earlier harness took it.",
    )
    limits_factor: Annotated[float, Field(gt=0)] = Field(
        1.0,
        description="Factor on time, steps, tokens and cost of the evaluation's limits; the limits per command and of the final run stay.",
    )

    @field_validator("escalate", mode="before")
    @classmethod
    def _by_word(cls, given: Any) -> Any:
        return {"never": {}, "clean": {"clean": 1.0}}.get(given, given) if isinstance(given, str) else given
