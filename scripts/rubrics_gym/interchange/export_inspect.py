"""Our record as an Inspect log, version 2 in its JSON form: one log per arm or collection, one sample per attempt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from rubrics_gym.interchange.turns import CallTurn, Exported, Turn, command_extra, verdict_extra
from rubrics_gym.records.outcomes import POLICY
from rubrics_gym.records.trajectory import CommandEvent, Route

LOSES = (
    "times of single events: each bears the time at which the attempt began",
    "texts of files, world states",
    "prices: Inspect's usage has tokens alone",
)
SCORER = "rubrics_gym_grade"


def inspect_log(name: str, attempts: Sequence[Exported]) -> dict[str, Any]:
    """Some attempts as a plain JSON document that Inspect reads. ValueError when there are none.

    Commands that ran are sandbox events with their exit codes. A call of which nothing ran has none, and its tool message begins with what
    the agent was shown; the metadata of its event say who answered.
    """
    if not attempts:
        raise ValueError(f"{name}: there is no attempt to export")
    first = attempts[0].start
    samples = [_sample(attempt, number) for attempt, number in zip(attempts, _epochs(attempts), strict=True)]
    created = min(attempt.start.at for attempt in attempts) or "1970-01-01T00:00:00+00:00"
    usage = _sum([sample["model_usage"].get(first.model, {}) for sample in samples])
    return {
        "version": 2,
        "status": "success",
        "eval": {
            "eval_id": name,
            "run_id": name,
            "created": created,
            "task": name,
            "task_id": name,
            "task_version": 0,
            "task_attribs": {},
            "task_args": {},
            "dataset": {
                "name": first.benchmark,
                "samples": len(samples),
                "sample_ids": sorted({sample["id"] for sample in samples}),
                "shuffled": False,
            },
            "model": first.model or "unknown",
            "model_args": {},
            "config": {"epochs": max(sample["epoch"] for sample in samples)},
            "packages": {},
            "metadata": {"arm": first.arm, "protocol": first.protocol},
        },
        "plan": {"name": "plan", "steps": [], "config": {}},
        "results": {"total_samples": len(samples), "completed_samples": sum(attempt.end is not None for attempt in attempts), "scores": []},
        "stats": {
            "started_at": created,
            "completed_at": max((one.end.at for one in attempts if one.end), default="") or created,
            "model_usage": {first.model or "unknown": usage},
        },
        "samples": samples,
    }


def _epochs(attempts: Sequence[Exported]) -> list[int]:
    """Attempts at one task are its epochs."""
    seen: Counter[str] = Counter()
    epochs = []
    for attempt in attempts:
        seen[attempt.start.task] += 1
        epochs.append(seen[attempt.start.task])
    return epochs


def _sample(attempt: Exported, epoch: int) -> dict[str, Any]:
    start, end = attempt.start, attempt.end
    messages = [message for turn in attempt.turns for message in _messages(turn, start.model)]
    last = next((message for message in reversed(messages) if message["role"] == "assistant"), {"role": "assistant", "content": ""})
    usage = _sum([_usage(turn) for turn in attempt.turns])
    model = start.model or "unknown"
    sample: dict[str, Any] = {
        "id": start.task,
        "epoch": epoch,
        "input": start.statement,
        "target": "",
        "messages": messages,
        "output": {"model": model, "choices": [{"message": last, "stop_reason": "stop"}], "usage": usage},
        "scores": _scores(attempt),
        "metadata": {
            "unit": start.unit,
            "attempt": start.attempt,
            "seed": start.seed,
            "end": end.reason if end else None,
            "limits": start.limits,
            "grade": attempt.grade.model_dump(mode="json") if attempt.grade else None,
            "final_run": attempt.final.model_dump(mode="json", exclude={"event"}) if attempt.final else None,
        },
        "store": {},
        "events": [event for turn in attempt.turns for call in turn.calls for event in _events(call, start.at)],
        "model_usage": {model: usage},
        "attachments": {},
    }
    if end is not None and end.wall_s is not None:
        sample["total_time"], sample["working_time"] = end.wall_s, end.wall_s
    if end is not None and end.outcome is not None and not POLICY[end.outcome].agents_doing:
        sample["error"] = {"message": f"lost: {end.reason}", "traceback": "", "traceback_ansi": ""}
    return sample


def _messages(turn: Turn, model: str) -> list[dict[str, Any]]:
    message = turn.message
    if message.role == "system":
        return [{"role": "system", "content": message.text}]
    if message.role == "user":
        return [{"role": "user", "content": message.text, **({"source": "input"} if message.step == 0 else {})}]
    said: dict[str, Any] = {"role": "assistant", "content": message.text, "model": model, "source": "generate"}
    if turn.calls:
        said["tool_calls"] = [
            {"id": call.call.id, "function": call.call.name, "arguments": call.call.arguments, "type": "function"} for call in turn.calls
        ]
    answers = [
        {"role": "tool", "content": call.shown, "tool_call_id": call.call.id, "function": call.call.name}
        for call in turn.calls
        if call.shown is not None
    ]
    return [said, *answers]


def _events(call: CallTurn, at: str) -> list[dict[str, Any]]:
    """The tool's event, and a sandbox event for each command that ran."""
    time = {"timestamp": at or "1970-01-01T00:00:00+00:00", "working_start": 0.0}
    metadata = {
        "executed": call.executed,
        "commands": [command_extra(command) for command in call.commands],
        "verdicts": [verdict_extra(verdict) for verdict in call.verdicts],
    }
    span = f"call-{call.call.id}"
    tool = {
        **time,
        "event": "tool",
        "span_id": span,
        "type": "function",
        "id": call.call.id,
        "function": call.call.name,
        "arguments": call.call.arguments,
        "result": call.shown or "",
        "events": [],
        "metadata": metadata,
    }
    return [tool, *({**time, **_sandbox(command, span)} for command in call.commands if command.route is Route.EXECUTED)]


def _sandbox(command: CommandEvent, span: str) -> dict[str, Any]:
    output = f"{command.output_head}\n{command.output_tail}" if command.output_head else command.output_tail
    return {
        "event": "sandbox",
        "span_id": span,
        "action": "exec",
        "cmd": command.text,
        "result": command.exit_code,
        "output": output,
        "metadata": {"timed_out": command.timed_out, "out_of_memory": command.out_of_memory, "duration_s": command.duration_s},
    }


def _scores(attempt: Exported) -> dict[str, Any]:
    """The grade as a score: C or I where the attempt ended right or wrong, and none where nobody knows."""
    grade = attempt.grade
    if grade is None or grade.ended_wrong is None:
        return {}
    score = {"value": "I" if grade.ended_wrong else "C", "answer": grade.outcome.value, "explanation": grade.reason}
    return {SCORER: {**score, "metadata": {"metric": grade.metric, "score": grade.score, "medal": grade.medal}}}


def _usage(turn: Turn) -> dict[str, int]:
    usage = turn.message.usage
    tokens = {
        "input_tokens": usage.get("input_tokens", 0),
        "output_tokens": usage.get("output_tokens", 0),
        "input_tokens_cache_read": usage.get("cache_read_tokens", 0),
        "input_tokens_cache_write": usage.get("cache_write_tokens", 0),
    }
    return {**tokens, "total_tokens": sum(tokens.values())}


def _sum(usages: Sequence[dict[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter({"input_tokens": 0, "output_tokens": 0, "total_tokens": 0})
    for usage in usages:
        total.update(usage)
    return dict(total)
