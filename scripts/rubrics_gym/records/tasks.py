"""A task as the agent gets it, and what its grader needs to know about it."""

from __future__ import annotations

from enum import StrEnum

from rubrics_gym.records.base import Record


class TaskKind(StrEnum):
    QUESTION = "question"  # answer.txt holds lines of the form @name[value]
    RESULT_FILE = "result_file"  # result.csv made from the provided files
    PREDICTION = "prediction"  # submission.csv in the shape of sample_submission.csv
    PROGRAM = "program"  # files that the benchmark's own evaluation runs or reads: a strategy, a checkpoint, a repository


class Role(StrEnum):
    """What a task may be used for. A task has exactly one role in a study."""

    TRAIN = "train"
    DEVELOPMENT = "development"
    VALIDATION = "validation"
    HELD_OUT = "held_out"


DELIVERABLE = {
    TaskKind.QUESTION: "answer.txt",
    TaskKind.RESULT_FILE: "result.csv",
    TaskKind.PREDICTION: "submission.csv",
    TaskKind.PROGRAM: "submission",
}


class HoldoutVariant(StrEnum):
    """Which rules of the hold-out filter count."""

    PUBLISHED = "published"  # words alone, as the published counts were made
    STRICT = "strict"  # the published rule, and the real overlaps that words miss
    EXACT = "exact"  # ids and aliases alone: tasks that merely share a word with a held-out one stay


class Metric(Record):
    """A scikit-learn metric (or a named rule of ours) and its direction."""

    name: str
    greater_is_better: bool


class Task(Record):
    """One task. `statement` is all the words the agent sees; `files` are the names in the public bundle.

    `deliverables` are the files (or folders) that the grader looks for, relative to the work folder, the most telling one first; empty: the
    file that the kind asks for.
    """

    benchmark: str
    id: str
    kind: TaskKind
    title: str
    statement: str
    files: tuple[str, ...]
    metric: Metric
    source: str  # package and table, with the licence of the data
    deliverables: tuple[str, ...] = ()

    @property
    def deliverable(self) -> str:
        """The file name that the task asks for."""
        return self.deliverables[0] if self.deliverables else DELIVERABLE[self.kind]


class Thresholds(Record):
    """Scores at which a medal is won, and the median, of a held-out competition; made by running reference solutions."""

    gold: float
    silver: float
    bronze: float
    median: float
