"""Open what a judge looks rubrics up in, from the files of its library."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rubrics_gym.judge.judging import Lookup
from rubrics_gym.libraries.encoder import Encoder
from rubrics_gym.libraries.index import Index
from rubrics_gym.records.files import read_json
from rubrics_gym.records.rubrics import LibraryManifest
from rubrics_gym.settings.study import JudgeSettings


def open_lookup(settings: JudgeSettings, inputs: Any) -> Lookup | None:
    """The library of a judge, ready for look-ups; None for the task criterion alone.

    `inputs` names the paths rubrics, manifest, embeddings, index and encoder. A library that was matched to a target is split by the target's shares,
    any other by its own mix.
    """
    if settings.library is None:
        return None
    manifest = LibraryManifest.model_validate(read_json(inputs.manifest))
    shares = manifest.shares or None
    index = Index.open(inputs.rubrics, inputs.embeddings, inputs.index, shares)
    return Lookup(settings.library, index, Encoder(Path(inputs.encoder).parent), settings.k, settings.retrieval, settings.split)
