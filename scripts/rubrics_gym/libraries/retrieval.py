"""Finding the rubrics of a library that a judge should have before it: several policies behind one interface.

A policy divides k slots among groups of rubrics (bins, kinds, or one group of all) and takes the most similar inside each. Equal similarities
are ordered by rubric id.
"""

from __future__ import annotations

import hashlib
import math
import random
from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rubrics_gym.libraries.encoder import Vectors
from rubrics_gym.libraries.index import UNCLASSIFIED, Index
from rubrics_gym.libraries.vectors import exact_cosine, largest
from rubrics_gym.records.rubrics import Rubric
from rubrics_gym.settings.study import Retrieval, Split
from rubrics_gym.statistics.allocation import by_deficit, largest_remainder, quotas, systematic, within_capacity

Rows = npt.NDArray[np.intp]
Floats = npt.NDArray[np.floating[Any]]
EVERYTHING = "all"


class Retrieved(NamedTuple):
    """What one look-up gave: rubrics with their similarity, most similar first; how many of each bin; and how the slots came about.

    `quotas` are the slots that each group was due before they became whole, `handed_on` how many went elsewhere because a group had too few
    rubrics (near enough).
    """

    hits: list[tuple[Rubric, float]]
    slots: dict[str, int]
    quotas: dict[str, float]
    handed_on: int


class Query(NamedTuple):
    """One look-up: the query vector (d,), similarities of all rubrics, and how similar one must be."""

    vector: Vectors
    similarity: Floats
    floor: float | None

    def near(self, rows: Rows) -> Rows:
        """Those of some rows that are near enough."""
        return rows if self.floor is None else rows[self.similarity[rows] >= self.floor]


