"""mini-swe-agent: `*.traj.json`, a list of messages (version 1) or a document with `messages` and `info` (versions 1.x and 2)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from rubrics_gym.interchange.logs import Call, ForeignRun, Turn, UnreadableLog, dollars, read_document, text_of
from rubrics_gym.interchange.tools import OUTPUT, RETURN_CODE, shell_call, tool_call

LOSES = (
    "outputs that the agent was shown with their middle left out are kept as shown, where the log holds nothing else",
    "raw responses of the model's provider",
)
_ACTION = re.compile(r"```(?:bash|sh|mswea_bash_command)\s*\n(.*?)\n?```", re.DOTALL)
_TIMED_OUT = re.compile(r"timed out and has been killed|timed out after \d")


def recognises(path: Path, document: Any) -> bool:
    """Whether a JSON document is a run of mini-swe-agent."""
    if isinstance(document, dict):
        info = document.get("info")
        return isinstance(document.get("messages"), list) and (
            str(document.get("trajectory_format", "")).startswith("mini-swe-agent") or (isinstance(info, dict) and "mini_version" in info)
        )
    return _is_messages(document) and any(_ACTION.search(text_of(message.get("content"))) for message in document)


def read(path: Path) -> list[ForeignRun]:
    """The one run of a file."""
    document = read_document(path)
    messages = document if isinstance(document, list) else document.get("messages")
    if not _is_messages(messages):
        raise UnreadableLog(f"{path}: expected a list of messages with roles, as mini-swe-agent writes them.")
    info = (document.get("info") or {}) if isinstance(document, dict) else {}
    statement = next((text_of(message.get("content")) for message in messages if message.get("role") == "user"), "")
    stats = info.get("model_stats") or {}
    model = (info.get("config") or {}).get("model")
    return [
        ForeignRun(
            task=str(
                (document.get("instance_id") if isinstance(document, dict) else None)
                or path.name.removesuffix(".json").removesuffix(".traj")
            ),
            turns=tuple(_turns(messages)),
            statement=statement,
            model=str(model.get("model_name", "")) if isinstance(model, dict) else "",
            end=str(info.get("exit_status") or "not recorded"),
            submission=info.get("submission") or None,
            cost_usd=dollars(stats.get("instance_cost", stats.get("cost"))),
        )
    ]


def _is_messages(messages: Any) -> bool:
    return (
        isinstance(messages, list)
        and bool(messages)
        and all(isinstance(one, dict) and ("role" in one or "type" in one or "object" in one) for one in messages)
    )


def _turns(messages: list[dict[str, Any]]) -> list[Turn]:
    """Messages in order; an observation belongs to the action before it, by its id where it has one."""
    turns: list[Turn] = []
    position = 0
    while position < len(messages):
        message = messages[position]
        position += 1
        actions = _actions(message)
        if actions is None:
            turns.append(Turn(_role(message), text_of(message.get("content", message.get("output")))))
            continue
        observations: list[dict[str, Any]] = []
        while position < len(messages) and len(observations) < len(actions) and _is_observation(messages[position]):
            observations.append(messages[position])
            position += 1
        turns.append(_turn(message, actions, observations))
        turns += [Turn("user", text_of(one.get("content", one.get("output")))) for one in observations]
    return turns


def _role(message: dict[str, Any]) -> str:
    role = message.get("role", "user")
    return role if role in ("system", "assistant") else "user"


def _actions(message: dict[str, Any]) -> list[tuple[str, str]] | None:
    """(id, command) of what an assistant's message runs; None for every other message."""
    extra = message.get("extra")
    if isinstance(extra, dict) and isinstance(extra.get("actions"), list):
        return [(str(one.get("tool_call_id") or ""), str(one.get("command", one.get("action", "")))) for one in extra["actions"]]
    if message.get("role") != "assistant":
        return None
    if message.get("tool_calls"):
        calls = [(call.get("id", ""), tool_call(call["function"]["name"], call["function"]["arguments"])) for call in message["tool_calls"]]
        return [(str(identity), call.text) for identity, call in calls]
    found = _ACTION.findall(text_of(message.get("content")))
    return [("", found[0])] if len(found) == 1 else []  # any other number is a format error, and nothing runs


def _is_observation(message: dict[str, Any]) -> bool:
    return message.get("role") in ("user", "tool") or message.get("type") == "function_call_output"


def _turn(message: dict[str, Any], actions: list[tuple[str, str]], observations: list[dict[str, Any]]) -> Turn:
    by_id = {str(one.get("tool_call_id") or one.get("call_id") or ""): one for one in observations}
    calls = []
    for number, (identity, command) in enumerate(actions):
        in_order = observations[number] if number < len(observations) else None
        calls.append(_call(command, identity, by_id.get(identity) if identity else in_order))
    extra = message.get("extra") if isinstance(message.get("extra"), dict) else {}
    return Turn("assistant", text_of(message.get("content")), tuple(calls), cost_usd=dollars((extra or {}).get("cost")))


def _call(command: str, identity: str, observation: dict[str, Any] | None) -> Call:
    if observation is None:
        return shell_call(command, id=identity)
    shown = text_of(observation.get("content", observation.get("output")))
    extra = observation.get("extra")
    extra = extra if isinstance(extra, dict) else {}
    if isinstance(extra.get("returncode"), int):
        code, output = extra["returncode"], str(extra.get("raw_output", shown))
        broken = bool(extra.get("exception_info")) or "<exception>" in shown[:200]
    elif match := RETURN_CODE.match(shown):
        rest = shown[match.end() :]
        whole = OUTPUT.search(rest)
        code, output, broken = int(match[1]), whole[1] if whole else rest, "<exception>" in shown[: match.end()]
    else:
        whole = OUTPUT.search(shown)
        return shell_call(command, id=identity, output=whole[1] if whole else shown, timed_out=bool(_TIMED_OUT.search(shown[:2000])))
    # the environment writes -1 itself where it could not run the command to its end: no exit code of a process
    timed_out = broken and bool(_TIMED_OUT.search(str(extra.get("exception_info", "")) + shown[:2000]))
    return shell_call(command, id=identity, output=output, exit_code=None if broken else code, timed_out=timed_out)
