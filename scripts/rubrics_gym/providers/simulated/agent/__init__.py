"""The simulated agent: writes programs with mistakes, and learns from what it is shown.

It sees what a live model would see: the rendered system prompt, the first message, its own calls and their results. It keeps no state:
the turns so far are told again from the history under the seed of the request, and the next one is the answer.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

from rubrics_gym.models.request import Message, ProviderError, Request, Response, ToolCall, Usage
from rubrics_gym.providers.simulated.agent.dice import Dice
from rubrics_gym.providers.simulated.agent.reading import read_brief, read_feedback
from rubrics_gym.providers.simulated.agent.working import Turn, work
from rubrics_gym.settings.study import AgentSimulation

__all__ = ["Agent"]

CHARACTERS_PER_TOKEN = 4


class Agent:
    """Answers agent requests. `plan` is told what was planted whenever a program is written; nothing else ever learns it."""

    def __init__(self, settings: AgentSimulation, plan: Callable[[dict[str, Any]], None]):
        self._settings = settings
        self._plan = plan

    def answer(self, request: Request) -> Response:
        """The next turn of the episode that the request holds. ProviderError (invalid_request) for a history that is not this agent's."""
        brief = read_brief(request)
        story = work(brief, self._settings, Dice(request.seed, brief.statement))
        turn = next(story)
        number = 0
        for said, results in _exchanges(request.messages[1:]):
            if tuple(call.arguments.get("command") for call in said.tool_calls) != turn.commands:
                raise ProviderError(
                    "invalid_request",
                    f"turn {number} of the history was not made by this agent under seed {request.seed}; one episode keeps one seed",
                )
            shown = {result.id: result.content for result in results.tool_results}
            turn = story.send([read_feedback(shown.get(call.id, "")) for call in said.tool_calls])
            number += 1
        if turn.wrote is not None:
            self._plan(_plan_entry(number, turn))
        return _response(request, number, turn)


def _exchanges(messages: tuple[Message, ...]) -> list[tuple[Message, Message]]:
    """Pairs of an assistant's message and the message with the results of its calls."""
    if len(messages) % 2 or any(message.role != ("user" if place % 2 else "assistant") for place, message in enumerate(messages)):
        raise ProviderError("invalid_request", "after the first message, assistant and user take turns, and the user's turn is the last")
    return list(zip(messages[::2], messages[1::2], strict=True))


def _plan_entry(number: int, turn: Turn) -> dict[str, Any]:
    draft = turn.wrote
    assert draft is not None
    digest = hashlib.sha256(draft.text.encode()).hexdigest()
    return {"turn": number, "sha256": digest, "path": draft.program.path, "plants": [item.entry() for item in draft.planted]}


def _response(request: Request, number: int, turn: Turn) -> Response:
    """The turn as a response; tokens are estimated from the number of characters."""
    calls = tuple(
        ToolCall(id=f"call_{number}_{place}", name="bash", arguments={"command": command}) for place, command in enumerate(turn.commands)
    )
    asked = len(request.system) + sum(
        len(message.text)
        + sum(len(str(call.arguments)) for call in message.tool_calls)
        + sum(len(result.content) for result in message.tool_results)
        for message in request.messages
    )
    said = len(turn.text) + sum(len(command) for command in turn.commands)
    usage = Usage(input_tokens=asked // CHARACTERS_PER_TOKEN, output_tokens=max(1, said // CHARACTERS_PER_TOKEN))
    return Response(text=turn.text, tool_calls=calls, stop_reason="tool_use", model=request.model, usage=usage)
