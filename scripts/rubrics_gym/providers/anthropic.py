"""Claude through the Messages API: one request, one answer or one ProviderError. Retrying is the client's business, so the SDK's retries are off."""

from __future__ import annotations

import json
import time
from typing import Any

import anthropic
import httpx2

from rubrics_gym.models.keys import NO_KEY
from rubrics_gym.models.request import Message, ProviderError, Request, Response, ToolCall, Usage

CONNECT_S = 10.0
READ_S = 600.0  # longest silence; without streaming a long answer is silent until it is whole
DEADLINE_S = 900.0  # longest time from sending to the last byte

_KINDS_OF_STATUS = {
    400: "invalid_request",
    401: "auth",
    402: "quota",
    403: "auth",
    404: "invalid_request",
    408: "server",  # the server gave up on receiving the request
    413: "context_length",
    422: "invalid_request",
    429: "rate_limit",
    504: "timeout_read",  # a gateway gave up; what the model behind it did is not known
    529: "overloaded",
}


class Anthropic:
    """Answers requests with a Claude model. The key (None: the server needs none) is used for sending and appears in no error, record or representation."""

    def __init__(
        self,
        api_key: str | None,
        *,
        base_url: str | None = None,
        connect_s: float = CONNECT_S,
        read_s: float = READ_S,
        deadline_s: float = DEADLINE_S,
    ):
        self._key = api_key or NO_KEY
        self._read_s = min(read_s, deadline_s)
        self._deadline_s = deadline_s
        timeout = httpx2.Timeout(self._read_s, connect=connect_s)
        self._client = anthropic.Anthropic(api_key=self._key, base_url=base_url, max_retries=0, timeout=timeout)

    def answer(self, request: Request) -> Response:
        """Send a request and read its answer. Raises ProviderError, whose kind tells what is known about the failure."""
        begun = time.monotonic()
        try:
            with self._client.messages.with_streaming_response.create(**message_arguments(request)) as http:
                body = bytearray()
                for chunk in http.iter_bytes():
                    body += chunk
                    if time.monotonic() - begun > self._deadline_s:
                        raise ProviderError(
                            "deadline", f"the answer was not whole {self._deadline_s:g} s after sending ({len(body)} bytes had come)"
                        )
        except anthropic.APIStatusError as error:
            raise self._of_status(error) from None
        except (anthropic.APIConnectionError, httpx2.HTTPError) as error:
            raise self._of_connection(error, time.monotonic() - begun) from None
        return response_of(bytes(body))

    def _of_status(self, error: anthropic.APIStatusError) -> ProviderError:
        status, text = error.status_code, self._without_key(error.api_message or error.message)
        kind = _KINDS_OF_STATUS.get(status, "server" if status >= 500 else "invalid_request")
        words = text.lower()
        if status in (400, 429) and ("spend_limit" in (error.error_code or "") or "spend limit" in words or "credit balance" in words):
            kind = "quota"
        elif status == 400 and ("prompt is too long" in words or "context window" in words or "context limit" in words):
            kind = "context_length"
        return ProviderError(kind, f"HTTP {status}: {text} (request id {error.request_id})", _retry_after_s(error.response.headers))

    def _of_connection(self, error: anthropic.APIConnectionError | httpx2.HTTPError, elapsed_s: float) -> ProviderError:
        cause = (error.__cause__ or error) if isinstance(error, anthropic.APIConnectionError) else error
        what = f"{type(cause).__name__} after {elapsed_s:.1f} s"
        if isinstance(cause, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.PoolTimeout):
            return ProviderError("timeout_connect", f"no connection to {self._client.base_url.host} ({what}); nothing was sent")
        if isinstance(cause, httpx2.TimeoutException):
            return ProviderError("timeout_read", f"the server was silent for {self._read_s:g} s ({what})")
        if isinstance(cause, httpx2.TransportError):
            return ProviderError("stream_cut", f"the connection broke after the request had left ({what})")
        return ProviderError("unknown", f"the request broke off ({what})")

    def _without_key(self, text: str) -> str:
        return text.replace(self._key, "[key]")[:500]


def message_arguments(request: Request) -> dict[str, Any]:
    """The arguments of `messages.create`, with cache breakpoints where a prefix comes again.

    Tools and system prompt are the same in many requests: one breakpoint stands at their end. A request with tools is a turn of a growing
    conversation: the API is asked to keep the conversation too.
    The API has no sampling seed; `request.seed` only tells requests apart. A schema is sent in the dialect that the API takes (other
    constraints become descriptions); the whole schema is checked on the answer by models.structured.
    """
    arguments: dict[str, Any] = {
        "model": request.model,
        "max_tokens": request.max_tokens,
        "messages": [turn for message in request.messages if (turn := _turn(message))["content"]],
    }
    if request.system:
        arguments["system"] = [{"type": "text", "text": request.system, "cache_control": {"type": "ephemeral"}}]
    if request.tools:
        arguments["cache_control"] = {"type": "ephemeral"}
        arguments["tools"] = [
            {"name": tool.name, "description": tool.description, "input_schema": tool.parameters} for tool in request.tools
        ]
    if request.output_schema is not None:
        arguments["output_config"] = {"format": {"type": "json_schema", "schema": anthropic.transform_schema(request.output_schema)}}
    return arguments


def _turn(message: Message) -> dict[str, Any]:
    """One turn; content that the provider gave goes back as it came. An empty turn has no content (the API refuses empty text)."""
    if message.native:
        return {"role": message.role, "content": list(message.native)}
    content: list[dict[str, Any]] = [
        {"type": "tool_result", "tool_use_id": result.id, "content": result.content} for result in message.tool_results
    ]
    if message.text:
        content.append({"type": "text", "text": message.text})
    content += [{"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments} for call in message.tool_calls]
    return {"role": message.role, "content": content}


def response_of(body: bytes) -> Response:
    """Read the body of an answer. ProviderError when it is cut (stream_cut) or is whole and no message (unknown)."""
    try:
        message = json.loads(body)
    except ValueError:
        raise ProviderError("stream_cut", f"the answer broke off after {len(body)} bytes") from None
    try:
        blocks, raw_usage = message["content"], message["usage"]
        return Response(
            text="".join(block["text"] for block in blocks if block["type"] == "text"),
            tool_calls=tuple(
                ToolCall(id=block["id"], name=block["name"], arguments=block["input"]) for block in blocks if block["type"] == "tool_use"
            ),
            stop_reason=message["stop_reason"],
            model=message["model"],
            usage=Usage(
                input_tokens=raw_usage["input_tokens"],
                output_tokens=raw_usage["output_tokens"],
                cache_read_tokens=raw_usage.get("cache_read_input_tokens") or 0,
                cache_write_tokens=raw_usage.get("cache_creation_input_tokens") or 0,
            ),
            native=() if all(block["type"] in ("text", "tool_use") for block in blocks) else tuple(blocks),
            raw_usage=raw_usage,
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ProviderError("unknown", f"the answer is not a message ({type(error).__name__}: {str(error)[:200]})") from None


def _retry_after_s(headers: httpx2.Headers) -> float | None:
    """Seconds that the server asks to wait; None when it does not say (dates are not used by this API)."""
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            return max(0.0, float(headers[name]) / unit)
        except (KeyError, ValueError):
            continue
    return None
