"""How often each kind of failure occurs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from rubrics_gym.failures.taxonomy import RUNTIME, Taxonomy
from rubrics_gym.records.failures import Categorized, Cause, Distribution, FailureEvent, Share, TaskCounts


def distribution(
    collections: Sequence[str],
    target: Literal["trace", "complete"],
    classifier: str,
    taxonomy_version: str,
    events: Iterable[FailureEvent],
    categories: Iterable[Categorized],
    causes: Iterable[Cause],
    simulated: bool,
    min_confidence: float = 0.0,
) -> Distribution:
    """Count failures on the split bins (Runtime by type). `trace` counts failed commands, `complete` adds each cause of a wrong result once.

    What the classifier could not tell, or told with less than `min_confidence`, is counted as unclassified and is no part of the shares.
    Raises ValueError when an event has no answer (a share over the rest would be of other failures) and when an attempt has two causes.
    """
    category_of = {answer.item_id: answer for answer in categories}
    events = list(events)
    missing = [event.event_id for event in events if event.event_id not in category_of]
    if missing:
        raise ValueError(f"{len(missing)} of {len(events)} events have no category, first {missing[0]}: run categorize_failures again")
    causes = list(causes) if target == "complete" else []
    twice = [unit for unit, times in Counter(cause.unit for cause in causes).items() if times > 1]
    if twice:
        raise ValueError(f"{twice[0]} has more than one cause of its wrong result: each counts once; run attribute_causes again")
    counted: list[tuple[str, str, str | None]] = [
        (event.benchmark, event.task, _told(category_of[event.event_id], min_confidence)) for event in events
    ]
    counted += [(cause.benchmark, cause.task, _told(cause, min_confidence)) for cause in causes]
    counts = Counter(name for _, _, name in counted if name is not None)
    of_commands = Counter(name for _, _, name in counted[: len(events)] if name is not None)
    total = sum(counts.values())
    by_task: dict[tuple[str, str], Counter[str]] = {}
    for benchmark, task, name in counted:
        by_task.setdefault((benchmark, task), Counter()).update([name] if name is not None else [])
    sure = f"@{min_confidence:g}" if min_confidence else ""
    return Distribution(
        id=f"{'+'.join(sorted(collections))}|{target}|{classifier}{sure}|{taxonomy_version}",
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
            Share(bin=name, count=count, commands=of_commands[name], share=count / total)
            for name, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        ),
        tasks=tuple(
            TaskCounts(benchmark=benchmark, task=task, counts=dict(sorted(found.items())))
            for (benchmark, task), found in sorted(by_task.items())
        ),
    )


def _told(answer: Categorized | Cause, min_confidence: float) -> str | None:
    if answer.confidence is not None and answer.confidence < min_confidence:
        return None
    return bin_of(answer.category, answer.runtime_type)


def bin_of(category: str | None, runtime_type: str | None) -> str | None:
    """The bin of a split distribution: a category id, or `runtime:<type>`; None for an abstention."""
    return f"{RUNTIME}:{runtime_type or 'other'}" if category == RUNTIME else category


def shares(distribution: Distribution) -> dict[str, float]:
    """bin -> share, for the bins that occur."""
    return {share.bin: share.share for share in distribution.shares if share.share is not None}


def on_21(mix: Mapping[str, float], taxonomy: Taxonomy) -> dict[str, float]:
    """The same mix on the 21 categories that came first: runtime types joined, and without the one that was added later."""
    return {name: weight for name, weight in unsplit(mix).items() if name in taxonomy.first_21}


def unsplit(mix: Mapping[str, float]) -> dict[str, float]:
    """The same mix with all runtime types joined into one bin."""
    joined: Counter[str] = Counter()
    for name, weight in mix.items():
        joined[RUNTIME if name.startswith(f"{RUNTIME}:") else name] += weight  # type: ignore[assignment]
    return dict(joined)
