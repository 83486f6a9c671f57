"""Whatever is in a file, an import ends in runs or in a reason; and what is exported comes back as it was."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.attempt_records import attempt, command, said, shown

from rubrics_gym.interchange import atif as atif_reader
from rubrics_gym.interchange.export_atif import atif
from rubrics_gym.interchange.formats import find
from rubrics_gym.interchange.importing import convert, import_runs
from rubrics_gym.interchange.sources import candidates
from rubrics_gym.interchange.turns import exported
from rubrics_gym.records.trajectory import CommandEvent, CommandKind
from rubrics_gym.settings.study import LogFormat

DOCUMENTS: dict[str, Any] = {
    "a.traj": {
        "trajectory": [{"action": "python a.py", "observation": "x", "response": "r", "execution_time": 1}],
        "history": [{"role": "user", "content": "t"}, {"role": "assistant", "content": "c", "action": "ls"}],
        "info": {"model_stats": {"instance_cost": 1.0}, "exit_status": "s", "submission": "p"},
    },
    "b.traj.json": {
        "info": {"mini_version": "2", "model_stats": {"instance_cost": 1}, "config": {"model": {"model_name": "m"}}},
        "messages": [
            {"role": "user", "content": "t"},
            {"role": "assistant", "content": "c", "extra": {"actions": [{"command": "ls", "tool_call_id": "1"}], "cost": 1}},
            {"role": "tool", "tool_call_id": "1", "content": "o", "extra": {"returncode": 0, "raw_output": "o"}},
        ],
    },
    "c.jsonl": {
        "instance_id": "i",
        "metadata": {"llm_config": {"model": "m"}, "dataset": "d"},
        "test_result": {"git_patch": "p", "report": {"resolved": True}},
        "history": [
            {"id": 1, "source": "agent", "action": "run", "args": {"command": "ls", "thought": "t"}, "timestamp": "2025"},
            {
                "id": 2,
                "source": "agent",
                "observation": "run",
                "cause": 1,
                "content": "o",
                "extras": {"metadata": {"exit_code": 0, "suffix": ""}},
            },
        ],
    },
    "d.json": {
        "version": 2,
        "status": "success",
        "eval": {"task": "t", "model": "m", "created": "2025"},
        "samples": [
            {
                "id": 1,
                "epoch": 1,
                "input": "i",
                "messages": [
                    {"role": "assistant", "content": "c", "tool_calls": [{"id": "1", "function": "bash", "arguments": {"cmd": "ls"}}]},
                    {
                        "role": "tool",
                        "tool_call_id": "1",
                        "content": [{"type": "text", "text": "o"}],
                        "error": {"type": "timeout", "message": "m"},
                    },
                ],
                "events": [
                    {"event": "tool", "id": "1", "span_id": "s"},
                    {"event": "sandbox", "action": "exec", "span_id": "s", "result": 0},
                ],
                "scores": {"match": {"value": "C"}},
                "output": {"completion": "x"},
                "total_time": 1.0,
            }
        ],
    },
    "e.json": json.loads(json.dumps(atif(exported(attempt())))),
    "f.ipynb": {"nbformat": 4, "cells": [{"cell_type": "code", "source": ["ls"], "outputs": [{"output_type": "stream", "text": ["x"]}]}]},
    "journal.json": {
        "nodes": [{"code": "x", "plan": "p", "_term_out": ["o"], "exec_time": 1, "step": 0, "exc_type": None}],
        "node2parent": {},
    },
}
JUNK = st.sampled_from([None, "", "text", 0, -1, 3.5, True, [], {}, [None], {"a": 1}, ["x", 1], float("nan"), "\ud800", "a\0/../b"])


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield (*path, key)
            yield from places(inner, (*path, key))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield (*path, number)
            yield from places(inner, (*path, number))


@pytest.mark.parametrize("name", sorted(DOCUMENTS))
@given(data=st.data())
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_damaged_log_ends_in_a_reason(tmp_path_factory: pytest.TempPathFactory, name: str, data: st.DataObject) -> None:
    document = copy.deepcopy(DOCUMENTS[name])
    for _ in range(data.draw(st.integers(1, 3))):
        where = data.draw(st.sampled_from(list(places(document)) or [()]))
        if not where:
            break
        inner = document
        for key in where[:-1]:
            inner = inner[key]
        if data.draw(st.booleans()) and isinstance(inner, dict):
            del inner[where[-1]]
        else:
            inner[where[-1]] = data.draw(JUNK)
    folder = tmp_path_factory.mktemp("logs")
    (folder / name).write_text(json.dumps(document) + "\n")
    rows = import_runs(find(candidates(folder), LogFormat.AUTO, single=False), "mine", folder / "out", frozenset())
    assert all(row.skipped or row.unit for row in rows)


@given(text=st.text(max_size=60), content=st.binary(max_size=60))
@settings(max_examples=10, deadline=None)
def test_what_is_no_log_at_all_is_passed_over(tmp_path_factory: pytest.TempPathFactory, text: str, content: bytes) -> None:
    folder = tmp_path_factory.mktemp("logs")
    for ending in ("traj", "json", "jsonl", "ipynb", "log"):
        (folder / f"a.{ending}").write_text(text, encoding="utf-8", newline="")
    (folder / "b.eval").write_bytes(content)
    (folder / "b.json").write_bytes(content)
    rows = import_runs(find(candidates(folder), LogFormat.AUTO, single=False), "mine", folder / "out", frozenset())
    assert rows and all(row.skipped for row in rows)


TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=40)


@given(outcomes=st.lists(st.tuples(TEXT, st.one_of(st.none(), st.integers(0, 255))), min_size=1, max_size=5))
@settings(max_examples=20, deadline=None)
def test_outputs_and_exit_codes_survive_export_and_import(
    tmp_path_factory: pytest.TempPathFactory, outcomes: list[tuple[str, int | None]]
) -> None:
    events = [*attempt()[:3]]
    for step, (output, code) in enumerate(outcomes, 1):
        events += [said(step, "python a.py"), command(step, 0, "python a.py", exit_code=code, output_tail=output), shown(step, output)]
    path: Path = tmp_path_factory.mktemp("atif") / "t.json"
    path.write_text(json.dumps(atif(exported(events))))
    (run,) = atif_reader.read(path)
    back = [event for event in convert(run, "atif", "rollouts/m/b/t/0", "b", "t").events if isinstance(event, CommandEvent)]
    assert [(one.output_tail, one.exit_code) for one in back] == outcomes
    assert {one.kind for one in back} == {CommandKind.CODE_RUN}
