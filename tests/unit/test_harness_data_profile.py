"""The profile of a task's data: every kind of file that is known, from samples, and what is odd about names."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from rubrics_gym.harness import data_profile
from rubrics_gym.harness.data_profile import profile_folder


def test_json_in_its_forms(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps([{"x": 1, "y": None}, {"x": 2.5, "z": "w"}]))
    (tmp_path / "b.jsonl").write_text('{"x": 1}\n\n{"x": null}\n')
    (tmp_path / "c.json").write_text(json.dumps({"classes": ["a"], "n": 3}))
    assert profile_folder(tmp_path).splitlines() == [
        "data/a.json: 2 items, 3 keys",
        "  'x': 1 int, 1 float, none missing",
        "  'y': empty, 2 missing",
        "  'z': text, 1 missing",
        "data/b.jsonl: 2 lines, 1 keys",
        "  'x': int, 1 missing",
        "data/c.json: JSON object with 2 keys ('classes': list, 'n': int)",
    ]


def test_parquet_from_its_metadata(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    pandas.DataFrame({"a": [1.0, None, 3.0], "b": ["x", "y", "z"]}).to_parquet(tmp_path / "t.parquet")
    lines = profile_folder(tmp_path).splitlines()
    assert lines[0] == "data/t.parquet: 3 rows, 2 columns"
    assert lines[1] == "  'a': double, 1 missing" and "none missing" in lines[2]


def test_numpy_and_gzipped_tables(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros((4, 3), dtype=np.float32))
    with gzip.open(tmp_path / "t.csv.gz", "wt") as table:
        table.write("a,b\n1,\n2,x\n")
    assert profile_folder(tmp_path).splitlines() == [
        "data/t.csv.gz: 2 rows, 2 columns",
        "  'a': int, none missing",
        "  'b': text with 1 different values, 1 missing (50.0%)",
        "data/x.npy: NumPy array of shape (4, 3), <f4",
    ]


def test_other_files_and_odd_names_are_told(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    for name in ("images/1.jpg", "images/2.JPG", "images/naïve .png", "what?.txt", "LICENSE"):
        (tmp_path / name).write_bytes(b"x")
    others, odd = profile_folder(tmp_path).splitlines()
    assert others == "other files: 2 .jpg, 1 .png, 1 .txt, 1 without a suffix"
    assert "'data/images/naïve .png' (characters outside ASCII)" in odd and "'data/what?.txt' (punctuation that shells read)" in odd


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.json", b"{"),
        ("a.parquet", b"PAR1 no"),
        ("a.npy", b"\x93NUMPY\x01\x00\x05\x00{'a'"),
        ("a.npy", b"none"),
        ("a.csv.gz", b"no gzip"),
        ("a.jsonl", b"{\n"),
    ],
)
def test_damaged_files_are_told_and_stop_nothing(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    (tmp_path / "z.csv").write_text("a\n1\n")
    first, *rest = profile_folder(tmp_path).splitlines()
    assert first.startswith(f"data/{name}: ") and ("cannot be read" in first or "not readable" in first)
    assert rest[0] == "data/z.csv: 1 rows, 1 columns"


def test_large_files_cost_no_more_than_their_samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_profile, "ROWS_READ", 10)
    monkeypatch.setattr(data_profile, "JSON_BYTES", 100)
    (tmp_path / "a.jsonl").write_text('{"x": 1}\n' * 50 + "not json at all\n")
    (tmp_path / "b.json").write_text(json.dumps(list(range(100))))
    assert profile_folder(tmp_path).splitlines() == [
        "data/a.jsonl: at least 10 lines, 1 keys",
        "  'x': int, none missing",
        "data/b.json: JSON of more than 0 MB, not read",
    ]
