"""How well the simulated judge tells real rubrics from scrambled ones, and the threshold that follows. Not run in CI.

    python -m tests.benchmarks.meaning_threshold ENCODER_FOLDER

The rubrics in meaning_rubrics.yaml were written for this purpose, before any evaluation. Scrambled: their words shuffled across all of
them, lengths of the parts kept, twenty times. Printed per threshold: the share of rubrics that bring the right mistake to mind, a
wrong one, or (unrelated and scrambled rubrics) any at all; then the area under the ROC curve of real against scrambled.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import yaml

from rubrics_gym.judge.prompting import rubric_text
from rubrics_gym.libraries.encoder import Encoder
from rubrics_gym.libraries.nulls import scrambled
from rubrics_gym.providers.simulated.judge import MISTAKES
from rubrics_gym.providers.simulated.judge.matching import Encode, Memory
from rubrics_gym.providers.simulated.judge.mistakes import Mistake
from rubrics_gym.records.rubrics import Rubric, RubricKind

SHUFFLES = 20


def written() -> list[tuple[str | None, Rubric]]:
    """(name of the mistake or None, rubric) for every rubric of the file."""
    entries: list[dict[str, Any]] = yaml.safe_load((Path(__file__).parent / "meaning_rubrics.yaml").read_text(encoding="utf-8"))
    return [(entry.pop("about"), Rubric(kind=RubricKind.CRASH, not_a_violation=entry.pop("not"), **entry)) for entry in entries]


@dataclass(frozen=True)
class Calibration:
    """How near each rubric came to the mistake nearest to it, and whether that is the one it describes."""

    near: npt.NDArray[np.float64]
    is_right: npt.NDArray[np.bool_]
    of_unrelated: npt.NDArray[np.float64]
    of_scrambled: npt.NDArray[np.float64]
    confused: list[str]

    def right(self, threshold: float) -> float:
        """Share of the rubrics about a known mistake that bring it to mind."""
        return float((self.is_right & (self.near >= threshold)).mean())

    def wrong(self, threshold: float) -> float:
        """Share of the rubrics about a known mistake that bring another one to mind."""
        return float((~self.is_right & (self.near >= threshold)).mean())

    def unrelated(self, threshold: float) -> float:
        """Share of the rubrics about no known mistake that bring one to mind all the same."""
        return float((self.of_unrelated >= threshold).mean())

    def scrambled(self, threshold: float) -> float:
        """Share of the scrambled rubrics that bring any mistake to mind."""
        return float((self.of_scrambled >= threshold).mean())

    @property
    def auc(self) -> float:
        """Area under the ROC curve of real against scrambled."""
        return float((self.near[:, None] > self.of_scrambled[None, :]).mean())


def calibrate(encode: Encode, shuffles: int = SHUFFLES) -> Calibration:
    memory = Memory(MISTAKES, encode)
    entries = written()
    nulls = [rubric for seed in range(shuffles) for rubric in scrambled([rubric for _, rubric in entries], seed)]
    about = [(Mistake[name], *memory.recall(rubric_text(rubric))) for name, rubric in entries if name]
    return Calibration(
        near=np.array([nearness for _, _, nearness in about]),
        is_right=np.array([MISTAKES[position] is mistake for mistake, position, _ in about]),
        of_unrelated=np.array([memory.recall(rubric_text(rubric))[1] for name, rubric in entries if not name]),
        of_scrambled=np.array([memory.recall(rubric_text(rubric))[1] for rubric in nulls]),
        confused=[
            f"{mistake.name} taken for {MISTAKES[best].name} ({near:.2f})" for mistake, best, near in about if MISTAKES[best] is not mistake
        ],
    )


def main(encoder_folder: str) -> None:
    found = calibrate(Encoder(encoder_folder).encode)
    print(f"{len(found.near)} rubrics about a known mistake, {len(found.of_unrelated)} about none, {len(found.of_scrambled)} scrambled")
    print("threshold   right   wrong   unrelated   scrambled")
    for threshold in np.arange(0.20, 0.51, 0.02):
        right, wrong = found.right(threshold), found.wrong(threshold)
        print(f"{threshold:9.2f}{right:8.2f}{wrong:8.2f}{found.unrelated(threshold):12.2f}{found.scrambled(threshold):12.3f}")
    print(f"AUC of real against scrambled: {found.auc:.3f}")
    print("\n".join(found.confused))


if __name__ == "__main__":
    main(sys.argv[1])
