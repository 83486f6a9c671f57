"""The ledger of requests: nothing paid is lost or asked twice, whatever moment a process is killed at."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rubrics_gym.records.files import DamagedFile
from rubrics_gym.store.ledger import State, accounts, read_ledger, read_requests, request_key
from rubrics_gym.store.requests import Ledger, Stored
from rubrics_gym.store.storage import LeaseHeld

UNIT = "rollouts/pool/packaged/fair-affairs-rating/0"
REQUEST = {"purpose": "agent", "model": "simulated-agent-1", "messages": [{"role": "user", "text": "hello  "}]}
RESPONSE = {"text": "hi", "usage": {"output_tokens": 3}}
SCRIPTS = Path(__file__).parents[2] / "scripts"


def ledger_path(root: Path, unit: str = UNIT) -> Path:
    return root / "requests" / unit / "ledger.jsonl"


def response_path(root: Path, key: str) -> Path:
    return root / "responses" / key[:2] / f"{key}.json"


def answer(ledger: Ledger, request: dict = REQUEST, occurrence: int = 0, cost: int = 40) -> str:
    key = ledger.key(request, occurrence)
    sent = ledger.send(request, key, occurrence, max_cost=100)
    ledger.returned(sent, request, RESPONSE, {"output_tokens": 3}, cost)
    return key


def response(stored: Stored | None) -> dict:
    assert stored is not None
    return stored.response


def abandon(ledger: Ledger) -> None:
    """What the kernel does with the files of a killed process."""
    os.close(ledger._log._handle)
    ledger._lease.release()


def test_a_returned_response_is_served_after_reopening(tmp_path: Path) -> None:
    with Ledger(tmp_path, UNIT) as ledger:
        key = answer(ledger)
    with Ledger(tmp_path, UNIT) as ledger:
        assert response(ledger.stored(key)) == RESPONSE
        assert ledger.charged.microdollars == 40
    assert [line.state for line in read_ledger(ledger_path(tmp_path))] == [State.RESERVED, State.SENT, State.RETURNED]


def test_the_key_tells_content_unit_and_occurrence_apart() -> None:
    other = {**REQUEST, "messages": [{"role": "user", "text": "hello"}]}
    keys = {request_key(REQUEST, UNIT, 0), request_key(REQUEST, UNIT, 1), request_key(REQUEST, "mine/x", 0), request_key(other, UNIT, 0)}
    assert len(keys) == 4
    assert request_key(dict(reversed(REQUEST.items())), UNIT, 0) == request_key(REQUEST, UNIT, 0)


def test_sent_is_on_disk_before_the_bytes_may_leave(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    ledger = Ledger(tmp_path, UNIT)
    real = os.fsync
    monkeypatch.setattr(os, "fsync", lambda handle: (synced.append(os.fstat(handle).st_size), real(handle))[1])
    ledger.send(REQUEST, ledger.key(REQUEST, 0), 0, 100)
    assert synced == [ledger_path(tmp_path).stat().st_size]
    abandon(ledger)


def test_sent_without_an_end_is_unresolved_at_its_maximum_and_a_repetition_names_it(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path, UNIT)
    key = ledger.key(REQUEST, 0)
    lost = ledger.send(REQUEST, key, 0, max_cost=100)
    abandon(ledger)
    with Ledger(tmp_path, UNIT) as ledger:
        assert ledger.stored(key) is None
        assert ledger.latest(key).state is State.UNRESOLVED
        assert ledger.charged.microdollars == 100
        answer(ledger)
        assert ledger.latest(key).replaces == lost.record
        assert ledger.charged.microdollars == 140


def test_reserved_without_an_end_costs_nothing(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path, UNIT)
    ledger.send(REQUEST, ledger.key(REQUEST, 0), 0, max_cost=100)
    abandon(ledger)
    path = ledger_path(tmp_path)
    path.write_text(path.read_text().split("\n")[0] + "\n" + path.read_text().split("\n")[1][:30])  # the line `sent` was cut
    with Ledger(tmp_path, UNIT) as ledger:
        assert ledger.latest(ledger.key(REQUEST, 0)).state is State.UNRESOLVED
        assert ledger.charged.microdollars == 0


def test_a_response_stored_before_its_line_is_recovered(tmp_path: Path) -> None:
    with Ledger(tmp_path, UNIT) as ledger:
        key = answer(ledger)
    path = ledger_path(tmp_path)
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:2]))
    with Ledger(tmp_path, UNIT) as ledger:
        assert response(ledger.stored(key)) == RESPONSE
        assert ledger.charged.microdollars == 40


@pytest.mark.parametrize("kept", [1, 40, -1])
def test_a_cut_last_line_is_reported_and_repaired(tmp_path: Path, caplog: pytest.LogCaptureFixture, kept: int) -> None:
    with Ledger(tmp_path, UNIT) as ledger:
        key = answer(ledger)
        answer(ledger, occurrence=1)
    path = ledger_path(tmp_path)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:-1]) + lines[-1].rstrip("\n")[:kept])
    response_path(tmp_path, request_key(REQUEST, UNIT, 1)).unlink()
    assert len(read_ledger(path)) == 5  # a reader passes over it
    with Ledger(tmp_path, UNIT) as ledger:
        assert "cut" in caplog.text
        assert response(ledger.stored(key)) == RESPONSE
        answer(ledger, occurrence=1)
    caplog.clear()
    with Ledger(tmp_path, UNIT) as ledger:  # repaired for good
        assert response(ledger.stored(key)) == RESPONSE and response(ledger.stored(ledger.key(REQUEST, 1))) == RESPONSE
    assert not caplog.text


def test_a_changed_line_inside_is_an_error(tmp_path: Path) -> None:
    with Ledger(tmp_path, UNIT) as ledger:
        answer(ledger)
    path = ledger_path(tmp_path)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text(lines[0] + lines[1][:50] + "\n" + lines[2])
    with pytest.raises(DamagedFile, match=r"ledger\.jsonl, line 2"):
        Ledger(tmp_path, UNIT)
    with pytest.raises(DamagedFile):  # the lease was given back
        Ledger(tmp_path, UNIT)


@pytest.mark.parametrize("damage", ["changed", "missing", "not json"])
def test_a_damaged_response_is_refused(tmp_path: Path, damage: str) -> None:
    with Ledger(tmp_path, UNIT) as ledger:
        key = answer(ledger)
    path = response_path(tmp_path, key)
    if damage == "changed":
        path.write_text(path.read_text().replace('"hi"', '"ho"'))
    elif damage == "missing":
        path.unlink()
    else:
        path.write_text("{")
    with Ledger(tmp_path, UNIT) as ledger, pytest.raises(DamagedFile, match=rf"{key}\.json.*make fresh UNIT={UNIT}"):
        ledger.stored(key)


def test_the_response_file_says_what_was_asked(tmp_path: Path) -> None:
    with Ledger(tmp_path, UNIT) as ledger:
        key = answer(ledger)
    content = json.loads(response_path(tmp_path, key).read_text())
    assert content["request"] == REQUEST
    assert request_key(content["request"], content["line"]["unit"], content["line"]["occurrence"]) == key


def test_a_second_writer_is_told_who_holds_the_unit(tmp_path: Path) -> None:
    with Ledger(tmp_path, UNIT), pytest.raises(LeaseHeld, match=f"pid {os.getpid()}"):
        Ledger(tmp_path, UNIT)
    with Ledger(tmp_path, UNIT), Ledger(tmp_path, UNIT + "1"):
        pass


def test_asking_anew_serves_nothing_old_and_keeps_it(tmp_path: Path) -> None:
    with Ledger(tmp_path, UNIT) as ledger:
        old = answer(ledger)
        ledger.supersede()
        new = ledger.key(REQUEST, 0)
        assert new != old and ledger.stored(new) is None and ledger.charged.microdollars == 0
        answer(ledger)
    with Ledger(tmp_path, UNIT) as ledger:
        assert ledger.key(REQUEST, 0) == new and ledger.charged.microdollars == 40
    assert response_path(tmp_path, old).exists()
    assert accounts(read_requests(tmp_path)).charged_microdollars == 80


def test_a_full_disk_leaves_the_ledger_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Ledger(tmp_path, UNIT) as ledger:
        key = answer(ledger)
        before = ledger_path(tmp_path).read_bytes()
        real = os.write

        def half_then_full(handle: int, data: bytes) -> int:
            real(handle, data[: len(data) // 2])
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "write", half_then_full)
        with pytest.raises(OSError, match="No space left"):
            ledger.send(REQUEST, ledger.key(REQUEST, 1), 1, 100)
        monkeypatch.undo()
        assert ledger_path(tmp_path).read_bytes() == before
        assert response(ledger.stored(key)) == RESPONSE


def test_a_unit_cannot_leave_the_store(tmp_path: Path) -> None:
    for unit in ("../outside", "/etc", "a//b", "a/../../b", ""):
        with pytest.raises(ValueError, match="expected segments"):
            Ledger(tmp_path, unit)


# ---------------------------------------------------------------- kill -9 between every two states

CHILD = """
import os, signal, sys
from rubrics_gym.store import requests
from rubrics_gym.store.durable import AppendOnly
root, unit, moment = sys.argv[1:]
die = lambda: os.kill(os.getpid(), signal.SIGKILL)
append = AppendOnly.append
def dying_append(self, text, *, durable):
    if moment == "before_sent" and '"sent"' in text: die()
    if moment == "inside_sent" and '"sent"' in text: os.write(self._handle, text.encode()[: text.index('"sent"')]); die()
    if moment == "after_response" and '"returned"' in text: die()
    if moment == "inside_returned" and '"returned"' in text: os.write(self._handle, text.encode()[:80]); die()
    append(self, text, durable=durable)
