"""Writing and reading tables: the same rows are the same bytes, and no column is lost or invented in silence."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from rubrics_gym.records.files import DamagedFile, whole_file, write_text
from rubrics_gym.report.table_spec import TableSpec, Unit

Row = dict[str, Any]

DECIMALS = {Unit.SHARE: 4, Unit.POINTS: 2, Unit.NUMBER: 3, Unit.P: 5, Unit.SECONDS: 2}


def table_csv(spec: TableSpec, rows: Iterable[Row]) -> str:
    """The CSV text of a table: the columns of its spec in order, fixed decimals by unit, None as an empty cell, "\\n" line ends.

    A row that lacks a column of the spec, or has one that the spec does not know, is a ValueError that names both.
    """
    names = [column.name for column in spec.columns]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    for number, row in enumerate(rows, 1):
        if row.keys() != set(names):
            lacking, unknown = sorted(set(names) - row.keys()), sorted(row.keys() - set(names))
            raise ValueError(f"table {spec.name}, row {number}: lacks {lacking or 'nothing'}, has unknown {unknown or 'nothing'}")
        writer.writerow(format_cell(row[column.name], column.unit) for column in spec.columns)
    return text.getvalue()


def write_table(spec: TableSpec, rows: Sequence[Row], path: str | Path, parquet: str | Path | None = None) -> None:
    """Write a table as CSV and, when `parquet` is given, as Parquet with typed columns."""
    write_text(path, table_csv(spec, rows))
    if parquet is not None:
        write_parquet(spec, rows, parquet)


def write_parquet(spec: TableSpec, rows: Sequence[Row], path: str | Path) -> None:
    """Write a table as Parquet: counts and micro-dollars int64, flags bool, text string, the rest float64 (not rounded)."""
    import pyarrow
    import pyarrow.parquet

    kinds = {Unit.TEXT: pyarrow.string(), Unit.CODE: pyarrow.string(), Unit.FLAG: pyarrow.bool_()}
    kinds |= {Unit.COUNT: pyarrow.int64(), Unit.MICRODOLLARS: pyarrow.int64()}
    schema = pyarrow.schema([(column.name, kinds.get(column.unit, pyarrow.float64())) for column in spec.columns])
    columns = {column.name: [row[column.name] for row in rows] for column in spec.columns}
    with whole_file(path) as temporary:
        pyarrow.parquet.write_table(pyarrow.table(columns, schema=schema), temporary)


def read_table(path: str | Path) -> list[dict[str, str]]:
    """Read a CSV table back as text cells. DamagedFile names the row that has more or fewer cells than the header."""
    with open(path, encoding="utf-8", newline="") as lines:
        reader = csv.reader(lines)
        header = next(reader, None)
        if header is None:
            raise DamagedFile(f"{path}: empty; expected a header line. Delete the file and run the same command again.")
        rows = []
        for cells in reader:
            if len(cells) != len(header):
                raise DamagedFile(f"{path}, line {reader.line_num}: {len(cells)} cells under {len(header)} columns")
            rows.append(dict(zip(header, cells, strict=True)))
    return rows


def format_cell(value: Any, unit: Unit) -> str:
    """One CSV cell. A number that is not finite is a ValueError: it would be read as an outcome."""
    if value is None:
        return ""
    if unit is Unit.FLAG:
        return "true" if value else "false"
    if unit in DECIMALS:
        number = float(value)
        if number != number or number in (float("inf"), float("-inf")):
            raise ValueError(f"{value} is not a finite number; a value that is not known is None")
        text = f"{number:.{DECIMALS[unit]}f}"
        return text.removeprefix("-") if float(text) == 0 else text
    if unit in (Unit.COUNT, Unit.MICRODOLLARS):
        return str(int(value))
    return str(value)
