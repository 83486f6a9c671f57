"""What the requests to models must show, measured afresh. Call: make evidence NAME=requests (about twenty minutes on two cores).

python -m tests.evidence.requests [PART ...]     only some parts: wire, server, kills, modes, growth, protocol
"""

from __future__ import annotations

import logging
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

from rubrics_gym.models.client import Client, NotRecorded, StudyStopped
from rubrics_gym.models.live import Allowance, LiveClient
from rubrics_gym.models.policy import POLICY
from rubrics_gym.models.prices import Price, PriceTable, Rates
from rubrics_gym.models.request import Message, Provider, ProviderError, Request, Tool
from rubrics_gym.models.structured import parse
from rubrics_gym.providers.anthropic import Anthropic
from rubrics_gym.providers.openai import OpenAI
from rubrics_gym.store.ledger import LedgerLine, State, accounts, read_requests
from rubrics_gym.store.requests import Ledger, Records
from rubrics_gym.store.storage import LeaseHeld
from tests.benchmarks.store_scaling import grow
from tests.evidence import protocol
from tests.evidence.clones import TOP, Evidence
from tests.kills import UNIT, Shop, ask_in_a_process, check
from tests.loopback import KEY, Act, Api, CompletionsApi, MessagesApi, cut, drip, hang_up, stall
from tests.unit.test_store_kills import Store, every_kill

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
MODEL = "model"
RATES = Rates.model_validate({"input": 1, "output": 5, "cache_read": 0.1, "cache_write": 1.25})
PRICES = PriceTable(version="evidence", models={MODEL: (Price(since=date(2026, 1, 1), rates=RATES),)})
PAID = 210  # micro-dollars of the loopback servers' usage: 20 * 1 + 7 * 5 + 300 * 0.1 + 100 * 1.25
SCHEMA = {"type": "object", "properties": {"violated": {"type": "boolean"}}, "required": ["violated"], "additionalProperties": False}
BASH = Tool(
    name="bash",
    description="Runs a command.",
    parameters={"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"], "additionalProperties": False},
)
REQUEST = Request(purpose="judge", model=MODEL, system="Be brief.", messages=(Message(role="user", text="Well?"),), max_tokens=100)


# ---------------------------------------------------------------- the wire


class Expected(NamedTuple):
    """How the last record of a request ends, how often it is sent, and a word of the message."""

    state: State
    kind: str
    sent: int
    word: str = ""


class Case(NamedTuple):
    name: str
    act: Callable[[Api], Act | None]  # sets the server up; or gives what it does with the connection
    expected: Expected


def fails(status: int, kind: str, text: str = "no", **headers: str) -> Callable[[Api], None]:
    return lambda api: api.fails(status, kind, text, **headers)


def says(text: str) -> Callable[[Api], None]:
    return lambda api: api.answers(200, api.text(text))


def calls(api: MessagesApi | CompletionsApi) -> None:
    api.answers(200, api.tool_use("bash", {"command": "ls"}))


