"""The held-out comparison: what is run, and what is said beforehand about it."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from rubrics_gym.settings.attempts import Limits
from rubrics_gym.settings.base import Name, Positive, Probability, Settings


class Shadows(Settings):
    """Judged commands that are run after the episode, to know what would have come of them. The chances are logged with every command."""

    flagged: Probability = Field(1.0, description="Chance that a command with a flagged verdict is run.")
    clean: Probability = Field(0.3, description="Chance that any other judged command is run.")
    repeat: Probability = Field(0.1, description="Chance that a run is made once more, to measure how far outcomes vary by themselves.")


class Inference(Settings):
    """What a study says beforehand about the contrasts of its arms."""

    also: tuple[Literal["bca", "studentised"], ...] = Field((), description="Further bootstrap intervals of every contrast.")
    margin: Annotated[float, Field(gt=0, lt=1)] = Field(
        0.1, description="Non-inferiority margin of validity, a share, stated before the run: the first arm may be worse by less than this."
    )
    looks: tuple[Annotated[float, Field(gt=0, le=1)], ...] = Field(
        (1.0,),
        description="Shares of the planned outcomes at which the study is looked at and may stop; they share the error (O'Brien-Fleming).",
    )


class FinalStart(StrEnum):
    """What the final run begins with."""

    CLEAN = "clean"
    AS_LEFT = "as_left"


class Evaluation(Settings):
    """The held-out comparison."""

    split: Name = Field("quick", description="Split of the held-out benchmark, a list of tasks in resources/benchmarks/.")
    benchmark: Name = Field("packaged", description="The held-out benchmark.")
    arms: tuple[Name, ...] = Field(description="Arms that are run, in the order of the tables.")
    repeats: Positive = Field(1, description="Episodes per task and arm.")
    contrasts: tuple[tuple[Name, Name], ...] | None = Field(
        None,
        description="Pairs [first arm, second arm] that are compared, in the order in which they are tested; null takes those that the arms are for.",
    )
    unreachable: tuple[str, ...] = Field(
        (), description="Tasks on which no submission can be valid; the best possible result leaves them out."
    )
    subsets: dict[Name, tuple[str, ...]] = Field(
        default_factory=dict, description="Sensitivity rows: name -> tasks that are left out, declared before the run."
    )
    suppress_below: Annotated[int, Field(ge=0)] = Field(
        10,
        description="A rate of the judge with fewer observations, or from fewer than half as many competitions, is counted but not printed.",
    )
    inference: Inference = Field(Inference(), description="What is said beforehand about the contrasts.")
    rejudged: Probability = Field(
        0.1, description="Share of the replayed commands that are judged a second time, for the judge's own noise."
    )
    limits: Limits = Field(Limits(), description="Limits of one episode.")
    final_start: FinalStart = Field(
        FinalStart.CLEAN,
        description="What the final run begins with: clean (the public data, the agent's files and installs, without what it has to write); as_left (its files just as they are).",
    )
    repeated_finals: Annotated[int, Field(ge=0)] = Field(
        0,
        description="How often the final run of every episode is made again, in a clean sandbox from what the episode left: the harness's own share of the noise. 0: not measured.",
    )
    shadows: Shadows | None = Field(
        None,
        description="Shadow runs; null: none, and no snapshots are taken. The first block plans the judged episodes anew, other chances do not.",
    )
