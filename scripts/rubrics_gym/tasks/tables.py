"""The tables of the packaged benchmark: read from the files inside installed packages, and prepared by rules that are written beside them.

Nothing is drawn from a random-number generator: rows and cells are chosen by the order of the sha256 of a label and their number, which no
version of any library changes.
"""

from __future__ import annotations

import fnmatch
import hashlib
import importlib.util
import json
from pathlib import Path
from typing import TYPE_CHECKING

from rubrics_gym.tasks.conditions import select
from rubrics_gym.tasks.specs import TableSpec

if TYPE_CHECKING:
    import pandas as pd


class TableUnavailable(RuntimeError):
    """A table that cannot be read as recorded; the message names package, file and what to do."""


def hash_order(count: int, label: str) -> list[int]:
    """The numbers 0..count-1 in an order that looks random and depends on `label` alone."""
    return sorted(range(count), key=lambda number: hashlib.sha256(f"{label}/{number}".encode()).digest())


def locate(spec: TableSpec) -> Path:
    """The file of a table, without importing its package (some take seconds to import)."""
    found = importlib.util.find_spec(spec.package)
    if found is None or not found.submodule_search_locations:
        raise TableUnavailable(f"package {spec.package} is not installed, and {spec.path} is read from it. Run `make environment`.")
    path = Path(found.submodule_search_locations[0]) / spec.path
    if not path.is_file():
        raise TableUnavailable(f"package {spec.package} carries no {spec.path}. Install the locked requirements.")
    return path


def read_table(spec: TableSpec) -> pd.DataFrame:
    """The whole table as it ships, with our column names. TableUnavailable when the bytes are not the recorded ones."""
    import pandas as pd

    path = locate(spec)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if digest != spec.sha256:
        raise TableUnavailable(f"{path}: sha256 is {digest}, expected {spec.sha256}. Install the locked version of {spec.package}.")
    if path.suffix == ".dta":
        frame = pd.read_stata(path)
        codes = {column: frame[column].astype(str) for column in frame.columns if isinstance(frame[column].dtype, pd.CategoricalDtype)}
        frame = frame.assign(**codes)
    elif path.suffix == ".json":
        frame = pd.DataFrame(json.loads(path.read_text(encoding="utf-8")))
    else:
        frame = pd.read_csv(
            path,
            sep=spec.separator,
            quotechar=spec.quote,
            skiprows=spec.skip_rows,
            header=None if spec.names else 0,
            names=list(spec.names) or None,
        )
    return frame.rename(columns=spec.rename)


def prepare_table(name: str, spec: TableSpec) -> pd.DataFrame:
    """The table as the tasks use it. Columns that are written with separators or a percent sign are still numbers here: see `as_written`."""
    frame = select(read_table(spec), spec.where)
    if spec.drop_missing:
        frame = frame.dropna(subset=list(spec.drop_missing))
    for column, codes in spec.recode.items():
        frame = frame.assign(**{column: frame[column].map(codes)})
    frame = frame[_columns(name, spec, list(frame.columns))]
    if spec.distinct:
        frame = frame.drop_duplicates()
    frame = frame.reset_index(drop=True)
    if spec.sample is not None:
        kept = sorted(hash_order(len(frame), f"sample/{name}")[: spec.sample])
        frame = frame.iloc[kept].reset_index(drop=True)
    for column, share in spec.blank.items():
        count = round(share * len(frame))
        blanked = hash_order(len(frame), f"blank/{name}/{column}")[:count]
        frame[column] = frame[column].mask(frame.index.isin(blanked))
    return frame


def as_written(frame: pd.DataFrame, spec: TableSpec) -> pd.DataFrame:
    """The same table with the columns that real files write as text: 1,234.5 and 12%."""
    written = frame.copy()
    for column in spec.thousands:
        if column in frame:
            written[column] = frame[column].map(lambda value: f"{value:,}", na_action="ignore").astype(object)
    for column in spec.percent:
        if column in frame:
            written[column] = frame[column].map(lambda value: f"{value:g}%", na_action="ignore").astype(object)
    return written


def csv_bytes(frame: pd.DataFrame) -> bytes:
    """A table as CSV, the same bytes on every system: UTF-8, line feeds, shortest exact floats, empty cells for missing values."""
    text: str = frame.to_csv(index=False, lineterminator="\n")
    return text.encode()


def describe(spec: TableSpec) -> str:
    """Where the table is from and what was done to it, for the `source` of a task."""
    done = []
    if spec.sample is not None:
        done.append(f"{spec.sample:,} rows drawn")
    if spec.where or spec.drop_missing or spec.distinct:
        done.append("rows selected")
    if spec.recode:
        done.append(f"recoded: {', '.join(spec.recode)}")
    if spec.thousands:
        done.append(f"written with thousands separators: {', '.join(spec.thousands)}")
    if spec.percent:
        done.append(f"written with a percent sign: {', '.join(spec.percent)}")
    done.extend(f"{share:.0%} of the cells of {column} made missing" for column, share in spec.blank.items())
    prepared = f" Prepared: {'; '.join(done)}." if done else ""
    return f"{spec.package}: {spec.path} ({spec.licence}). {spec.origin}.{prepared}"


def field_lines(spec: TableSpec, columns: list[str]) -> list[str]:
    """One line of the data dictionary per field of which a column is in `columns`."""
    return [f"- `{field}`: {words}" for field, words in spec.fields.items() if fnmatch.filter(columns, field)]


def _columns(name: str, spec: TableSpec, present: list[str]) -> list[str]:
    chosen: list[str] = []
    for field in spec.fields:
        matching = [column for column in present if fnmatch.fnmatchcase(column, field) and column not in chosen]
        if not matching:
            raise TableUnavailable(f"table {name}: no column {field!r}; the file has {', '.join(present[:20])}")
        chosen += matching
    return chosen
