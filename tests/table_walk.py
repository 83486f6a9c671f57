"""Walks tables and finds numbers that travel without their evidence: in the description of a table, and in every row of its file."""

from __future__ import annotations

from collections.abc import Mapping

from rubrics_gym.report.table_spec import TableSpec, Unit

NUMBERS = {Unit.SHARE, Unit.POINTS, Unit.NUMBER, Unit.P, Unit.SECONDS}
SOURCES = {"study", "distribution"}


def bare(spec: TableSpec) -> list[str]:
    """Numbers of a table that would travel without an interval and a reason, or without n, clusters, kind of interval and source."""
    columns = {column.name: column for column in spec.columns}
    of_others = {end for column in spec.columns for end in (column.low, column.high, column.to) if end}
    found = []
    for column in spec.columns:
        if column.unit not in NUMBERS or column.name in of_others:
            continue
        evidence = {f"{column.name}_{part}" for part in ("n", "clusters", "interval")} if column.own else {"n", "clusters", "interval_kind"}
        sourced = SOURCES & columns.keys() and "simulated" in columns
        if not (column.exact or {column.low, column.high} <= columns.keys()) or not evidence <= columns.keys() or not sourced:
            found.append(column.name)
    return found


def unsaid(spec: TableSpec, row: Mapping[str, str]) -> list[str]:
    """Numbers of one row of text cells that lack n, clusters, kind of interval, source or label, or an interval without a word why."""
    found = []
    for column in spec.columns:
        if column.name not in row:
            found.append(f"{column.name} (no such column in the file)")
            continue
        if column.unit not in NUMBERS or not row[column.name]:
            continue
        prefix = f"{column.name}_" if column.own else ""
        kind = row.get(f"{prefix}interval" if column.own else "interval_kind", "")
        said = (
            row.get(f"{prefix}n")
            and row.get(f"{prefix}clusters")
            and kind
            and any(row.get(source) for source in SOURCES)
            and row.get("simulated")
        )
        complete = column.exact or not column.low or row[column.low] or row.get(f"{prefix}note") or kind == "full_count"
        if not said or not complete:
            found.append(column.name)
    return found
