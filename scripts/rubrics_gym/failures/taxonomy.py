"""The categories of mistakes and the runtime types: read from resources/taxonomy.yaml."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from rubrics_gym.records.base import Record

RUNTIME = "runtime"  # the one category that is split into types


class Category(Record):
    id: str
    title: str
    definition: str
    positive: tuple[str, ...]
    negative: tuple[str, ...]
    added_later: bool = False  # the published taxonomy had 21 categories, then 22


class RuntimeType(Record):
    id: str
    title: str
    definition: str
    positive: tuple[str, ...]
    negative: tuple[str, ...]


class Taxonomy(Record):
    version: str
    categories: tuple[Category, ...]
    runtime_types: tuple[RuntimeType, ...]

    @property
    def category_ids(self) -> tuple[str, ...]:
        return tuple(category.id for category in self.categories)

    @property
    def type_ids(self) -> tuple[str, ...]:
        return tuple(kind.id for kind in self.runtime_types)

    @property
    def first_21(self) -> tuple[str, ...]:
        """The categories without those that were added later."""
        return tuple(category.id for category in self.categories if not category.added_later)

    @property
    def bins(self) -> tuple[str, ...]:
        """The bins of a split distribution: the types of Runtime first, then every other category."""
        return tuple(f"{RUNTIME}:{kind}" for kind in self.type_ids) + tuple(name for name in self.category_ids if name != RUNTIME)

    def entry(self, bin: str) -> Category | RuntimeType:
        """The category, or the runtime type, that a bin is. ValueError for a bin that there is not."""
        category, _, kind = bin.partition(":")
        entries: tuple[Category | RuntimeType, ...] = self.runtime_types if kind else self.categories
        found = next((one for one in entries if one.id == (kind or category)), None)
        if found is None or (kind and category != RUNTIME):
            raise ValueError(f"{bin!r} is no bin of {self.version}; it has {', '.join(self.bins)}")
        return found

    def describe(self, bin: str) -> tuple[str, str]:
        """Title and definition of a bin; of a runtime type, those of Runtime and of the type. ValueError for a bin that there is not."""
        if bin not in self.bins:
            raise ValueError(f"{bin!r} is no bin of {self.version}; it has {', '.join(self.bins)}")
        name, _, kind = bin.partition(":")
        category = next(one for one in self.categories if one.id == name)
        if not kind:
            return category.title, category.definition
        of_type = next(one for one in self.runtime_types if one.id == kind)
        return f"{category.title}: {of_type.title}", f"{category.definition} {of_type.definition}"


@functools.cache
def load_taxonomy(path: str | Path) -> Taxonomy:
    """Read a taxonomy file. ValueError names the file when a field is missing, an id occurs twice, or an entry has no examples."""
    return checked_taxonomy(yaml.safe_load(Path(path).read_text(encoding="utf-8")), str(path))


def checked_taxonomy(content: Any, path: str) -> Taxonomy:
    """The taxonomy in the content of a file; `path` is for the errors of `load_taxonomy`."""
    try:
        taxonomy = Taxonomy.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        raise ValueError(f"{path}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    for ids in (taxonomy.category_ids, taxonomy.type_ids):
        if len(set(ids)) != len(ids):
            raise ValueError(f"{path}: an id occurs twice among {', '.join(ids)}")
    entries: list[Category | RuntimeType] = [*taxonomy.categories, *taxonomy.runtime_types]
    for entry in entries:
        if not entry.positive or not entry.negative:
            raise ValueError(f"{path}: {entry.id} needs at least one positive and one negative example")
    if RUNTIME not in taxonomy.category_ids:
        raise ValueError(f"{path}: there is no category '{RUNTIME}', which the runtime types divide")
    return taxonomy
