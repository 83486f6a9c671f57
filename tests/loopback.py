"""Servers on loopback that speak the wire format of the model providers, and check what arrives as the real ones would."""

from __future__ import annotations

import json
import re
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

KEY = "sk-very-secret"
USAGE = {
    "input_tokens": 20,
    "output_tokens": 7,
    "cache_creation_input_tokens": 100,
    "cache_read_input_tokens": 300,
    "service_tier": "standard",
}

Act = Callable[[BaseHTTPRequestHandler], None]


class Api(ABC):
    """A server that refuses what its API would refuse, and else acts as told: a status with a body, or any handling of the connection."""

    paths: tuple[str, ...]

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []  # bodies that were posted, in order
        self.act: Act = lambda handler: None
        api = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                api.requests.append(body)
                if self.path not in api.paths:
                    reply(self, 404, api.error("not_found_error", self.path))
                elif KEY not in (key := self.headers["x-api-key"] or self.headers["authorization"] or ""):
                    reply(self, 401, api.error("authentication_error", f"invalid key: {key}"))
                elif problem := api.objection(self, body):
                    reply(self, 400, api.error("invalid_request_error", problem))
                else:
                    api.post(self, body)

            def do_GET(self) -> None:
                api.get(self)

            def log_message(self, *_: Any) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"
        threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.http.shutdown()
        self.http.server_close()

    def post(self, handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        self.act(handler)

    def get(self, handler: BaseHTTPRequestHandler) -> None:
        reply(handler, 404, self.error("not_found_error", handler.path))

    def answers(self, status: int, body: dict[str, Any] | bytes, **headers: str) -> None:
        """From now on answer so."""
        self.act = lambda handler: reply(handler, status, body, **headers)

    def fails(self, status: int, kind: str, text: str, **headers: str) -> None:
        """From now on answer with an error of the API."""
        self.answers(status, self.error(kind, text), **headers)

    @abstractmethod
    def error(self, kind: str, text: str) -> dict[str, Any]:
        """The body of an error."""

    @abstractmethod
    def objection(self, handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> str | None:
        """Why the API would not take a request."""

    @abstractmethod
    def text(self, text: str) -> dict[str, Any]:
        """The body of a plain answer."""


class MessagesApi(Api):
    """The Messages API and its batches."""

    paths = ("/v1/messages", "/v1/messages/batches")

    def __init__(self) -> None:
        super().__init__()
        self.batches: dict[str, list[dict[str, Any]]] = {}  # id -> its requests
        self.results: Callable[[dict[str, Any]], dict[str, Any] | None] = self.succeed  # request of a batch -> its result
        self.looks_until_ended = 1

    def error(self, kind: str, text: str) -> dict[str, Any]:
        return {"type": "error", "error": {"type": kind, "message": text}, "request_id": "req_1"}

    def text(self, text: str) -> dict[str, Any]:
        return self.message({"type": "text", "text": text})

    def tool_use(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return self.message({"type": "tool_use", "id": "toolu_1", "name": name, "input": arguments}, stop_reason="tool_use")

    def message(self, *content: dict[str, Any], stop_reason: str = "end_turn") -> dict[str, Any]:
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

    def objection(self, handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> str | None:
        if not handler.headers["anthropic-version"]:
            return "anthropic-version: header is required"
        if handler.path == "/v1/messages/batches":
            names = [one["custom_id"] for one in body["requests"]]
            if len(set(names)) != len(names) or not all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) for name in names):
                return "requests.custom_id: must be unique and match ^[a-zA-Z0-9_-]{1,64}$"
            return next((problem for one in body["requests"] if (problem := self._objection_to_params(one["params"]))), None)
        return self._objection_to_params(body)

    def _objection_to_params(self, body: dict[str, Any]) -> str | None:
        for name in ("model", "max_tokens", "messages"):
            if not body.get(name):
                return f"{name}: Field required"
        if body["messages"][0]["role"] != "user":
            return "messages: first message must use the user role"
        called: set[str] = set()
        for number, turn in enumerate(body["messages"]):
            if not turn["content"]:
                return f"messages.{number}: content must not be empty"
            for block in turn["content"]:
                if block["type"] == "text" and not block["text"]:
                    return "messages: text content blocks must be non-empty"
                if block["type"] == "tool_use":
                    called.add(block["id"])
                if block["type"] == "tool_result" and block["tool_use_id"] not in called:
                    return f"messages.{number}: unexpected tool_use_id {block['tool_use_id']}"
        schema = (body.get("output_config", {}).get("format") or {}).get("schema")
        return "output_config.format.schema: additionalProperties must be false" if schema and schema.get("additionalProperties") else None

    def post(self, handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        if handler.path == "/v1/messages":
            return self.act(handler)
        name = f"msgbatch_{len(self.batches) + 1}"
        self.batches[name] = body["requests"]
        reply(handler, 200, self._batch(name))

    def get(self, handler: BaseHTTPRequestHandler) -> None:
        name, _, rest = handler.path.removeprefix("/v1/messages/batches/").partition("/")
        if name not in self.batches:
            return reply(handler, 404, self.error("not_found_error", handler.path))
        if rest == "results":
            rows = [{"custom_id": one["custom_id"], "result": self.results(one)} for one in reversed(self.batches[name])]  # any order
            return reply(handler, 200, "".join(json.dumps(row) + "\n" for row in rows if row["result"]).encode())
        self.looks_until_ended -= 1
        return reply(handler, 200, self._batch(name))

    def succeed(self, request: dict[str, Any]) -> dict[str, Any]:
        """The result of a batch's request that went well: it says what was asked."""
        return {"type": "succeeded", "message": self.text(request["params"]["messages"][0]["content"][0]["text"])}

    def _batch(self, name: str) -> dict[str, Any]:
        ended = self.looks_until_ended < 1
        when = "2026-11-30T00:00:00Z"
        return {
            "id": name,
            "type": "message_batch",
            "processing_status": "ended" if ended else "in_progress",
            "request_counts": {"processing": 0, "succeeded": 0, "errored": 0, "canceled": 0, "expired": 0},
            "created_at": when,
            "expires_at": when,
            "ended_at": when if ended else None,
            "results_url": f"{self.url}/v1/messages/batches/{name}/results" if ended else None,
        }


class CompletionsApi(Api):
    """Chat completions."""

    paths = ("/v1/chat/completions",)

    def error(self, kind: str, text: str) -> dict[str, Any]:
        return {"error": {"message": text, "type": kind, "param": None, "code": kind}}

    def text(self, text: str) -> dict[str, Any]:
        return self.completion({"content": text})

    def tool_use(self, name: str, arguments: dict[str, Any] | str) -> dict[str, Any]:
        written = arguments if isinstance(arguments, str) else json.dumps(arguments)
        call = {"id": "call_1", "type": "function", "function": {"name": name, "arguments": written}}
        return self.completion({"content": None, "tool_calls": [call]}, "tool_calls")

    def completion(self, message: dict[str, Any], finish_reason: str = "stop") -> dict[str, Any]:
        return {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1790000000,
            "model": "gpt-6-sol",
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", "refusal": None, **message},
                    "finish_reason": finish_reason,
                    "logprobs": None,
                }
            ],
            "usage": {
                "prompt_tokens": 420,
                "completion_tokens": 7,
                "total_tokens": 427,
                "prompt_tokens_details": {"cached_tokens": 300, "cache_write_tokens": 100, "audio_tokens": 0},
                "completion_tokens_details": {"reasoning_tokens": 3},
            },
        }

    def objection(self, handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> str | None:
        called: set[str] = set()
        for number, message in enumerate(body["messages"]):
            if message["role"] == "tool" and message["tool_call_id"] not in called:
                return f"messages[{number}]: tool_call_id {message['tool_call_id']} not found"
            called |= {call["id"] for call in message.get("tool_calls") or []}
        schema = body.get("response_format", {}).get("json_schema", {})
        if schema.get("strict") and not _is_closed(schema["schema"]):
            return "Invalid schema for response_format: additionalProperties is required to be false and all properties required"
        return None


def _is_closed(schema: dict[str, Any]) -> bool:
    """Whether every object of a schema is closed and all its properties are required, and no keyword is beyond strict mode."""
    if {"maxLength", "minLength", "oneOf", "allOf", "not", "uniqueItems"} & set(schema):
        return False
    properties = schema.get("properties", {})
    if schema.get("type") == "object" and (schema.get("additionalProperties") is not False or set(schema["required"]) != set(properties)):
        return False
    inner = [*properties.values(), *schema.get("anyOf", []), *([schema["items"]] if "items" in schema else [])]
    return all(_is_closed(one) for one in inner)


def reply(handler: BaseHTTPRequestHandler, status: int, body: dict[str, Any] | bytes, length: int | None = None, **headers: str) -> None:
    """Send a whole answer; `length` is what its head claims when that is not true."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    handler.send_response(status)
    handler.send_header("content-type", "application/json")
    handler.send_header("request-id", "req_1")
    handler.send_header("x-request-id", "req_1")
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.send_header("content-length", str(len(data) if length is None else length))
    handler.end_headers()
    handler.wfile.write(data)
    handler.wfile.flush()


def cut(sent: bytes = b'{"id": "m_01", "content": [{"ty') -> Act:
    """The body breaks off."""

    def act(handler: BaseHTTPRequestHandler) -> None:
        reply(handler, 200, sent, length=500)
        handler.close_connection = True

    return act


def hang_up(handler: BaseHTTPRequestHandler) -> None:
    """The connection is closed without an answer."""
    handler.close_connection = True


def stall(seconds: float, sent: bytes = b'{"id": "m_01", ') -> Act:
    """Silence in the middle of the body; before it when nothing was sent."""

    def act(handler: BaseHTTPRequestHandler) -> None:
        if sent:
            reply(handler, 200, sent, length=500)
        time.sleep(seconds)

    return act


def drip(handler: BaseHTTPRequestHandler) -> None:
    """A body that comes byte by byte and never ends."""
    reply(handler, 200, b"{", length=5000)
    try:
        for _ in range(100):
            time.sleep(0.05)
            handler.wfile.write(b" ")
            handler.wfile.flush()
    except OSError:  # the client hung up
        pass
