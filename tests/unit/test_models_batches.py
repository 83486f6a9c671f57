"""Message batches through the real SDK: every request a record of its own, priced with the discount, and nothing lost when a process is killed while it waits."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from tests.loopback import KEY, MessagesApi, reply

from rubrics_gym.models.client import StudyStopped
from rubrics_gym.models.live import Allowance, LiveClient
from rubrics_gym.models.prices import load_prices
from rubrics_gym.models.request import Message, ProviderError, Request
from rubrics_gym.providers.anthropic import Anthropic
from rubrics_gym.providers.openai import OpenAI
from rubrics_gym.store.ledger import State, accounts, read_requests
from rubrics_gym.store.requests import Ledger

UNIT = "mine/mined"
NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
PRICES = load_prices(Path(__file__).parents[2] / "resources" / "prices.yaml")
FULL = 21  # micro-dollars of the loopback server's usage at the list price: 20 * 0.1 + 7 * 0.5 + 300 * 0.01 + 100 * 0.125


def request(text: str) -> Request:
    return Request(
        purpose="mine", model="claude-haiku-5-5", system="Be brief.", messages=(Message(role="user", text=text),), max_tokens=100
    )


@pytest.fixture
def server() -> Iterator[MessagesApi]:
    with MessagesApi() as api:
        api.answers(200, api.text("asked alone"))
        yield api


def client(server: MessagesApi, root: Path, *, waits: list[float] | None = None, **allowance: Any) -> LiveClient:
    provider = Anthropic(KEY, base_url=server.url, connect_s=2.0, read_s=5.0, deadline_s=10.0)
    limits = Allowance(**{"microdollars": 1_000_000, **allowance})
    sleep = (waits if waits is not None else []).append
    ledger = Ledger(root, UNIT, "work", "study")
    return LiveClient(lambda: provider, ledger, PRICES, limits, batch_poll_s=5.0, sleep=sleep, clock=lambda: NOW)


def kill(live: LiveClient) -> None:
    live._ledger._lease.release()


def test_what_is_asked_ahead_goes_in_one_batch_at_half_the_price(server: MessagesApi, tmp_path: Path) -> None:
    server.looks_until_ended, waits = 3, []
    live = client(server, tmp_path, waits=waits)
    live.ask_ahead([(request("a"), 0), (request("b"), 0), (request("a"), 0), (request("a"), 1)])
    answers = [live.ask(request(text), occurrence) for text, occurrence in (("a", 0), ("b", 0), ("a", 1))]
    live._ledger.close()
    assert [answer.response.text for answer in answers] == ["a", "b", "a"]
    assert {answer.cost_microdollars for answer in answers} == {(FULL + 1) // 2}
    assert len(server.requests) == 1 and len(server.batches["msgbatch_1"]) == 3 and waits == [5.0, 5.0]
    lines = list(read_requests(tmp_path))
    assert all(line.batch == "msgbatch_1" and line.request is None for line in lines) and accounts(lines).returned == 3
    again = client(server, tmp_path)
    again.ask_ahead([(request("a"), 0), (request("b"), 0)])
    assert again.ask(request("b")).served == "store" and len(server.requests) == 1


def test_a_process_that_is_killed_while_it_waits_loses_nothing(server: MessagesApi, tmp_path: Path) -> None:
    server.looks_until_ended = 1_000_000

    class Killed(BaseException):
        pass

    def die(_: float) -> None:
        raise Killed

    live = client(server, tmp_path)
    live._batches._sleep = die
    with pytest.raises(Killed):
        live.ask_ahead([(request("a"), 0), (request("b"), 0)])
    kill(live)
    server.looks_until_ended = 1
    live = client(server, tmp_path)
    assert live._ledger.charged.microdollars > 2 * FULL  # reserved at the maximum while nobody knows
    assert live.ask(request("b")).response.text == "b"  # even without being asked ahead again
    live.ask_ahead([(request("a"), 0), (request("b"), 0)])
    assert live.ask(request("a")).response.text == "a"
    live._ledger.close()
    total = accounts(read_requests(tmp_path))
    assert len(server.requests) == 1 and (total.records, total.returned) == (2, 2) and total.charged_microdollars == 2 * ((FULL + 1) // 2)


def test_killed_before_the_batch_has_a_name_is_unresolved(server: MessagesApi, tmp_path: Path) -> None:
    live = client(server, tmp_path)
    live._ledger.in_batch = lambda sent, batch: kill(live) or (_ for _ in ()).throw(KeyboardInterrupt)  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        live.ask_ahead([(request("a"), 0)])
    Ledger(tmp_path, UNIT).close()
    (line,) = read_requests(tmp_path)
    assert line.state is State.UNRESOLVED and line.cost_microdollars == line.max_cost_microdollars > 0


@pytest.mark.parametrize(
    ("result", "kind", "again"),
    [
        (
            {"type": "errored", "error": {"type": "error", "error": {"type": "invalid_request_error", "message": "no"}}},
            "invalid_request",
            False,
        ),
        ({"type": "errored", "error": {"type": "error", "error": {"type": "overloaded_error", "message": "no"}}}, "overloaded", True),
        ({"type": "expired"}, "server", True),
        (None, "unknown", False),
    ],
)
def test_one_that_fails_in_a_batch_is_sent_alone_only_where_the_policy_says_so(
    server: MessagesApi, tmp_path: Path, result: dict[str, Any] | None, kind: str, again: bool
) -> None:
    server.results = lambda one: server.succeed(one) if one["params"]["messages"][0]["content"][0]["text"] == "a" else result
    live = client(server, tmp_path)
    live.ask_ahead([(request("a"), 0), (request("b"), 0)])
    assert live.ask(request("a")).response.text == "a"
    if again:
        assert live.ask(request("b")).response.text == "asked alone"
    else:
        with pytest.raises(ProviderError) as caught:
            live.ask(request("b"))
        assert caught.value.kind == kind
    live._ledger.close()
    first = next(line for line in read_requests(tmp_path) if line.state is not State.RETURNED)
    assert first.kind == kind and first.cost_microdollars == (first.max_cost_microdollars if kind == "unknown" else 0)
    assert len(server.requests) == 1 + again


def test_a_batch_that_is_not_taken_is_sent_again_as_new_records(server: MessagesApi, tmp_path: Path) -> None:
    waits: list[float] = []
    take, refusals = server.post, iter([(429, "rate_limit_error")])

    def post(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        for status, kind in refusals:
            return reply(handler, status, server.error(kind, "slow down"), retry_after="17")
        return take(handler, body)

    server.post = post  # type: ignore[method-assign]
    live = client(server, tmp_path, waits=waits)
    live.ask_ahead([(request("a"), 0)])
    assert live.ask(request("a")).response.text == "a" and waits == [17.0]
    live._ledger.close()
    first, second = read_requests(tmp_path)
    assert (first.state, first.kind, second.state, second.replaces) == (State.FAILED, "rate_limit", State.RETURNED, first.record)


def test_a_batch_that_cannot_be_paid_fails_at_once(server: MessagesApi, tmp_path: Path) -> None:
    server.post = lambda handler, body: reply(handler, 402, server.error("billing_error", "payment required"))  # type: ignore[method-assign]
    live = client(server, tmp_path)
    with pytest.raises(StudyStopped, match="payment required"):
        live.ask_ahead([(request("a"), 0), (request("b"), 0)])
    live._ledger.close()
    assert [line.kind for line in read_requests(tmp_path)] == ["quota"] * 2 and accounts(read_requests(tmp_path)).charged_microdollars == 0


def test_what_the_study_may_not_pay_is_not_in_the_batch(server: MessagesApi, tmp_path: Path) -> None:
    live = client(server, tmp_path, study_requests=2)
    with pytest.raises(StudyStopped):
        live.ask_ahead([(request(text), 0) for text in "abcd"])
    live._ledger.close()
    total = accounts(read_requests(tmp_path))
    assert len(server.batches["msgbatch_1"]) == 2 and (total.returned, total.refused, total.open) == (2, 1, 0)


def test_a_model_without_a_price_for_batches_is_not_sent(server: MessagesApi, tmp_path: Path) -> None:
    live = client(server, tmp_path)
    live._prices = PRICES.model_copy(
        update={
            "models": {"claude-haiku-5-5": tuple(price.model_copy(update={"batch": None}) for price in PRICES.models["claude-haiku-5-5"])}
        }
    )
    with pytest.raises(ProviderError, match="no price for requests in batches") as caught:
        live.ask_ahead([(request("a"), 0)])
    assert caught.value.kind == "no_price" and not server.requests


def test_a_provider_without_batches_says_so(tmp_path: Path) -> None:
    with Ledger(tmp_path, UNIT) as ledger:
        live = LiveClient(lambda: OpenAI(None, base_url="http://127.0.0.1:9"), ledger, PRICES, Allowance(10**6), batch_poll_s=5.0)  # type: ignore[arg-type]
        with pytest.raises(ProviderError, match=r"takes no batches.*requests\.batch"):
            live.ask_ahead([(request("a"), 0)])
