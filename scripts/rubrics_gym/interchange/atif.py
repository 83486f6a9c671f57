"""ATIF (agent trajectory interchange format) 1.0 to 1.8, read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rubrics_gym.interchange.logs import Call, ForeignRun, Turn, UnreadableLog, dollars, read_document, seconds, text_of
from rubrics_gym.interchange.tools import tool_call, written_result

LOSES = (
    "exit codes, except where an `extra` names one (`exit_code`, `return_code`, `returncode`) or the text of a result says it as mini-swe-agent and Codex do: the format has no field for them",
    "token ids and log probabilities",
    "images and audio",
    "trajectories of sub-agents",
    "steps marked as copied context",
)
_CODES = ("exit_code", "return_code", "returncode")


def recognises(path: Path, document: Any) -> bool:
    """Whether a JSON document says that it is ATIF."""
    return isinstance(document, dict) and str(document.get("schema_version", "")).upper().startswith("ATIF") and "steps" in document


def read(path: Path) -> list[ForeignRun]:
    """The one trajectory of a file."""
    document = read_document(path)
    if not recognises(path, document):
        raise UnreadableLog(f"{path}: expected `schema_version: ATIF-v1.x` and `steps`.")
    steps = [step for step in document["steps"] if isinstance(step, dict) and not step.get("is_copied_context")]
    agent, extra = document.get("agent") or {}, document.get("extra") or {}
    metrics = document.get("final_metrics") or {}
    turns = [turn for step in steps for turn in _turns(step)]
    times = [str(step["timestamp"]) for step in steps if step.get("timestamp")]
    return [
        ForeignRun(
            task=str(extra.get("task") or document.get("session_id") or path.stem),
            turns=tuple(turns),
            benchmark=str(extra.get("benchmark") or ""),
            statement=next((turn.text for turn in turns if turn.role == "user"), ""),
            model=str(agent.get("model_name") or ""),
            at=times[0] if times else "",
            ended_at=times[-1] if times else "",
            end=str(extra.get("end") or "not recorded"),
            cost_usd=dollars(metrics.get("total_cost_usd")),
        )
    ]


def _turns(step: Mapping[str, Any]) -> list[Turn]:
    source = step.get("source")
    results = [one for one in (step.get("observation") or {}).get("results") or [] if isinstance(one, dict)]
    if source != "agent":
        seen = [Turn("user", text_of(one.get("content"))) for one in results]
        return [Turn("system" if source == "system" else "user", text_of(step.get("message"))), *seen]
    calls = _calls(step.get("tool_calls") or [], results)
    said = text_of(step.get("message")) or text_of(step.get("reasoning_content"))
    metrics = step.get("metrics") or {}
    usage = {"input_tokens": metrics.get("prompt_tokens"), "output_tokens": metrics.get("completion_tokens")}
    kept = {name: count for name, count in usage.items() if isinstance(count, int)}
    answer = Turn("assistant", said, tuple(calls), kept or None, dollars(metrics.get("cost_usd")))
    return [answer, *(Turn("user", text_of(one.get("content"))) for one in results)]


def _calls(asked: Sequence[Mapping[str, Any]], results: Sequence[Mapping[str, Any]]) -> list[Call]:
    """Calls with their results: by id, or in order where no result names one."""
    named = {str(one["source_call_id"]): one for one in results if one.get("source_call_id")}
    in_order = results if not named and len(results) == len(asked) else []
    calls = []
    for number, one in enumerate(asked):
        call = tool_call(str(one.get("function_name") or "tool"), one.get("arguments"), id=str(one.get("tool_call_id") or ""))
        result = named.get(call.id) or (in_order[number] if in_order else None)
        calls.append(call if result is None else _answered(call, result))
    return calls


def _answered(call: Call, result: Mapping[str, Any]) -> Call:
    extra = result.get("extra") or {}
    output, written = written_result(text_of(result.get("content")))
    code = next((extra[name] for name in _CODES if isinstance(extra.get(name), int) and not isinstance(extra[name], bool)), written)
    return replace(
        call,
        output=output,
        executed=extra.get("executed") is not False,
        exit_code=code if extra.get("executed") is not False else None,
        timed_out=extra.get("timed_out") is True,
        out_of_memory=extra.get("out_of_memory") is True,
        duration_s=seconds(extra.get("duration_s")),
    )
