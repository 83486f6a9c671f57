"""A library ready for look-ups: built once, memory-mapped, so that opening a million rubrics reads none of them.

Beside `rubrics.jsonl` and `embeddings.npy` (n, d) lie `index.npy`, one fixed row per rubric (where its line starts, its bin, kind, weight and
support, and its place in the order of ids), and `index.json`, the names of the bins.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, overload

import numpy as np

from rubrics_gym.libraries.encoder import Vectors
from rubrics_gym.records.base import Record
from rubrics_gym.records.files import DamagedFile, read_json, whole_file, write_json
from rubrics_gym.records.rubrics import Rubric, RubricKind

UNCLASSIFIED = "unclassified"  # the bin of rubrics that the classifier abstained on
KINDS = tuple(kind.value for kind in RubricKind)
ROW = np.dtype(
    [("offset", "<i8"), ("length", "<i4"), ("bin", "<i2"), ("kind", "<i2"), ("weight", "<i4"), ("support", "<i4"), ("id_rank", "<i8")]
)
Table = np.ndarray[Any, np.dtype[Any]]


class IndexNames(Record):
    """What the numbers of an index mean."""

    bins: tuple[str, ...]
    rubrics: int
    bytes: int  # of rubrics.jsonl


class Index:
    """Rubrics, their embeddings (unit rows), and what a look-up needs of each without reading it."""

    def __init__(self, rubrics: Sequence[Rubric], embeddings: Vectors, shares: Mapping[str, float] | None = None):
        """An index in memory. `shares` (bin -> share) steer the category split; None takes the library's own mix by supporting rollouts.

        Raises ValueError when rows and rubrics differ in number, a row is not finite, or two rubrics have the same id.
        """
        check_embeddings(rubrics, embeddings)
        table, bins = tabulated(rubrics)
        self._set(rubrics, embeddings, table, bins, shares)

    @classmethod
    def open(cls, rubrics: str | Path, embeddings: str | Path, index: str | Path, shares: Mapping[str, float] | None = None) -> Index:
        """Map an index that `build` wrote. DamagedFile when its parts do not belong together."""
        names = IndexNames.model_validate(read_json(Path(index).with_suffix(".json")))
        vectors, table = np.load(embeddings, mmap_mode="r"), np.load(index, mmap_mode="r")
        size = Path(rubrics).stat().st_size
        if (len(vectors), len(table), size) != (names.rubrics, names.rubrics, names.bytes):
            raise DamagedFile(
                f"{index}: of {names.rubrics} rubrics in {names.bytes} bytes, but there are {len(table)} rows, {len(vectors)} embeddings and "
                f"{size} bytes of rubrics: embed the library again (rule embed_library)."
            )
        opened = cls.__new__(cls)
        opened._set(RubricFile(rubrics, table), vectors, table, names.bins, shares)
        return opened

    def _set(
        self, rubrics: Sequence[Rubric], embeddings: Vectors, table: Table, bins: Sequence[str], shares: Mapping[str, float] | None
    ) -> None:
        self.rubrics = rubrics
        self.embeddings = embeddings
        self.id_rank = np.asarray(table["id_rank"])
        self.weight = np.asarray(table["weight"])
        bin_of, kind_of = np.asarray(table["bin"]), np.asarray(table["kind"])
        self.rows_of_bin = {name: np.flatnonzero(bin_of == number) for number, name in enumerate(bins)}
        self.rows_of_kind = {name: rows for number, name in enumerate(KINDS) if len(rows := np.flatnonzero(kind_of == number))}
        mix = {name: float(np.maximum(1, table["support"][rows]).sum()) for name, rows in self.rows_of_bin.items()}
        self.shares = dict(mix if shares is None else shares)

    def __len__(self) -> int:
        return len(self.id_rank)


def check_embeddings(rubrics: Sequence[Rubric], embeddings: Vectors) -> None:
    """ValueError when rows and rubrics differ in number, a row is not finite, or two rubrics have the same id."""
    if len(embeddings) != len(rubrics):
        raise ValueError(f"{len(rubrics)} rubrics but {len(embeddings)} embeddings: embed the library again (rule embed_library)")
    unfit = np.flatnonzero(~np.isfinite(embeddings).all(axis=-1))
    if unfit.size:
        raise ValueError(f"embedding of rubric {rubrics[unfit[0]].id} (row {unfit[0]}) is not finite: embed the library again")


def tabulated(rubrics: Sequence[Rubric], offsets: Sequence[tuple[int, int]] | None = None) -> tuple[Table, list[str]]:
    """The rows of an index and the names of its bins, in the order of the names. ValueError when two rubrics have the same id."""
    ids = [rubric.id for rubric in rubrics]
    if len(set(ids)) != len(ids):
        twice = Counter(ids).most_common(1)[0][0]
        raise ValueError(f"rubric {twice} occurs twice in the library: merge the library again (rule merge_library)")
    names = [rubric.bin or UNCLASSIFIED for rubric in rubrics]
    bins = sorted(set(names))
    number = {name: place for place, name in enumerate(bins)}
    table = np.zeros(len(rubrics), dtype=ROW)
    table["id_rank"][sorted(range(len(ids)), key=ids.__getitem__)] = np.arange(len(ids))
    table["bin"] = [number[name] for name in names]
    table["kind"] = [KINDS.index(rubric.kind.value) for rubric in rubrics]
    table["weight"] = [rubric.weight for rubric in rubrics]
    table["support"] = [len(rubric.support) for rubric in rubrics]
    if offsets is not None:
        table["offset"] = [offset for offset, _ in offsets]
        table["length"] = [length for _, length in offsets]
    return table, bins


def build(rubrics_path: str | Path, rubrics: Sequence[Rubric], embeddings: Vectors, index: str | Path) -> None:
    """Write `index.npy` and `index.json` for a library file and its embeddings. ValueError as for an index in memory."""
    check_embeddings(rubrics, embeddings)
    table, bins = tabulated(rubrics, _line_places(rubrics_path))
    with whole_file(index) as temporary, open(temporary, "wb") as file:
        np.save(file, table)
    size = Path(rubrics_path).stat().st_size
    write_json(Path(index).with_suffix(".json"), IndexNames(bins=tuple(bins), rubrics=len(rubrics), bytes=size))


def _line_places(path: str | Path) -> list[tuple[int, int]]:
    """Offset and length of every line that holds a record."""
    places, offset = [], 0
    with open(path, "rb") as lines:
        for line in lines:
            if line.strip():
                places.append((offset, len(line)))
            offset += len(line)
    return places


class RubricFile(Sequence[Rubric]):
    """The rubrics of a library file, each read when it is asked for."""

    def __init__(self, path: str | Path, table: Table):
        self._file = open(path, "rb")
        self._table = table

    def __len__(self) -> int:
        return len(self._table)

    @overload
    def __getitem__(self, row: int) -> Rubric: ...
    @overload
    def __getitem__(self, row: slice) -> Sequence[Rubric]: ...
    def __getitem__(self, row: int | slice) -> Rubric | Sequence[Rubric]:
        if isinstance(row, slice):
            return [self[place] for place in range(len(self))[row]]
        self._file.seek(int(self._table["offset"][row]))
        return Rubric.model_validate_json(self._file.read(int(self._table["length"][row])))
