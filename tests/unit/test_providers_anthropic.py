"""Claude through the real SDK, against a loopback server that speaks the Messages API's wire format."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from tests.loopback import KEY, USAGE, MessagesApi, cut, drip, hang_up, reply, stall

from rubrics_gym.models.live import Allowance, LiveClient
from rubrics_gym.models.prices import load_prices
from rubrics_gym.models.request import Message, ProviderError, Request, Tool, ToolCall, ToolResult
from rubrics_gym.models.structured import parse
from rubrics_gym.providers.anthropic import Anthropic
from rubrics_gym.store.ledger import read_requests
from rubrics_gym.store.requests import Ledger

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
SCHEMA = {
    "type": "object",
    "properties": {"violated": {"type": "boolean"}, "reason": {"type": "string", "maxLength": 9}},
    "required": ["violated", "reason"],
    "additionalProperties": False,
}
REQUEST = Request(
    purpose="agent",
    model="claude-haiku-5-5",
    system="You solve tasks.",
    messages=(Message(role="user", text="List the files."),),
    tools=(
        Tool(
            name="bash",
            description="Runs a command.",
            parameters={"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]},
        ),
    ),
    max_tokens=512,
)


@pytest.fixture
def server() -> Iterator[MessagesApi]:
    with MessagesApi() as api:
        yield api


def provider(server: MessagesApi, key: str = KEY, **limits: float) -> Anthropic:
    return Anthropic(key, base_url=server.url, **{"connect_s": 2.0, "read_s": 5.0, "deadline_s": 10.0, **limits})


def failure(server: MessagesApi, request: Request = REQUEST, **limits: float) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        provider(server, **limits).answer(request)
    return caught.value


# ---------------------------------------------------------------- answers


def test_a_text_answer(server: MessagesApi) -> None:
    server.answers(200, server.message({"type": "text", "text": "Two "}, {"type": "text", "text": "files."}))
    response = provider(server).answer(REQUEST)
    assert (response.text, response.stop_reason, response.model) == ("Two files.", "end_turn", "claude-haiku-5-5")
    assert response.usage.model_dump() == {
        "input_tokens": 20,
        "output_tokens": 7,
        "cache_read_tokens": 300,
        "cache_write_tokens": 100,
        "cache_write_1h_tokens": 0,
    }
    assert response.raw_usage == USAGE


def test_what_is_sent(server: MessagesApi) -> None:
    server.answers(200, server.message({"type": "text", "text": "ok"}))
    provider(server).answer(REQUEST)
    (sent,) = server.requests
    assert set(sent) == {"model", "max_tokens", "messages", "system", "tools", "cache_control"}
    assert sent["system"] == [{"type": "text", "text": "You solve tasks.", "cache_control": {"type": "ephemeral"}}]
    assert sent["tools"][0]["name"] == "bash" and sent["tools"][0]["input_schema"]["required"] == ["command"]
    assert sent["messages"] == [{"role": "user", "content": [{"type": "text", "text": "List the files."}]}]


def test_tool_use_goes_back_and_forth(server: MessagesApi) -> None:
    server.answers(
        200, server.message({"type": "tool_use", "id": "toolu_1", "name": "bash", "input": {"command": "ls"}}, stop_reason="tool_use")
    )
    response = provider(server).answer(REQUEST)
    assert response.tool_calls == (ToolCall(id="toolu_1", name="bash", arguments={"command": "ls"}),) and response.native == ()
    result = Message(role="user", text="Go on.", tool_results=(ToolResult(id="toolu_1", content="a.csv"),))
    provider(server).answer(REQUEST.model_copy(update={"messages": (*REQUEST.messages, response.turn(), result)}))
    assert server.requests[1]["messages"][1:] == [
        {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "bash", "input": {"command": "ls"}}]},
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "a.csv"}, {"type": "text", "text": "Go on."}],
        },
    ]


def test_thinking_goes_back_as_it_came(server: MessagesApi) -> None:
    blocks = [
        {"type": "thinking", "thinking": "", "signature": "c2ln"},
        {"type": "tool_use", "id": "toolu_1", "name": "bash", "input": {"command": "ls"}},
    ]
    server.answers(200, server.message(*blocks, stop_reason="tool_use"))
    turn = provider(server).answer(REQUEST).turn()
    provider(server).answer(REQUEST.model_copy(update={"messages": (*REQUEST.messages, turn)}))
    assert server.requests[1]["messages"][1]["content"] == blocks


def test_structured_output_is_asked_for_natively_and_checked_here(server: MessagesApi) -> None:
    server.answers(200, server.message({"type": "text", "text": '{"violated": true, "reason": "late"}'}))
    response = provider(server).answer(REQUEST.model_copy(update={"output_schema": SCHEMA, "tools": ()}))
    assert parse(response, SCHEMA) == {"violated": True, "reason": "late"}
    asked = server.requests[0]["output_config"]["format"]
    assert asked["type"] == "json_schema" and asked["schema"]["required"] == ["violated", "reason"]
    assert asked["schema"]["properties"]["reason"]["type"] == "string" and "maxLength" not in asked["schema"]["properties"]["reason"]


def test_an_empty_turn_is_left_out(server: MessagesApi) -> None:
    server.answers(200, server.message())
    turn = provider(server).answer(REQUEST).turn()
    provider(server).answer(REQUEST.model_copy(update={"messages": (*REQUEST.messages, turn, Message(role="user", text="Well?"))}))
    assert [sent["role"] for sent in server.requests[1]["messages"]] == ["user", "user"]


# ---------------------------------------------------------------- failures


@pytest.mark.parametrize(
    ("status", "kind_of_api", "text", "kind"),
    [
        (400, "invalid_request_error", "messages: at least one message is required", "invalid_request"),
        (400, "invalid_request_error", "prompt is too long: 1200000 tokens > 1000000 maximum", "context_length"),
        (400, "invalid_request_error", "Your credit balance is too low to access the API", "quota"),
        (401, "authentication_error", f"invalid x-api-key {KEY}", "auth"),
        (402, "billing_error", "payment required", "quota"),
        (403, "permission_error", "not allowed", "auth"),
        (404, "not_found_error", "model: claude-nope", "invalid_request"),
        (408, "timeout_error", "request timeout", "server"),
        (413, "request_too_large", "Request exceeds the maximum size", "context_length"),
        (429, "rate_limit_error", "too many requests", "rate_limit"),
        (429, "rate_limit_error", "You have reached your monthly spend limit", "quota"),
        (500, "api_error", "Internal server error", "server"),
        (503, "api_error", "unavailable", "server"),
        (504, "timeout_error", "timed out while processing", "timeout_read"),
        (529, "overloaded_error", "Overloaded", "overloaded"),
    ],
)
def test_each_status_has_its_kind_and_is_sent_once(server: MessagesApi, status: int, kind_of_api: str, text: str, kind: str) -> None:
    server.answers(status, server.error(kind_of_api, text))
    error = failure(server)
    assert error.kind == kind
    assert f"HTTP {status}" in str(error) and "req_1" in str(error)
    assert len(server.requests) == 1
    assert KEY not in str(error) and error.__cause__ is None


def test_an_error_page_that_is_no_json(server: MessagesApi) -> None:
    server.answers(502, b"<html>bad gateway</html>")
    assert failure(server).kind == "server"


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"retry_after": "17"}, 17.0),
        ({"retry_after_ms": "1500", "retry_after": "2"}, 1.5),
        ({"retry_after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"retry_after": "nan"}, None),
        ({}, None),
        ({"retry_after": "soon"}, None),
    ],
)
def test_the_wait_that_the_server_asks_for(server: MessagesApi, headers: dict[str, str], expected: float | None) -> None:
    server.answers(429, server.error("rate_limit_error", "slow down"), **headers)
    assert failure(server).retry_after_s == expected


def test_a_wrong_key_is_never_shown(server: MessagesApi) -> None:
    wrong = "sk-ant-wrong-key"
    broken = provider(server, key=wrong)
    with pytest.raises(ProviderError) as caught:
        broken.answer(REQUEST)
    assert caught.value.kind == "auth" and "[key]" in str(caught.value)
    assert wrong not in str(caught.value) + repr(caught.value) + repr(broken)


def test_how_long_prefixes_are_kept_is_asked_for(server: MessagesApi) -> None:
    server.answers(200, server.text("ok"))
    Anthropic(KEY, base_url=server.url, cache="1h").answer(REQUEST)
    Anthropic(KEY, base_url=server.url, cache="off").answer(REQUEST.model_copy(update={"effort": "low"}))
    hour, off = server.requests
    assert hour["cache_control"] == hour["system"][0]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}
    assert "cache_control" not in off and "cache_control" not in off["system"][0] and off["output_config"] == {"effort": "low"}


def test_tokens_cached_for_an_hour_are_a_class_of_their_own(server: MessagesApi) -> None:
    usage = {**USAGE, "cache_creation": {"ephemeral_5m_input_tokens": 30, "ephemeral_1h_input_tokens": 70}}
    server.answers(200, {**server.text("ok"), "usage": usage})
    used = provider(server).answer(REQUEST).usage
    assert (used.cache_write_tokens, used.cache_write_1h_tokens) == (30, 70)


def test_nothing_listens() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(ProviderError, match="nothing was sent") as caught:
            Anthropic(KEY, base_url=url, connect_s=2.0).answer(REQUEST)
    assert caught.value.kind == "timeout_connect"


def test_a_stall_before_the_answer(server: MessagesApi) -> None:
    server.act = stall(1.5, sent=b"")
    assert failure(server, read_s=0.3).kind == "timeout_read"
    assert len(server.requests) == 1


def test_a_stall_in_the_middle(server: MessagesApi) -> None:
    server.act = stall(1.5)
    assert failure(server, read_s=0.3).kind == "timeout_read"


def test_an_answer_that_drips_meets_the_deadline(server: MessagesApi) -> None:
    server.act = drip
    error = failure(server, read_s=1.0, deadline_s=0.4)
    assert error.kind == "deadline" and "0.4 s" in str(error)


def test_silence_meets_the_deadline_before_the_longest_silence_has_passed_again(server: MessagesApi) -> None:
    def late(handler: BaseHTTPRequestHandler) -> None:
        time.sleep(0.5)
        reply(handler, 200, b"{", length=500)
        time.sleep(5)

    server.act = late
    patient = provider(server, read_s=3.0, deadline_s=3.0)
    patient._wire._deadline_s = 0.8  # the longest silence stays 3 s, so that only the deadline can end it sooner
    begun = time.monotonic()
    with pytest.raises(ProviderError, match=r"not whole 0\.8 s after sending"):
        patient.answer(REQUEST)
    assert time.monotonic() - begun < 2.5


@pytest.mark.parametrize("sent", [b"", b'{"id": "msg_01", "content": [{"ty'])
def test_a_body_cut_in_the_middle(server: MessagesApi, sent: bytes) -> None:
    server.act = cut(sent)
    assert failure(server).kind == "stream_cut"


def test_a_connection_closed_without_an_answer(server: MessagesApi) -> None:
    server.act = hang_up
    assert failure(server).kind == "stream_cut"


@pytest.mark.parametrize(
    ("body", "kind"), [(b"", "stream_cut"), (b"{}", "unknown"), (b'{"content": [], "usage": null}', "unknown"), (b"[]", "unknown")]
)
def test_a_success_that_is_no_message(server: MessagesApi, body: bytes, kind: str) -> None:
    server.answers(200, body)
    assert failure(server).kind == kind


# ---------------------------------------------------------------- with the client


def test_an_answer_is_priced_and_served_again_without_the_server(server: MessagesApi, tmp_path: Path) -> None:
    prices = load_prices(Path(__file__).parents[2] / "resources" / "prices.yaml")
    server.answers(200, server.message({"type": "text", "text": "ok"}))
    for served in ("live", "store"):
        with Ledger(tmp_path, "rollouts/pool/packaged/x/0") as ledger:
            answer = LiveClient(lambda: provider(server), ledger, prices, Allowance(10_000), clock=lambda: NOW).ask(REQUEST)
        assert answer.served == served and answer.response.raw_usage == USAGE
    assert len(server.requests) == 1
    (line,) = read_requests(tmp_path)
    assert line.cost_microdollars == 21  # 20 * 0.1 + 7 * 0.5 + 300 * 0.01 + 100 * 0.125
    assert all(KEY not in path.read_text() for path in tmp_path.rglob("*.json*"))


def test_a_stall_is_charged_at_its_maximum_and_not_repeated(server: MessagesApi, tmp_path: Path) -> None:
    prices = load_prices(Path(__file__).parents[2] / "resources" / "prices.yaml")
    server.act = stall(1.0, sent=b"")
    with Ledger(tmp_path, "rollouts/pool/packaged/x/0") as ledger, pytest.raises(ProviderError):
        LiveClient(lambda: provider(server, read_s=0.3), ledger, prices, Allowance(10_000)).ask(REQUEST)
    (line,) = read_requests(tmp_path)
    assert line.state == "unresolved" and line.kind == "timeout_read" and line.cost_microdollars == line.max_cost_microdollars > 0
    assert len(server.requests) == 1
