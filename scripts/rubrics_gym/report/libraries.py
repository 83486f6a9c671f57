"""What a library can supply, how far every library is from every failure mix, and what of it reaches the judge."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rubrics_gym.libraries.exposure import STAGES, Exposure
from rubrics_gym.records.contrasts import GateLine
from rubrics_gym.records.failures import Distribution
from rubrics_gym.records.rubrics import LibraryManifest, Rubric
from rubrics_gym.report.mixes import supporting_tasks
from rubrics_gym.report.table_spec import FULL_COUNT
from rubrics_gym.report.writing import Row
from rubrics_gym.statistics.distances import noise_floor, total_variation

RUNTIME = "runtime:"
Libraries = Mapping[str, tuple[LibraryManifest, Sequence[Rubric]]]


def gate_rows(gates: Mapping[str, Sequence[GateLine]], fewest: Mapping[str, int | None], libraries: Libraries, study: str) -> list[Row]:
    """One row per lesson of every library with a gate, accepted ones first. Table `gates`."""
    return [
        {
            "library": name,
            **line.model_dump(exclude={"reasons"}),
            "accepted": line.accepted,
            "reasons": ", ".join(line.reasons),
            "fewest": fewest[name],
            "contaminated": libraries[name][0].contaminated,
            "study": study,
            "simulated": libraries[name][0].simulated,
        }
        for name, lines in gates.items()
        for line in sorted(lines, key=lambda line: (not line.accepted, -line.favourable_tasks, line.title))
    ]


def supply_rows(libraries: Libraries, distributions: Iterable[Distribution]) -> list[Row]:
    """One row per matched library and bin of its target, the scarcest first. Table `supply`."""
    target_of = {mix.id: mix for mix in distributions}
    rows = []
    for name, (manifest, _) in libraries.items():
        target = target_of.get(manifest.target or "")
        for line in manifest.supply:
            rows.append(
                {
                    "library": name,
                    "bin": line.bin,
                    "share": line.share,
                    "available": line.available,
                    "allows": line.allows,
                    "kept_out": line.kept_out,
                    "binding": line.bin == manifest.binding_bin,
                    "contaminated": manifest.contaminated,
                    "n": sum(share.count for share in target.shares) if target else None,
                    "clusters": target.n_tasks if target else None,
                    "interval_kind": FULL_COUNT,
                    "distribution": manifest.target,
                    "simulated": manifest.simulated,
                }
            )
    return rows


def distance_rows(libraries: Libraries, distributions: Mapping[str, Distribution]) -> list[Row]:
    """Every library against every failure mix, on split categories and with the runtime types as one. Table `library_distances`."""
    rows = []
    for name, (manifest, rubrics) in libraries.items():
        mix = _counted(rubric.bin for rubric in rubrics)
        by_weight = _counted(rubric.bin for rubric in rubrics for _ in range(rubric.weight))
        for target_name, target in distributions.items():
            wanted = {share.bin: share.count for share in target.shares if share.count}
            known = bool(mix and wanted)
            rows.append(
                {
                    "library": name,
                    "target": target_name,
                    "rubrics": len(rubrics),
                    "distance": total_variation(mix, wanted) if known else None,
                    "distance_by_weight": total_variation(by_weight, wanted) if by_weight and wanted else None,
                    "distance_unsplit": total_variation(_unsplit(mix), _unsplit(wanted)) if known else None,
                    "noise_floor": noise_floor(wanted, sum(wanted.values())) if wanted else None,
                    "runtime_share": sum(count for bin, count in mix.items() if bin.startswith(RUNTIME)) / sum(mix.values())
                    if mix
                    else None,
                    "contaminated": manifest.contaminated,
                    "n": sum(mix.values()),
                    "clusters": supporting_tasks(rubrics),
                    "interval_kind": FULL_COUNT,
                    "distribution": target.id,
                    "simulated": manifest.simulated or target.simulated,
                }
            )
    return rows


class Run:
    """The verdicts of one judge in one run: the replay, or a repeat of an arm's episodes."""

    def __init__(self, judge: str, run: str, manifest: LibraryManifest, exposure: Exposure, competitions: int):
        self.judge = judge
        self.run = run
        self.manifest = manifest
        self.exposure = exposure
        self.competitions = competitions

    def _evidence(self, n: int, target: Distribution | None) -> Row:
        return {
            "contaminated": self.manifest.contaminated,
            "n": n,
            "clusters": self.competitions,
            "interval_kind": FULL_COUNT,
            "distribution": target.id if target else None,
            "simulated": self.manifest.simulated,
        }

    def row(self, target: Distribution | None) -> Row:
        """One row of table `exposure_runs`."""
        wanted = {share.bin: float(share.count) for share in target.shares} if target else {}
        given = sum(self.exposure.retrieved.values())
        return {
            "judge": self.judge,
            "library": self.manifest.library,
            "run": self.run,
            "verdicts": self.exposure.verdicts,
            "library_rubrics": sum(self.exposure.library.values()),
            **{stage: sum(self.exposure.of(stage).values()) for stage in STAGES[1:]},
            **{f"distance_{stage}": self.exposure.distance(stage, wanted) for stage in STAGES},
            "runtime_share": self.exposure.runtime_share("retrieved"),
            **self._evidence(given, target),
        }

    def bin_rows(self, target: Distribution | None) -> list[Row]:
        """One row of table `exposure` per bin that the library or the target has."""
        wanted = {share.bin: share.count for share in target.shares} if target else {}
        total = sum(wanted.values())
        bins = sorted(wanted.keys() | self.exposure.library.keys(), key=lambda name: (-wanted.get(name, 0), name))
        return [
            {
                "judge": self.judge,
                "library": self.manifest.library,
                "run": self.run,
                "bin": name,
                "failures": wanted.get(name, 0) if target else None,
                "failure_share": wanted.get(name, 0) / total if total else None,
                **{f"in_{stage}": self.exposure.of(stage).get(name, 0) for stage in STAGES},
                **self._evidence(total, target),
            }
            for name in bins
        ]


def _counted(bins: Iterable[str | None]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for name in bins:
        if name is not None:
            counts[name] = counts.get(name, 0) + 1
    return counts


def _unsplit(mix: Mapping[str, int]) -> dict[str, int]:
    joined: dict[str, int] = {}
    for name, count in mix.items():
        whole = name.partition(":")[0]
        joined[whole] = joined.get(whole, 0) + count
    return joined
