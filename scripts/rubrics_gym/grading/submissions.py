"""Reading what an agent handed in. Whatever is wrong with it is the agent's doing and has a reason; nothing here raises anything else."""

from __future__ import annotations

import csv
import io
import math
import re
from pathlib import Path

MAX_BYTES = 20_000_000
_WHOLE_NUMBER = re.compile(r"(?P<sign>[+-]?)(?P<digits>[0-9]+)(?:\.0*)?")
_AS_NUMPY_WRITES = re.compile(r"[+-]?[0-9]\.[0-9]+e[+-][0-9]{2}")


class InvalidSubmission(ValueError):
    """The deliverable breaks a rule of the statement; the message says which, for people."""


def read_text(path: Path, max_bytes: int = MAX_BYTES) -> str:
    """The text of a deliverable. Links are refused: they could point at files that only the grader may read."""
    if path.is_symlink() or not path.is_file():
        raise InvalidSubmission(f"{path.name} is not a regular file")
    size = path.stat().st_size
    if size > max_bytes:
        raise InvalidSubmission(f"{path.name} has {size:,} bytes; at most {max_bytes:,} are read")
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidSubmission(f"{path.name} is not UTF-8 text") from None


def read_csv(path: Path, columns: list[str]) -> list[dict[str, str]]:
    """The rows of a CSV deliverable that must have exactly these columns, in any order."""
    header, rows = read_table(path)
    if sorted(header) != sorted(columns):
        raise InvalidSubmission(f"{path.name} has the columns {_listed(header)}; expected {_listed(columns)}")
    return rows


def read_table(path: Path, max_bytes: int = MAX_BYTES) -> tuple[list[str], list[dict[str, str]]]:
    """Header and rows of a CSV deliverable, cells without outer blanks. Columns must have names of their own, and every row as many cells."""
    try:
        lines = [line for line in csv.reader(io.StringIO(read_text(path, max_bytes)), strict=True) if line]
    except csv.Error as error:
        raise InvalidSubmission(f"{path.name} is not readable as CSV: {error}") from None
    if not lines:
        raise InvalidSubmission(f"{path.name} is empty")
    header = [name.strip() for name in lines[0]]
    if len(set(header)) != len(header):
        raise InvalidSubmission(f"{path.name} has the columns {_listed(header)}, of which two have the same name")
    for number, line in enumerate(lines[1:], 1):
        if len(line) != len(header):
            raise InvalidSubmission(f"row {number} of {path.name} has {len(line)} cells; the header has {len(header)}")
    return header, [dict(zip(header, (cell.strip() for cell in line), strict=True)) for line in lines[1:]]


def read_own_csv(content: bytes) -> list[dict[str, str]]:
    """The rows of a CSV file of a bundle's."""
    return list(csv.DictReader(io.StringIO(content.decode("utf-8-sig"))))


def csv_bytes(rows: list[dict[str, str]]) -> bytes:
    """A CSV file of one or more rows with the same columns."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def as_number(text: str) -> float | None:
    """The finite number that a cell holds, or None."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def same_key(text: str) -> str:
    """One spelling of an id or a label: a whole number written as a float (12.0, 1.2e+01), or with zeros before it, is the same as 12.

    Read from the digits where they are all there: through a float long ids would run together, and a hash such as 12e4 with a number.
    """
    whole = _WHOLE_NUMBER.fullmatch(text.strip())
    if whole is None:
        value = float(text) if _AS_NUMPY_WRITES.fullmatch(text.strip()) else 0.5
        return str(int(value)) if value.is_integer() and abs(value) < 2**53 else text
    digits = whole["digits"].lstrip("0") or "0"
    return f"-{digits}" if whole["sign"] == "-" and digits != "0" else digits


def _listed(names: list[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:12])
    return shown if len(names) <= 12 else f"{shown}, … ({len(names)} in all)"
