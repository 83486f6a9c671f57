"""The verification of a protocol names what differs, and where."""

from __future__ import annotations

from pathlib import Path

import pytest

from rubrics_gym.studies.protocols import Manifest, sha256
from rubrics_gym.studies.verification import recomputed, reexecuted

FROZEN = "arm,validity\nexecute,0.5000\nmatched,0.2500\n"


@pytest.fixture
def results(tmp_path: Path) -> Path:
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "arms.csv").write_text(FROZEN)
    (tmp_path / "rubrics.jsonl").write_text("{}\n")
    return tmp_path


def manifest(results: Path) -> Manifest:
    names = ("tables/arms.csv", "rubrics.jsonl")
    return Manifest(paid_sha256="", store={}, artefacts={name: sha256(results / name) for name in names})


def states(rows: list) -> dict[str, str]:
    return {row.artefact: row.state for row in rows}


def test_equal_bytes_are_equal(results: Path) -> None:
    assert set(states(recomputed(manifest(results), {"arms.csv": FROZEN}, results)).values()) == {"equal"}


def test_one_other_cell_is_named(results: Path) -> None:
    frozen = manifest(results)
    (results / "tables" / "arms.csv").write_text(FROZEN.replace("0.2500", "0.2600"))
    (row,) = [row for row in recomputed(frozen, {"arms.csv": FROZEN}, results) if row.state != "equal"]
    assert (row.artefact, row.state, row.where) == ("tables/arms.csv", "differs", "row 2, validity: 0.2600; frozen: 0.2500")


def test_a_missing_artefact_is_missing_not_equal(results: Path) -> None:
    frozen = manifest(results)
    (results / "rubrics.jsonl").unlink()
    assert states(recomputed(frozen, {}, results))["rubrics.jsonl"] == "missing"


@pytest.mark.parametrize(
    ("present", "tolerance", "state"),
    [
        (FROZEN, 0.0, "equal"),
        (FROZEN.replace("0.2500", "0.2600"), 0.05, "within tolerance"),
        (FROZEN.replace("0.2500", "0.2600"), 0.001, "differs"),
        (FROZEN.replace("0.2500", ""), 0.5, "differs"),  # a missing value is near no number
        (FROZEN.replace("matched", "random"), 0.5, "differs"),
        (FROZEN + "notice,0.1\n", 0.5, "differs"),
        (FROZEN.replace("validity", "valid"), 0.5, "differs"),
    ],
)
def test_a_reexecuted_table_may_differ_in_its_numbers_alone(results: Path, present: str, tolerance: float, state: str) -> None:
    (results / "tables" / "arms.csv").write_text(present)
    (row,) = reexecuted({"arms.csv": FROZEN}, results, tolerance)
    assert row.state == state
    assert bool(row.where) == (state == "differs")


def test_a_table_that_was_not_made_is_missing(results: Path) -> None:
    assert states(reexecuted({"truth.csv": "a\n"}, results, 0.1)) == {"tables/truth.csv": "missing"}
