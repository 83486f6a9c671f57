"""The task table is made from a clone, and says nothing that is not a fact about ids, titles and files."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from rubrics_gym.tasks import tabulation
from rubrics_gym.tasks.catalog import RESOURCES, CatalogError
from rubrics_gym.tasks.tabulation import Clone, tabulate

DATA = "examples/DA-Agent/data"


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=T", "-c", "user.email=t@example.org")
    return subprocess.run(["git", *identity, "-C", str(folder), *arguments], check=True, capture_output=True, text=True).stdout.strip()


def commit(folder: Path, files: dict[str, str]) -> str:
    git(folder.parent, "init", "--quiet", str(folder))
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    git(folder, "add", "-A")
    git(folder, "commit", "--quiet", "-m", "one")
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def resources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "resources"
    place.mkdir()
    for name in ("dabench", "dacode", "mlebench"):
        shutil.copy(RESOURCES / f"{name}.yaml", place)
    monkeypatch.setattr(tabulation, "RESOURCES", place)
    return place


def pin(resources: Path, name: str, found: str) -> str:
    path = resources / f"{name}.yaml"
    head = path.read_text()
    path.write_text(head.replace(yaml.safe_load(head)["source"]["commit"], found))
    return path.read_text().split("\ntasks:")[0]


def test_a_table_is_rewritten_below_its_head(tmp_path: Path, resources: Path) -> None:
    questions = [{"id": 3, "question": "How many secrets?", "file_name": "a b.csv"}, {"id": 7, "question": "Why?", "file_name": "no.csv"}]
    lines = "".join(json.dumps(question) + "\n" for question in questions)
    files = {f"{DATA}/da-dev-questions.jsonl": lines, f"{DATA}/da-dev-tables/a b.csv": "x\n1\n", f"{DATA}/da-dev-tables/unused.csv": "x\n"}
    head = pin(resources, "dabench", commit(tmp_path / "clone", files))
    assert tabulate("dabench", tmp_path / "clone") == 2
    text = (resources / "dabench.yaml").read_text()
    assert text.startswith(head) and "secrets" not in text
    assert yaml.safe_load(text)["tasks"] == [{"id": "3", "title": "a b.csv"}, {"id": "7", "title": "no.csv"}]
    listed = (resources / "dabench_files.txt").read_text().splitlines()
    assert [line.split("  ", 1)[1] for line in listed] == [f"{DATA}/da-dev-questions.jsonl", f"{DATA}/da-dev-tables/a b.csv"]
    assert listed[1].split("  ")[0] == git(tmp_path / "clone", "hash-object", f"{DATA}/da-dev-tables/a b.csv")
    assert tabulate("dabench", tmp_path / "clone") == 2 and (resources / "dabench.yaml").read_text() == text


def test_dacode_keeps_of_an_instruction_only_words_of_held_out_ids_and_says_what_has_no_data(tmp_path: Path, resources: Path) -> None:
    tasks = [
        {"id": "di-1", "type": "Insight", "hardness": "Easy", "instruction": "Classify the secret vehicles of whales."},
        {"id": "di-2", "type": "Insight", "hardness": "Hard", "instruction": "Count."},
        {"id": "di-3", "type": "ML", "hardness": "Hard", "instruction": "Count."},
    ]
    evaluations = [{"id": task["id"], "func": ["compare_csv"], "result": [{"file": "result.csv"}]} for task in tasks]
    evaluations[2]["func"] = ["compare_ml"]
    as_lines = {"task/all": tasks, "eval/eval_all": evaluations}
    files = {f"da_code/configs/{name}.jsonl": "".join(json.dumps(line) + "\n" for line in lines) for name, lines in as_lines.items()}
    files |= {"da_code/source/di-1/data.csv": "x\n", "da_code/source/di-2/README.md": "empty", "da_code/source/di-2/result.csv": "x\n"}
    pin(resources, "dacode", commit(tmp_path / "clone", files))
    tabulate("dacode", tmp_path / "clone")
    text = (resources / "dacode.yaml").read_text()
    rows = {row["id"]: row for row in yaml.safe_load(text)["tasks"]}
    assert rows["di-1"]["words"] == ["vehicles"] and "secret" not in text and "exclude" not in rows["di-1"]
    assert "no input data" in rows["di-2"]["exclude"] and "not in the repository" in rows["di-3"]["exclude"]
    assert [row["kind"] for row in rows.values()] == ["result_file", "result_file", "prediction"]


def test_a_git_lfs_file_is_listed_by_the_hash_of_its_content(tmp_path: Path) -> None:
    digest = hashlib.sha256(b"a leaderboard").hexdigest()
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{digest}\nsize 13\n"
    found = commit(tmp_path / "clone", {"leaderboard.csv": pointer, "small.csv": "x\n", "odd.pdf": "\x93"})
    hashes = Clone(tmp_path / "clone", found).hashes(["leaderboard.csv", "small.csv", "odd.pdf"])
    assert hashes["leaderboard.csv"] == digest
    assert hashes["small.csv"] == git(tmp_path / "clone", "hash-object", "small.csv")


def test_tables_that_are_made_by_hand_are_not_overwritten(tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match="rebench is not written by this program"):
        tabulate("rebench", tmp_path)
