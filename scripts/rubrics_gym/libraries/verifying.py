"""An independent check of a match, from the raw failure records and the rubrics alone.

It shares no code with `matching` or with the counting of distributions: failures are counted anew from events, categories and causes, the
total is searched for and not solved for, and every property that a match must have is looked at by itself. As in the sources, where the
matched libraries were recomputed from the raw records.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from rubrics_gym.records.base import Record
from rubrics_gym.records.failures import Categorized, Cause, FailureEvent
from rubrics_gym.records.rubrics import LibraryManifest, Rubric

TOLERANCE = 1e-6  # percent; a distance is printed in double precision


class Check(Record):
    """One property: whether it holds, and the figures behind it."""

    name: str
    holds: bool
    figure: str


def verify(
    source: Sequence[Rubric],
    matched: Sequence[Rubric],
    manifest: LibraryManifest,
    events: Iterable[FailureEvent],
    categories: Iterable[Categorized],
    causes: Iterable[Cause],
) -> list[Check]:
    """All checks of one matched library. `causes` is empty for a target of failed commands alone."""
    failures = count_failures(events, categories, causes)
    supply = Counter(_bin_of(rubric.category, rubric.runtime_type) for rubric in source)
    kept = Counter(_bin_of(rubric.category, rubric.runtime_type) for rubric in matched)
    shared = {name: count for name, count in failures.items() if supply[name] > 0}
    rule = str(manifest.recipe.get("total", "floor_then_round"))
    total = search_total(supply, shared, rule)
    expected = {name: _round_half_up(total * count / sum(shared.values())) for name, count in shared.items()}
    written = [rubric.id for rubric in source]
    given = [rubric.id for rubric in matched]
    places = {one: place for place, one in enumerate(written)}
    dropped = 1 - sum(shared.values()) / sum(failures.values()) if failures else math.nan
    distance = _distance(kept, failures)
    return [
        Check(
            name="every rubric is of the source",
            holds=all(one in places for one in given),
            figure=f"{sum(one in places for one in given)} of {len(given)}",
        ),
        Check(
            name="in writing order, none twice",
            holds=all(one in places for one in given) and _increasing([places[one] for one in given]),
            figure=f"{len(set(given))} different ids",
        ),
        Check(
            name="no bin holds more than the source has",
            holds=all(count <= supply[name] for name, count in kept.items()),
            figure=f"{len(kept)} bins",
        ),
        Check(
            name="the total",
            holds=total == manifest.total,
            figure=f"searched {total}, on record {manifest.total} ({rule})",
        ),
        Check(
            name="every bin holds its budget",
            holds={name: count for name, count in expected.items() if count} == dict(kept),
            figure=f"{sum(expected.values())} expected, {len(matched)} kept",
        ),
        Check(
            name="the dropped share of the target",
            holds=manifest.dropped_mass is not None and abs(dropped - manifest.dropped_mass) < TOLERANCE,
            figure=f"counted {dropped:.6f}, on record {manifest.dropped_mass}",
        ),
        Check(
            name="the distance to the target",
            holds=manifest.distance is not None and abs(distance - manifest.distance) < TOLERANCE,
            figure=f"counted {distance:.4f}, on record {manifest.distance}",
        ),
    ]


def count_failures(events: Iterable[FailureEvent], categories: Iterable[Categorized], causes: Iterable[Cause]) -> dict[str, int]:
    """bin -> failures, counted from the raw records; what has no category is in no bin."""
    sorted_into = {answer.item_id: _bin_of(answer.category, answer.runtime_type) for answer in categories}
    bins = [sorted_into.get(event.event_id) for event in events] + [_bin_of(cause.category, cause.runtime_type) for cause in causes]
    return dict(Counter(name for name in bins if name is not None))


def search_total(supply: Mapping[str | None, int], target: Mapping[str, int], rule: str) -> int:
    """The total of a match, tried from 0 upwards: the last one before a budget passes what there is.

    floor_then_round: before T x share does; largest_that_fills: before the rounded budget does.
    """
    mass = sum(target.values())
    if not mass:
        return 0
    total = 0
    while True:
        following = total + 1
        for name, count in target.items():
            needed = following * count / mass if rule == "floor_then_round" else _round_half_up(following * count / mass)
            if needed > supply.get(name, 0) + 1e-9:
                return total
        total = following


def _bin_of(category: str | None, runtime_type: str | None) -> str | None:
    if category == "runtime":
        return f"runtime:{runtime_type or 'other'}"
    return category


def _round_half_up(value: float) -> int:
    return math.floor(round(value, 9) + 0.5)


def _increasing(places: Sequence[int]) -> bool:
    return all(a < b for a, b in itertools.pairwise(places))


def _distance(kept: Mapping[str | None, int], target: Mapping[str, int]) -> float:
    """Mass to move, in percent: what the target has too much, added up. (The other half of the same differences.)"""
    n, m = sum(count for name, count in kept.items() if name is not None), sum(target.values())
    if not n or not m:
        return math.nan
    return 100 * sum(max(0.0, count / m - kept.get(name, 0) / n) for name, count in target.items())
