"""The failure mix of collections beside the mix of each library, and the libraries in one line each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from rubrics_gym.records.failures import Distribution
from rubrics_gym.records.rubrics import LibraryManifest, Rubric, RubricKind
from rubrics_gym.report.table_spec import FULL_COUNT
from rubrics_gym.report.writing import Row
from rubrics_gym.statistics.intervals import Interval
from rubrics_gym.statistics.mixes import counts_of, share_intervals

UNCLASSIFIED = "unclassified"


def failure_mix(
    distributions: Mapping[str, Distribution],
    libraries: Mapping[str, tuple[LibraryManifest, Sequence[Rubric]]],
    confidence: float = 0.95,
    draws: int = 4000,
    seed: int = 0,
) -> list[Row]:
    """One row per bin and series, bins from the most to the least frequent over the distributions. Table `failure_mix`.

    `distributions` are the failure series (pool, heldout) and `libraries` the rubric series, by the names the reader knows.
    The shares of failures are of what was classified; rubrics without a category are a bin of their own.
    """
    counts = {name: {share.bin: share.count for share in mix.shares} for name, mix in distributions.items()}
    supply = {name: Counter(rubric.bin or UNCLASSIFIED for rubric in rubrics) for name, (_, rubrics) in libraries.items()}
    total: Counter[str] = Counter()
    for mix_counts in counts.values():
        total.update(mix_counts)
    everything = set(total) | {bin for bins in supply.values() for bin in bins}
    bins = sorted(everything, key=lambda bin: (-total[bin], bin))
    rows = []
    for name, mix in distributions.items():
        intervals = share_intervals(counts_of([task.counts for task in mix.tasks], bins), confidence, draws, seed)
        for bin, interval in zip(bins, intervals, strict=True):
            rows.append(_failure_row(name, mix, bin, counts[name].get(bin, 0), interval))
    for name, (manifest, rubrics) in libraries.items():
        for bin in bins:
            rows.append(_rubric_row(name, manifest, rubrics, bin, supply[name][bin]))
    order = {bin: place for place, bin in enumerate(bins)}
    return sorted(rows, key=lambda row: order[row["bin"]])  # stable: the series keep their order within a bin


def _failure_row(series: str, mix: Distribution, bin: str, count: int, interval: Interval) -> Row:
    return {
        "bin": bin,
        "series": series,
        "series_kind": "failures",
        "count": count,
        "share": interval.estimate,
        "share_low": interval.low,
        "share_high": interval.high,
        "n": interval.n,
        "clusters": interval.clusters,
        "interval_kind": interval.kind,
        "note": interval.note,
        "contaminated": False,
        "distribution": mix.id,
        "simulated": mix.simulated,
    }


def _rubric_row(series: str, manifest: LibraryManifest, rubrics: Sequence[Rubric], bin: str, count: int) -> Row:
    return {
        "bin": bin,
        "series": series,
        "series_kind": "rubrics",
        "count": count,
        "share": count / len(rubrics) if rubrics else None,
        "share_low": None,
        "share_high": None,
        "n": len(rubrics),
        "clusters": supporting_tasks(rubrics),
        "interval_kind": FULL_COUNT,
        "note": "" if rubrics else "the library is empty",
        "contaminated": manifest.contaminated,
        "distribution": f"library:{manifest.library}",
        "simulated": manifest.simulated,
    }


def library_rows(libraries: Mapping[str, tuple[LibraryManifest, Sequence[Rubric]]], verified: Mapping[str, int] | None = None) -> list[Row]:
    """One row per library, in the order given. Table `libraries`. `verified`: matched library -> checks of its match that hold."""
    verified = verified or {}
    rows = []
    for name, (manifest, rubrics) in libraries.items():
        kinds = Counter(rubric.kind for rubric in rubrics)
        rows.append(
            {
                "library": name,
                "recipe": _recipe(manifest),
                "candidates": manifest.candidates,
                "rubrics": len(rubrics),
                **{kind.value: kinds[kind] for kind in RubricKind},
                "distance_before": manifest.distance_before,
                "distance": manifest.distance,
                "noise_floor": manifest.noise_floor,
                "binding_bin": manifest.binding_bin,
                "dropped_mass": manifest.dropped_mass,
                "unclassified": sum(rubric.bin is None for rubric in rubrics),
                "contaminated": manifest.contaminated,
                "verified": verified.get(name),
                "n": len(rubrics),
                "clusters": supporting_tasks(rubrics),
                "interval_kind": FULL_COUNT,
                "distribution": manifest.target,
                "simulated": manifest.simulated,
            }
        )
    return rows


def _recipe(manifest: LibraryManifest) -> str:
    """The recipe, and of a mined library its miner."""
    recipe = str(manifest.recipe.get("recipe", ""))
    return f"{recipe}: {manifest.recipe['miner']}" if "miner" in manifest.recipe else recipe


def supporting_tasks(rubrics: Sequence[Rubric]) -> int:
    """Tasks behind some rubrics."""
    return len({(support.benchmark, support.task) for rubric in rubrics for support in rubric.support})
