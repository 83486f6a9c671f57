"""OpenHands: `output.jsonl` of an evaluation (one run per line), or a saved trajectory (a list of events); old and current event forms."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from rubrics_gym.interchange.logs import Call, ForeignRun, Result, Turn, UnreadableLog, parsed, read_document, text_of
from rubrics_gym.interchange.tools import python_call, relative, shell_call, tool_call
from rubrics_gym.records.trajectory import CommandKind

LOSES = (
    "exit codes of notebook cells: the format holds none",
    "an exit code of -1 stands for a command that had not ended; it is unknown here",
    "raw responses, metrics and user names of the model's provider",
    "files as edited in part: only the edits are kept",
)
_HARD_TIMEOUT = re.compile(r"\[The command timed out after [\d.]+ seconds|Command timed out", re.IGNORECASE)
_STILL_RUNNING = re.compile(r"is NOT executed\. The previous command is still running")
_NO_COMMANDS = frozenset(
    {"system", "message", "recall", "think", "null", "change_agent_state", "condensation", "condensation_request", "task_tracking"}
)


def recognises(path: Path, document: Any) -> bool:
    """Whether a JSON document is one line of an evaluation (without events where the run broke down), or a saved trajectory."""
    if isinstance(document, dict) and "instance_id" in document and document.get("history", ...) in (None, []):
        return True
    events = document.get("history") if isinstance(document, dict) else document
    return isinstance(events, list) and bool(events) and any(_is_event(event) for event in _flat(events)[:20])


def read(path: Path) -> list[ForeignRun]:
    """Every run of a file."""
    if path.suffix == ".jsonl":
        return [_run(document, f"{path.stem}-{number}", path) for number, document in enumerate(_lines(path))]
    return [_run(read_document(path), path.stem, path)]


def first_line(path: Path) -> Any:
    """The JSON value of the first line that is not empty; None when it is not JSON."""
    with open(path, encoding="utf-8-sig", errors="replace") as lines:
        first = next((line for line in lines if line.strip()), "")
    try:
        return parsed(first)
    except (ValueError, RecursionError):
        return None


def _lines(path: Path) -> list[Any]:
    documents = []
    with open(path, encoding="utf-8-sig", errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                documents.append(parsed(line))
            except ValueError as error:
                if line.endswith("\n"):
                    raise UnreadableLog(f"{path}, line {number}: not valid JSON ({error}).") from None
                documents.append({"instance_id": f"line-{number}", "history": None, "error": "its line was cut"})
    return documents


def _is_event(event: Any) -> bool:
    return (
        isinstance(event, dict)
        and ("action" in event or "observation" in event or str(event.get("kind", "")).endswith("Event"))
        and "source" in event
    )


def _flat(events: list[Any]) -> list[Any]:
    """Older evaluations hold pairs of an action and its observation."""
    return [one for event in events for one in (event if isinstance(event, list) else [event])]


def _run(document: Any, name: str, path: Path) -> ForeignRun:
    if not recognises(path, document):
        raise UnreadableLog(f"{path}: {name}: expected `history` with events, as OpenHands writes them.")
    record = document if isinstance(document, dict) else {}
    events = [event for event in _flat((record.get("history") or []) if record else document) if isinstance(event, dict)]
    turns = _turns(events)
    metadata = record.get("metadata") or {}
    settings = metadata.get("llm_config") or metadata.get("llm") or {}
    times = [str(event["timestamp"]) for event in events if event.get("timestamp")]
    tested = record.get("test_result") or {}
    return ForeignRun(
        task=str(record.get("instance_id") or name),
        turns=tuple(turns),
        benchmark=str(metadata.get("dataset") or ""),
        statement=text_of(record.get("instruction")) or next((turn.text for turn in turns if turn.role == "user"), ""),
        model=str(settings.get("model") or ""),
        at=times[0] if times else "",
        ended_at=times[-1] if times else "",
        end=str(record.get("error") or _ending(events)),
        submission=tested.get("git_patch") or None,
        result=_result(record, tested),
    )


def _ending(events: list[dict[str, Any]]) -> str:
    return "finished" if any(event.get("action") == "finish" or event.get("tool_name") == "finish" for event in events) else "not recorded"


def _result(record: Mapping[str, Any], tested: Mapping[str, Any]) -> Result | None:
    report = record.get("report") or tested.get("report") or {}
    resolved = report.get("resolved") if isinstance(report, dict) else None
    if isinstance(resolved, bool):
        return Result("resolved", float(resolved), not resolved)
    return None


def _turns(events: list[dict[str, Any]]) -> list[Turn]:
    """Every action with its observation; every observation is also what the agent read next."""
    answers = _answers(events)
    turns: list[Turn] = []
    for number, event in enumerate(events):
        if _is_observation(event):
            if event.get("observation") != "recall":
                turns.append(Turn("user", _shown(event)))
        elif event.get("kind") == "ActionEvent" or event.get("action") not in (None, *_NO_COMMANDS):
            call = _call(event, answers.get(number))
            turns.append(Turn("assistant", _thought(event), (call,), _usage(event)))
        elif event.get("action") != "recall" and (text := _said(event)):
            role = (
                "system"
                if event.get("action") == "system" or event.get("kind") == "SystemPromptEvent"
                else "assistant"
                if event.get("source") == "agent"
                else "user"
            )
            turns.append(Turn(role, text))
    return turns


def _answers(events: list[dict[str, Any]]) -> dict[int, dict[str, Any]]:
    """Place of an action -> its observation, by `cause` or `action_id`; in old logs without either, the observation right behind it."""
    places = {str(event["id"]): number for number, event in enumerate(events) if not _is_observation(event) and event.get("id") is not None}
    answers: dict[int, dict[str, Any]] = {}
    for number, event in enumerate(events):
        if _is_observation(event):
            cause = event.get("cause", event.get("action_id"))
            place = number - 1 if cause is None and event.get("source") == "agent" else places.get(str(cause))
            if place is not None:
                answers[place] = event
    return answers


def _is_observation(event: Mapping[str, Any]) -> bool:
    return ("observation" in event and event.get("kind") != "ActionEvent") or str(event.get("kind")) in (
        "AgentErrorEvent",
        "UserRejectObservation",
    )


def _shown(event: Mapping[str, Any]) -> str:
    observation = event.get("observation")
    if isinstance(observation, dict):
        return text_of(observation.get("content") or observation.get("output") or observation.get("error"))
    return text_of(event.get("content") or event.get("error") or event.get("rejection_reason") or event.get("message"))


def _thought(event: Mapping[str, Any]) -> str:
    arguments = event.get("args") or {}
    return text_of(event.get("thought")) or text_of(arguments.get("thought")) or text_of(arguments.get("final_thought"))


def _said(event: Mapping[str, Any]) -> str:
    message = event.get("llm_message") or event.get("system_prompt")
    if isinstance(message, dict):
        return text_of(message.get("text") or message.get("content"))
    return text_of((event.get("args") or {}).get("content") or event.get("message"))


def _usage(event: Mapping[str, Any]) -> dict[str, int] | None:
    usage = ((event.get("tool_call_metadata") or {}).get("model_response") or {}).get("usage") or {}
    kept = {"input_tokens": usage.get("prompt_tokens"), "output_tokens": usage.get("completion_tokens")}
    return {name: count for name, count in kept.items() if isinstance(count, int)} or None


def _call(event: Mapping[str, Any], answer: Mapping[str, Any] | None) -> Call:
    call = _asked(event)
    if answer is None:
        return call
    output = _shown(answer)
    if answer.get("kind") == "UserRejectObservation" or answer.get("observation") == "user_rejected":
        return replace(call, executed=False, output=output, note="rejected by a user")
    if answer.get("kind") == "AgentErrorEvent" or answer.get("observation") == "error":
        return replace(call, output=output, note="the system reported an error")
    if _STILL_RUNNING.search(output):
        return replace(call, executed=False, output=output, note="refused: an earlier command was still running")
    found = answer["observation"] if isinstance(answer.get("observation"), dict) else answer.get("extras") or {}
    metadata = found.get("metadata") or {}
    code = next((one for one in (metadata.get("exit_code"), found.get("exit_code")) if isinstance(one, int)), None)
    suffix = str(metadata.get("suffix") or "")
    timed_out = (
        bool(found.get("timeout"))
        or bool(_HARD_TIMEOUT.search(suffix))
        or (code in (None, -1) and bool(_HARD_TIMEOUT.search(output[-500:])))
    )
    return replace(call, output=output, exit_code=None if code == -1 else code, timed_out=timed_out)


def _asked(event: Mapping[str, Any]) -> Call:
    if event.get("kind") == "ActionEvent":
        asked = event.get("tool_call") or {}
        action = {key: value for key, value in (event.get("action") or {}).items() if key != "kind"}
        arguments = asked.get("arguments") or (asked.get("function") or {}).get("arguments")
        return tool_call(
            str(event.get("tool_name") or asked.get("name") or "tool"), action or arguments, id=str(event.get("tool_call_id") or "")
        )
    name, arguments = str(event["action"]), event.get("args") or {}
    identity = str((event.get("tool_call_metadata") or {}).get("tool_call_id") or event.get("id") or "")
    if name == "run" and str(arguments.get("is_input", "")).lower() == "true":
        return Call(str(arguments.get("command", "")), CommandKind.OTHER, typed=True, id=identity, note="input to a running command")
    if name == "run":
        return shell_call(str(arguments.get("command", "")), id=identity)
    if name == "run_ipython":
        return python_call(str(arguments.get("code", "")), id=identity)
    kept = {
        key: value for key, value in arguments.items() if key not in ("thought", "final_thought", "impl_source") and value not in (None, "")
    }
    call = tool_call(name, kept, id=identity)
    whole = kept.get("file_text") if kept.get("command") == "create" else kept.get("content") if name == "write" else None
    return replace(call, files={relative(str(kept.get("path"))): str(whole)} if whole else None)
