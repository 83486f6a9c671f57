"""Records of one kind as a Parquet table: one column per field, typed from the record, also when there are no rows."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar, get_args

from rubrics_gym.records.base import Record
from rubrics_gym.records.files import whole_file

R = TypeVar("R", bound=Record)


def _schema(kind: type[Record]) -> Any:
    import pyarrow

    types = {str: pyarrow.string(), int: pyarrow.int64(), float: pyarrow.float64(), bool: pyarrow.bool_()}
    columns = []
    for name, field in kind.model_fields.items():
        plain = [one for one in (get_args(field.annotation) or (field.annotation,)) if one is not type(None)]
        columns.append(pyarrow.field(name, types[plain[0]]))
    return pyarrow.schema(columns)


def write_records(path: str | Path, records: Iterable[R], kind: type[R]) -> None:
    """Write records of one flat kind (text, numbers, truth values) as Parquet, whole or not at all. The same records are the same bytes."""
    import pyarrow
    import pyarrow.parquet

    rows = [record.model_dump(mode="json") for record in records]
    with whole_file(path) as temporary:
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows, schema=_schema(kind)), temporary)


def read_columns(path: str | Path, kind: type[R]) -> list[R]:
    """Read the records back, validated."""
    import pyarrow.parquet

    return [kind.model_validate(row) for row in pyarrow.parquet.read_table(path).to_pylist()]
