"""Processes that ask a model and are killed with SIGKILL between (or inside) any two system calls by which the store writes."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from rubrics_gym.models.client import Client
from rubrics_gym.models.live import Allowance, LiveClient
from rubrics_gym.models.prices import Price, PriceTable, Rates
from rubrics_gym.models.request import Message, ProviderError, Request, Response, Usage
from rubrics_gym.store.accounts import StudyAccount
from rubrics_gym.store.ledger import LedgerLine, State, accounts, last_lines, read_requests
from rubrics_gym.store.requests import Ledger, Records
from rubrics_gym.store.storage import open_storage

UNIT = "mine/mined"
STUDY = "study"
RATES = Rates.model_validate({"input": 1, "output": 5, "cache_read": 0.1, "cache_write": 1.25})
PRICES = PriceTable(version="test", models={"model": (Price(since=date(2026, 1, 1), rates=RATES),)})
PAID = 30  # micro-dollars of one answer
WRITES = ("write", "fsync", "ftruncate", "rename", "replace", "unlink", "mkdir", "open")


def request(text: str) -> Request:
    return Request(purpose="mine", model="model", system="Be brief.", messages=(Message(role="user", text=text),), max_tokens=10)


class Shop:
    """A provider that keeps its own books, outside the store: what it was asked, and what it billed."""

    def __init__(self, root: Path, outcome: str):
        self.books = root / "books.txt"
        self.outcome = outcome

    def answer(self, asked: Request) -> Response:
        text = asked.messages[0].text
        with open(self.books, "a") as books:
            number = len(self.books.read_text().splitlines())
            books.write(f"{text} {self.outcome}\n")
        if self.outcome != "answer":
            raise ProviderError(self.outcome, "no")
        return Response(text=f"{text} {number}", model="model", usage=Usage(input_tokens=10, output_tokens=4))

    def billed(self) -> Counter[str]:
        """Text of the request -> how often it was answered, or may have been."""
        rows = [row.split() for row in self.books.read_text().splitlines()] if self.books.exists() else []
        return Counter(text for text, outcome in rows if outcome in ("answer", "timeout_read"))


def kill_at(call: int, partly: bool) -> None:
    """Kill this process before its n-th system call that writes (1-based); `partly`: a write has left half of its bytes."""
    seen = 0

    def hooked(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def hook(*arguments: Any, **options: Any) -> Any:
            nonlocal seen
            seen += 1
            if seen == call:
                if name == "write" and partly:
                    real(arguments[0], arguments[1][: len(arguments[1]) // 2])
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*arguments, **options)

        return hook

    for name in WRITES:
        setattr(os, name, hooked(name, getattr(os, name)))


def ask_in_a_process(root: Path, text: str, outcome: str = "answer", call: int | None = None, partly: bool = False) -> str:
    """Ask once in a process of its own. Gives `answered TEXT`, `failed KIND` or `killed`."""
    said, say = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(said)
            if call is not None:
                kill_at(call, partly)
            shop = Shop(root.parent, outcome)
            with Ledger(root, UNIT, "work", STUDY) as ledger:
                live = LiveClient(
                    lambda: shop, ledger, PRICES, Allowance(10**9), sleep=lambda _: None, clock=lambda: datetime(2026, 11, 29, tzinfo=UTC)
                )
                try:
                    word = f"answered {live.ask(request(text)).response.text}"
                except ProviderError as error:
                    word = f"failed {error.kind}"
            with os.fdopen(say, "w") as out:
                out.write(word)
        finally:
            os._exit(0)
    os.close(say)
    with os.fdopen(said) as pipe:
        word = pipe.read()
    _, status = os.waitpid(child, 0)
    return "killed" if os.WIFSIGNALED(status) else word


def check(root: Path) -> list[LedgerLine]:
    """Open the ledger as the next process would; AssertionError when the accounts do not balance or something that was paid for is gone."""
    Ledger(root, UNIT, "work", STUDY).close()
    lines = list(read_requests(root))
    total = accounts(lines)
    assert total.open == 0 and total.records == total.returned + total.failed + total.unresolved + total.refused
    unresolved = sum(line.max_cost_microdollars for line in lines if line.state is State.UNRESOLVED and line.cost_microdollars)
    assert total.charged_microdollars == PAID * total.returned + unresolved
    records = Records(root, UNIT, "work", STUDY)
    assert records.charged.microdollars == total.charged_microdollars
    assert StudyAccount(open_storage(root), STUDY, UNIT).total() == (total.charged_microdollars, total.records - total.refused)
    for text, times in Shop(root.parent, "").billed().items():
        key = records.key(request(text).body(), 0)
        own = last_lines(line for line in lines if line.key == key)
        charged = [line for line in own if line.cost_microdollars]
        assert len(charged) >= times, f"{text}: the provider may have billed {times} times, {len(charged)} records are charged"
        assert sum(line.state is State.RETURNED for line in own) <= 1, f"{text}: paid for twice"
        assert [line.replaces for line in own] == ["", *(line.record for line in own[:-1])], f"{text}: repeated in silence"
        if any(line.state is State.RETURNED for line in own):
            assert Client(records).ask(request(text)).served == "store"
    return lines
