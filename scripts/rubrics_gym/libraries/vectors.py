"""Cosines between rows, and the exact value where single precision cannot decide.

A matrix product rounds differently for another block size, processor or number of threads. Where a decision hangs on the last digits (a
threshold, a tie), the cosine is taken again: products of single-precision numbers are exact in double precision, and their sum is
correctly rounded (math.fsum), so the decision is the same everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

NOISE = 4e-6  # more than a single-precision dot product of unit vectors of a few thousand dimensions can be off

Floats = npt.NDArray[np.floating[Any]]


def cosines(a: Any, b: Any) -> Floats:
    """Cosine of every row of `a` with every row of `b`, both of unit rows, dense arrays or scipy sparse ones: (len(a), len(b)), float32."""
    product = a @ b.T
    dense: Floats = product if isinstance(product, np.ndarray) else product.toarray()
    return dense


def exact_cosine(a: Any, b: Any) -> float:
    """Cosine of two single-precision unit rows (1-d arrays, or sparse rows), correctly rounded."""
    if isinstance(a, np.ndarray):
        return math.fsum(a.astype(np.float64) * b.astype(np.float64))
    return math.fsum(a.astype(np.float64).multiply(b.astype(np.float64)).data)


def nearest_reaching(target: Any, candidates: Sequence[tuple[float, int]], row_of: Callable[[int], Any], threshold: float) -> int | None:
    """The candidate most similar to `target` among those at or above the threshold, the smaller number on a tie; None when there is none.

    `candidates` are (approximate cosine, number); `row_of` gives the unit row of a number.
    """
    if not candidates:
        return None
    top = max(similarity for similarity, _ in candidates)
    close = sorted({number for similarity, number in candidates if similarity >= top - 2 * NOISE})
    if len(close) == 1 and abs(top - threshold) > NOISE:
        return close[0] if top >= threshold else None
    exact = [(exact_cosine(target, row_of(number)), number) for number in close]
    similarity, number = max(exact, key=lambda pair: (pair[0], -pair[1]))
    return number if similarity >= threshold else None


def largest(rows: npt.NDArray[np.intp], approximate: Floats, exact: Any, id_rank: npt.NDArray[np.intp], count: int) -> npt.NDArray[np.intp]:
    """The `count` of `rows` with the largest values, in order; equal values by `id_rank`.

    `approximate` holds a value per row of the library, off by at most NOISE; `exact(row)` gives the exact one. Only rows that can be among
    the largest are looked at again.
    """
    if count <= 0 or not len(rows):
        return rows[:0]
    if count < len(rows):
        threshold = np.partition(approximate[rows], -count)[-count]
        rows = rows[approximate[rows] >= threshold - 2 * NOISE]
    values = np.array([exact(row) for row in rows])
    order = np.lexsort((id_rank[rows], -values))
    return rows[order[:count]]
