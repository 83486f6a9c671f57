"""`kill -9` anywhere: the accounts balance after the restart, nothing that was paid for is lost, and nothing is repeated in silence."""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from tests.kills import UNIT, Shop, ask_in_a_process, check, request

from rubrics_gym.store.ledger import State, accounts, read_requests
from rubrics_gym.store.requests import Ledger, Records
from rubrics_gym.store.storage import LeaseHeld

# A killed process loses what it has not yet written, not what the disk has not yet got: waiting for a disk would prove nothing more.
MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None


def test_killed_before_and_inside_every_system_call_that_writes() -> None:
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        assert every_kill(Path(folder), inside=(True,)) > 20  # `make evidence NAME=requests` also kills before each


def every_kill(tmp_path: Path, inside: Iterable[bool]) -> int:
    """Kill one request before (or inside) each of its system calls that write; gives their number."""
    ends = set()
    for call in range(1, 200):
        for partly in inside:
            root = tmp_path / f"{call}-{partly}" / "store"
            root.parent.mkdir()
            word = ask_in_a_process(root, "a", call=call, partly=partly)
            billed = sum(Shop(root.parent, "").billed().values())
            states = [line.state for line in check(root)]
            ends.add((billed, *states))
            again = ask_in_a_process(root, "a")
            assert again == f"answered a {0 if State.RETURNED in states else billed}"  # served when it was stored, else asked anew
            check(root)
        if word != "killed":
            break
    assert word == "answered a 0"
    # killed before anything; reserved only or sent, and not billed; billed, and nobody knows; billed and stored
    assert ends == {(0,), (0, State.UNRESOLVED), (1, State.UNRESOLVED), (1, State.RETURNED)}
    return call


class Store(RuleBasedStateMachine):
    """A unit's ledger under processes that ask, fail and are killed, in any order."""

    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory(dir=MEMORY)
        self.root = Path(self._folder.name) / "store"
        self.answers: dict[str, str] = {}

    @rule(text=st.sampled_from("abc"), outcome=st.sampled_from(["answer", "answer", "refused", "timeout_read", "rate_limit"]))
    def ask(self, text: str, outcome: str) -> None:
        before = self.asked()
        word = ask_in_a_process(self.root, text, outcome)
        if text in self.answers:
            assert word == self.answers[text] and self.asked() == before  # served, always the same
        elif outcome == "answer":
            assert word.startswith(f"answered {text} ")
        else:
            assert word == f"failed {outcome}"
        if word.startswith("answered"):
            self.answers[text] = word

    @rule(text=st.sampled_from("abc"), call=st.integers(1, 45), partly=st.booleans())
    def ask_and_be_killed(self, text: str, call: int, partly: bool) -> None:
        word = ask_in_a_process(self.root, text, call=call, partly=partly)
        check(self.root)
        stored = Records(self.root, UNIT).answer(request(text).body(), 0)
        if stored is not None:  # whether or not the process lived to say so
            assert self.answers.setdefault(text, f"answered {stored.response['text']}") == f"answered {stored.response['text']}"
        assert word == "killed" or word == self.answers[text]

    @rule(kept=st.integers(1, 60))
    def leave_a_cut_line(self, kept: int) -> None:
        path = self.root / "requests" / UNIT / "ledger.jsonl"
        if path.exists():
            with open(path, "a") as ledger:
                ledger.write('{"record":"0123456789abcdef-1","key":"0123456789abcdef","unit":"mine/mined"'[:kept])

    @invariant()
    def balances(self) -> None:
        check(self.root)

    def asked(self) -> int:
        books = self.root.parent / "books.txt"
        return len(books.read_text().splitlines()) if books.exists() else 0

    def teardown(self) -> None:
        self._folder.cleanup()


TestStore = Store.TestCase
TestStore.settings = settings(
    max_examples=6, stateful_step_count=10, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)


def test_two_processes_cannot_write_one_unit(tmp_path: Path) -> None:
    ready, tell = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            ledger = Ledger(tmp_path, UNIT)
            os.write(tell, b"x")
            signal.pause()
            ledger.close()
        finally:
            os._exit(0)
    try:
        os.read(ready, 1)
        with pytest.raises(LeaseHeld, match=f"pid {child}"):
            Ledger(tmp_path, UNIT)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    Ledger(tmp_path, UNIT).close()
    assert accounts(read_requests(tmp_path)).records == 0
