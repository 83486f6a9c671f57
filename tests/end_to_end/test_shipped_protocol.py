"""The protocol that ships with the repository, recomputed from its recorded attempts and responses with the code of the day."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

import pytest

from tests.workflow.conftest import TOP, copy_tree

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed"),
]


def test_the_shipped_protocol_comes_out_byte_for_byte(tmp_path: Path) -> None:
    workflow = copy_tree(tmp_path)
    shutil.copytree(TOP / "envs", tmp_path / "envs")
    run = workflow.snakemake("--configfile", "config/protocols/small/config.yaml")
    assert run.returncode == 0, run.stderr[-3000:]
    with open(tmp_path / "results/protocols/small/tables/verification.csv", newline="") as table:
        rows = list(csv.DictReader(table))
    assert len(rows) > 150
    differing = [row for row in rows if row["state"] != "equal"]
    assert not differing, (
        "the code gives other results than the frozen ones; if that is meant, freeze the protocol again (docs/protocols.md)"
    )
    assert not (tmp_path / "store" / "attempts").exists()  # the store of this machine is not touched
