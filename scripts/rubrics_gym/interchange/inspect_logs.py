"""Inspect: `.json` and `.eval` logs (a ZIP, its members deflated or zstd-compressed), read without Inspect. One run per sample and epoch."""

from __future__ import annotations

import re
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import zstandard

from rubrics_gym.interchange.logs import Call, ForeignRun, Result, Turn, UnreadableLog, parsed, read_document, seconds, text_of
from rubrics_gym.interchange.tools import tool_call
from rubrics_gym.records.trajectory import CommandKind

LOSES = (
    "events other than messages, except the exit code of a tool call that ran exactly one command",
    "images and other attachments that are not text",
    "stores, states, approvals and sub-agents' conversations",
    "samples that are kept in chunks",
)
_ZSTD = 93  # APPNOTE.TXT 4.4.5
_MAX_BYTES = 500_000_000  # of an unpacked log: a small file can unpack to more than the memory holds
_REFUSED = frozenset({"parsing", "approval"})  # errors of a call that never ran


def recognises(path: Path, document: Any) -> bool:
    """Whether a JSON document is an Inspect log."""
    return isinstance(document, dict) and "eval" in document and "status" in document and "version" in document


def read(path: Path) -> list[ForeignRun]:
    """Every sample of a log."""
    if path.suffix == ".eval" and not zipfile.is_zipfile(path):
        raise UnreadableLog(f"{path}: not a whole ZIP, which an .eval log is. The log was cut; copy it again, or take it from its source.")
    header, samples = _from_zip(path) if zipfile.is_zipfile(path) else _from_json(path)
    if not isinstance(header.get("eval"), dict):
        raise UnreadableLog(f"{path}: expected `eval`, as Inspect writes its logs.")
    return [_run(header, sample) for sample in samples]


