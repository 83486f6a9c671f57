"""Chat completions: OpenAI's models, and every server that speaks their protocol (vLLM, llama.cpp): one request, one answer or one ProviderError."""

from __future__ import annotations

import json
from typing import Any

import openai

from rubrics_gym.models.request import Message, ProviderError, Request, Response, ToolCall, Usage
from rubrics_gym.providers.wire import CONNECT_S, DEADLINE_S, FLAGGED, READ_S, TOO_LONG, Wire, kind_of_status, not_a_message, read_json

# What the strict mode of structured outputs enforces (developers.openai.com, Structured Outputs, supported schemas).
STRICT_KEYWORDS = frozenset(
    [
        "type",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "enum",
        "const",
        "anyOf",
        "$defs",
        "$ref",
        "description",
        "title",
        "pattern",
        "format",
        "multipleOf",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "minItems",
        "maxItems",
    ]
)
STOP_REASONS = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use", "content_filter": "refusal"}


class OpenAI:
    """Answers requests by chat completions."""

    def __init__(
        self,
        api_key: str | None,
        *,
        base_url: str | None = None,
        connect_s: float = CONNECT_S,
        read_s: float = READ_S,
        deadline_s: float = DEADLINE_S,
    ):
        self._wire = Wire(openai, api_key, connect_s, read_s, deadline_s)
        self._client = openai.OpenAI(**self._wire.options(base_url))

    def answer(self, request: Request) -> Response:
        """Send a request and read its answer. Raises ProviderError, whose kind tells what is known about the failure."""
        arguments = completion_arguments(request)
        try:
            body = self._wire.receive(self._client.chat.completions.with_streaming_response.create(**arguments))
        except openai.APIStatusError as error:
            raise self._of_status(error) from None
        return response_of(read_json(body))

    def _of_status(self, error: openai.APIStatusError) -> ProviderError:
        text = _words(error)
        return self._wire.of_status(kind_of_error(error.status_code, f"{error.code or ''} {error.type or ''}", text), error, text)


def _words(error: openai.APIStatusError) -> str:
    """What the server says, without the SDK's envelope."""
    said = error.body.get("message") if isinstance(error.body, dict) else None
    return said if isinstance(said, str) and said else error.message


def kind_of_error(status: int, code: str, text: str) -> str:
    """What a server says about a failure, by its status, error code and words. Compatible servers have words of their own."""
    words = f"{code} {text}".lower()
    if "insufficient_quota" in words or "exceeded your current quota" in words:
        return "quota"
    if status in (400, 413, 422) and any(said in words for said in TOO_LONG):
        return "context_length"
    if status in (400, 403) and any(said in words for said in FLAGGED):
        return "refused"
    return "overloaded" if status == 503 else kind_of_status(status)


def completion_arguments(request: Request) -> dict[str, Any]:
    """The arguments of `chat.completions.create`. Prefix caching needs no asking here.

    ProviderError of kind invalid_request, before anything is sent, when the output schema is not one that strict mode takes.
    """
    messages: list[dict[str, Any]] = [{"role": "system", "content": request.system}] if request.system else []
    for message in request.messages:
        messages += _turns(message)
    arguments: dict[str, Any] = {
        "model": request.model,
        "max_completion_tokens": request.max_tokens,
        "messages": messages,
        "seed": request.seed,
    }
    if request.tools:
        arguments["tools"] = [
            {"type": "function", "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters}}
            for tool in request.tools
        ]
    if request.effort is not None:
        arguments["reasoning_effort"] = request.effort
    if request.output_schema is not None:
        schema = {"name": f"{request.purpose}_answer", "strict": True, "schema": strict_schema(request.output_schema)}
        arguments["response_format"] = {"type": "json_schema", "json_schema": schema}
    return arguments


def strict_schema(schema: dict[str, Any], path: str = "$") -> dict[str, Any]:
    """A JSON schema in the dialect of strict mode: every object closed with all its properties required; other constraints become
    descriptions (the whole schema is checked on the answer by models.structured). ProviderError when an object is open."""
    strict: dict[str, Any] = {}
    beside = {}
    for keyword, value in schema.items():
        if keyword not in STRICT_KEYWORDS:
            beside[keyword] = value
        elif keyword in ("properties", "$defs"):
            strict[keyword] = {name: strict_schema(inner, f"{path}.{name}") for name, inner in value.items()}
        elif keyword == "items":
            strict[keyword] = strict_schema(value, f"{path}[]")
        elif keyword == "anyOf":
            strict[keyword] = [strict_schema(inner, path) for inner in value]
        else:
            strict[keyword] = value
    if "properties" in schema and (
        schema.get("additionalProperties") is not False or set(schema.get("required", ())) != set(schema["properties"])
    ):
        raise ProviderError(
            "invalid_request",
            f"nothing was sent: the output schema is open at {path}; strict mode needs closed objects with every property required",
        )
    if beside:
        said = ", ".join(f"{keyword}: {json.dumps(value)}" for keyword, value in sorted(beside.items()))
        strict["description"] = f"{schema.get('description', '')} ({said})".strip()
    return strict


def _turns(message: Message) -> list[dict[str, Any]]:
    """One turn as messages of the API, where every tool result is a message of its own. What the provider gave goes back as it came."""
    if message.native:
        return [dict(native) for native in message.native]
    turns: list[dict[str, Any]] = [
        {"role": "tool", "tool_call_id": result.id, "content": result.content} for result in message.tool_results
    ]
    if message.tool_calls:
        calls = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": json.dumps(call.arguments)}}
            for call in message.tool_calls
        ]
        turns.append({"role": message.role, "content": message.text or None, "tool_calls": calls})
    elif message.text:
        turns.append({"role": message.role, "content": message.text})
    return turns


def response_of(completion: Any) -> Response:
    """Read a chat completion. ProviderError of kind unknown when it is none."""
    try:
        choice, raw_usage = completion["choices"][0], completion["usage"]
        message = choice["message"]
        raw_calls = message.get("tool_calls") or []
        calls = tuple(ToolCall(id=call["id"], name=call["function"]["name"], arguments=_arguments(call)) for call in raw_calls)
        refusal = message.get("refusal")
        ended = choice["finish_reason"]
        readable = all(isinstance(_loaded(call), dict) for call in raw_calls)
        return Response(
            text=refusal or message.get("content") or "",
            tool_calls=calls,
            stop_reason="refusal" if refusal else STOP_REASONS.get(ended, ended),
            model=completion["model"],
            usage=usage_of(raw_usage),
            native=() if readable else (message,),
            raw_usage=raw_usage,
        )
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise not_a_message(error) from None


def _loaded(call: dict[str, Any]) -> Any:
    try:
        return json.loads(call["function"]["arguments"])
    except ValueError:
        return None


def _arguments(call: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a tool call; none when the model wrote what is no JSON object (its words are kept in `native`)."""
    value = _loaded(call)
    return value if isinstance(value, dict) else {}


def usage_of(raw: dict[str, Any]) -> Usage:
    """Tokens by price class. `prompt_tokens` of the API includes what the cache gave and took; completion tokens include the thinking."""
    details = raw.get("prompt_tokens_details") or {}
    read, written = details.get("cached_tokens") or 0, details.get("cache_write_tokens") or 0
    return Usage(
        input_tokens=raw["prompt_tokens"] - read - written,
        output_tokens=raw["completion_tokens"],
        cache_read_tokens=read,
        cache_write_tokens=written,
    )
