"""A store in a bucket keeps the promises of one in a folder: on fsspec's memory file system here, on emulators of gcs and s3 where they are installed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import fsspec
import pytest

from rubrics_gym.records.files import DamagedFile
from rubrics_gym.settings.study import Budget
from rubrics_gym.store import bucket
from rubrics_gym.store.attempts import AttemptState, AttemptStore
from rubrics_gym.store.bucket import Bucket
from rubrics_gym.store.ledger import State, accounts, read_requests
from rubrics_gym.store.requests import Ledger, Records
from rubrics_gym.store.serving import copy_ledger
from rubrics_gym.store.stops import StudyRecord
from rubrics_gym.store.storage import LeaseHeld, LeaseLost, open_storage

URL = "memory://rubrics/store"
UNIT = "rollouts/pool/packaged/fair-affairs-rating/0"
REQUEST = {"purpose": "agent", "model": "simulated-agent-1", "messages": [{"role": "user", "text": "hello  "}]}
RESPONSE = {"text": "hi", "usage": {"output_tokens": 3}}
KEY = "0123456789abcdef" * 4


@pytest.fixture(autouse=True)
def empty(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(bucket, "LEASE_S", 0.4)
    files = fsspec.filesystem("memory")
    files.store.clear()
    yield
    files.store.clear()


def answer(ledger: Ledger, occurrence: int = 0, cost: int = 40) -> str:
    key = ledger.key(REQUEST, occurrence)
    ledger.returned(ledger.send(REQUEST, key, occurrence, max_cost=100), REQUEST, RESPONSE, {"output_tokens": 3}, cost)
    return key


def abandon(ledger: Ledger) -> None:
    """What is left when a pod is killed: nothing is renewed or written any more."""
    ledger._lease._released.set()  # type: ignore[attr-defined]
    ledger._lease._renewing.join()  # type: ignore[attr-defined]


def test_a_returned_response_is_served_after_reopening() -> None:
    with Ledger(URL, UNIT, "work", "study") as ledger:
        key = answer(ledger)
        assert Records(URL, UNIT).latest(key) is not None  # read by another while it is written
    with Ledger(URL, UNIT, "work", "study") as ledger:
        stored = ledger.stored(key)
        assert stored is not None and stored.response == RESPONSE
        assert ledger.charged.microdollars == 40 and ledger.claim(0, 0) == (40, 1)
    assert accounts(read_requests(URL)).charged_microdollars == 40


def test_a_closed_ledger_is_one_object(tmp_path: Path) -> None:
    for occurrence in range(3):
        with Ledger(URL, UNIT) as ledger:
            answer(ledger, occurrence)
    assert open_storage(URL).names(f"requests/{UNIT}/ledger.jsonl") == ["00000003-base"]
    assert len(list(read_requests(URL))) == 3
    copy_ledger(URL, [UNIT, "mine/never"], str(tmp_path / "requests.jsonl"))
    assert len((tmp_path / "requests.jsonl").read_text().splitlines()) == 9


def test_one_writer_at_a_time_and_a_dead_one_is_followed() -> None:
    ledger = Ledger(URL, UNIT)
    key = ledger.key(REQUEST, 0)
    ledger.send(REQUEST, key, 0, max_cost=100)
    time.sleep(0.6)  # longer than the lease: it is renewed
    with pytest.raises(LeaseHeld, match="the work of another process now"):
        Ledger(URL, UNIT)
    abandon(ledger)
    with pytest.raises(LeaseHeld):  # nobody knows yet
        Ledger(URL, UNIT, patience_s=0)
    time.sleep(0.5)
    with Ledger(URL, UNIT) as follower:
        line = follower.latest(key)
        assert line is not None and line.state is State.UNRESOLVED and follower.charged.microdollars == 100
        answer(follower)
    assert accounts(read_requests(URL)).charged_microdollars == 140


def test_who_lost_the_lease_writes_no_more_and_what_it_wrote_late_does_not_count() -> None:
    ledger = Ledger(URL, UNIT)
    sent = ledger.send(REQUEST, ledger.key(REQUEST, 0), 0, max_cost=100)
    abandon(ledger)
    time.sleep(0.5)
    with Ledger(URL, UNIT) as follower:
        answer(follower)
    with pytest.raises(LeaseLost, match="run the same command again"):
        ledger.failed(sent, "server")
    open_storage(URL).write(f"requests/{UNIT}/ledger.jsonl/00000001-00000099", b"late\n")  # it had been on its way already
    assert [line.state for line in read_requests(URL)] == [State.UNRESOLVED, State.RETURNED]


def test_of_two_that_take_a_lease_at_once_one_has_it() -> None:
    storage = Bucket(URL)
    assert storage.create("x/.lease/00000001", b"first") and not storage.create("x/.lease/00000001", b"second")
    assert storage.read("x/.lease/00000001") == b"first"


def test_a_damaged_response_is_refused() -> None:
    with Ledger(URL, UNIT) as ledger:
        key = answer(ledger)
        name = f"responses/{key[:2]}/{key}.json"
        open_storage(URL).write(name, open_storage(URL).read(name).replace(b'"hi"', b'"ho"'))
        with pytest.raises(DamagedFile, match=rf"memory://rubrics/store/responses/.*{key}\.json.*make fresh UNIT={UNIT}"):
            ledger.stored(key)


def test_attempts_are_kept_and_served_whole() -> None:
    store = AttemptStore(URL, "study")
    with store.begin(UNIT, KEY) as lost:
        (lost.folder / "trajectory.jsonl").write_text("half")
        assert [row.state for row in store.rows(UNIT)] == [AttemptState.RUNNING]
    with store.begin(UNIT, KEY) as attempt:
        (attempt.folder / "inner").mkdir()
        (attempt.folder / "inner" / "begun.json").write_text("an agent's own file")
        (attempt.folder / "trajectory.jsonl").write_text("whole")
        attempt.complete()
    found = AttemptStore(URL).find_complete(UNIT, KEY)
    assert found is not None and found.number == 2 and (found.folder / "trajectory.jsonl").read_text() == "whole"
    assert (found.folder / "inner" / "begun.json").exists()
    assert [row.state for row in AttemptStore(URL).rows()] == [AttemptState.LOST, AttemptState.COMPLETE]
    assert AttemptStore(URL, "another", anew=True).find_complete(UNIT, KEY) is None
    assert store.fresh(UNIT) == 2 and AttemptStore(URL).find_complete(UNIT, KEY) is None


def test_a_changed_file_of_an_attempt_is_named() -> None:
    with AttemptStore(URL).begin(UNIT, KEY) as attempt:
        (attempt.folder / "trajectory.jsonl").write_text("whole")
        attempt.complete()
    open_storage(URL).write(f"attempts/{UNIT}/{KEY[:16]}/001/trajectory.jsonl", b"other")
    with pytest.raises(DamagedFile, match=r"memory://.*001/trajectory\.jsonl: this file of .* was changed"):
        AttemptStore(URL).find_complete(UNIT, KEY)


def test_starts_and_stops_of_a_study_keep_their_order() -> None:
    record = StudyRecord(URL, "study")
    record.start(Budget(study_usd=5), {"rollouts/pool": 3})
    assert record.stop("asked for").why == "asked for"
    record.resume(Budget(study_usd=6))
    assert [event.event for event in record.events()] == ["started", "stopped", "resumed"]
    assert record.standing is None and record.is_continuation and record.terms is not None and record.terms.study_usd == 6
