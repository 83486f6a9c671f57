"""The conversation with the agent as it is sent: it never grows past what a model can read."""

from __future__ import annotations

from collections.abc import Sequence

from rubrics_gym.models.request import Message, ToolResult

CONTEXT_CHARS = 400_000  # of all messages; about 100,000 tokens
_KEPT_CHARS = 200  # an output that is shorter is not worth cutting


class ContextFull(Exception):
    """The messages do not fit even without their old outputs."""


def size(messages: Sequence[Message]) -> int:
    """Characters of texts, tool calls and results."""
    return sum(
        len(message.text)
        + sum(len(str(call.arguments)) for call in message.tool_calls)
        + sum(len(result.content) for result in message.tool_results)
        for message in messages
    )


def fitted(messages: Sequence[Message], limit: int = CONTEXT_CHARS) -> tuple[Message, ...]:
    """The messages with as many of the oldest outputs left out, each with its length, as it takes to stay below `limit` characters.

    The last turn's outputs always stay. Raises ContextFull when that is not enough.
    """
    kept = list(messages)
    total = size(kept)
    for number, message in enumerate(kept[:-1]):
        if total <= limit:
            break
        results = tuple(_elided(result) for result in message.tool_results)
        total -= sum(len(result.content) for result in message.tool_results) - sum(len(result.content) for result in results)
        kept[number] = message.model_copy(update={"tool_results": results})
    if kept != list(messages):  # what a provider signed is bound to the turns before it, and they have changed
        kept = [message.model_copy(update={"native": ()}) for message in kept]
    if total > limit:
        raise ContextFull(f"{total} characters without old outputs, {limit} allowed")
    return tuple(kept)


def _elided(result: ToolResult) -> ToolResult:
    if len(result.content) <= _KEPT_CHARS:
        return result
    return ToolResult(id=result.id, content=f"[output elided: {len(result.content)} characters]")
