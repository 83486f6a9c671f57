"""Two null libraries for any library: they say whether its texts, or its mix, or only its size mattered."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from rubrics_gym.records.rubrics import TEXT_FIELDS, Rubric


def scrambled(rubrics: Sequence[Rubric], seed: int) -> list[Rubric]:
    """Null library: all words of all texts shuffled across the whole library; every field keeps its number of words, and nothing is said."""
    words = [word for rubric in rubrics for field in TEXT_FIELDS for word in getattr(rubric, field).split()]
    random.Random(seed).shuffle(words)
    supply = iter(words)

    def refilled(text: str) -> str:
        return " ".join(next(supply) for _ in text.split())

    changes: list[dict[str, Any]] = [{field: refilled(getattr(rubric, field)) for field in TEXT_FIELDS} for rubric in rubrics]
    return [rubric.model_copy(update=change) for rubric, change in zip(rubrics, changes, strict=True)]


def sample(rubrics: Sequence[Rubric], size: int, seed: int) -> list[Rubric]:
    """Null library: `size` rubrics drawn at random, in writing order. Raises ValueError when there are not that many."""
    if size > len(rubrics):
        raise ValueError(f"cannot draw {size} rubrics from a library of {len(rubrics)}: choose a larger source")
    rows = random.Random(seed).sample(range(len(rubrics)), size)
    return [rubrics[row] for row in sorted(rows)]