def _from_json(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    document = read_document(path)
    if not recognises(path, document):
        raise UnreadableLog(f"{path}: expected `version`, `status` and `eval`, as Inspect writes its logs.")
    return document, document.get("samples") or []


def _from_zip(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Header and samples of an `.eval` file; a run that was killed has a start instead of a header."""
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        head = next((name for name in ("header.json", "_journal/start.json") if name in names), None)
        if head is None:
            raise UnreadableLog(f"{path}: a ZIP without header.json and _journal/start.json is no Inspect log.")
        members = sorted(name for name in set(names) if re.fullmatch(r"samples/[^/]+\.json", name))
        left = _MAX_BYTES
        documents = []
        for name in [head, *members]:
            content = _member(path, archive, name, left)
            left -= len(content)
            try:
                documents.append(parsed(content))
            except (ValueError, RecursionError) as error:
                raise UnreadableLog(f"{path}, member {name}: not valid JSON ({error}).") from None
        header, *samples = documents
    return header, sorted(samples, key=lambda sample: (str(sample.get("id")), sample.get("epoch", 1)))


def _member(path: Path, archive: zipfile.ZipFile, name: str, limit: int) -> bytes:
    """A member's content. UnreadableLog when it has more than `limit` bytes, or is damaged."""
    try:
        content = _unpacked(path, archive.getinfo(name), archive, limit + 1)
    except (zipfile.BadZipFile, zlib.error, RuntimeError, OSError, EOFError, struct.error, zstandard.ZstdError) as error:
        raise UnreadableLog(f"{path}, member {name}: cannot be unpacked ({error}). The log is damaged; copy it again.") from None
    if len(content) > limit:
        raise UnreadableLog(
            f"{path}, member {name}: the log unpacks to more than {_MAX_BYTES:,} bytes. Write the samples that are needed to a log of their own."
        )
    return content


def _unpacked(path: Path, info: zipfile.ZipInfo, archive: zipfile.ZipFile, most: int) -> bytes:
    if info.compress_type != _ZSTD:
        with archive.open(info) as member:
            return member.read(most)

    with open(path, "rb") as file:  # zipfile knows no zstd before Python 3.14
        file.seek(info.header_offset)
        header = file.read(30)
        name_length, extra_length = struct.unpack("<HH", header[26:30])
        file.seek(info.header_offset + 30 + name_length + extra_length)
        packed = BytesIO(file.read(info.compress_size))
        return zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True).read(most)


def _run(header: Mapping[str, Any], sample: Mapping[str, Any]) -> ForeignRun:
    spec = header["eval"]
    attached = sample.get("attachments") or (sample.get("transcript") or {}).get("content") or {}
    messages = [_resolved(message, attached) for message in sample.get("messages") or []]
    exit_codes = _exit_codes(sample)
    turns = tuple(_turns(messages, exit_codes))
    statement = _resolved(sample.get("input"), attached)
    limit = sample.get("limit") or {}
    error = sample.get("error") or {}
    completion = (sample.get("output") or {}).get("completion")
    return ForeignRun(
        task=str(sample.get("id")),
        turns=turns,
        benchmark=str(spec.get("task") or ""),
        statement=statement if isinstance(statement, str) else "\n".join(text_of(message.get("content")) for message in statement or []),
        model=str(spec.get("model") or ""),
        at=str(sample.get("started_at") or spec.get("created") or ""),
        ended_at=str(sample.get("completed_at") or ""),
        end=f"error: {error['message']}"
        if error.get("message")
        else f"limit: {limit['type']}"
        if limit.get("type")
        else str(header.get("status") or "not recorded"),
        submission=_resolved(completion, attached) or None,
        result=_result(sample.get("scores") or {}),
        wall_s=seconds(sample.get("total_time")),
    )


def _resolved(value: Any, attached: Mapping[str, str]) -> Any:
    """A value with its references to attachments replaced."""
    if isinstance(value, str):
        found = re.fullmatch(r"(?:attachment|tc)://([0-9a-f]+)", value)
        return attached.get(found[1], value) if found else value
    if isinstance(value, list):
        return [_resolved(one, attached) for one in value]
    if isinstance(value, dict):
        return {key: _resolved(one, attached) for key, one in value.items()}
    return value


def _turns(messages: list[dict[str, Any]], exit_codes: Mapping[str, int]) -> Iterator[Turn]:
    answers = {message.get("tool_call_id"): message for message in messages if message.get("role") == "tool"}
    asked: set[str] = set()
    for message in messages:
        text = text_of(message.get("content"))
        if message.get("role") == "assistant":
            calls = message.get("tool_calls") or []
            asked |= {str(call.get("id")) for call in calls}
            yield Turn("assistant", text, tuple(_call(call, answers.get(call.get("id")), exit_codes) for call in calls))
        elif message.get("role") == "tool":
            if str(message.get("tool_call_id")) not in asked:  # a log of results alone
                yield Turn("assistant", "", (_orphan(message),))
            yield Turn("user", text or _error(message)[1])
        else:
            yield Turn("system" if message.get("role") == "system" else "user", text)


def _call(asked: Mapping[str, Any], answer: Mapping[str, Any] | None, exit_codes: Mapping[str, int]) -> Call:
    identity = str(asked.get("id") or "")
    call = tool_call(str(asked.get("function") or "tool"), asked.get("arguments"), id=identity)
    if asked.get("parse_error"):
        return replace(call, executed=False, output=str(asked["parse_error"]), note="the call could not be parsed")
    if answer is None:
        return call
    return replace(_answered(call, answer), exit_code=exit_codes.get(identity))


def _answered(call: Call, answer: Mapping[str, Any]) -> Call:
    kind, message = _error(answer)
    output = "\n".join(filter(None, [text_of(answer.get("content")), message]))
    if kind in _REFUSED:
        return replace(call, executed=False, output=output, note=f"not carried out: {kind}")
    return replace(call, output=output, timed_out=kind == "timeout", note=f"tool error: {kind}" if kind else "")


def _error(message: Mapping[str, Any]) -> tuple[str, str]:
    """Type and words of a tool's error; older logs hold words alone."""
    error = message.get("error")
    if isinstance(error, dict):
        return str(error.get("type") or "unknown"), str(error.get("message") or "")
    return ("unknown", str(message["tool_error"])) if message.get("tool_error") else ("", "")


def _orphan(message: Mapping[str, Any]) -> Call:
    name = str(message.get("function") or "tool")
    call = Call(text=name, kind=CommandKind.OTHER, id=str(message.get("tool_call_id") or ""), tool=name, arguments={})
    answered = _answered(call, message)
    return replace(answered, note="; ".join(filter(None, ["the log holds no call for this result", answered.note])))


def _exit_codes(sample: Mapping[str, Any]) -> dict[str, int]:
    """Tool call -> exit code, for calls whose tool ran exactly one command in the sandbox.

    Old logs nest the sandbox's events in the tool's; later ones lay both flat, in one span or between its begin and end.
    """
    events = sample.get("events") or (sample.get("transcript") or {}).get("events") or []
    codes: dict[str, list[Any]] = {}
    current: str | None = None
    spans: dict[Any, str] = {}
    parents: dict[Any, Any] = {}
    for event in events:
        match event.get("event"):
            case "span_begin":
                parents[event.get("id")] = event.get("parent_id")
            case "tool":
                current = str(event.get("id"))
                spans[event.get("span_id")] = current
                codes[current] = [one.get("result") for one in event.get("events") or [] if _is_exec(one)]
            case "model":
                current = None
            case "sandbox" if _is_exec(event):
                owner = _owner(event.get("span_id"), spans, parents) or current
                if owner is not None:
                    codes[owner].append(event.get("result"))
    return {call: results[0] for call, results in codes.items() if len(results) == 1 and isinstance(results[0], int)}


def _owner(span: Any, spans: Mapping[Any, str], parents: Mapping[Any, Any]) -> str | None:
    seen: set[Any] = set()
    while span is not None and span not in seen:  # in a damaged log a span may be its own ancestor
        if span in spans:
            return spans[span]
        seen.add(span)
        span = parents.get(span)
    return None


def _is_exec(event: Mapping[str, Any]) -> bool:
    return event.get("event") == "sandbox" and event.get("action") == "exec"


def _result(scores: Mapping[str, Any]) -> Result | None:
    """The first score. Letters are Inspect's: C(orrect), I(ncorrect), P(artial), N(o answer)."""
    for name, score in scores.items():
        value = score.get("value") if isinstance(score, dict) else score
        if isinstance(value, str) and value in ("C", "I", "N"):
            return Result(name, float(value == "C"), value != "C", f"{name} {value}")
        if isinstance(value, bool):
            return Result(name, float(value), not value, f"{name} {value}")
        if isinstance(value, int | float):
            return Result(name, float(value), None, f"{name} {value}")
    return None
