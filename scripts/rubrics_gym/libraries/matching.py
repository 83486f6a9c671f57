"""Cutting a library to a failure mix by a budget per bin."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Literal, NamedTuple

from rubrics_gym.records.failures import Distribution
from rubrics_gym.records.rubrics import BudgetLine, OrderSpread, Rubric, SupplyLine
from rubrics_gym.statistics.distances import noise_floor, total_variation

Total = Literal["floor_then_round", "largest_that_fills"]
Order = Literal["writing", "weight", "shuffled"]
SHUFFLES = 100


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
    supply: tuple[SupplyLine, ...]
    order_spread: OrderSpread
    total: int
    binding_bin: str
    dropped_mass: float
    distance_before: float
    distance: float
    noise_floor: float


def budget(available: Mapping[str, int], target: Mapping[str, int], total: Total = "floor_then_round") -> Budget:
    """The budget filter over bins with a_k > 0 and s_k > 0, in integers, so that no share is rounded. b_k = floor(T s_k + 1/2).

    `target` holds counts; the shares s_k are renormalised on the bins that have rubrics. floor_then_round: T = floor(min_k a_k / s_k), which
    reproduces every published size. largest_that_fills: the largest T with b_k <= a_k for every bin, as the sources word it.
    No budget exceeds what is available. Raises EmptyMatch when no bin is left.
    """
    counts = {name: count for name, count in target.items() if count > 0 and available.get(name, 0) > 0}
    if not counts:
        raise EmptyMatch(
            f"no bin of the target ({', '.join(sorted(target)) or 'empty'}) has a rubric ({', '.join(sorted(available)) or 'empty library'})"
        )
    mass = sum(counts.values())
    if total == "floor_then_round":
        limit = {name: Fraction(available[name] * mass, count) for name, count in counts.items()}
    else:  # floor(T s + 1/2) <= a  <=>  T s < a + 1/2, so T is at most the largest whole number under (a + 1/2) / s
        limit = {name: Fraction((2 * available[name] + 1) * mass - 1, 2 * count) for name, count in counts.items()}
    binding = min(counts, key=lambda name: (limit[name], name))
    size = limit[binding].numerator // limit[binding].denominator
    of = {name: (2 * size * count + mass) // (2 * mass) for name, count in counts.items()}
    return Budget(size, of, binding, 1 - mass / sum(target.values()))


def match(
    rubrics: Sequence[Rubric], target: Distribution, total: Total = "floor_then_round", order: Order = "writing", seed: int = 0
) -> Match:
    """Keep rubrics while their bin's budget lasts, taken in `order`; what is kept stays in writing order.

    Unclassified rubrics belong to no bin and are left out.
    """
    wanted = {share.bin: share.count for share in target.shares}
    available = mix(rubrics)
    budgets = budget(available, wanted, total)
    rows = ordered(rubrics, order, seed)
    kept = within(rubrics, budgets.of, rows)
    kept_of = mix(kept)
    mass = sum(wanted[name] for name in budgets.of)
    lines = tuple(
        BudgetLine(bin=name, share=wanted[name] / mass, available=available[name], budget=count, kept=kept_of.get(name, 0))
        for name, count in sorted(budgets.of.items(), key=lambda item: (-item[1], item[0]))
    )
    return Match(
        rubrics=kept,
        budget=lines,
        supply=supply(available, wanted, budgets),
        order_spread=order_spread(rubrics, budgets.of, rows, seed),
        total=budgets.total,
        binding_bin=budgets.binding,
        dropped_mass=budgets.dropped_mass,
        distance_before=total_variation(available, wanted),
        distance=total_variation(kept_of, wanted),
        noise_floor=noise_floor(wanted, sum(wanted.values())),
    )


def supply(available: Mapping[str, int], target: Mapping[str, int], budgets: Budget) -> tuple[SupplyLine, ...]:
    """How large a library each bin of the target would allow by itself, the scarcest first; then the bins that have no rubric."""
    mass = sum(target[name] for name in budgets.of)
    lines = [
        SupplyLine(
            bin=name,
            share=count / sum(target.values()),
            available=available.get(name, 0),
            allows=available[name] * mass / count if name in budgets.of else None,
            kept_out=available.get(name, 0) - budgets.of.get(name, 0),
        )
        for name, count in target.items()
        if count > 0
    ]
    return tuple(sorted(lines, key=lambda line: (line.allows is None, line.allows or 0, line.bin)))


def ordered(rubrics: Sequence[Rubric], order: Order, seed: int) -> list[int]:
    """Rows in the order in which they use up budgets: as written; heaviest first, then as written; or shuffled by a seed."""
    rows = list(range(len(rubrics)))
    if order == "weight":
        rows.sort(key=lambda row: -rubrics[row].weight)
    elif order == "shuffled":
        random.Random(seed).shuffle(rows)
    return rows


def within(rubrics: Sequence[Rubric], budgets: Mapping[str, int], rows: Sequence[int] | None = None) -> list[Rubric]:
    """The rubrics that get a place while their bin's budget lasts, taken in the order of `rows` (as written), given in writing order.

    Applying the same budgets again changes nothing. (Matching anew does: T is set by rounded counts then, and can come out smaller.)
    """
    return [rubrics[row] for row in sorted(_placed([rubric.bin for rubric in rubrics], budgets, rows))]


def _placed(bins: Sequence[str | None], budgets: Mapping[str, int], rows: Sequence[int] | None = None) -> set[int]:
    """The rows that get a place."""
    left = dict(budgets)
    placed = set()
    for row in range(len(bins)) if rows is None else rows:
        name = bins[row]
        if name is not None and left.get(name, 0) > 0:
            left[name] -= 1
            placed.add(row)
    return placed


def order_spread(rubrics: Sequence[Rubric], budgets: Mapping[str, int], rows: Sequence[int], seed: int) -> OrderSpread:
    """What the order decides: the same budgets filled in SHUFFLES seeded orders, beside the order of `rows`. The mix is the same in all."""
    bins = [rubric.bin for rubric in rubrics]
    weights = [rubric.weight for rubric in rubrics]
    tasks = [frozenset((support.benchmark, support.task) for support in rubric.support) for rubric in rubrics]
    chosen = _placed(bins, budgets, rows)
    others = [_placed(bins, budgets, ordered(rubrics, "shuffled", seed + number)) for number in range(SHUFFLES)]
    behind = [len(frozenset().union(*(tasks[row] for row in other))) for other in others]
    weighs = [sum(weights[row] for row in other) for other in others]
    return OrderSpread(
        shuffles=SHUFFLES,
        always=len(chosen.intersection(*others)),
        shared=round(sum(len(other & chosen) / len(other) for other in others) / SHUFFLES, 6),
        tasks=(min(behind), max(behind)),
        weight=(min(weighs), max(weighs)),
    )


def mix(rubrics: Sequence[Rubric]) -> dict[str, int]:
    """bin -> number of rubrics, without the unclassified."""
    return dict(Counter(rubric.bin for rubric in rubrics if rubric.bin is not None))
