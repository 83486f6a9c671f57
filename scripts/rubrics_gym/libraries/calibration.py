"""What a merging threshold does on a library's own texts: a table to choose it by, because 0.82 means another thing for every text and encoder."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rubrics_gym.libraries.merging import BLOCK, groups
from rubrics_gym.libraries.vectors import cosines
from rubrics_gym.records.base import Record
from rubrics_gym.records.files import whole_file
from rubrics_gym.records.rubrics import Rubric

THRESHOLDS = (0.5, 0.6, 0.7, 0.75, 0.8, 0.82, 0.85, 0.9, 0.95)


class CalibrationLine(Record):
    """One threshold. Joins across kinds are joins that are wrong if the miner's kinds are right: a crash is no wrong result."""

    threshold: float
    candidates: int
    rubrics: int  # after merging
    largest_group: int
    pairs: int  # of candidates at or above the threshold
    pairs_across_kinds: int
    below: str | None  # titles of the most similar pair under the threshold, to be read
    above: str | None  # titles of the least similar pair at or above it


def calibration(rubrics: Sequence[Rubric], vectors: Any, rounds: int, thresholds: Sequence[float] = THRESHOLDS) -> list[CalibrationLine]:
    """One line per threshold, from the loosest. `vectors` are the unit rows that merging compares, shape (n, d)."""
    kinds = np.array([rubric.kind.value for rubric in rubrics], dtype=object)
    pairs = np.zeros(len(thresholds), dtype=np.int64)
    across = np.zeros(len(thresholds), dtype=np.int64)
    under: list[tuple[float, int, int] | None] = [None] * len(thresholds)
    over: list[tuple[float, int, int] | None] = [None] * len(thresholds)
    for first, second, similarity in _pairs(vectors, min(thresholds)):
        for place, threshold in enumerate(thresholds):
            at_or_above = similarity >= threshold
            pairs[place] += at_or_above.sum()
            across[place] += (at_or_above & (kinds[first] != kinds[second])).sum()
            over[place] = _nearer(over[place], first, second, similarity, at_or_above, smallest=True)
            under[place] = _nearer(under[place], first, second, similarity, ~at_or_above, smallest=False)
    lines = []
    for place, threshold in enumerate(thresholds):
        found = groups(vectors, threshold, rounds, len(rubrics))
        lines.append(
            CalibrationLine(
                threshold=threshold,
                candidates=len(rubrics),
                rubrics=len(found),
                largest_group=max((len(group) for group in found), default=0),
                pairs=int(pairs[place]),
                pairs_across_kinds=int(across[place]),
                below=_titles(rubrics, under[place]),
                above=_titles(rubrics, over[place]),
            )
        )
    return lines


def _pairs(vectors: Any, least: float) -> Iterator[tuple[Any, Any, Any]]:
    """Rows and cosines of the pairs above a little less than `least`, block by block; each pair once."""
    n = vectors.shape[0]
    for start in range(0, n, BLOCK):
        block = vectors[start : start + BLOCK]
        for other in range(start, n, BLOCK):
            similarity = cosines(block, vectors[other : other + BLOCK])
            first, second = np.nonzero(similarity >= least - 0.1)
            ordered = first + start < second + other
            first, second = first[ordered], second[ordered]
            yield first + start, second + other, similarity[first, second]


def _nearer(best: tuple[float, int, int] | None, first: Any, second: Any, similarity: Any, which: Any, smallest: bool) -> Any:
    rows = np.flatnonzero(which)
    if not len(rows):
        return best
    at = rows[similarity[rows].argmin() if smallest else similarity[rows].argmax()]
    found = float(similarity[at]), int(first[at]), int(second[at])
    if best is None or (found[0] < best[0] if smallest else found[0] > best[0]):
        return found
    return best


def _titles(rubrics: Sequence[Rubric], pair: tuple[float, int, int] | None) -> str | None:
    if pair is None:
        return None
    similarity, first, second = pair
    return f"{similarity:.3f}: {rubrics[first].title} | {rubrics[second].title}"


def write_calibration(path: str | Path, lines: Sequence[CalibrationLine]) -> None:
    """Write the table as CSV, whole or not at all; an absent pair is an empty cell."""
    with whole_file(path) as temporary, open(temporary, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(CalibrationLine.model_fields), lineterminator="\n")
        writer.writeheader()
        writer.writerows(line.model_dump() for line in lines)
