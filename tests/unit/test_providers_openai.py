"""Chat completions through the real SDK, against a loopback server that speaks their wire format."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest
from tests.loopback import KEY, CompletionsApi, cut, drip, hang_up, stall

from rubrics_gym.models.request import Message, ProviderError, Request, Tool, ToolCall, ToolResult
from rubrics_gym.models.structured import SchemaInvalid, parse
from rubrics_gym.providers.openai import OpenAI, strict_schema

SCHEMA = {
    "type": "object",
    "properties": {
        "violated": {"type": "boolean"},
        "reason": {"type": "string", "maxLength": 9, "description": "why"},
        "steps": {"type": "array", "items": {"type": "integer"}, "minItems": 1, "uniqueItems": True},
        "kind": {"anyOf": [{"type": "string", "enum": ["a", "b"]}, {"type": "null"}]},
    },
    "required": ["violated", "reason", "steps", "kind"],
    "additionalProperties": False,
}
BASH = Tool(
    name="bash",
    description="Runs a command.",
    parameters={"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"], "additionalProperties": False},
)
REQUEST = Request(
    purpose="judge",
    model="gpt-6-sol",
    system="You judge.",
    messages=(Message(role="user", text="List the files."),),
    tools=(BASH,),
    max_tokens=512,
    seed=7,
)


@pytest.fixture
def server() -> Iterator[CompletionsApi]:
    with CompletionsApi() as api:
        yield api


def provider(server: CompletionsApi, key: str | None = KEY, **limits: float) -> OpenAI:
    return OpenAI(key, base_url=f"{server.url}/v1", **{"connect_s": 2.0, "read_s": 5.0, "deadline_s": 10.0, **limits})


def failure(server: CompletionsApi, request: Request = REQUEST, **limits: float) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        provider(server, **limits).answer(request)
    return caught.value


@pytest.fixture(autouse=True)
def paths(server: CompletionsApi) -> None:
    server.paths = ("/v1/chat/completions",)


# ---------------------------------------------------------------- answers


def test_a_text_answer_and_its_tokens_by_class(server: CompletionsApi) -> None:
    server.answers(200, server.text("Two files."))
    response = provider(server).answer(REQUEST)
    assert (response.text, response.stop_reason, response.model) == ("Two files.", "end_turn", "gpt-6-sol")
    used = response.usage
    assert (used.input_tokens, used.output_tokens, used.cache_read_tokens, used.cache_write_tokens) == (20, 7, 300, 100)
    assert response.raw_usage["completion_tokens_details"] == {"reasoning_tokens": 3}


def test_what_is_sent(server: CompletionsApi) -> None:
    server.answers(200, server.text("ok"))
    provider(server).answer(REQUEST.model_copy(update={"effort": "high"}))
    (sent,) = server.requests
    assert sent.pop("tools")[0]["function"]["name"] == "bash"
    assert sent == {
        "model": "gpt-6-sol",
        "max_completion_tokens": 512,
        "messages": [{"role": "system", "content": "You judge."}, {"role": "user", "content": "List the files."}],
        "seed": 7,
        "reasoning_effort": "high",
    }


def test_tool_use_goes_back_and_forth(server: CompletionsApi) -> None:
    server.answers(200, server.tool_use("bash", {"command": "ls"}))
    response = provider(server).answer(REQUEST)
    assert response.tool_calls == (ToolCall(id="call_1", name="bash", arguments={"command": "ls"}),) and response.native == ()
    assert response.stop_reason == "tool_use"
    result = Message(role="user", text="Go on.", tool_results=(ToolResult(id="call_1", content="a.csv"),))
    provider(server).answer(REQUEST.model_copy(update={"messages": (*REQUEST.messages, response.turn(), result)}))
    call = {"id": "call_1", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}
    assert server.requests[1]["messages"][2:] == [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": "a.csv"},
        {"role": "user", "content": "Go on."},
    ]


@pytest.mark.parametrize("written", ['{"command": "ls', '["ls"]', ""])
def test_arguments_that_are_no_object_are_kept_as_they_came(server: CompletionsApi, written: str) -> None:
    server.answers(200, server.tool_use("bash", written))
    response = provider(server).answer(REQUEST)
    assert response.tool_calls[0].arguments == {}
    provider(server).answer(REQUEST.model_copy(update={"messages": (*REQUEST.messages, response.turn())}))
    assert server.requests[1]["messages"][2]["tool_calls"][0]["function"]["arguments"] == written


def test_structured_output_is_asked_for_strictly_and_checked_here(server: CompletionsApi) -> None:
    server.answers(200, server.text('{"violated": true, "reason": "late", "steps": [1], "kind": null}'))
    response = provider(server).answer(REQUEST.model_copy(update={"output_schema": SCHEMA, "tools": ()}))
    assert parse(response, SCHEMA)["steps"] == [1]
    asked = server.requests[0]["response_format"]["json_schema"]
    assert asked["strict"] is True and asked["name"] == "judge_answer"
    properties = asked["schema"]["properties"]
    assert properties["reason"] == {"type": "string", "description": "why (maxLength: 9)"}
    assert properties["steps"]["minItems"] == 1 and properties["steps"]["description"] == "(uniqueItems: true)"
    assert properties["kind"] == SCHEMA["properties"]["kind"]  # type: ignore[index]


def test_an_answer_against_its_schema_is_kept_and_called_invalid(server: CompletionsApi) -> None:
    server.answers(200, server.text('{"violated": "perhaps"}'))
    response = provider(server).answer(REQUEST.model_copy(update={"output_schema": SCHEMA}))
    with pytest.raises(SchemaInvalid) as caught:
        parse(response, SCHEMA)
    assert caught.value.kind == "schema_invalid" and response.usage.output_tokens == 7


def test_an_open_schema_is_not_sent(server: CompletionsApi) -> None:
    open_schema = {"type": "object", "properties": {"a": {"type": "object", "properties": {"b": {}}}}, "required": ["a"]}
    error = failure(server, REQUEST.model_copy(update={"output_schema": open_schema}))
    assert error.kind == "invalid_request" and "nothing was sent" in str(error) and not server.requests
    with pytest.raises(ProviderError, match=r"open at \$\.a"):
        strict_schema({**open_schema, "additionalProperties": False})


@pytest.mark.parametrize("message", [{"content": None, "refusal": "I cannot help with that."}, {"content": ""}])
def test_a_refusal_is_called_one(server: CompletionsApi, message: dict[str, str]) -> None:
    server.answers(200, server.completion(message, "stop" if "refusal" in message else "content_filter"))
    assert provider(server).answer(REQUEST).stop_reason == "refusal"


def test_a_cut_answer_says_so(server: CompletionsApi) -> None:
    server.answers(200, server.completion({"content": "Two fi"}, "length"))
    assert provider(server).answer(REQUEST).stop_reason == "max_tokens"


def test_a_server_that_needs_no_key_is_sent_none(server: CompletionsApi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with pytest.raises(ProviderError) as caught:
        provider(server, key=None).answer(REQUEST)
    error = caught.value
    assert error.kind == "auth" and "Bearer none" in str(error) and KEY not in str(error)


# ---------------------------------------------------------------- failures


@pytest.mark.parametrize(
    ("status", "code", "text", "kind"),
    [
        (400, "invalid_value", "messages is empty", "invalid_request"),
        (400, "context_length_exceeded", "This model's maximum context length is 128000 tokens", "context_length"),
        (400, "exceed_context_size_error", "request (900 tokens) exceeds the available context size (512 tokens)", "context_length"),
        (401, "invalid_api_key", f"Incorrect API key provided: {KEY}", "auth"),
        (403, "unsupported_country_region_territory", "not here", "auth"),
        (404, "model_not_found", "no such model", "invalid_request"),
        (408, "timeout", "request timeout", "server"),
        (413, "request_too_large", "too large", "context_length"),
        (429, "rate_limit_exceeded", "Rate limit reached", "rate_limit"),
        (429, "insufficient_quota", "You exceeded your current quota", "quota"),
        (500, "server_error", "The server had an error", "server"),
        (503, "server_error", "The engine is currently overloaded", "overloaded"),
        (504, "server_error", "gateway timeout", "timeout_read"),
        (529, "overloaded", "overloaded", "overloaded"),
    ],
)
def test_each_status_has_its_kind_and_is_sent_once(server: CompletionsApi, status: int, code: str, text: str, kind: str) -> None:
    server.fails(status, code, text)
    error = failure(server)
    assert error.kind == kind
    assert f"HTTP {status}" in str(error) and "req_1" in str(error)
    assert len(server.requests) == 1
    assert KEY not in str(error) and error.__cause__ is None


def test_the_wait_that_the_server_asks_for(server: CompletionsApi) -> None:
    server.fails(429, "rate_limit_exceeded", "slow down", retry_after="17")
    assert failure(server).retry_after_s == 17.0


def test_nothing_listens() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        with pytest.raises(ProviderError, match="nothing was sent") as caught:
            OpenAI(KEY, base_url=f"http://127.0.0.1:{taken.getsockname()[1]}/v1", connect_s=2.0).answer(REQUEST)
    assert caught.value.kind == "timeout_connect"


def test_what_happens_below_http(server: CompletionsApi) -> None:
    impatient = provider(server, read_s=0.3, deadline_s=2.0)
    for act, kind in (
        (cut(), "stream_cut"),
        (cut(b""), "stream_cut"),
        (hang_up, "stream_cut"),
        (stall(1.0, b""), "timeout_read"),
        (stall(1.0), "timeout_read"),
    ):
        server.act = act
        with pytest.raises(ProviderError) as caught:
            impatient.answer(REQUEST)
        assert caught.value.kind == kind
    server.act = drip
    assert failure(server, read_s=1.0, deadline_s=0.4).kind == "deadline"


@pytest.mark.parametrize(
    ("body", "kind"), [(b"", "stream_cut"), (b"{}", "unknown"), (b'{"choices": []}', "unknown"), (b"<html>", "stream_cut")]
)
def test_a_success_that_is_no_completion(server: CompletionsApi, body: bytes, kind: str) -> None:
    server.answers(200, body)
    assert failure(server).kind == kind
