"""The mark of what was fitted to held-out failures, in every table that names an arm: whatever such an arm reaches is no fair test."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from rubrics_gym.report.writing import Row

NAMES_OF_ARMS = ("arm", "first", "second", "judge", "group", "of")  # columns; a judge is named after its arm


def mark(rows: Iterable[Row], arms: Collection[str]) -> list[Row]:
    """The rows with a column `contaminated`: whether one of the arms that a row names is among `arms`."""
    return [row | {"contaminated": any(row.get(name) in arms for name in NAMES_OF_ARMS)} for row in rows]
