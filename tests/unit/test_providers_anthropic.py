"""Claude through the real SDK, against a loopback server that speaks the Messages API's wire format."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from rubrics_gym.models.live import Allowance, LiveClient
from rubrics_gym.models.prices import load_prices
from rubrics_gym.models.request import Message, ProviderError, Request, Tool, ToolCall, ToolResult
from rubrics_gym.models.structured import parse
from rubrics_gym.providers.anthropic import Anthropic
from rubrics_gym.store.ledger import read_requests
from rubrics_gym.store.requests import Ledger

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
KEY = "sk-ant-very-secret"
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
USAGE = {
    "input_tokens": 20,
    "output_tokens": 7,
    "cache_creation_input_tokens": 100,
    "cache_read_input_tokens": 300,
    "service_tier": "standard",
}


def message(*content: dict[str, Any], stop_reason: str = "end_turn") -> dict[str, Any]:
    return {
        "id": "msg_01",
        "type": "message",
        "role": "assistant",
        "model": "claude-haiku-5-5",
        "content": list(content),
        "stop_reason": stop_reason,
        "stop_sequence": None,
        "usage": USAGE,
    }


class Server:
    """Checks what arrives as the API would, then acts as told: a status with a body, or any handling of the connection."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.act: Callable[[BaseHTTPRequestHandler], None] = lambda handler: None
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                server.requests.append(body)
                if self.path != "/v1/messages" or not self.headers["anthropic-version"]:
                    reply(self, 404, error_body("not_found_error", self.path))
                elif KEY not in (key := self.headers["x-api-key"] or self.headers["authorization"]):  # SDK 2 sends it as a bearer token
                    reply(self, 401, error_body("authentication_error", f"invalid key: {key}"))
                else:
                    server.act(self)

            def log_message(self, *_: Any) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"
        threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def answers(self, status: int, body: dict[str, Any] | bytes, **headers: str) -> None:
        self.act = lambda handler: reply(handler, status, body, **headers)


