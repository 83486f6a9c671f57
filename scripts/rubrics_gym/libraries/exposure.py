"""What of a library reaches the judge: in the library, retrieved, said to be applicable, flagged, per bin.

A category can be well stocked and never be shown: each loss then has an address. As the sources print it, per run, beside the failures of the
held-out tasks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from rubrics_gym.records.rubrics import Rubric
from rubrics_gym.records.verdicts import Verdict
from rubrics_gym.statistics.distances import total_variation

UNCLASSIFIED = "unclassified"
STAGES = ("library", "retrieved", "applicable", "flagged")


class Exposure(NamedTuple):
    """Per stage, bin -> rubrics: of the library once each, of the later stages once for every verdict that had them."""

    verdicts: int
    library: dict[str, int]
    retrieved: dict[str, int]
    applicable: dict[str, int]
    flagged: dict[str, int]

    def of(self, stage: str) -> dict[str, int]:
        """bin -> rubrics at one of STAGES."""
        counts: dict[str, int] = getattr(self, stage)
        return counts

    def distance(self, stage: str, target: Mapping[str, float]) -> float | None:
        """Total variation (0-100) of a stage's mix to a failure mix; None where nothing reached the stage or the target is empty."""
        counts = self.of(stage)
        if not sum(counts.values()) or not sum(target.values()):
            return None
        return total_variation(counts, target)

    def runtime_share(self, stage: str) -> float | None:
        """Share of a stage's rubrics that are about programs that die; None where nothing reached it."""
        counts = self.of(stage)
        total = sum(counts.values())
        return sum(count for name, count in counts.items() if name.startswith("runtime:")) / total if total else None


def audit(rubrics: Sequence[Rubric], verdicts: Iterable[Verdict]) -> Exposure:
    """Follow the rubrics of one library through verdicts. The task criterion is no rubric. ValueError names a rubric that the library lacks."""
    bin_of = {rubric.id: rubric.bin or UNCLASSIFIED for rubric in rubrics}
    reached: dict[str, Counter[str]] = {stage: Counter() for stage in STAGES}
    reached["library"].update(bin_of.values())
    count = 0
    for verdict in verdicts:
        count += 1
        if verdict.abstained is not None:
            reached["retrieved"].update(verdict.slots)  # looked up, but no opinion came back
        for criterion in verdict.criteria:
            if criterion.rubric_id is None:
                continue
            if criterion.rubric_id not in bin_of:
                raise ValueError(
                    f"a verdict of {verdict.judge} has rubric {criterion.rubric_id}, which the library does not: replay the judge again"
                )
            name = bin_of[criterion.rubric_id]
            reached["retrieved"][name] += 1
            reached["applicable"][name] += criterion.applicable
            reached["flagged"][name] += criterion.applicable and criterion.violated
    return Exposure(count, *(dict(reached[stage]) for stage in STAGES))
