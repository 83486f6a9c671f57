"""Our record as an ATIF 1.8 trajectory. What the format has no field for stands in its `extra`."""

from __future__ import annotations

from typing import Any

from rubrics_gym.interchange.turns import CallTurn, Exported, Turn, command_extra, verdict_extra

LOSES = (
    "texts of files (path, size and sha256 are kept)",
    "world states but the last",
    "outputs beyond what the agent was shown",
    "times of single steps: the record has none",
)
_BASH = {"type": "function", "function": {"name": "bash", "parameters": {"type": "object", "properties": {"command": {"type": "string"}}}}}


def atif(attempt: Exported) -> dict[str, Any]:
    """One attempt as a plain JSON document that validates against the schema of ATIF 1.8.

    A call of which nothing ran has `executed: false` and `origin: judge` or `harness` in the `extra` of its result: the text that the agent
    was shown is no output.
    """
    start, end = attempt.start, attempt.end
    steps = [_step(number, turn, start.model) for number, turn in enumerate(attempt.turns, 1)]
    agent: dict[str, Any] = {
        "name": "rubrics-gym",
        "version": start.protocol,
        "model_name": start.model or None,
        "tool_definitions": [_BASH],
    }
    agent["extra"] = {"arm": start.arm, "seed": start.seed, "code": start.code}
    return {
        "schema_version": "ATIF-v1.8",
        "session_id": start.unit,
        "trajectory_id": f"{start.unit}#{start.attempt}",
        "agent": agent,
        "steps": steps,
        "final_metrics": _metrics(attempt),
        "extra": {
            "benchmark": start.benchmark,
            "task": start.task,
            "deliverable": start.deliverable,
            "limits": start.limits,
            "lost_attempts": list(start.lost_attempts),
            "end": end.reason if end else None,
            "grade": attempt.grade.model_dump(mode="json") if attempt.grade else None,
            "final_run": attempt.final.model_dump(mode="json", exclude={"event"}) if attempt.final else None,
            "world": attempt.world.model_dump(mode="json", exclude={"event"}) if attempt.world else None,
        },
    }


def _step(number: int, turn: Turn, model: str) -> dict[str, Any]:
    message = turn.message
    if message.role != "assistant":
        return {"step_id": number, "source": message.role, "message": message.text}
    step: dict[str, Any] = {"step_id": number, "source": "agent", "message": message.text, "model_name": model or None, "llm_call_count": 1}
    step["metrics"] = {
        "prompt_tokens": message.usage.get("input_tokens"),
        "completion_tokens": message.usage.get("output_tokens"),
        "cached_tokens": message.usage.get("cache_read_tokens"),
        "cost_usd": message.cost_microdollars / 1e6,
    }
    if turn.calls:
        step["tool_calls"] = [
            {"tool_call_id": call.call.id, "function_name": call.call.name, "arguments": call.call.arguments} for call in turn.calls
        ]
        step["observation"] = {"results": [_result(call) for call in turn.calls]}
    extra: dict[str, Any] = {"turn": message.step}
    if turn.checks:
        extra["checks"] = [check.model_dump(mode="json", exclude={"event", "shown"}) for check in turn.checks]
    if turn.files:
        extra["files"] = [file.model_dump(mode="json", include={"path", "sha256", "bytes"}) for file in turn.files]
    step["extra"] = extra
    return step


def _result(call: CallTurn) -> dict[str, Any]:
    extra: dict[str, Any] = {"executed": call.executed, "origin": _origin(call)}
    if len(call.commands) == 1 and call.executed:  # then the call's outcome is that of its command
        extra |= {key: value for key, value in command_extra(call.commands[0]).items() if key not in ("command", "executed")}
    elif call.commands:
        extra["commands"] = [command_extra(command) for command in call.commands]
    if call.verdicts:
        extra["verdicts"] = [verdict_extra(verdict) for verdict in call.verdicts]
    return {"source_call_id": call.call.id, "content": call.shown, "extra": extra}


def _origin(call: CallTurn) -> str:
    return "sandbox" if call.executed else "judge" if call.verdicts else "harness"


def _metrics(attempt: Exported) -> dict[str, Any]:
    messages = [turn.message for turn in attempt.turns if turn.message.role == "assistant"]

    def total(name: str) -> int:
        return sum(message.usage.get(name, 0) for message in messages)

    end = attempt.end
    cost = None if end is None or end.cost_microdollars is None else end.cost_microdollars / 1e6
    return {
        "total_prompt_tokens": total("input_tokens"),
        "total_completion_tokens": total("output_tokens"),
        "total_cached_tokens": total("cache_read_tokens"),
        "total_cost_usd": cost,
        "total_steps": len(attempt.turns),
    }
