"""What the data of a task look like, from samples: shape, kinds, missing values, odd names. Read from outside, streaming, never run.

Tables (CSV and TSV, also gzipped), JSON, JSON lines, Parquet and NumPy files are described; of all others kinds and numbers are told.
"""

from __future__ import annotations

import ast
import csv
import gzip
import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import IO, Any

from rubrics_gym.harness.world import regular_files

ROWS_READ = 20_000  # rows of a table that are looked at
JSON_BYTES = 20_000_000  # of a JSON document that is read whole
_FILES_DESCRIBED = 40
_COLUMNS_DESCRIBED = 200
_MISSING = {"", "NA", "N/A", "NaN", "nan", "null", "NULL", "None"}

Reader = Callable[[Path, str], str]


def profile_folder(data: Path) -> str:
    """A few lines for every file below `data` of a kind that is known; one line for the others, and one for odd file names."""
    lines: list[str] = []
    others: Counter[str] = Counter()
    odd: list[str] = []
    for path, _ in regular_files(data):
        name = f"data/{path}"
        if reason := _odd_file_name(path):
            odd.append(f"{name!r} ({reason})")
        reader = _reader(path)
        if reader is None or len(lines) == _FILES_DESCRIBED:
            others[PurePosixPath(path).suffix.lower() or "without a suffix"] += 1
        else:
            lines.append(_described(reader, data / path, name))
    if others:
        lines.append(f"other files: {', '.join(f'{count} {suffix}' for suffix, count in sorted(others.items()))}")
    if odd:
        lines.append(f"odd file names: {'; '.join(odd[:20])}{f' and {len(odd) - 20} more' if len(odd) > 20 else ''}")
    return "\n".join(lines)


def _reader(path: str) -> Reader | None:
    plain = path.lower().removesuffix(".gz")
    suffix = PurePosixPath(plain).suffix
    if suffix in (".csv", ".tsv"):
        return _table
    if suffix in (".jsonl", ".ndjson"):
        return _json_lines
    return {".json": _json, ".parquet": _parquet, ".npy": _numpy}.get(suffix) if plain == path.lower() else None


def _described(reader: Reader, path: Path, name: str) -> str:
    try:
        return reader(path, name)
    except (UnicodeDecodeError, csv.Error) as error:
        return f"{name}: not readable as a UTF-8 table ({error})"
    except (ValueError, OSError, EOFError, SyntaxError, KeyError) as error:
        return f"{name}: cannot be read as what its name says ({' '.join(str(error).split())[:200]})"


def _opened(path: Path) -> IO[str]:
    if path.name.lower().endswith(".gz"):
        return gzip.open(path, "rt", encoding="utf-8", newline="")
    return open(path, encoding="utf-8", newline="")


def _table(path: Path, name: str) -> str:
    """The profile of one table, from its first rows: streaming, so that a large file costs no more than a small one."""
    with _opened(path) as file:
        rows = csv.reader(file, delimiter="\t" if ".tsv" in path.name.lower() else ",")
        header = next(rows, [])
        columns = [_Column() for _ in header]
        count = uneven = 0
        for row in rows:
            if count == ROWS_READ:
                break
            count += 1
            uneven += len(row) != len(header)
            for column, value in zip(columns, row, strict=False):
                column.add(value)
        more = next(rows, None) is not None
    shape = f"more than {count} rows (the first {count} are described)" if more else f"{count} rows"
    lines = [f"{name}: {shape}, {len(header)} columns" + (f", {uneven} rows of another length" if uneven else "")]
    repeated = {column for column, times in Counter(header).items() if times > 1}
    for title, content in islice(zip(header, columns, strict=True), _COLUMNS_DESCRIBED):
        odd = _oddity(title, title in repeated)
        lines.append(f"  {title!r}: {content.describe(count)}" + (f"; odd name: {odd}" if odd else ""))
    return "\n".join([*lines, *_left_out(len(header))])


def _left_out(columns: int) -> list[str]:
    return [f"  and {columns - _COLUMNS_DESCRIBED} more columns"] if columns > _COLUMNS_DESCRIBED else []


# ---------------------------------------------------------------- JSON, Parquet, NumPy


def _json_lines(path: Path, name: str) -> str:
    with _opened(path) as lines:
        values = list(islice((json.loads(line) for line in lines if line.strip()), ROWS_READ))
    return _objects(values, name, "lines")


def _json(path: Path, name: str) -> str:
    if path.stat().st_size > JSON_BYTES:
        return f"{name}: JSON of more than {JSON_BYTES // 1_000_000} MB, not read"
    value = json.loads(path.read_text(encoding="utf-8"))
    if isinstance(value, list):
        return _objects(value[:ROWS_READ], name, "items")
    if isinstance(value, dict):
        kinds = ", ".join(f"{key!r}: {_json_kind(one)}" for key, one in list(value.items())[:50])
        return f"{name}: JSON object with {len(value)} keys ({kinds}{', …' if len(value) > 50 else ''})"
    return f"{name}: JSON {_json_kind(value)}"


