"""Recipes of rubric libraries, and the failure mixes that they are shaped to."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from rubrics_gym.settings.base import Name, NotNegative, Positive, Probability, Settings


class Likeness(StrEnum):
    EMBEDDING = "embedding"
    TFIDF = "tfidf"


class Merge(Settings):
    """Joining candidates that say the same. The sources' ways: drop at 0.90 by embedding, drop at 0.50 by TF-IDF, merge twice at 0.82."""

    threshold: Annotated[float, Field(gt=0, le=1)] = Field(0.82, description="Cosine from which two rubrics are one.")
    rounds: Positive = Field(2, description="How often groups are formed: each further round compares the groups of the one before.")
    by: Likeness = Field(
        Likeness.EMBEDDING,
        description="embedding: of title and applies-when; tfidf: of the words of the whole rubric, rare words count more.",
    )
    keep: Literal["sum", "first"] = Field(
        "sum", description="sum: a group has the weights of all its members; first: it has those of its first, the others are dropped."
    )


class MinerName(StrEnum):
    WRONG_ANSWER = "wrong_answer"
    WHOLE_ROLLOUT = "whole_rollout"
    WEIGHTED = "weighted"
    CRASHED_COMMAND = "crashed_command"


class Mined(Settings):
    """A library mined from collections."""

    recipe: Literal["mine"] = "mine"
    miner: MinerName = Field(
        MinerName.WEIGHTED,
        description="wrong_answer: task, last scripts, answer and verdict of each rollout that ended wrong; whole_rollout: everything, kinds tagged; "
        "weighted: everything, with cited steps and quotes that must hold; crashed_command: each failed command by itself.",
    )
    collections: tuple[Name, ...] = Field(description="Collections whose rollouts are read.")
    per_request: Positive | None = Field(
        None, description="Most rubrics from one request; null takes the miner's own: 6 from a rollout, 1 from a wrong answer or a command."
    )
    trace_chars: Positive = Field(400_000, description="Characters of a trace that the miner reads.")
    weights: tuple[Literal["error", "outcome"], ...] = Field(
        ("error", "outcome"),
        description="What a weighted rubric's weight adds up: cited steps that were errors, and 1 where it cites the final files of a rollout that ended wrong.",
    )
    merge: Merge = Field(Merge(), description="How candidates are merged.")


class Quota(Settings):
    """A library written category by category until each has its share of a planned size."""

    recipe: Literal["quota"] = "quota"
    collections: tuple[Name, ...] = Field(description="Collections whose failures are written about.")
    target: Name = Field(description="The distribution that gives the shares.")
    size: Positive = Field(description="Planned number of rubrics; fewer come when a category has nothing new to say.")
    per_failure: Positive = Field(3, description="Most rubrics from one request about one failure.")
    batch: Positive = Field(8, description="Failures of a category that are asked about before it is looked whether anything new was said.")
    threshold: Annotated[float, Field(gt=0, le=1)] = Field(
        0.82, description="Cosine of title and applies-when from which a candidate says what the category has already."
    )
    trace_chars: Positive = Field(40_000, description="Characters of a failure and its programs that the miner reads.")


class Citing(StrEnum):
    WORDS = "words"
    LINES = "lines"


class Gate(Settings):
    """What a lesson has to show before it is accepted, beside telling the two programs apart that it was written from. Every review must be
    usable, and on no development task, nor on one that it was written from, may it tell two programs apart the wrong way round."""

    other_tasks: NotNegative = Field(2, description="Fewest other tasks on which a lesson tells the stronger program from the weaker.")
    development_tasks: NotNegative = Field(1, description="Fewest development tasks among them.")


class Contrasted(Settings):
    """A library of lessons from pairs of programs of one task whose scores differ, each reviewed on the programs of other tasks."""

    recipe: Literal["contrast"] = "contrast"
    collections: tuple[Name, ...] = Field(description="Collections whose programs lessons are written from.")
    development: Probability = Field(
        0.25, description="Share of the tasks, drawn by the study's seed, whose programs only review lessons; none is written from them."
    )
    per_task: Positive = Field(2, description="Most pairs of programs of one task, the widest differences of scores first.")
    per_contrast: Positive = Field(1, description="Most lessons from one pair.")
    citing: Citing = Field(
        Citing.LINES,
        description="words: the miner copies words of a program, which must be in it; lines: it names lines, and their words are taken from the program.",
    )
    near_misses: bool = Field(
        True,
        description="Whether the miner is told to state its lesson so that it applies to both programs, and what comes near to the mistake and is right.",
    )
    program_chars: Positive = Field(40_000, description="Characters of one attempt's programs that are read.")
    merge: Merge = Field(Merge(), description="How lessons that say the same are merged before they are reviewed.")
    gate: Gate = Field(Gate(), description="What a lesson has to show.")
    fewest: NotNegative | None = Field(
        12, description="Fewest accepted lessons with which a judge may use the library, or one that is made from it; null: any number."
    )


class Imported(Settings):
    """A library from a file: JSON lines as `export_library` writes them. Rubrics without a category are sorted by the classifier."""

    recipe: Literal["import"] = "import"
    path: str = Field(description="The file, a path from the repository's top.")


class Matched(Settings):
    """A library cut to a failure mix by a budget per bin."""

    recipe: Literal["match"] = "match"
    source: Name = Field(description="The library that is cut.")
    target: Name = Field(description="The distribution that gives the shares.")
    total: Literal["floor_then_round", "largest_that_fills"] = Field(
        "floor_then_round",
        description="floor_then_round: the whole part of the smallest available/share, budgets rounded after it (reproduces every published size); "
        "largest_that_fills: the largest total whose rounded budgets can all be filled (the published wording).",
    )
    order: Literal["writing", "weight", "shuffled"] = Field(
        "writing",
        description="In which order rubrics use up their bin's budget: as written, heaviest first, or shuffled by the study's seed.",
    )


class Scrambled(Settings):
    """Null: the words of a library's texts shuffled across the whole library, lengths kept; no rubric says anything."""

    recipe: Literal["scramble"] = "scramble"
    source: Name = Field(description="The library whose words are shuffled.")


class RandomSample(Settings):
    """Null: as many rubrics as another library, drawn at random, so that size and mix can be told apart."""

    recipe: Literal["sample"] = "sample"
    source: Name = Field(description="The library that is drawn from.")
    size_of: Name = Field(description="The library whose size is taken.")


Library = Annotated[Mined | Quota | Contrasted | Imported | Matched | Scrambled | RandomSample, Field(discriminator="recipe")]


class DistributionSettings(Settings):
    """A failure mix: which failures are counted."""

    collections: tuple[str, ...] = Field(description="Collections; `heldout` means the execute episodes of the evaluation.")
    target: Literal["trace", "complete"] = Field(
        "complete", description="trace: failed commands; complete: failed commands and causes of wrong results."
    )
    min_confidence: Probability = Field(0.0, description="Answers of the classifier with less confidence count as unclassified.")
