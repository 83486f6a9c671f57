"""Whether a reproduced protocol gives what was frozen: artefact by artefact, and where tables differ, cell by cell."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping
from pathlib import Path

from rubrics_gym.records.base import Record
from rubrics_gym.studies.protocols import Manifest, sha256


class Verified(Record):
    """One row of the verification table."""

    artefact: str  # path within the results
    state: str  # equal | within tolerance | differs | missing
    where: str = ""  # the first difference


def recomputed(manifest: Manifest, tables: Mapping[str, str], results: Path) -> list[Verified]:
    """Compare every artefact byte for byte. `tables`: the frozen tables, to say where one differs."""
    rows = []
    for name, digest in manifest.artefacts.items():
        path = results / name
        if not path.exists():
            rows.append(Verified(artefact=name, state="missing"))
        elif sha256(path) == digest:
            rows.append(Verified(artefact=name, state="equal"))
        else:
            frozen = tables.get(path.name) if name.startswith("tables/") else None
            where = "other bytes" if frozen is None else _difference(frozen, path.read_text(encoding="utf-8"), 0.0)
            rows.append(Verified(artefact=name, state="differs", where=where or "only its layout"))
    return rows


def reexecuted(tables: Mapping[str, str], results: Path, tolerance: float) -> list[Verified]:
    """Compare the tables of a run that was made anew: equal texts, and numbers within a relative tolerance."""
    rows = []
    for name, frozen in sorted(tables.items()):
        path = results / "tables" / name
        if not path.exists():
            rows.append(Verified(artefact=f"tables/{name}", state="missing"))
            continue
        present = path.read_text(encoding="utf-8")
        where = _difference(frozen, present, tolerance)
        state = "equal" if present == frozen else "differs" if where else "within tolerance"
        rows.append(Verified(artefact=f"tables/{name}", state=state, where=where))
    return rows


def _difference(frozen: str, present: str, tolerance: float) -> str:
    """The first cell at which two tables differ by more than the tolerance; empty when none does."""
    before, after = (list(csv.reader(io.StringIO(text))) for text in (frozen, present))
    if before[:1] != after[:1]:
        return f"the columns: {','.join(after[0]) if after else 'none'}; frozen: {','.join(before[0]) if before else 'none'}"
    if len(before) != len(after):
        return f"{len(after) - 1} rows; frozen: {len(before) - 1}"
    for number, (old, new) in enumerate(zip(before[1:], after[1:], strict=True), 1):
        for column, left, right in zip(before[0], old, new, strict=False):
            if not _near(left, right, tolerance):
                return f"row {number}, {column}: {right or 'empty'}; frozen: {left or 'empty'}"
    return ""


def _near(left: str, right: str, tolerance: float) -> bool:
    if left == right:
        return True
    try:
        return math.isclose(float(left), float(right), rel_tol=tolerance, abs_tol=tolerance)
    except ValueError:
        return False
