"""Rubrics and the manifest of a library."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import Field

from rubrics_gym.records.base import Record, content_hash

TEXT_FIELDS = ("title", "applies_when", "pattern", "detect", "not_a_violation", "consequence")


class RubricKind(StrEnum):
    CRASH = "crash"
    WRONG_RESULT = "wrong_result"
    CRASH_CAUSED_WRONG_RESULT = "crash_caused_wrong_result"


class Support(Record):
    """Where a rubric comes from: the steps of one rollout, with the verbatim words that the miner cites."""

    collection: str
    benchmark: str
    task: str
    attempt: int
    steps: tuple[int, ...]
    quotes: tuple[str, ...] = ()


class Rubric(Record):
    """A short description of a mistake, that a reviewer can check from the task and the code alone."""

    title: str
    applies_when: str
    pattern: str
    detect: str
    not_a_violation: str
    consequence: str
    kind: RubricKind
    category: str | None = None
    runtime_type: str | None = None
    support: tuple[Support, ...] = ()
    error_weight: int = 0  # cited steps that were errors
    outcome_weight: int = 0  # rollouts that ended wrong and whose final files are cited
    members: tuple[str, ...] = ()  # ids of the candidates merged into this one
    miner: str = ""
    protocol: str = ""
    request_key: str | None = None

    @property
    def id(self) -> str:
        """The hash of the rubric's content (first 16 hex digits of sha256)."""
        return content_hash(self)[:16]

    @property
    def bin(self) -> str | None:
        """The bin of a split distribution: the category, or `Runtime: <type>`."""
        if self.category == "runtime":
            return f"runtime:{self.runtime_type or 'other'}"
        return self.category

    @property
    def weight(self) -> int:
        return self.error_weight + self.outcome_weight

    @property
    def text(self) -> str:
        """The words that retrieval embeds and the judge reads (without category, id or weight)."""
        return f"{self.title}\nApplies when: {self.applies_when}\nPattern: {self.pattern}\nDetect: {self.detect}"


class BudgetLine(Record):
    bin: str
    share: float  # of the target, renormalised on the bins that have rubrics
    available: int
    budget: int
    kept: int


class SupplyLine(Record):
    """How large a matched library one bin of a target would allow by itself."""

    bin: str
    share: float  # of the whole target
    available: int
    allows: float | None  # available / share, on the bins that have rubrics; None for a bin that has none and is left out
    kept_out: int  # rubrics of the bin that the match leaves out


class QuotaLine(Record):
    """What a quota miner planned and wrote for one bin."""

    bin: str
    share: float
    planned: int
    failures: int  # that there are to write about
    asked: int  # requests
    candidates: int
    written: int
    stopped: str  # filled; covered: a batch of failures gave nothing new; no_failures


class OrderSpread(Record):
    """How much of a matched library is owed to the order in which rubrics were taken, over seeded shuffles."""

    shuffles: int
    always: int  # rubrics that every order keeps
    shared: float  # mean share of a shuffled match that is in this one
    tasks: tuple[int, int]  # fewest and most tasks behind a match
    weight: tuple[int, int]  # smallest and largest sum of weights


class LibraryManifest(Record):
    """How a library was made, and how near it came to its target."""

    library: str
    recipe: dict[str, Any]
    parents: dict[str, str] = Field(default_factory=dict)  # name -> sha256 of rubrics.jsonl
    candidates: int
    rubrics: int
    rejected: dict[str, int] = Field(default_factory=dict)  # reason -> candidates
    unclassified: int = 0
    target: str | None = None  # distribution id
    budget: tuple[BudgetLine, ...] = ()
    supply: tuple[SupplyLine, ...] = ()
    quota: tuple[QuotaLine, ...] = ()
    order_spread: OrderSpread | None = None
    shares: dict[str, float] = Field(default_factory=dict)  # bin -> share that a category split follows; empty: the library's own mix
    total: int | None = None
    binding_bin: str | None = None
    dropped_mass: float | None = None  # share of the target whose bins have no rubric
    distance_before: float | None = None  # total variation to the target, 0-100
    distance: float | None = None
    noise_floor: float | None = None  # expected distance of a fresh sample of the target from itself
    simulated: bool = True
    contaminated: bool = False  # fitted to held-out failures
