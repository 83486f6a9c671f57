"""What every record has in common: frozen, closed, and written in one canonical form."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from pydantic import BaseModel, ConfigDict


class Record(BaseModel):
    """A value that is written to disk: immutable, and an unknown field is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def canonical_json(value: Any) -> str:
    """The one JSON text of a value: sorted keys, no spaces, no NaN. `value` is plain JSON or a Record."""
    if isinstance(value, BaseModel):
        value = value.model_dump(mode="json")
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def content_hash(value: Any) -> str:
    """sha256 (64 hex digits) of the canonical JSON of a value."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()