RETURNED = Expected(State.RETURNED, "", 1)
CASES = [
    Case("success", says("yes"), RETURNED),
    Case("tool use", calls, RETURNED),  # type: ignore[arg-type]
    Case("structured output", says('{"violated": true}'), RETURNED),
    Case("a wrong schema", says('{"violated": "perhaps"}'), Expected(State.RETURNED, "schema_invalid", 1, "boolean")),
    Case("400", fails(400, "invalid_request_error"), Expected(State.FAILED, "invalid_request", 1, "HTTP 400")),
    Case(
        "400, too long",
        fails(400, "x", "prompt is too long: maximum context length"),
        Expected(State.FAILED, "context_length", 1, "HTTP 400"),
    ),
    Case("401", fails(401, "authentication_error", f"bad key {KEY}"), Expected(State.FAILED, "auth", 1, "HTTP 401")),
    Case("408", fails(408, "timeout_error"), Expected(State.FAILED, "server", POLICY["server"].tries, "HTTP 408")),
    Case("413", fails(413, "request_too_large"), Expected(State.FAILED, "context_length", 1, "HTTP 413")),
    Case(
        "429, retry-after 17 s",
        fails(429, "rate_limit_error", "slow down", retry_after="17"),
        Expected(State.FAILED, "rate_limit", 5, "slow"),
    ),
    Case(
        "429, retry-after 1 h",
        fails(429, "rate_limit_error", "slow down", retry_after="3600"),
        Expected(State.FAILED, "rate_limit", 1, "slow"),
    ),
    Case("500", fails(500, "api_error"), Expected(State.FAILED, "server", POLICY["server"].tries, "HTTP 500")),
    Case("529", fails(529, "overloaded_error"), Expected(State.FAILED, "overloaded", POLICY["overloaded"].tries, "HTTP 529")),
    Case("a body cut in the middle", lambda api: cut(), Expected(State.UNRESOLVED, "stream_cut", 1, "broke")),
    Case("a connection closed", lambda api: hang_up, Expected(State.UNRESOLVED, "stream_cut", 1, "broke")),
    Case("a stall before the answer", lambda api: stall(3.0, b""), Expected(State.UNRESOLVED, "timeout_read", 1, "silent")),
    Case("a stall in the middle", lambda api: stall(3.0), Expected(State.UNRESOLVED, "timeout_read", 1, "silent")),
    Case("an answer that drips", lambda api: drip, Expected(State.UNRESOLVED, "deadline", 1, "not whole")),
    Case("200 with an empty body", lambda api: api.answers(200, b""), Expected(State.UNRESOLVED, "stream_cut", 1, "empty body")),
    Case("200 that is no answer", lambda api: api.answers(200, b"{}"), Expected(State.UNRESOLVED, "unknown", 1, "not a message")),
]


def provider_of(api: Api) -> Provider:
    limits = {"connect_s": 5.0, "read_s": 1.0, "deadline_s": 2.5}
    if isinstance(api, MessagesApi):
        return Anthropic(KEY, base_url=api.url, **limits)
    return OpenAI(KEY, base_url=f"{api.url}/v1", **limits)


def ask_over(api: Api, case: Case, root: Path) -> tuple[list[LedgerLine], str, list[float]]:
    """Ask once through the client; gives the records, what was said, and the waits."""
    act = case.act(api)
    if act is not None:
        api.act = act
    structured = "schema" in case.name or "structured" in case.name
    asked = REQUEST.model_copy(update={"output_schema": SCHEMA} if structured else {"tools": (BASH,)})
    waits: list[float] = []
    word = ""
    with Ledger(root, UNIT, "work", "study") as ledger:
        client = LiveClient(lambda: provider_of(api), ledger, PRICES, Allowance(10**9), sleep=waits.append, clock=lambda: NOW)
        try:
            answer = client.ask(asked)
            if structured:
                parse(answer.response, SCHEMA)
            if case.name == "tool use":
                word = str(answer.response.tool_calls[0].arguments)
        except (ProviderError, StudyStopped) as error:  # what every request would meet stops the study
            word = str(error)
    return list(read_requests(root)), word, waits


def judge_case(case: Case, lines: list[LedgerLine], word: str, waits: list[float], sent: int) -> list[str]:
    """What is not as it must be."""
    want, last = case.expected, lines[-1]
    kind = word.split(":")[0] if want.kind == "schema_invalid" else last.kind
    charge = {State.RETURNED: PAID, State.FAILED: 0, State.UNRESOLVED: last.max_cost_microdollars}[want.state]
    every = {
        "state": last.state is want.state,
        "kind": kind == want.kind,
        "message": want.word in word and KEY not in word + "".join(line.message for line in lines),
        "charge": last.cost_microdollars == charge,
        "sent as often as the policy says": sent == want.sent == len(lines),
        "each repetition a record that names the one before": [line.replaces for line in lines]
        == ["", *(line.record for line in lines[:-1])],
        "waits": [line.waited_s for line in lines] == [0.0, *waits],
        "retry-after": "17 s" not in case.name or waits == [17.0] * 4,
        "tool call": case.name != "tool use" or "ls" in word,
    }
    return [name for name, holds in every.items() if not holds]


