"""Cutting a library to a failure mix by a budget per bin, and two null libraries that say whether the mix or only the size mattered."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from rubrics_gym.libraries.mining import TEXT_FIELDS
from rubrics_gym.records.failures import Distribution
from rubrics_gym.records.rubrics import BudgetLine, Rubric
from rubrics_gym.statistics.distances import noise_floor, total_variation


class EmptyMatch(ValueError):
    """A library and a target have no bin in common."""


class Budget(NamedTuple):
    """How many rubrics of each bin fit the target. `binding` is the bin that limits the total."""

    total: int
    of: dict[str, int]
    binding: str
    dropped_mass: float  # share of the target in bins without any rubric


class Match(NamedTuple):
    """A matched library, with the fields that its manifest prints (distances in percent)."""

    rubrics: list[Rubric]
    budget: tuple[BudgetLine, ...]
    total: int
    binding_bin: str
    dropped_mass: float
    distance_before: float
    distance: float
    noise_floor: float


def budget(available: Mapping[str, int], target: Mapping[str, int]) -> Budget:
    """The budget filter: T = floor(min_k a_k / s_k), b_k = floor(T s_k + 1/2), over bins with a_k > 0 and s_k > 0.

    `target` holds counts; the shares s_k are renormalised on the bins that have rubrics. In integers, so that no share is rounded.
    No budget exceeds what is available. Raises EmptyMatch when no bin is left.
    """
    counts = {name: count for name, count in target.items() if count > 0 and available.get(name, 0) > 0}
    if not counts:
        raise EmptyMatch(
            f"no bin of the target ({', '.join(sorted(target)) or 'empty'}) has a rubric ({', '.join(sorted(available)) or 'empty library'})"
        )
    mass = sum(counts.values())
    binding = min(counts, key=lambda name: (Fraction(available[name], counts[name]), name))
    total = available[binding] * mass // counts[binding]
    of = {name: (2 * total * count + mass) // (2 * mass) for name, count in counts.items()}
    return Budget(total, of, binding, 1 - mass / sum(target.values()))


def match(rubrics: Sequence[Rubric], target: Distribution) -> Match:
    """Keep rubrics in writing order while their bin's budget lasts. Unclassified rubrics belong to no bin and are left out."""
    wanted = {share.bin: share.count for share in target.shares}
    available = mix(rubrics)
    budgets = budget(available, wanted)
    kept = within(rubrics, budgets.of)
    kept_of = mix(kept)
    mass = sum(wanted[name] for name in budgets.of)
    lines = tuple(
        BudgetLine(bin=name, share=wanted[name] / mass, available=available[name], budget=count, kept=kept_of.get(name, 0))
        for name, count in sorted(budgets.of.items(), key=lambda item: (-item[1], item[0]))
    )
    return Match(
        rubrics=kept,
        budget=lines,
        total=budgets.total,
        binding_bin=budgets.binding,
        dropped_mass=budgets.dropped_mass,
        distance_before=total_variation(available, wanted),
        distance=total_variation(kept_of, wanted),
        noise_floor=noise_floor(wanted, sum(wanted.values())),
    )


def within(rubrics: Sequence[Rubric], budgets: Mapping[str, int]) -> list[Rubric]:
    """The first rubrics of each bin, in writing order, while the bin's budget lasts. Applying the same budgets again changes nothing.

    (Matching anew does: T is set by rounded counts then, and can come out smaller.)
    """
    left = dict(budgets)
    kept = []
    for rubric in rubrics:
        if rubric.bin is not None and left.get(rubric.bin, 0) > 0:
            left[rubric.bin] -= 1
            kept.append(rubric)
    return kept


def mix(rubrics: Sequence[Rubric]) -> dict[str, int]:
    """bin -> number of rubrics, without the unclassified."""
    return dict(Counter(rubric.bin for rubric in rubrics if rubric.bin is not None))


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
