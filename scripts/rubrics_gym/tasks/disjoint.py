"""The second hold-out check, by content: no pool table may be, contain, or share rows or columns with a held-out table under another name."""

from __future__ import annotations

import hashlib
from itertools import product
from typing import TYPE_CHECKING

from rubrics_gym.records.base import Record
from rubrics_gym.records.tasks import Role
from rubrics_gym.tasks.catalog import load_benchmark, load_tables
from rubrics_gym.tasks.holdouts import list_tasks
from rubrics_gym.tasks.tables import read_table

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

MAX_SHARED_ROWS = 0.01  # share of the smaller table's rows
MIN_CELLS = 4  # a row with fewer different values says too little to be recognised
MIN_VALUES = 30  # a column with fewer different values may be equal by chance


class Overlap(Record):
    """Two tables that share content: `what` is table, rows or column, `share` is of the smaller table (rows) or 1."""

    pool_table: str
    held_out_table: str
    what: str
    share: float
    detail: str = ""


class Fingerprint(Record):
    """Hashes of a table that survive other column names, another order of rows and columns, and other ways of writing numbers.

    Each cell becomes a 64-bit number; the sum over the cells of a row or a column does not depend on their order.
    """

    table: str  # of all rows
    rows: frozenset[int]  # of each row that says enough
    columns: dict[int, str]  # hash of each column that says enough -> its name


def fingerprint(frame: pd.DataFrame) -> Fingerprint:
    """Fingerprint of a whole table as it ships."""
    import numpy as np

    cells = np.column_stack([_cell_hashes(frame[name]) for name in frame.columns])  # (rows, columns), 0 for missing cells
    row_hashes = cells.sum(axis=1, dtype=np.uint64)
    ordered = np.sort(cells, axis=1)
    different = (np.diff(ordered, axis=1) != 0).sum(axis=1) + (ordered[:, 0] != 0)
    column_hashes = cells.sum(axis=0, dtype=np.uint64)
    telling = [number for number, name in enumerate(frame.columns) if frame[name].nunique() >= MIN_VALUES]
    return Fingerprint(
        table=hashlib.blake2b(np.sort(row_hashes).tobytes(), digest_size=12).hexdigest(),
        rows=frozenset(row_hashes[different >= MIN_CELLS].tolist()),
        columns={int(column_hashes[number]): str(frame.columns[number]) for number in telling},
    )


def compare(pool_table: str, pool: Fingerprint, held_out_table: str, held_out: Fingerprint) -> list[Overlap]:
    """What two tables share, the plainest finding first; empty when nothing tells."""
    if pool.table == held_out.table:
        return [Overlap(pool_table=pool_table, held_out_table=held_out_table, what="table", share=1.0)]
    found = []
    smaller = min(len(pool.rows), len(held_out.rows))
    share = len(pool.rows & held_out.rows) / smaller if smaller else 0.0
    if share > MAX_SHARED_ROWS:
        found.append(Overlap(pool_table=pool_table, held_out_table=held_out_table, what="rows", share=share))
    for digest in sorted(pool.columns.keys() & held_out.columns.keys()):
        detail = f"{pool.columns[digest]} = {held_out.columns[digest]}"
        found.append(Overlap(pool_table=pool_table, held_out_table=held_out_table, what="column", share=1.0, detail=detail))
    return found


def check_disjoint(benchmark: str, pool_tasks: list[str] | None = None) -> list[Overlap]:
    """Compare the tables of the pool tasks (default: those that the name filter keeps) with all held-out tables. Empty: they are disjoint."""
    table_of = load_benchmark(benchmark)
    tables = load_tables(benchmark)
    chosen = pool_tasks if pool_tasks is not None else list_tasks(benchmark, Role.TRAIN)
    pool = {table for task in chosen for table in table_of.entry(task).tables}
    held_out = {table for entry in table_of.entries if entry.role is Role.HELD_OUT for table in entry.tables}
    prints = {table: fingerprint(read_table(tables[table])) for table in sorted(pool | held_out)}
    pairs = product(sorted(pool), sorted(held_out))
    return [overlap for one, other in pairs for overlap in compare(one, prints[one], other, prints[other])]


def _cell_hashes(column: pd.Series) -> np.ndarray:
    """Shape (rows,), uint64."""
    import numpy as np

    codes, values = column.factorize()  # missing cells have code -1, the last place
    table = [int.from_bytes(hashlib.blake2b(_spelling(value).encode(), digest_size=8).digest(), "big") for value in values]
    hashes: np.ndarray = np.array([*table, 0], dtype=np.uint64)[codes]
    return hashes


def _spelling(value: object) -> str:
    """One spelling of a cell: numbers to six digits, text in lower case."""
    try:
        return f"{float(str(value)):.6g}"
    except ValueError:
        return str(value).strip().lower()