def wire(evidence: Evidence, folder: Path) -> None:
    """Both SDKs against servers that speak their wire format: state, kind, charge and message of everything that can come back."""
    for sdk, make in (("anthropic", MessagesApi), ("openai", CompletionsApi)):
        for number, case in enumerate(CASES):
            with make() as api:  # type: ignore[abstract]
                root = folder / sdk / str(number)
                lines, word, waits = ask_over(api, case, root)
                wrong = judge_case(case, lines, word, waits, len(api.requests))
                last = lines[-1]
                figure = f"{last.state.value} {last.kind or case.expected.kind or '-'}, ${last.cost_microdollars / 1e6:.6f}, sent {len(api.requests)}"
                evidence.item(f"{sdk}: {case.name}", not wrong, figure + (f"; wrong: {', '.join(wrong)}" if wrong else ""))


# ---------------------------------------------------------------- a real server


def server(evidence: Evidence, folder: Path) -> None:
    """xllamacpp with SmolLM2 answers through both SDKs."""
    began = time.monotonic()
    command = [sys.executable, "-m", "pytest", "-q", "-rs", "tests/unit/test_providers_model_server.py"]
    run = subprocess.run(command, cwd=TOP, capture_output=True, text=True, check=False)
    last = run.stdout.strip().splitlines()[-1] if run.stdout.strip() else run.stderr.strip()[-200:]
    skipped = "skipped" in run.stdout.lower()
    evidence.item(
        "a real model server, both SDKs, judge- and classifier-shaped requests",
        run.returncode == 0 and not skipped,
        f"{last}; {time.monotonic() - began:.0f} s",
    )


# ---------------------------------------------------------------- kills


def kills(evidence: Evidence, folder: Path) -> None:
    """kill -9 between every two states: the accounts balance, nothing paid is lost, nothing is repeated in silence."""
    try:
        calls = every_kill(folder, inside=(False, True))
        evidence.item(
            "kill -9 before and inside every system call that writes",
            True,
            f"{calls - 1} places, each followed by a restart and two audits",
        )
    except AssertionError as error:
        evidence.item("kill -9 before and inside every system call that writes", False, (str(error) or repr(error)).splitlines()[0])
    try:
        from hypothesis import settings
        from hypothesis.stateful import run_state_machine_as_test

        examples = 15
        run_state_machine_as_test(Store, settings=settings(max_examples=examples, stateful_step_count=10, deadline=None))
        evidence.item("state machine of asking, failing, being killed and cut lines", True, f"{examples} histories of up to 10 steps")
    except AssertionError as error:
        evidence.item("state machine of asking, failing, being killed and cut lines", False, (str(error) or repr(error)).splitlines()[0])
    two_writers(evidence, folder / "two")
    cut_record(evidence, folder / "cut")


def two_writers(evidence: Evidence, folder: Path) -> None:
    folder.mkdir()
    script = f"import sys; sys.path.insert(0, {str(TOP / 'scripts')!r}); from rubrics_gym.store.requests import Ledger; Ledger({str(folder / 'store')!r}, {UNIT!r}); print('open', flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            Ledger(folder / "store", UNIT).close()
            figure, refused = "the second one was let in", False
        except LeaseHeld as error:
            figure, refused = str(error)[-110:], f"pid {process.pid}" in str(error)
        process.kill()
    Ledger(folder / "store", UNIT).close()
    evidence.item("two processes cannot write one unit", refused, figure)


def cut_record(evidence: Evidence, folder: Path) -> None:
    """The last record is cut at every byte."""
    root = folder / "store"
    root.parent.mkdir()
    ask_in_a_process(root, "a")
    path = root / "requests" / UNIT / "ledger.jsonl"
    whole = path.read_bytes()
    last = whole.rstrip(b"\n").rfind(b"\n") + 1
    served, tried = 0, 0
    for end in range(last, len(whole), 7):
        path.write_bytes(whole[:end])
        lines = check(root)
        tried += 1
        served += accounts(lines).returned == 1 and ask_in_a_process(root, "a") == "answered a 0"
    billed = sum(Shop(root.parent, "").billed().values())
    evidence.item(
        "a truncated last record",
        served == tried and billed == 1,
        f"cut at {tried} places, the answer was served after {served}, billed {billed} time",
    )


# ---------------------------------------------------------------- modes and budgets


