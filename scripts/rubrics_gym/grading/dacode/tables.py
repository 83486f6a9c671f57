"""Comparison of tables: gold columns are looked for among the given ones as vectors, whatever their names and order."""

from __future__ import annotations

import contextlib
import io
import math
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rubrics_gym.grading.dacode.rules import Config, Options, Rule
from rubrics_gym.grading.submissions import InvalidSubmission

TOLERANCE = 1e-2
MAX_ROWS = 10_000  # more are not looked at
_MAX_SQL_STEPS = 200  # times 100,000 instructions of SQLite's machine; a few seconds

Column = list[Any]


def compare_csv(given: Sequence[Path], gold: Sequence[Path], options: Options, config: Config, rule: Rule) -> float:
    """Share of the gold columns that some given column equals (rule `divide`), or 1 when all do (`all`); 0 without the file."""
    if not given[0].is_file():
        return 0.0
    return _compare(
        read_table(given[0]),
        _read(gold[0]),
        options.get("condition_cols", []),
        options.get("ignore_order", False),
        options.get("score_rule", "divide"),
        options.get("total_scores", 1),
    )


def compare_sqlite(given: Sequence[Path], gold: Sequence[Path], options: Options, config: Config, rule: Rule) -> float:
    """The lowest score among the tables of a database: all of the gold's, or those that `condition_tabs` names."""
    if not given[0].is_file():
        return 0.0
    names = options.get("condition_tabs") or _table_names(gold[0])
    columns, unordered = options.get("condition_cols", []), options.get("ignore_order", [])
    scores = []
    for number, name in enumerate(names):
        try:
            found = _from_database(given[0], name)
        except sqlite3.DatabaseError as error:
            if "no such table" in str(error):
                return 0.0
            raise InvalidSubmission(f"{given[0].name} is not a readable SQLite database: {error}") from None
        expected = _from_database(gold[0], name)
        scores.append(_compare(found, expected, _at(columns, number, []), _at(unordered, number, False), "divide", 1))
    return min(scores)


def read_table(path: Path) -> Any:
    """A table that an agent wrote, its first 10,000 rows. InvalidSubmission when it cannot be read."""
    from pandas.errors import EmptyDataError, ParserError

    if path.is_symlink():
        raise InvalidSubmission(f"{path.name} is a link")
    try:
        return _read(path)
    except (EmptyDataError, ParserError, UnicodeDecodeError) as error:
        raise InvalidSubmission(f"{path.name} is not readable as CSV: {error}") from None


def _read(path: Path | io.StringIO) -> Any:
    import pandas as pd

    return pd.read_csv(path, low_memory=False, nrows=MAX_ROWS)


def _compare(found: Any, expected: Any, columns: list[int], unordered: bool, rule: str, points: float) -> float:
    if found.empty or expected.empty:
        return 0.0
    wanted = _columns(expected.iloc[:, columns] if columns else expected)
    given = _columns(found)
    rounded = {_rounded(column, unordered) for column in given}
    matches = [
        _rounded(column, unordered) in rounded or any(_same_column(column, other, unordered) for other in given) for column in wanted
    ]
    if rule == "all":
        return float(points) if all(matches) else 0.0
    if rule == "divide":
        return points * sum(matches) / len(matches)
    raise ValueError(f"DA-Code's score rule {rule!r} is not known; known are all and divide")


def _columns(frame: Any) -> list[Column]:
    columns: list[Column] = frame.transpose().to_numpy().tolist()
    return columns


def _same_column(first: Column, second: Column, unordered: bool) -> bool:
    if len(first) != len(second):
        return False
    if unordered:
        first, second = sorted(first, key=_order), sorted(second, key=_order)
    return all(_same_cell(a, b) for a, b in zip(first, second, strict=True))


def _same_cell(first: Any, second: Any) -> bool:
    if _is_missing(first) or _is_missing(second):
        return _is_missing(first) and _is_missing(second)
    if isinstance(first, int | float) and isinstance(second, int | float):
        return math.isclose(float(first), float(second), abs_tol=TOLERANCE)
    if isinstance(first, str) and isinstance(second, str):
        return first.lower().strip() == second.lower().strip()
    return bool(first == second)


def _rounded(column: Column, unordered: bool) -> tuple[Any, ...]:
    """A column to the grid of the tolerance. Officially, columns that agree on it are equal, also where sorting their cells as text would part them."""
    cells = [_on_grid(cell) for cell in column]
    return tuple(sorted(cells, key=lambda cell: (cell is None, str(cell))) if unordered else cells)


def _on_grid(cell: Any) -> Any:
    if _is_missing(cell):
        return None
    if isinstance(cell, float) and math.isfinite(cell):
        return round(cell / TOLERANCE) * TOLERANCE
    return cell.lower().strip() if isinstance(cell, str) else cell


def _order(cell: Any) -> tuple[int, str, bool]:
    return (0, "", False) if _is_missing(cell) else (1, str(cell), isinstance(cell, int | float))


def _is_missing(cell: Any) -> bool:
    return cell is None or (isinstance(cell, float) and math.isnan(cell))


def _at(values: Any, number: int, default: Any) -> Any:
    """The entry of one table; tables without an entry get the default."""
    return values[number] if isinstance(values, list) and number < len(values) else default


def _table_names(path: Path) -> list[str]:
    with contextlib.closing(_open(path)) as database:
        return [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]


def _from_database(path: Path, table: str) -> Any:
    """One table, its cells read as if it were a CSV file, because that is what the official comparison does."""
    import pandas as pd

    quoted = '"' + table.replace('"', '""') + '"'
    with contextlib.closing(_open(path)) as database:
        cursor = database.execute(f"SELECT * FROM {quoted} LIMIT {MAX_ROWS}")
        frame = pd.DataFrame(cursor.fetchall(), columns=pd.Index([column[0] for column in cursor.description]))
    return _read(io.StringIO(frame.to_csv(index=False))) if len(frame.columns) else frame


def _open(path: Path) -> sqlite3.Connection:
    """A database, read only; it may come from an agent, so its schema is not trusted and a view without end is stopped."""
    database = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
    database.execute("PRAGMA trusted_schema = OFF")
    steps = iter(range(_MAX_SQL_STEPS))
    database.set_progress_handler(lambda: next(steps, None) is None, 100_000)
    return database
