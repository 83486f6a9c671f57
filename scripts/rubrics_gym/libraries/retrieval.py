"""Finding the rubrics of a library that a judge should have before it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rubrics_gym.libraries.encoder import Vectors
from rubrics_gym.records.rubrics import Rubric
from rubrics_gym.settings.study import Retrieval
from rubrics_gym.statistics.allocation import largest_remainder

UNCLASSIFIED = "unclassified"  # the bin of rubrics that the classifier abstained on
Rows = npt.NDArray[np.intp]
Similarities = npt.NDArray[np.floating[Any]]


class Retrieved(NamedTuple):
    """What one look-up gave: rubrics with their similarity, most similar first, and how many of each bin."""

    hits: list[tuple[Rubric, float]]
    slots: dict[str, int]


class Index:
    """A library ready for look-ups: exact, in memory, built once."""

    def __init__(self, rubrics: Sequence[Rubric], embeddings: Vectors, shares: Mapping[str, float] | None = None):
        """`embeddings` holds one unit row per rubric, shape (n, d). `shares` (bin -> share) steer the category split; None takes the
        library's own mix by supporting rollouts. Raises ValueError when rows and rubrics differ in number, a row is not finite, or
        two rubrics have the same id.
        """
        if len(embeddings) != len(rubrics):
            raise ValueError(f"{len(rubrics)} rubrics but {len(embeddings)} embeddings: embed the library again (rule embed_library)")
        unfit = np.flatnonzero(~np.isfinite(embeddings).all(axis=-1))
        if unfit.size:
            raise ValueError(f"embedding of rubric {rubrics[unfit[0]].id} (row {unfit[0]}) is not finite: embed the library again")
        ids = [rubric.id for rubric in rubrics]
        if len(set(ids)) != len(ids):
            twice = Counter(ids).most_common(1)[0][0]
            raise ValueError(f"rubric {twice} occurs twice in the library: merge the library again (rule merge_library)")
        self._rubrics = list(rubrics)
        self._embeddings = embeddings
        self._id_rank = np.empty(len(ids), dtype=np.intp)
        self._id_rank[sorted(range(len(ids)), key=ids.__getitem__)] = np.arange(len(ids))
        self._shares = dict(own_mix(rubrics) if shares is None else shares)
        bins = np.array([rubric.bin or UNCLASSIFIED for rubric in rubrics], dtype=object)
        self._rows_of = {name: np.flatnonzero(bins == name) for name in sorted(set(bins))}

    def retrieve(self, statement: Vectors, code: Vectors, k: int, policy: Retrieval) -> Retrieved:
        """The `k` rubrics for a task statement and a code change, each given as a unit vector (d,).

        A rubric's similarity is the mean of its cosines with the two. `similarity` takes the k most similar; `category_split` gives
        each bin its share of k (largest remainder; what a bin cannot fill is handed on, last of all to bins without a share) and
        takes the most similar inside each. Equal similarities are ordered by rubric id. Fewer than k only when the library has fewer.
        """
        if not self._rubrics:
            return Retrieved([], {})
        similarity = self._embeddings @ ((statement + code) / 2)
        everything = np.arange(len(self._rubrics))
        if policy is Retrieval.SIMILARITY:
            rows = self._most_similar(everything, similarity, k)
        else:
            rows = self._split(similarity, k)
            rest = np.setdiff1d(everything, rows)
            rows = np.concatenate([rows, self._most_similar(rest, similarity, k - len(rows))])
        rows = self._most_similar(rows, similarity, len(rows))
        hits = [(self._rubrics[row], float(similarity[row])) for row in rows]
        return Retrieved(hits, dict(sorted(Counter(rubric.bin or UNCLASSIFIED for rubric, _ in hits).items())))

    def _split(self, similarity: Similarities, k: int) -> Rows:
        slots = largest_remainder(self._shares, k, {name: len(rows) for name, rows in self._rows_of.items()})
        chosen = [self._most_similar(self._rows_of[name], similarity, count) for name, count in slots.items() if count]
        return np.concatenate(chosen) if chosen else np.empty(0, dtype=np.intp)

    def _most_similar(self, rows: Rows, similarity: Similarities, count: int) -> Rows:
        """The `count` most similar of `rows`, in order. Only rows that can be among them are sorted."""
        if 0 < count < len(rows):
            threshold = np.partition(similarity[rows], -count)[-count]
            rows = rows[similarity[rows] >= threshold]
        order = np.lexsort((self._id_rank[rows], -similarity[rows]))
        return rows[order[:count]]


def own_mix(rubrics: Sequence[Rubric]) -> dict[str, float]:
    """Bin -> number of rollouts behind its rubrics. Merged rubrics count once for every rollout, so that frequency is not lost."""
    mix: Counter[str] = Counter()
    for rubric in rubrics:
        mix[rubric.bin or UNCLASSIFIED] += max(1, len(rubric.support))
    return {name: float(count) for name, count in mix.items()}
