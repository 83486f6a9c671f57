"""Whose prediction is whose: predictions in the order of the gold rows."""

from __future__ import annotations

from typing import Any


def official(given: Any, gold: Any, ids: list[str]) -> Any:
    """By position. The official script sorts by id without keeping the result, so ids play no part."""
    return given


def corrected(given: Any, gold: Any, ids: list[str]) -> Any:
    """By the first id column that both tables have with the same distinct values; by position when there is none."""
    for name in ids:
        if name in given.columns and name in gold.columns and given[name].is_unique and gold[name].is_unique:
            order = {value: number for number, value in enumerate(given[name].tolist())}
            wanted = gold[name].tolist()
            if order.keys() == set(wanted):
                return given.iloc[[order[value] for value in wanted]]
    return given
