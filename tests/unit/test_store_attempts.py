"""Attempts: on record before they start, complete or visibly lost, never deleted."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rubrics_gym.records.files import DamagedFile
from rubrics_gym.store.attempts import Attempt, AttemptState, AttemptStore, UnknownUnit
from rubrics_gym.store.requests import Ledger
from rubrics_gym.store.serving import obtain
from rubrics_gym.store.storage import LeaseHeld

UNIT = "episodes/quick/notice/0/packaged/fair-affairs-rating"
KEY, OTHER_KEY = "a" * 64, "b" * 64
SCRIPTS = Path(__file__).parents[2] / "scripts"


def make(store: AttemptStore, unit: str = UNIT, key: str = KEY) -> Attempt:
    with store.begin(unit, key, code="c0de") as attempt:
        (attempt.folder / "trajectory.jsonl").write_text("{}\n")
        (attempt.folder / "logs").mkdir()
        (attempt.folder / "logs" / "out.txt").write_text("done")
        attempt.complete()
    return attempt


def states(store: AttemptStore) -> list[tuple[str, int, AttemptState]]:
    return [(row.key[0], row.attempt, row.state) for row in store.rows()]


def test_a_complete_attempt_is_found_by_unit_and_key(tmp_path: Path) -> None:
    store = AttemptStore(tmp_path)
    assert store.find_complete(UNIT, KEY) is None
    made = make(store)
    found = store.find_complete(UNIT, KEY)
    assert found is not None and found.folder == made.folder and found.begun.code == "c0de"
    assert store.find_complete(UNIT, OTHER_KEY) is None
    assert store.find_complete(UNIT + "2", KEY) is None
    assert store.find_complete(UNIT, KEY[:16] + "c" * 48) is None  # only the folder's name agrees


def test_an_attempt_is_on_record_before_anything_is_done(tmp_path: Path) -> None:
    store = AttemptStore(tmp_path)
    with store.begin(UNIT, KEY) as attempt:
        assert states(store) == [("a", 1, AttemptState.RUNNING)]
        assert store.lost(UNIT, KEY) == []
    assert states(store) == [("a", 1, AttemptState.LOST)]
    with store.begin(UNIT, KEY) as second:
        assert second.number == 2 and second.name == f"{'a' * 16}/002"
        assert [lost.name for lost in store.lost(UNIT, KEY)] == [attempt.name]
    assert attempt.folder.is_dir()


def test_an_error_inside_leaves_a_lost_attempt(tmp_path: Path) -> None:
    store = AttemptStore(tmp_path)
    with pytest.raises(RuntimeError, match="sandbox"), store.begin(UNIT, KEY):
        raise RuntimeError("sandbox died")
    assert states(store) == [("a", 1, AttemptState.LOST)]
    make(store)
    assert states(store) == [("a", 1, AttemptState.LOST), ("a", 2, AttemptState.COMPLETE)]


@pytest.mark.parametrize("damage", ["changed", "missing"])
def test_a_damaged_file_is_named(tmp_path: Path, damage: str) -> None:
    store = AttemptStore(tmp_path)
    out = make(store).folder / "logs" / "out.txt"
    out.unlink() if damage == "missing" else out.write_text("else")
    with pytest.raises(DamagedFile, match=rf"logs/out\.txt.*{damage}.*make fresh UNIT={UNIT}"):
        store.find_complete(UNIT, KEY)


def test_only_named_files_belong_to_the_attempt(tmp_path: Path) -> None:
    store = AttemptStore(tmp_path)
    with store.begin(UNIT, KEY) as attempt:
        (attempt.folder / "grade.json").write_text("{}")
        (attempt.folder / "scratch").write_text("x")
        with pytest.raises(FileNotFoundError):
            attempt.complete(["grade.json", "absent.json"])
        assert store.find_complete(UNIT, KEY) is None
        attempt.complete(["grade.json"])
    (attempt.folder / "scratch").write_text("y")
    assert store.find_complete(UNIT, KEY) is not None


def test_one_process_works_on_a_unit(tmp_path: Path) -> None:
    store = AttemptStore(tmp_path)
    with store.begin(UNIT, KEY):
        with pytest.raises(LeaseHeld, match=f"pid {os.getpid()}"):
            store.begin(UNIT, OTHER_KEY)
        with pytest.raises(LeaseHeld):
            store.fresh(UNIT)
        with store.begin(UNIT + "2", KEY):
            pass
    assert [row.key for row in store.rows(UNIT)] == [KEY]  # the refused one was never begun


def test_asking_anew_sets_attempts_and_responses_aside(tmp_path: Path) -> None:
    store = AttemptStore(tmp_path)
    made = make(store)
    make(store, UNIT + "2")
    request = {"purpose": "agent", "model": "m"}
    with Ledger(tmp_path, UNIT) as ledger:
        sent = ledger.send(request, ledger.key(request, 0), 0, 10)
        ledger.returned(sent, request, {"text": "old"}, {}, 5)
    assert store.fresh(UNIT) == 1
    assert store.find_complete(UNIT, KEY) is None and store.lost(UNIT, KEY) == []
    assert store.find_complete(UNIT + "2", KEY) is not None
    assert (made.folder / "trajectory.jsonl").exists()
    with Ledger(tmp_path, UNIT) as ledger:
        assert ledger.stored(ledger.key(request, 0)) is None
    assert make(store).number == 2
    assert [(row.attempt, row.state) for row in store.rows(UNIT)] == [(1, AttemptState.SUPERSEDED), (2, AttemptState.COMPLETE)]


def test_asking_anew_for_a_unit_that_only_asked_sets_its_responses_aside(tmp_path: Path) -> None:
    request = {"purpose": "mine", "model": "m"}
    with Ledger(tmp_path, "mine/mined") as ledger:
        ledger.returned(ledger.send(request, ledger.key(request, 0), 0, 10), request, {"text": "old"}, {}, 5)
    assert AttemptStore(tmp_path).fresh("mine/mined") == 0
    with Ledger(tmp_path, "mine/mined") as ledger:
        assert ledger.stored(ledger.key(request, 0)) is None


def test_asking_anew_for_an_unknown_unit_is_an_error_and_leaves_no_trace(tmp_path: Path) -> None:
    with pytest.raises(UnknownUnit):
        AttemptStore(tmp_path).fresh("mine/minde")
    assert list(tmp_path.rglob("*")) == []


def test_what_an_attempt_left_is_not_taken_for_an_attempt(tmp_path: Path) -> None:
    store = AttemptStore(tmp_path)
    with store.begin(UNIT, KEY) as attempt:
        (attempt.folder / "001").mkdir()
        (attempt.folder / "001" / "begun.json").write_text("not ours")
        attempt.complete()
    assert len(store.rows()) == 1
    assert store.find_complete(UNIT, KEY) is not None
    (attempt.folder / "001" / "begun.json").write_text("but part of what it left")
    with pytest.raises(DamagedFile):
        store.find_complete(UNIT, KEY)


def test_a_killed_process_leaves_a_lost_attempt_and_no_lease(tmp_path: Path) -> None:
    code = f"""
