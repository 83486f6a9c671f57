"""How a library was made, on record beside it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rubrics_gym.records.rubrics import LibraryManifest, Rubric
from rubrics_gym.settings.rules import DeriveLibrary


def describe_derived(
    settings: DeriveLibrary, source: Sequence[Rubric], rubrics: Sequence[Rubric], parents: Mapping[str, str], **match: Any
) -> LibraryManifest:
    """The manifest of a library made from others (parent name -> path of its rubrics). `match` holds what a match measured."""
    return LibraryManifest(
        library=settings.library,
        recipe=settings.recipe.model_dump(mode="json"),
        parents={name: hashlib.sha256(Path(path).read_bytes()).hexdigest() for name, path in sorted(parents.items())},
        candidates=len(source),
        rubrics=len(rubrics),
        unclassified=sum(rubric.category is None for rubric in rubrics),
        simulated=settings.simulated,
        contaminated=settings.contaminated,
        **match,
    )