def error_body(kind: str, text: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": text}, "request_id": "req_1"}


def reply(handler: BaseHTTPRequestHandler, status: int, body: dict[str, Any] | bytes, length: int | None = None, **headers: str) -> None:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    handler.send_response(status)
    handler.send_header("content-type", "application/json")
    handler.send_header("request-id", "req_1")
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.send_header("content-length", str(len(data) if length is None else length))
    handler.end_headers()
    handler.wfile.write(data)


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.http.shutdown()
    server.http.server_close()


def provider(server: Server, key: str = KEY, **limits: float) -> Anthropic:
    return Anthropic(key, base_url=server.url, **{"connect_s": 2.0, "read_s": 5.0, "deadline_s": 10.0, **limits})


def failure(server: Server, request: Request = REQUEST, **limits: float) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        provider(server, **limits).answer(request)
    return caught.value


# ---------------------------------------------------------------- answers


def test_a_text_answer(server: Server) -> None:
    server.answers(200, message({"type": "text", "text": "Two "}, {"type": "text", "text": "files."}))
    response = provider(server).answer(REQUEST)
    assert (response.text, response.stop_reason, response.model) == ("Two files.", "end_turn", "claude-haiku-5-5")
    assert response.usage.model_dump() == {"input_tokens": 20, "output_tokens": 7, "cache_read_tokens": 300, "cache_write_tokens": 100}
    assert response.raw_usage == USAGE


def test_what_is_sent(server: Server) -> None:
    server.answers(200, message({"type": "text", "text": "ok"}))
    provider(server).answer(REQUEST)
    (sent,) = server.requests
    assert set(sent) == {"model", "max_tokens", "messages", "system", "tools", "cache_control"}
    assert sent["system"] == [{"type": "text", "text": "You solve tasks.", "cache_control": {"type": "ephemeral"}}]
    assert sent["tools"][0]["name"] == "bash" and sent["tools"][0]["input_schema"]["required"] == ["command"]
    assert sent["messages"] == [{"role": "user", "content": [{"type": "text", "text": "List the files."}]}]


def test_tool_use_goes_back_and_forth(server: Server) -> None:
    server.answers(200, message({"type": "tool_use", "id": "toolu_1", "name": "bash", "input": {"command": "ls"}}, stop_reason="tool_use"))
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


def test_thinking_goes_back_as_it_came(server: Server) -> None:
    blocks = [
        {"type": "thinking", "thinking": "", "signature": "c2ln"},
        {"type": "tool_use", "id": "toolu_1", "name": "bash", "input": {"command": "ls"}},
    ]
    server.answers(200, message(*blocks, stop_reason="tool_use"))
    turn = provider(server).answer(REQUEST).turn()
    provider(server).answer(REQUEST.model_copy(update={"messages": (*REQUEST.messages, turn)}))
    assert server.requests[1]["messages"][1]["content"] == blocks


def test_structured_output_is_asked_for_natively_and_checked_here(server: Server) -> None:
    server.answers(200, message({"type": "text", "text": '{"violated": true, "reason": "late"}'}))
    response = provider(server).answer(REQUEST.model_copy(update={"output_schema": SCHEMA, "tools": ()}))
    assert parse(response, SCHEMA) == {"violated": True, "reason": "late"}
    asked = server.requests[0]["output_config"]["format"]
    assert asked["type"] == "json_schema" and asked["schema"]["required"] == ["violated", "reason"]
    assert asked["schema"]["properties"]["reason"]["type"] == "string" and "maxLength" not in asked["schema"]["properties"]["reason"]


def test_an_empty_turn_is_left_out(server: Server) -> None:
    server.answers(200, message())
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
def test_each_status_has_its_kind_and_is_sent_once(server: Server, status: int, kind_of_api: str, text: str, kind: str) -> None:
    server.answers(status, error_body(kind_of_api, text))
    error = failure(server)
    assert error.kind == kind
    assert f"HTTP {status}" in str(error) and "req_1" in str(error)
    assert len(server.requests) == 1
    assert KEY not in str(error) and error.__cause__ is None


def test_an_error_page_that_is_no_json(server: Server) -> None:
    server.answers(502, b"<html>bad gateway</html>")
    assert failure(server).kind == "server"


@pytest.mark.parametrize(
    ("headers", "expected"),
    [({"retry_after": "17"}, 17.0), ({"retry_after_ms": "1500", "retry_after": "2"}, 1.5), ({}, None), ({"retry_after": "soon"}, None)],
)
def test_the_wait_that_the_server_asks_for(server: Server, headers: dict[str, str], expected: float | None) -> None:
    server.answers(429, error_body("rate_limit_error", "slow down"), **headers)
    assert failure(server).retry_after_s == expected


def test_a_wrong_key_is_never_shown(server: Server) -> None:
    wrong = "sk-ant-wrong-key"
    broken = provider(server, key=wrong)
    with pytest.raises(ProviderError) as caught:
        broken.answer(REQUEST)
    assert caught.value.kind == "auth" and "[key]" in str(caught.value)
    assert wrong not in str(caught.value) + repr(caught.value) + repr(broken)


def test_nothing_listens() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(ProviderError, match="nothing was sent") as caught:
            Anthropic(KEY, base_url=url, connect_s=2.0).answer(REQUEST)
    assert caught.value.kind == "timeout_connect"


def test_a_stall_before_the_answer(server: Server) -> None:
    server.act = lambda handler: time.sleep(1.5)
    assert failure(server, read_s=0.3).kind == "timeout_read"
    assert len(server.requests) == 1


def test_a_stall_in_the_middle(server: Server) -> None:
    def stall(handler: BaseHTTPRequestHandler) -> None:
        reply(handler, 200, b'{"id": "msg_01", ', length=500)
        handler.wfile.flush()
        time.sleep(1.5)

    server.act = stall
    assert failure(server, read_s=0.3).kind == "timeout_read"


def test_an_answer_that_drips_meets_the_deadline(server: Server) -> None:
    def drip(handler: BaseHTTPRequestHandler) -> None:
        reply(handler, 200, b"{", length=500)
        try:
            for _ in range(40):
                time.sleep(0.05)
                handler.wfile.write(b" ")
        except OSError:  # the client hung up
            pass

    server.act = drip
    error = failure(server, read_s=1.0, deadline_s=0.4)
    assert error.kind == "deadline" and "0.4 s" in str(error)


@pytest.mark.parametrize("sent", [b"", b'{"id": "msg_01", "content": [{"ty'])
def test_a_body_cut_in_the_middle(server: Server, sent: bytes) -> None:
    def cut(handler: BaseHTTPRequestHandler) -> None:
        reply(handler, 200, sent, length=500)
        handler.close_connection = True

    server.act = cut
    assert failure(server).kind == "stream_cut"


def test_a_connection_closed_without_an_answer(server: Server) -> None:
    def hang_up(handler: BaseHTTPRequestHandler) -> None:
        handler.close_connection = True

    server.act = hang_up
    assert failure(server).kind == "stream_cut"


@pytest.mark.parametrize(
    ("body", "kind"), [(b"", "stream_cut"), (b"{}", "unknown"), (b'{"content": [], "usage": null}', "unknown"), (b"[]", "unknown")]
)
def test_a_success_that_is_no_message(server: Server, body: bytes, kind: str) -> None:
    server.answers(200, body)
    assert failure(server).kind == kind


# ---------------------------------------------------------------- with the client


def test_an_answer_is_priced_and_served_again_without_the_server(server: Server, tmp_path: Path) -> None:
    prices = load_prices(Path(__file__).parents[2] / "resources" / "prices.yaml")
    server.answers(200, message({"type": "text", "text": "ok"}))
    for served in ("live", "store"):
        with Ledger(tmp_path, "rollouts/pool/packaged/x/0") as ledger:
            answer = LiveClient(lambda: provider(server), ledger, prices, Allowance(10_000), clock=lambda: NOW).ask(REQUEST)
        assert answer.served == served and answer.response.raw_usage == USAGE
    assert len(server.requests) == 1
    (line,) = read_requests(tmp_path)
    assert line.cost_microdollars == 21  # 20 * 0.1 + 7 * 0.5 + 300 * 0.01 + 100 * 0.125
    assert all(KEY not in path.read_text() for path in tmp_path.rglob("*.json*"))


def test_a_stall_is_charged_at_its_maximum_and_not_repeated(server: Server, tmp_path: Path) -> None:
    prices = load_prices(Path(__file__).parents[2] / "resources" / "prices.yaml")
    server.act = lambda handler: time.sleep(1.0)
    with Ledger(tmp_path, "rollouts/pool/packaged/x/0") as ledger, pytest.raises(ProviderError):
        LiveClient(lambda: provider(server, read_s=0.3), ledger, prices, Allowance(10_000)).ask(REQUEST)
    (line,) = read_requests(tmp_path)
    assert line.state == "unresolved" and line.kind == "timeout_read" and line.cost_microdollars == line.max_cost_microdollars > 0
    assert len(server.requests) == 1
