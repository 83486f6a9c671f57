"""One request to a language model as a frozen value, and the answer. Knows no provider."""

from __future__ import annotations

from typing import Any, Literal, Protocol

from pydantic import Field

from rubrics_gym.models.policy import POLICY
from rubrics_gym.records.base import Record


class ToolCall(Record):
    id: str
    name: str
    arguments: dict[str, Any]


class ToolResult(Record):
    id: str  # of the call that it answers
    content: str


class Message(Record):
    """One turn. An assistant turn may carry tool calls; the user turn after it carries their results."""

    role: Literal["user", "assistant"]
    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_results: tuple[ToolResult, ...] = ()
    native: tuple[dict[str, Any], ...] = ()  # an assistant turn as its provider gave it; some (thinking) must go back unchanged


class Tool(Record):
    name: str
    description: str
    parameters: dict[str, Any]  # JSON schema


class Request(Record):
    """Everything that is sent. `seed` stands for the sampling seed where a provider takes one; others ignore it."""

    purpose: Literal["agent", "judge", "mine", "classify", "attribute", "review"]
    model: str
    system: str
    messages: tuple[Message, ...]
    tools: tuple[Tool, ...] = ()
    output_schema: dict[str, Any] | None = None  # native structured output
    max_tokens: int = 4096
    seed: int = 0
    effort: str | None = None  # how much the model should think, where it can be told

    def body(self) -> dict[str, Any]:
        """Plain JSON of everything that is sent. What is not set is left out, so that an option that is added later changes no older key."""
        return {name: value for name, value in self.model_dump(mode="json").items() if value is not None}


class Usage(Record):
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0  # kept for five minutes
    cache_write_1h_tokens: int = 0  # kept for an hour

    @property
    def prompt_tokens(self) -> int:
        """All tokens of the prompt, with what the cache gave and took."""
        return self.input_tokens + self.cache_read_tokens + self.cache_write_tokens + self.cache_write_1h_tokens


class Response(Record):
    """What came back, kept as it came: an answer that breaks its schema is stored, counted and never repaired."""

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    stop_reason: str = "end_turn"
    model: str = ""
    usage: Usage = Field(default_factory=Usage)
    native: tuple[dict[str, Any], ...] = ()  # the answer's content as the provider gave it
    raw_usage: dict[str, Any] = Field(default_factory=dict)  # usage as the provider gave it, so that it can be priced again

    def turn(self) -> Message:
        """The assistant turn that continues a conversation with this answer."""
        return Message(role="assistant", text=self.text, tool_calls=self.tool_calls, native=self.native)


class ProviderError(Exception):
    """A request failed. `kind` is one of models.policy.POLICY; `message` never holds a key.

    `retry_after_s`: seconds that the provider asks to wait, where it does.
    """

    def __init__(self, kind: str, message: str, retry_after_s: float | None = None):
        if kind not in POLICY:
            raise ValueError(f"{kind!r} is no kind of failure; expected one of {', '.join(POLICY)}")
        super().__init__(f"{kind}: {message}")
        self.kind = kind
        self.message = message
        self.retry_after_s = retry_after_s


class Provider(Protocol):
    """Answers one request, once: no retries inside."""

    def answer(self, request: Request) -> Response: ...
