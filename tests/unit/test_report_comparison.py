"""Two studies beside each other: what differs is listed, what is equal is counted, and nothing of a cell becomes an element."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from tests.example_report import ATTACK, tables

from rubrics_gym.report.comparison import compare, comparison_page, read_finished
from rubrics_gym.report.specs import SPECS
from rubrics_gym.report.writing import write_table


def finished(folder: Path, seed: int, **changed: object) -> Path:
    (folder / "tables").mkdir(parents=True)
    (folder / "run_config.yaml").write_text(yaml.safe_dump({"seed": seed, "evaluation": {"repeats": 1}, "title": ATTACK}))
    for name in ("arms", "contrasts", "attempts"):
        rows = [dict(row) for row in tables()[name]]
        if name == "arms":
            rows[0] |= changed
        write_table(SPECS[name], rows, folder / "tables" / f"{name}.csv")
    lines = [{"unit": "mine/x", "key": f"{seed}"}, {"unit": "mine/x", "key": "same"}]
    (folder / "requests.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def test_what_differs_is_listed_cell_by_cell(tmp_path: Path) -> None:
    found = compare(read_finished(finished(tmp_path / "a", 1)), read_finished(finished(tmp_path / "b", 2, validity=0.125, note=ATTACK)))
    assert [(one.what, one.first, one.second) for one in found.settings] == [("seed", "1", "2")]
    assert [(one.what, one.first, one.second) for one in found.requests] == [
        ("mine/x", "1 of its own", "1 of its own")
    ] and found.shared_requests == 1
    assert list(found.tables) == ["arms"] and found.equal_tables == ["contrasts"]
    cells = {one.what: one.second for one in found.tables["arms"]}
    assert any(what.startswith("notice") and what.endswith(": validity") and value == "0.1250" for what, value in cells.items())
    page = comparison_page(found)
    assert "<script" not in page.lower() and "&lt;script&gt;" in page and "1 differ" in page


def test_a_study_compared_with_itself_differs_in_nothing(tmp_path: Path) -> None:
    same = read_finished(finished(tmp_path / "a", 1))
    found = compare(same, same)
    assert not (found.settings or found.requests or found.attempts or found.tables) and found.equal_tables == ["arms", "contrasts"]


def test_a_folder_without_a_study_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="give the results folder"):
        read_finished(tmp_path)