import time
from rubrics_gym.store.attempts import AttemptStore
attempt = AttemptStore({str(tmp_path)!r}).begin({UNIT!r}, {KEY!r})
(attempt.folder / "trajectory.jsonl").write_text("half a li")
print("begun", flush=True)
time.sleep(60)
"""
    worker = subprocess.Popen(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(SCRIPTS)}, stdout=subprocess.PIPE, text=True
    )
    store = AttemptStore(tmp_path)
    try:
        assert worker.stdout is not None and worker.stdout.readline() == "begun\n"
        assert states(store) == [("a", 1, AttemptState.RUNNING)]
        with pytest.raises(LeaseHeld, match=f"pid {worker.pid}"):
            store.begin(UNIT, KEY)
    finally:
        worker.kill()
        worker.wait()
    assert states(store) == [("a", 1, AttemptState.LOST)]
    assert make(store).number == 2


def test_what_another_process_completes_while_this_one_waits_for_the_lease_is_served(tmp_path: Path) -> None:
    class Overtaken(AttemptStore):
        def begin(self, unit: str, key: str, code: str = "") -> Attempt:
            make(AttemptStore(tmp_path))
            return super().begin(unit, key, code)

    store = Overtaken(tmp_path)
    attempt, made = obtain(store, UNIT, KEY, "", lambda _: pytest.fail("made twice"))
    assert (attempt.number, made) == (1, False)
    assert [row.state.value for row in store.rows(UNIT)] == ["complete", "superseded"]
