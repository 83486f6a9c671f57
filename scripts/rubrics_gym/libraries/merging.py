"""Joining candidates that say the same thing: exhaustive, in an order that is defined, in bounded memory; no frequency is lost.

A row joins the most similar head before it (the earlier on a tie) if that is similar enough, else it is the head of a new group: the first one
written keeps its words. Blocks bound the memory and decide nothing (see `vectors`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rubrics_gym.libraries.vectors import NOISE, cosines, nearest_reaching
from rubrics_gym.records.rubrics import TEXT_FIELDS, Rubric
from rubrics_gym.settings.study import Merge

BLOCK = 1024  # rows compared at a time
TILE = 4096  # group heads compared at a time


def merging_text(rubric: Rubric) -> str:
    """The words by which two rubrics are compared with a sentence encoder: title and applies-when."""
    return f"{rubric.title}. {rubric.applies_when}"


def merge(rubrics: Sequence[Rubric], vectors: Any, settings: Merge) -> list[Rubric]:
    """Join rubrics whose `vectors` (unit rows, shape (n, d), dense or sparse) have a cosine of at least the threshold.

    A joined rubric has the words of its first member and every member's support. `keep: sum` adds the weights of all members; `first`
    keeps those of the first, as where repetitions are dropped. In the order of first members.
    """
    found = groups(vectors, settings.threshold, settings.rounds, len(rubrics))
    return [joined([rubrics[row] for row in group], weights=settings.keep) for group in found]


def tfidf_vectors(rubrics: Sequence[Rubric]) -> Any:
    """Unit rows (n, words), sparse: the words of all texts of each rubric, rare ones counting more (term frequency x inverse document frequency)."""
    from scipy.sparse import csr_matrix
    from sklearn.feature_extraction.text import TfidfVectorizer

    if not rubrics:
        return csr_matrix((0, 0), dtype=np.float32)
    vectorizer = TfidfVectorizer(dtype=np.float32, token_pattern=r"(?u)\b\w+\b")
    try:
        return vectorizer.fit_transform([" ".join(getattr(rubric, field) for field in TEXT_FIELDS) for rubric in rubrics])
    except ValueError:  # no text holds a word
        return csr_matrix((len(rubrics), 1), dtype=np.float32)


def groups(vectors: Any, threshold: float, rounds: int, n: int) -> list[list[int]]:
    """Rows of each group, groups in the order of their first rows.

    Each further round compares the groups of the round before by the mean of their members. Raises ValueError when there are not `n`
    finite rows.
    """
    values = vectors if isinstance(vectors, np.ndarray) else vectors.data
    if vectors.shape[0] != n or not np.isfinite(values).all():
        raise ValueError(f"expected {n} finite rows of embeddings, got {vectors.shape[0]}: embed the candidates again")
    members = [[row] for row in range(n)]
    for _ in range(rounds):
        heads = _heads(_means(vectors, members), threshold)
        joined_rows: dict[int, list[int]] = {}
        for group, head in enumerate(heads):
            joined_rows.setdefault(head, []).extend(members[group])
        if len(joined_rows) == len(members):
            break
        members = [sorted(rows) for rows in joined_rows.values()]
    return members


def _means(vectors: Any, members: list[list[int]]) -> Any:
    """Unit mean vector of each group; a group whose members cancel out has none and keeps a zero row."""
    if all(len(rows) == 1 for rows in members):
        return vectors
    means = np.stack([np.asarray(vectors[rows].mean(axis=0), dtype=np.float32).ravel() for rows in members])
    lengths = np.linalg.norm(means, axis=1, keepdims=True)
    return np.divide(means, lengths, out=np.zeros_like(means), where=lengths > 0)


def _heads(vectors: Any, threshold: float) -> list[int]:
    """For each row, the row that heads its group (itself for a head)."""
    n = vectors.shape[0]
    head_of = np.arange(n)
    heads = np.empty(n, dtype=np.intp)
    n_heads = 0
    for start in range(0, n, BLOCK):
        block = vectors[start : start + BLOCK]
        near = _near_heads(block, vectors, heads[:n_heads], threshold)
        within = cosines(block, block)
        before: Any = np.tril(within >= threshold - NOISE, -1)  # what a row of this block may join in the block itself
        can_join = before.any(axis=1)
        is_head = np.zeros(block.shape[0], dtype=bool)
        for position in range(block.shape[0]):
            candidates = near.get(position, [])
            if can_join[position]:
                own = np.flatnonzero(before[position] & is_head)
                candidates = candidates + [(float(within[position, at]), start + int(at)) for at in own]
            head = nearest_reaching(vectors[start + position], candidates, vectors.__getitem__, threshold)
            if head is None:
                is_head[position] = True
            else:
                head_of[start + position] = head
        found = start + np.flatnonzero(is_head)
        heads[n_heads : n_heads + len(found)] = found
        n_heads += len(found)
    return [int(head) for head in head_of]


def _near_heads(block: Any, vectors: Any, heads: np.ndarray[Any, Any], threshold: float) -> dict[int, list[tuple[float, int]]]:
    """Position in the block -> (cosine, row) of the heads that can be its most similar one and reach the threshold."""
    near: dict[int, list[tuple[float, int]]] = {}
    for start in range(0, len(heads), TILE):
        tile = heads[start : start + TILE]
        similarity = cosines(block, vectors[tile])
        best = similarity.max(axis=1)
        for position in np.flatnonzero(best >= threshold - NOISE):
            for at in np.flatnonzero(similarity[position] >= best[position] - 2 * NOISE):
                near.setdefault(int(position), []).append((float(similarity[position, at]), int(tile[at])))
    return near


def joined(rubrics: Sequence[Rubric], weights: str = "sum") -> Rubric:
    """Several rubrics as one, with the words of the first. Its support and members name everything behind it, each once."""
    first = rubrics[0]
    if len(rubrics) == 1:
        return first
    behind = {
        "support": tuple(dict.fromkeys(support for rubric in rubrics for support in rubric.support)),
        "members": tuple(dict.fromkeys(member for rubric in rubrics for member in (rubric.members or (rubric.id,)))),
    }
    if weights == "first":
        return first.model_copy(update=behind)
    summed = {name: sum(getattr(rubric, name) for rubric in rubrics) for name in ("error_weight", "outcome_weight")}
    return first.model_copy(update=behind | summed)
