"""Contrasts between two programs of one task, what a reviewer finds of a lesson in them, and how a lesson stands at its gate."""

from __future__ import annotations

from enum import StrEnum

from rubrics_gym.records.base import Record


class Program(Record):
    """What an attempt left, as it is read: its code files, one after the other, each under its path."""

    collection: str
    attempt: int
    score: float
    text: str


class Contrast(Record):
    """Two programs of one task that were graded valid, one with a better score than the other."""

    benchmark: str
    task: str
    statement: str
    metric: str
    greater_is_better: bool
    development: bool  # of a task that only reviews lessons; none is written from it
    stronger: Program
    weaker: Program

    @property
    def id(self) -> str:
        """Its task and its two attempts, the stronger one first."""
        stronger, weaker = (f"{one.collection}/{one.attempt}" for one in (self.stronger, self.weaker))
        return f"{self.benchmark}/{self.task}: {stronger} > {weaker}"

    @property
    def place(self) -> tuple[str, str]:
        """The task, with its benchmark: lessons generalise over these."""
        return self.benchmark, self.task


class Finding(StrEnum):
    """What a lesson has to do with a program."""

    VIOLATES = "violates"
    SATISFIES = "satisfies"
    NOT_APPLICABLE = "not_applicable"
    INSUFFICIENT = "insufficient"  # the program does not show enough to tell


class LessonReview(Record):
    """What a reviewer, who knows neither score, finds of one lesson in the two programs of one contrast. None where there is no usable answer."""

    lesson: str
    contrast: str
    stronger: Finding | None = None
    weaker: Finding | None = None
    reason: str = ""
    abstained: str | None = None
    request_key: str | None = None

    @property
    def favourable(self) -> bool:
        """The lesson tells the two apart as their scores do."""
        return self.weaker is Finding.VIOLATES and self.stronger is Finding.SATISFIES

    @property
    def reversed(self) -> bool:
        """The lesson tells the two apart, and the wrong way round."""
        return self.weaker is Finding.SATISFIES and self.stronger is Finding.VIOLATES

    @property
    def usable(self) -> bool:
        return self.stronger is not None and self.weaker is not None


class GateLine(Record):
    """How one lesson stands at the gate of its library. `reasons` overlap; a lesson without one is accepted."""

    lesson: str
    title: str
    tasks_behind: int  # that it, or what was merged into it, was written from
    reviews: int
    unusable: int
    favourable_tasks: int  # other tasks on which it tells the stronger program from the weaker
    favourable_development: int  # development tasks among them
    reversed_tasks: int  # tasks on which it does so the wrong way round
    reasons: tuple[str, ...]

    @property
    def accepted(self) -> bool:
        return not self.reasons