def modes(evidence: Evidence, folder: Path) -> None:
    """Replay without a transport, and a study that stops at its cap over units that work at the same time."""
    with MessagesApi() as api:
        api.answers(200, api.text("yes"))
        with Ledger(folder / "store", UNIT, "work", "study") as ledger:
            LiveClient(lambda: provider_of(api), ledger, PRICES, Allowance(10**9), clock=lambda: NOW).ask(REQUEST)
    real, opened = socket.socket, []
    socket.socket = lambda *_, **__: opened.append(1) or real(*_, **__)  # type: ignore[misc,assignment,func-returns-value]
    try:
        replayed = Client(Records(folder / "store", UNIT))
        same = replayed.ask(REQUEST).response.text == "yes"
        try:
            replayed.ask(REQUEST.model_copy(update={"system": "Be long."}))
            shown = "nothing"
        except NotRecorded as error:
            shown = " / ".join(line for line in error.diff.splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---"))
    finally:
        socket.socket = real  # type: ignore[misc]
    evidence.item("replay serves what is on record and opens no socket", same and not opened, f"{len(opened)} sockets")
    evidence.item("a miss shows the nearest recorded request as a diff", shown == "-system: 'Be brief.' / +system: 'Be long.'", shown)

    cap, stopped = 40 * PAID + 4000, Counter[str]()

    def work(number: int) -> None:
        with CompletionsApi() as api, Ledger(folder / "capped", f"mine/unit{number}", "work", "study") as ledger:
            api.answers(200, api.text("yes"))
            client = LiveClient(lambda: provider_of(api), ledger, PRICES, Allowance(10**9, study_microdollars=cap), clock=lambda: NOW)
            try:
                for occurrence in range(50):
                    client.ask(REQUEST, occurrence)
            except StudyStopped:
                stopped["stopped"] += 1

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    total = accounts(read_requests(folder / "capped"))
    balanced = total.open == 0 and total.records == total.returned + total.failed + total.unresolved + total.refused
    evidence.item(
        "a study stops at its cap over four units at work at once",
        stopped["stopped"] == 4 and balanced and total.charged_microdollars <= cap and total.refused == 4,
        f"cap ${cap / 1e6:.4f}, charged ${total.charged_microdollars / 1e6:.4f}; {total.returned} returned, {total.refused} refused, {total.open} open",
    )


# ---------------------------------------------------------------- growth


def growth(evidence: Evidence, folder: Path) -> None:
    """100,000 stored responses."""
    rows = list(grow([1_000, 10_000, 100_000], str(folder)))
    first, last = rows[0], rows[-1]
    for row in rows:
        evidence.report(
            f"{row.responses:,} responses",
            f"ask {row.ask_ms:.1f} ms, hit {row.hit_ms:.2f} ms, open a unit {row.open_small_ms:.0f} ms, open one of {row.responses // 2:,} records "
            f"{row.open_long_us_per_record * row.responses / 2e6:.1f} s, tables {row.tables_s:.1f} s ({row.tables_cpu_s:.1f} s of the processor) with {row.tables_peak_mb:.0f} MB at most",
        )
    for name, slack in (("ask_ms", 10), ("hit_ms", 5), ("open_small_ms", 20), ("open_long_us_per_record", 100)):
        before, now = getattr(first, name), getattr(last, name)
        figure = (
            f"{now:.2f} beside {before:.2f} of {first.responses:,} responses (limit: 3 times, or {slack} more, for the machine's noise)"
        )
        evidence.item(f"{name} does not grow with the store", now < max(3 * before, before + slack), figure)
    evidence.item(
        "tables of 100,000 requests",
        last.tables_s < 300 and last.tables_peak_mb < 2000,
        f"{last.tables_s:.0f} s, {last.tables_peak_mb:.0f} MB (limits 300 s, 2,000 MB)",
    )


PARTS = {"wire": wire, "server": server, "kills": kills, "modes": modes, "growth": growth, "protocol": protocol.items}


def main(parts: list[str]) -> int:
    logging.disable(logging.WARNING)
    evidence = Evidence()
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    for name in parts or PARTS:
        with tempfile.TemporaryDirectory(dir=memory if name == "kills" else None) as folder:
            PARTS[name](evidence, Path(folder))
    return evidence.finish()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
