"""How well the simulated judge tells real rubrics from scrambled ones, and the threshold that follows. Not run in CI.

    python -m tests.benchmarks.meaning_threshold ENCODER_FOLDER

The rubrics in meaning_rubrics.yaml were written for this purpose, before any evaluation. Scrambled: their words shuffled across all of
them, lengths of the parts kept, twenty times. Printed per threshold: the share of rubrics that bring the right mistake to mind, a
wrong one, or (unrelated and scrambled rubrics) any at all; then the area under the ROC curve of real against scrambled.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from rubrics_gym.judge.prompting import rubric_text
from rubrics_gym.libraries.encoder import Encoder
from rubrics_gym.libraries.matching import scrambled
from rubrics_gym.providers.simulated.judge import MISTAKES
from rubrics_gym.providers.simulated.judge.matching import Memory
from rubrics_gym.providers.simulated.judge.mistakes import Mistake
from rubrics_gym.records.rubrics import Rubric, RubricKind

SHUFFLES = 20


def written() -> list[tuple[str | None, Rubric]]:
    """(name of the mistake or None, rubric) for every rubric of the file."""
    entries: list[dict[str, Any]] = yaml.safe_load((Path(__file__).parent / "meaning_rubrics.yaml").read_text(encoding="utf-8"))
    return [(entry.pop("about"), Rubric(kind=RubricKind.CRASH, not_a_violation=entry.pop("not"), **entry)) for entry in entries]


def main(encoder_folder: str) -> None:
    memory = Memory(MISTAKES, Encoder(encoder_folder).encode)
    entries = written()
    about = [(Mistake[name], *memory.recall(rubric_text(rubric))) for name, rubric in entries if name]
    unrelated = np.array([memory.recall(rubric_text(rubric))[1] for name, rubric in entries if not name])
    nulls = [rubric for seed in range(SHUFFLES) for rubric in scrambled([rubric for _, rubric in entries], seed)]
    null = np.array([memory.recall(rubric_text(rubric))[1] for rubric in nulls])
    near = np.array([nearness for _, _, nearness in about])
    right = np.array([MISTAKES[position] is mistake for mistake, position, _ in about])
    print(f"{len(about)} rubrics about a known mistake, {len(unrelated)} about none, {len(null)} scrambled")
    print("threshold   right   wrong   unrelated   scrambled")
    for threshold in np.arange(0.20, 0.51, 0.02):
        shares = (
            (right & (near >= threshold)).mean(),
            (~right & (near >= threshold)).mean(),
            (unrelated >= threshold).mean(),
            (null >= threshold).mean(),
        )
        print(f"{threshold:9.2f}{shares[0]:8.2f}{shares[1]:8.2f}{shares[2]:12.2f}{shares[3]:12.3f}")
    print(f"AUC of real against scrambled: {(near[:, None] > null[None, :]).mean():.3f}")
    for mistake, position, nearness in about:
        if MISTAKES[position] is not mistake:
            print(f"  {mistake.name} taken for {MISTAKES[position].name} ({nearness:.2f})")


if __name__ == "__main__":
    main(sys.argv[1])
