"""How often each kind of failure occurs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from rubrics_gym.failures.taxonomy import RUNTIME
from rubrics_gym.records.failures import Categorized, Cause, Distribution, FailureEvent, Share


def distribution(
    collections: Sequence[str],
    target: Literal["trace", "complete"],
    classifier: str,
    taxonomy_version: str,
    events: Iterable[FailureEvent],
    categories: Iterable[Categorized],
    causes: Iterable[Cause],
    simulated: bool,
) -> Distribution:
    """Count failures on the split bins (Runtime by type). `trace` counts failed commands, `complete` adds each cause of a wrong result once.

    What the classifier could not tell is counted as unclassified and is no part of the shares. Raises ValueError when an event has no
    answer: a share over the rest would be of other failures.
    """
    category_of = {answer.item_id: answer for answer in categories}
    events = list(events)
    missing = [event.event_id for event in events if event.event_id not in category_of]
    if missing:
        raise ValueError(f"{len(missing)} of {len(events)} events have no category, first {missing[0]}: run categorize_failures again")
    counted: list[tuple[str, str, str | None]] = [
        (event.benchmark, event.task, bin_of(category_of[event.event_id].category, category_of[event.event_id].runtime_type))
        for event in events
    ]
    causes = list(causes) if target == "complete" else []
    counted += [(cause.benchmark, cause.task, bin_of(cause.category, cause.runtime_type)) for cause in causes]
    counts = Counter(name for _, _, name in counted if name is not None)
    total = sum(counts.values())
    return Distribution(
        id=f"{'+'.join(sorted(collections))}|{target}|{classifier}|{taxonomy_version}",
        collections=tuple(collections),
        target=target,
        classifier=classifier,
        taxonomy_version=taxonomy_version,
        simulated=simulated,
        n_events=len(events),
        n_causes=len(causes),
        n_unclassified=len(counted) - total,
        n_tasks=len({(benchmark, task) for benchmark, task, _ in counted}),
        shares=tuple(
            Share(bin=name, count=count, share=count / total)
            for name, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        ),
    )


def bin_of(category: str | None, runtime_type: str | None) -> str | None:
    """The bin of a split distribution: a category id, or `runtime:<type>`; None for an abstention."""
    return f"{RUNTIME}:{runtime_type or 'other'}" if category == RUNTIME else category


def shares(distribution: Distribution) -> dict[str, float]:
    """bin -> share, for the bins that occur."""
    return {share.bin: share.share for share in distribution.shares if share.share is not None}


def unsplit(mix: Mapping[str, float]) -> dict[str, float]:
    """The same mix with all runtime types joined into one bin."""
    joined: Counter[str] = Counter()
    for name, weight in mix.items():
        joined[RUNTIME if name.startswith(f"{RUNTIME}:") else name] += weight  # type: ignore[assignment]
    return dict(joined)