AppendOnly.append = dying_append
request = {"purpose": "agent", "model": "m"}
ledger = requests.Ledger(root, unit)
key = ledger.key(request, 0)
if ledger.stored(key) is not None: print("served"); sys.exit()
sent = ledger.send(request, key, 0, 100)
if moment == "after_sent": die()
ledger.returned(sent, request, {"text": "paid"}, {}, 40)
if moment == "after_returned": die()
print("asked")
"""


def child(root: Path, moment: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(SCRIPTS)}
    return subprocess.run(
        [sys.executable, "-c", CHILD, str(root), UNIT, moment], env=environment, capture_output=True, text=True, timeout=60
    )


@pytest.mark.parametrize(
    ("moment", "unresolved", "charged", "second"),
    [
        ("before_sent", 0, 40, "asked"),
        ("inside_sent", 1, 40, "asked"),  # the line `reserved` is whole: on record, nothing was sent
        ("after_sent", 1, 140, "asked"),
        ("after_response", 0, 40, "served"),
        ("inside_returned", 0, 40, "served"),
        ("after_returned", 0, 40, "served"),
    ],
)
def test_killed_at_any_moment(tmp_path: Path, moment: str, unresolved: int, charged: int, second: str) -> None:
    assert child(tmp_path, moment).returncode == -signal.SIGKILL
    again = child(tmp_path, "never")
    assert again.stdout.split() == [second], again.stderr
    total = accounts(read_requests(tmp_path))
    assert total.open == 0
    assert total.records == total.returned + total.failed + total.unresolved + total.refused
    assert (total.returned, total.unresolved, total.charged_microdollars) == (1, unresolved, charged)


def test_a_killed_holder_leaves_no_lease(tmp_path: Path) -> None:
    code = f"from rubrics_gym.store.requests import Ledger; import time; Ledger({str(tmp_path)!r}, {UNIT!r}); print('open', flush=True); time.sleep(60)"
    holder = subprocess.Popen(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(SCRIPTS)}, stdout=subprocess.PIPE, text=True
    )
    try:
        assert holder.stdout is not None and holder.stdout.readline() == "open\n"
        with pytest.raises(LeaseHeld, match=f"pid {holder.pid}"):
            Ledger(tmp_path, UNIT)
    finally:
        holder.kill()
        holder.wait()
    Ledger(tmp_path, UNIT).close()


# ---------------------------------------------------------------- accounting

STEPS = st.lists(
    st.tuples(
        st.sampled_from(["returned", "failed", "unresolved", "refused", "killed", "killed_after_response", "cut", "fresh"]),
        st.integers(0, 3),  # occurrence
        st.integers(0, 1000),  # maximum cost
    ),
    max_size=12,
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
def test_reserved_is_returned_failed_unresolved_or_refused(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int, int]]
) -> None:
    root = tmp_path_factory.mktemp("store")
    ledger = Ledger(root, UNIT)
    expected_charge, paid = 0, set()
    for step, occurrence, max_cost in steps:
        key = ledger.key(REQUEST, occurrence)
        if step == "fresh":
            ledger.supersede()
            continue
        if ledger.stored(key) is not None:
            assert key in paid
            continue
        assert key not in paid  # what was paid for is served, always
        if step == "refused":
            ledger.refuse(REQUEST, key, occurrence, max_cost, "budget")
            continue
        sent = ledger.send(REQUEST, key, occurrence, max_cost)
        if step == "returned":
            ledger.returned(sent, REQUEST, RESPONSE, {}, max_cost // 2)
        elif step == "failed":
            ledger.failed(sent, "server")
        elif step == "unresolved":
            ledger.unresolved(sent, "timeout_read")
        elif step == "killed_after_response":
            ledger._append = lambda *lines, durable: None
            ledger.returned(sent, REQUEST, RESPONSE, {}, max_cost // 2)
        if step in ("returned", "killed_after_response"):
            paid.add(key)
            expected_charge += max_cost // 2
        elif step in ("unresolved", "killed", "cut"):
            expected_charge += max_cost
        if step in ("killed", "killed_after_response", "cut"):
            abandon(ledger)
            if step == "cut":
                with open(ledger_path(root), "a") as file:
                    file.write('{"record":"')
            ledger = Ledger(root, UNIT)
    ledger.close()
    Ledger(root, UNIT).close()
    lines = read_ledger(ledger_path(root))
    total = accounts(read_requests(root))
    assert total.open == 0
    assert total.records == sum(line.state is State.RESERVED for line in lines)
    assert total.records == total.returned + total.failed + total.unresolved + total.refused
    assert total.charged_microdollars == expected_charge
    assert total.returned == len(paid)