def _objects(values: list[Any], name: str, what: str) -> str:
    """A list of objects as a table: per key the kinds of its values and how often it is missing."""
    shape = f"{'at least ' if len(values) == ROWS_READ else ''}{len(values)} {what}"
    objects = [value for value in values if isinstance(value, Mapping)]
    if not objects:
        kinds = Counter(_json_kind(value) for value in values)
        return f"{name}: {shape} ({', '.join(f'{count} {kind}' for kind, count in sorted(kinds.items()))})"
    keys = list(dict.fromkeys(key for one in objects for key in one))
    lines = [f"{name}: {shape}, {len(keys)} keys"]
    for key in keys[:_COLUMNS_DESCRIBED]:
        present = [one[key] for one in objects if one.get(key) is not None]
        kinds = Counter(_json_kind(value) for value in present)
        words = ", ".join(kind if len(kinds) == 1 else f"{count} {kind}" for kind, count in kinds.most_common()) or "empty"
        missing = len(objects) - len(present)
        lines.append(f"  {key!r}: {words}, {f'{missing} missing' if missing else 'none missing'}")
    return "\n".join([*lines, *_left_out(len(keys))])


def _json_kind(value: Any) -> str:
    names = {bool: "bool", int: "int", float: "float", str: "text", dict: "object", list: "list", type(None): "null"}
    return names.get(type(value), type(value).__name__)


def _parquet(path: Path, name: str) -> str:
    """Shape, types and missing values from the metadata of the file alone."""
    import pyarrow
    import pyarrow.parquet

    try:
        file = pyarrow.parquet.ParquetFile(path)
        metadata, schema = file.metadata, file.schema_arrow
    except pyarrow.ArrowException as error:
        raise ValueError(str(error)) from None
    lines = [f"{name}: {metadata.num_rows} rows, {len(schema)} columns"]
    for column in islice(schema, _COLUMNS_DESCRIBED):
        missing = _nulls(metadata, column.name)
        said = "missing values not counted" if missing is None else f"{missing} missing" if missing else "none missing"
        lines.append(f"  {column.name!r}: {column.type}, {said}")
    return "\n".join([*lines, *_left_out(len(schema))])


def _nulls(metadata: Any, column: str) -> int | None:
    """Missing values of a column from the statistics of the file; None where it has none."""
    total = 0
    for group in range(metadata.num_row_groups):
        chunks = (metadata.row_group(group).column(number) for number in range(metadata.num_columns))
        chunk = next((chunk for chunk in chunks if chunk.path_in_schema == column), None)
        if chunk is None or chunk.statistics is None or not chunk.statistics.has_null_count:
            return None
        total += int(chunk.statistics.null_count)
    return total


def _numpy(path: Path, name: str) -> str:
    """Shape and type from the header of a .npy file (NumPy's format description, versions 1 to 3)."""
    with open(path, "rb") as file:
        if file.read(6) != b"\x93NUMPY":
            raise ValueError("it does not begin as a NumPy file does")
        version = file.read(2)
        length = int.from_bytes(file.read(2 if version[:1] == b"\x01" else 4), "little")
        header = ast.literal_eval(file.read(min(length, 10_000)).decode("latin-1"))
    return f"{name}: NumPy array of shape {header['shape']}, {header['descr']}"


def _odd_file_name(path: str) -> str:
    odd = {
        "spaces at an end or in a row": path != path.strip() or "  " in path,
        "characters that cannot be printed": not path.isprintable(),
        "characters outside ASCII": not path.isascii(),
        "punctuation that shells read": re.search(r"[?*<>|:\"\\]", path) is not None,
    }
    return ", ".join(reason for reason, holds in odd.items() if holds)


# ---------------------------------------------------------------- columns of tables


class _Column:
    """Counts what the values of one column look like."""

    def __init__(self) -> None:
        self.kinds: Counter[str] = Counter()
        self.texts: Counter[str] = Counter()

    def add(self, value: str) -> None:
        kind = _kind(value)
        self.kinds[kind] += 1
        if kind == "text" and (len(self.texts) < 50 or value in self.texts):
            self.texts[value] += 1

    def describe(self, rows: int) -> str:
        """Type and missing values, e.g. `float, 3 missing` or `int, 12 values that are no number (such as '?')`."""
        present = {kind: count for kind, count in self.kinds.items() if kind != "missing"}
        numbers, texts = present.get("int", 0) + present.get("float", 0), present.get("text", 0)
        if not present:
            words = ["empty"]
        elif numbers > texts:
            words = ["float" if present.get("float") else "int"]
            if texts:
                words.append(f"{texts} values that are no number (such as {self.texts.most_common(1)[0][0]!r})")
        else:
            distinct = f"{len(self.texts)}" if len(self.texts) < 50 else "50 or more"
            words = [f"text with {distinct} different values"]
            if numbers:
                words.append(f"{numbers} values that are numbers")
        missing = self.kinds["missing"]
        words.append(f"{missing} missing ({missing / rows:.1%})" if missing else "none missing")
        return ", ".join(words)


def _kind(value: str) -> str:
    if value.strip() in _MISSING:
        return "missing"
    if re.fullmatch(r"\s*[-+]?\d+\s*", value):
        return "int"
    try:
        float(value)
    except ValueError:
        return "text"
    return "float"


def _oddity(name: str, repeated: bool) -> str:
    reasons = ["repeated"] if repeated else []
    if not name.strip():
        reasons.append("empty")
    elif name != name.strip():
        reasons.append("spaces around it")
    if not name.isascii():
        reasons.append("characters outside ASCII")
    if re.search(r"[^\w .-]", name, re.ASCII) and name.isascii():
        reasons.append("punctuation")
    return ", ".join(reasons)