class Retriever:
    """Looks rubrics up for one unit (an episode, or the replay of one). It remembers what bins were short of, where slots are carried over."""

    def __init__(self, index: Index, k: int, policy: Retrieval, split: Split | None = None, seed: int = 0):
        """ValueError when a policy by weight meets a library without weights, or more slots are protected than there are."""
        self._index = index
        self._k = k
        self._policy = policy
        self._split = split or Split()
        self._seed = seed
        self._owed: dict[str, float] = {}
        self._calls = 0
        weights = policy in (Retrieval.KIND_WEIGHT, Retrieval.KIND_WEIGHT_SQUARED)
        if weights and len(index) and not index.weight.any():
            raise ValueError(
                f"none of {len(index)} rubrics has a weight, by which `{policy.value}` divides: take a library of the weighted miner, or another retrieval"
            )
        if sum(self._split.protected.values()) > k:
            raise ValueError(f"{sum(self._split.protected.values())} slots are protected, but a verdict has {k}: lower `split.protected`")

    def retrieve(self, statement: Vectors, code: Vectors) -> Retrieved:
        """The rubrics for a task statement and a code change, each given as a unit vector (d,).

        A rubric's similarity is the mean of its cosines with the two. Fewer than k only when the library has fewer that are near enough.
        ValueError when a vector is not finite.
        """
        self._calls += 1
        if not len(self._index):
            return Retrieved([], {}, {}, 0)
        query = self._query(statement, code)
        match self._policy:
            case Retrieval.SIMILARITY:
                rows, due, moved = self._nearest(query.near(np.arange(len(self._index))), query, self._k), {EVERYTHING: float(self._k)}, 0
            case Retrieval.CATEGORY_SPLIT:
                rows, due, moved = self._category_split(query)
            case Retrieval.KIND_WEIGHT | Retrieval.KIND_WEIGHT_SQUARED:
                rows, due, moved = self._by_kind(query)
        hits = self._nearest(rows, query, len(rows))
        given = [(self._index.rubrics[int(row)], exact_cosine(self._index.embeddings[row], query.vector)) for row in hits]
        slots = Counter(rubric.bin or UNCLASSIFIED for rubric, _ in given)
        return Retrieved(given, dict(sorted(slots.items())), dict(sorted(due.items())), moved)

    def _query(self, statement: Vectors, code: Vectors) -> Query:
        vector = ((statement + code) / 2).astype(np.float32)
        if not np.isfinite(vector).all():
            raise ValueError("the query's embedding is not finite: look at the encoder (rule export_encoder)")
        return Query(vector, self._index.embeddings @ vector, self._split.similarity_floor)

    def _category_split(self, query: Query) -> tuple[Rows, dict[str, float], int]:
        """Each bin its share of k; what is left over goes, last of all, to bins without a share."""
        rows_of = {name: query.near(rows) for name, rows in self._index.rows_of_bin.items()}
        room = {name: len(rows) for name, rows in rows_of.items()}
        protected = {name: min(count, room.get(name, 0)) for name, count in self._split.protected.items()}
        free = self._k - sum(protected.values())
        shares = adjusted(self._index.shares, self._split)
        due = quotas(shares, free)
        wanted = self._whole(shares, free, query)
        slots = within_capacity(wanted, due, {name: room.get(name, 0) - protected.get(name, 0) for name in due})
        self._owed = {
            name: min(1.0, self._owed.get(name, 0.0) + due[name] - slots[name]) for name in due
        }  # what has no rubrics claims no more
        total = Counter(slots) + Counter(protected)
        chosen = [self._nearest(rows_of[name], query, count) for name, count in sorted(total.items())]
        rows = np.concatenate(chosen) if chosen else np.empty(0, dtype=np.intp)
        if len(rows) < self._k:  # every bin with a share is used up
            rest = np.setdiff1d(query.near(np.arange(len(self._index))), rows)
            rows = np.concatenate([rows, self._nearest(rest, query, self._k - len(rows))])
        moved = sum(max(0, wanted[name] - slots[name]) for name in due)
        return rows, {name: due.get(name, 0.0) + protected.get(name, 0) for name in due.keys() | protected.keys()}, moved

    def _whole(self, shares: Mapping[str, float], slots: int, query: Query) -> dict[str, int]:
        """Whole slots of each bin by the split's rounding, as if every bin had rubrics enough."""
        if self._split.rounding == "randomised":
            seed = hashlib.sha256(f"{self._seed}|{self._calls}|".encode() + query.vector.tobytes()).digest()
            return systematic(shares, slots, random.Random(seed).random())
        if self._split.rounding == "carried":
            due = {name: quota + self._owed.get(name, 0.0) for name, quota in quotas(shares, slots).items()}
            return by_deficit(due, slots, dict.fromkeys(due, slots))
        return largest_remainder(shares, slots)

    def _by_kind(self, query: Query) -> tuple[Rows, dict[str, float], int]:
        """Each kind its share of k by the sum of its weights (or squared weights, of rubrics that have one)."""
        weight = self._index.weight.astype(np.float64)
        squared = self._policy is Retrieval.KIND_WEIGHT_SQUARED
        score, bonus = query.similarity, np.zeros(len(weight))
        if not squared:  # similarity, with a small bonus for weight
            bonus = self._split.weight_bonus * np.log1p(weight) / math.log1p(weight.max())
            score = query.similarity + bonus
        rows_of, mass = {}, {}
        for name, rows in self._index.rows_of_kind.items():
            mass[name] = float((weight[rows] ** 2 if squared else weight[rows]).sum())
            rows_of[name] = query.near(rows[weight[rows] > 0] if squared else rows)
        due = quotas(mass, self._k)
        wanted = largest_remainder(mass, self._k)
        slots = within_capacity(wanted, due, {name: len(rows_of[name]) for name in due})
        chosen = [
            largest(
                rows_of[name],
                score,
                lambda row: exact_cosine(self._index.embeddings[row], query.vector) + bonus[row],
                self._index.id_rank,
                count,
            )
            for name, count in sorted(slots.items())
        ]
        return np.concatenate(chosen), due, sum(max(0, wanted[name] - slots[name]) for name in due)

    def _nearest(self, rows: Rows, query: Query, count: int) -> Rows:
        """The `count` most similar of `rows`, in order."""
        return largest(
            rows, query.similarity, lambda row: exact_cosine(self._index.embeddings[row], query.vector), self._index.id_rank, count
        )


def adjusted(shares: Mapping[str, float], split: Split) -> dict[str, float]:
    """Shares after costs and floors: multiplied by what a failure of the bin costs, then raised to its floor, the others scaled down.

    A floor for a bin without a share gives it one. Raises ValueError when the floors add up to more than one.
    """
    weighted = {name: share * split.costs.get(name, 1.0) for name, share in shares.items()}
    total = math.fsum(weighted.values())
    if not split.floors or not total:
        return weighted
    if math.fsum(split.floors.values()) > 1:
        raise ValueError(
            f"the floors of the split add up to {math.fsum(split.floors.values()):.2f}, more than the whole: lower `split.floors`"
        )
    share = {name: weighted.get(name, 0.0) / total for name in weighted.keys() | split.floors.keys()}
    raised: set[str] = set()
    while True:  # scaling the others down can bring another one under its floor
        rest = 1 - math.fsum(split.floors[name] for name in raised)
        free = math.fsum(value for name, value in share.items() if name not in raised)
        scaled = {name: split.floors[name] if name in raised else value * rest / free for name, value in share.items()} if free else {}
        low = {name for name, floor in split.floors.items() if name not in raised and scaled.get(name, 0.0) < floor}
        if not low:
            return scaled or {name: split.floors[name] for name in raised}
        raised |= low
