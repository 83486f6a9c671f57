"""The categories of mistakes and the runtime types: read from resources/taxonomy.yaml."""

from __future__ import annotations

import functools
from pathlib import Path

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


class RuntimeType(Record):
    id: str
    title: str
    definition: str


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
    def bins(self) -> tuple[str, ...]:
        """The bins of a split distribution: the types of Runtime first, then every other category."""
        return tuple(f"{RUNTIME}:{kind}" for kind in self.type_ids) + tuple(name for name in self.category_ids if name != RUNTIME)

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
    """Read a taxonomy file. ValueError names the file when a field is missing or an id occurs twice."""
    try:
        taxonomy = Taxonomy.model_validate(yaml.safe_load(Path(path).read_text(encoding="utf-8")))
    except ValidationError as error:
        first = error.errors()[0]
        raise ValueError(f"{path}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    for ids in (taxonomy.category_ids, taxonomy.type_ids):
        if len(set(ids)) != len(ids):
            raise ValueError(f"{path}: an id occurs twice among {', '.join(ids)}")
    if RUNTIME not in taxonomy.category_ids:
        raise ValueError(f"{path}: there is no category '{RUNTIME}', which the runtime types divide")
    return taxonomy
