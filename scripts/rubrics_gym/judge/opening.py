"""Open what a judge looks rubrics up in, from the files of its library."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from rubrics_gym.judge.judging import Lookup
from rubrics_gym.libraries.encoder import Encoder
from rubrics_gym.libraries.retrieval import Index
from rubrics_gym.records.files import read_json, read_records
from rubrics_gym.records.rubrics import LibraryManifest, Rubric
from rubrics_gym.settings.study import JudgeSettings


def open_lookup(settings: JudgeSettings, inputs: Any) -> Lookup | None:
    """The library of a judge, ready for look-ups; None for the task criterion alone.

    `inputs` names the paths rubrics, manifest, embeddings and encoder. A library that was matched to a target is split by the target's shares,
    any other by its own mix.
    """
    if settings.library is None:
        return None
    rubrics = read_records(inputs.rubrics, Rubric)
    manifest = LibraryManifest.model_validate(read_json(inputs.manifest))
    shares = {line.bin: line.share for line in manifest.budget} or None
    index = Index(rubrics, np.load(inputs.embeddings, mmap_mode="r"), shares)
    return Lookup(settings.library, index, Encoder(Path(inputs.encoder).parent), settings.k, settings.retrieval)
