"""Claude through the Messages API: one request, one answer or one ProviderError."""

from __future__ import annotations

from typing import Any, Literal

import anthropic

from rubrics_gym.models.request import Message, ProviderError, Request, Response, ToolCall, Usage
from rubrics_gym.providers.wire import CONNECT_S, DEADLINE_S, FLAGGED, READ_S, TOO_LONG, Wire, kind_of_status, not_a_message, read_json

Cache = Literal["off", "5m", "1h"]


class Anthropic:
    """Answers requests with a Claude model. `cache` is how long the provider keeps prefixes that come again."""

    def __init__(
        self,
        api_key: str | None,
        *,
        base_url: str | None = None,
        cache: Cache = "5m",
        connect_s: float = CONNECT_S,
        read_s: float = READ_S,
        deadline_s: float = DEADLINE_S,
    ):
        self._cache = cache
        self._wire = Wire(anthropic, api_key, connect_s, read_s, deadline_s)
        self._client = anthropic.Anthropic(**self._wire.options(base_url))

    def answer(self, request: Request) -> Response:
        """Send a request and read its answer. Raises ProviderError, whose kind tells what is known about the failure."""
        arguments = message_arguments(request, self._cache)
        try:
            body = self._wire.receive(self._client.messages.with_streaming_response.create(**arguments))
        except anthropic.APIStatusError as error:
            raise self._of_status(error) from None
        return response_of(read_json(body))

    def submit(self, requests: dict[str, Request]) -> str:
        """Send a message batch (id of ours -> request); gives its id."""
        asked: list[Any] = [{"custom_id": name, "params": message_arguments(request, self._cache)} for name, request in requests.items()]
        try:
            with self._wire.limits():
                return self._client.messages.batches.create(requests=asked).id
        except anthropic.APIStatusError as error:
            raise self._of_status(error) from None

    def collect(self, batch: str) -> dict[str, Response | ProviderError] | None:
        """What became of a batch (id of ours -> answer or error); None while it has not ended."""
        try:
            with self._wire.limits():
                if self._client.messages.batches.retrieve(batch).processing_status != "ended":
                    return None
                results = list(self._client.messages.batches.results(batch))
        except anthropic.APIStatusError as error:
            raise self._of_status(error) from None
        except ValueError as error:  # of the lines of the results
            raise ProviderError("stream_cut", f"the results of batch {batch} broke off ({type(error).__name__})") from None
        return {one.custom_id: outcome_of(one.result.to_dict(mode="json")) for one in results}

    def _of_status(self, error: anthropic.APIStatusError) -> ProviderError:
        text = error.api_message or error.message
        kind = kind_of_error(error.status_code, error.error_code or "", text)
        return self._wire.of_status(kind, error, text)


def kind_of_error(status: int, code: str, text: str) -> str:
    """What the API says about a failure, by its status, error code and words."""
    words = text.lower()
    if status in (400, 429) and ("spend_limit" in code or "spend limit" in words or "credit balance" in words):
        return "quota"
    if status == 400 and any(said in f"{code} {words}" for said in TOO_LONG):
        return "context_length"
    if status in (400, 403) and any(said in words for said in FLAGGED):
        return "refused"
    return kind_of_status(status)


_STATUS_OF_ERROR = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "timeout_error": 504,
    "overloaded_error": 529,
}


def outcome_of(result: dict[str, Any]) -> Response | ProviderError:
    """The result of one request of a batch. What expired, was cancelled or failed is not billed."""
    if result["type"] == "succeeded":
        try:
            return response_of(result["message"])
        except ProviderError as error:
            return error
    if result["type"] == "errored":
        said = result["error"]["error"]
        kind = kind_of_error(_STATUS_OF_ERROR.get(said["type"], 500), said["type"], said["message"])
        return ProviderError("server" if kind == "timeout_read" else kind, f"in a batch: {said['type']}: {said['message'][:400]}")
    return ProviderError("server", f"in a batch: {result['type']} before it was processed")


def message_arguments(request: Request, cache: Cache = "5m") -> dict[str, Any]:
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
    kept = {} if cache == "off" else {"cache_control": {"type": "ephemeral"} if cache == "5m" else {"type": "ephemeral", "ttl": cache}}
    if request.system:
        arguments["system"] = [{"type": "text", "text": request.system, **kept}]
    if request.tools:
        arguments |= kept
        arguments["tools"] = [
            {"name": tool.name, "description": tool.description, "input_schema": tool.parameters} for tool in request.tools
        ]
    output: dict[str, Any] = {} if request.effort is None else {"effort": request.effort}
    if request.output_schema is not None:
        output["format"] = {"type": "json_schema", "schema": anthropic.transform_schema(request.output_schema)}
    return {**arguments, "output_config": output} if output else arguments


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


def response_of(message: Any) -> Response:
    """Read a message of the API. ProviderError of kind unknown when it is none."""
    try:
        blocks, raw_usage = message["content"], message["usage"]
        return Response(
            text="".join(block["text"] for block in blocks if block["type"] == "text"),
            tool_calls=tuple(
                ToolCall(id=block["id"], name=block["name"], arguments=block["input"]) for block in blocks if block["type"] == "tool_use"
            ),
            stop_reason=message["stop_reason"],
            model=message["model"],
            usage=usage_of(raw_usage),
            native=() if all(block["type"] in ("text", "tool_use") for block in blocks) else tuple(blocks),
            raw_usage=raw_usage,
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise not_a_message(error) from None


def usage_of(raw: dict[str, Any]) -> Usage:
    """Tokens by price class. `input_tokens` of the API excludes what the cache gave and took."""
    hour = (raw.get("cache_creation") or {}).get("ephemeral_1h_input_tokens") or 0
    return Usage(
        input_tokens=raw["input_tokens"],
        output_tokens=raw["output_tokens"],
        cache_read_tokens=raw.get("cache_read_input_tokens") or 0,
        cache_write_tokens=(raw.get("cache_creation_input_tokens") or 0) - hour,
        cache_write_1h_tokens=hour,
    )
