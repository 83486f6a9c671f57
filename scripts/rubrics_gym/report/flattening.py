"""Nested settings as one line per value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def leaves(value: Any, path: str = "") -> dict[str, Any]:
    """Nested settings as dotted key -> value; a mapping without keys has none."""
    if not isinstance(value, Mapping):
        return {path: value}
    found: dict[str, Any] = {}
    for key, inner in value.items():
        found |= leaves(inner, f"{path}.{key}" if path else str(key))
    return found
