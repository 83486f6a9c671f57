"""Joining candidates that say the same thing: exact, in an order that is defined, in bounded memory; no frequency is lost."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rubrics_gym.libraries.encoder import Vectors
from rubrics_gym.records.rubrics import Rubric
from rubrics_gym.settings.study import Merge

BLOCK = 1024  # rows compared at a time
TILE = 8192  # group heads compared at a time


def merging_text(rubric: Rubric) -> str:
    """The words by which two rubrics are compared: title and applies-when."""
    return f"{rubric.title}. {rubric.applies_when}"


def merge(rubrics: Sequence[Rubric], vectors: Vectors, settings: Merge) -> list[Rubric]:
    """Merge rubrics whose `vectors` (unit rows of their merging_text, shape (n, d)) have a cosine of at least the threshold.

    A merged rubric has the words of its first member, the sum of the weights, and every member's support. In the order of first members.
    """
    return [_joined([rubrics[row] for row in group]) for group in groups(vectors, settings.threshold, settings.rounds, len(rubrics))]


def groups(vectors: Vectors, threshold: float, rounds: int, n: int) -> list[list[int]]:
    """Rows of each group, groups in the order of their first rows.

    A row joins the most similar head of a group before it (the earlier on a tie) if that is similar enough, else it is the head of a new
    group. Each further round compares the groups of the round before by the mean of their members. Raises ValueError when there are
    not `n` finite rows.
    """
    if len(vectors) != n or (n and not np.isfinite(vectors).all()):
        raise ValueError(f"expected {n} finite rows of embeddings, got {len(vectors)}: embed the candidates again")
    members = [[row] for row in range(n)]
    for _ in range(rounds):
        heads = _heads(_means(vectors, members), threshold)
        joined: dict[int, list[int]] = {}
        for group, head in enumerate(heads):
            joined.setdefault(head, []).extend(members[group])
        if len(joined) == len(members):
            break
        members = [sorted(rows) for rows in joined.values()]
    return members


def _means(vectors: Vectors, members: list[list[int]]) -> Vectors:
    """Unit mean vector of each group."""
    if all(len(rows) == 1 for rows in members):
        return vectors[[rows[0] for rows in members]] if members else vectors
    means = np.stack([vectors[rows].mean(axis=0) for rows in members])
    unit: Vectors = means / np.linalg.norm(means, axis=1, keepdims=True)
    return unit


def _heads(vectors: Vectors, threshold: float) -> list[int]:
    """For each row, the row that heads its group (itself for a head)."""
    head_of: list[int] = []
    heads = np.empty(len(vectors), dtype=np.intp)
    n_heads = 0
    for start in range(0, len(vectors), BLOCK):
        block = vectors[start : start + BLOCK]
        best, nearest = _nearest(block, vectors, heads[:n_heads])
        within = block @ block.T
        new: list[int] = []  # heads found in this block, as positions in it
        for position in range(len(block)):
            similarity, head = best[position], nearest[position]
            if new:
                among_new = within[position, new]
                closest = int(among_new.argmax())
                if among_new[closest] > similarity:
                    similarity, head = among_new[closest], start + new[closest]
            if similarity >= threshold:
                head_of.append(int(head))
            else:
                head_of.append(start + position)
                new.append(position)
        heads[n_heads : n_heads + len(new)] = [start + position for position in new]
        n_heads += len(new)
    return head_of


def _nearest(block: Vectors, vectors: Vectors, heads: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cosine and row of the most similar head for each row of a block; -inf where there is no head yet."""
    best = np.full(len(block), -np.inf, dtype=np.float32)
    nearest = np.zeros(len(block), dtype=np.intp)
    for start in range(0, len(heads), TILE):
        tile = heads[start : start + TILE]
        similarity = block @ vectors[tile].T
        closest = similarity.argmax(axis=1)
        value = similarity[np.arange(len(block)), closest]
        better = value > best
        best[better], nearest[better] = value[better], tile[closest[better]]
    return best, nearest


def _joined(rubrics: list[Rubric]) -> Rubric:
    if len(rubrics) == 1:
        return rubrics[0]
    return rubrics[0].model_copy(
        update={
            "support": tuple(support for rubric in rubrics for support in rubric.support),
            "members": tuple(member for rubric in rubrics for member in (rubric.members or (rubric.id,))),
            "error_weight": sum(rubric.error_weight for rubric in rubrics),
            "outcome_weight": sum(rubric.outcome_weight for rubric in rubrics),
        }
    )
