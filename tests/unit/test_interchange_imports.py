"""Logs of other systems become trajectories: commands, outputs and exit codes as recorded, and what was not recorded stays unknown."""

from __future__ import annotations

import json
import os
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rubrics_gym.failures.detection import detect
from rubrics_gym.failures.types import load_rules
from rubrics_gym.harness.recorder import read_trajectory
from rubrics_gym.interchange import inspect_logs
from rubrics_gym.interchange.formats import FORMATS, find, read_runs, recognise
from rubrics_gym.interchange.importing import ImportRow, convert, import_runs
from rubrics_gym.interchange.logs import UnreadableLog
from rubrics_gym.interchange.sources import candidates
from rubrics_gym.records.archives import UnsafeArchive, read_archive
from rubrics_gym.records.files import attempt_files
from rubrics_gym.records.trajectory import CommandEvent, CommandKind, EndEvent, Event, FileEvent, MessageEvent, Route, StartEvent
from rubrics_gym.settings.study import LogFormat

TOP = Path(__file__).parents[2]
CASES = Path(os.environ.get("RUBRICS_CORPUS", TOP.parent / "shared")) / "cases" / "trajectories"
needs_cases = pytest.mark.skipif(not CASES.is_dir(), reason=f"the cases are not at {CASES}")
RULES = load_rules(TOP / "resources" / "failure_types.yaml")


def write(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return path


def events_of(path: Path) -> list[Event]:
    """The events of the one run of a file."""
    name = recognise(path)
    assert name is not None
    (run,) = read_runs(path, name)
    return convert(run, name.value, "rollouts/mine/b/t/0", "b", "t").events


def commands_of(path: Path) -> list[CommandEvent]:
    return [event for event in events_of(path) if isinstance(event, CommandEvent)]


# ---------------------------------------------------------------- formats, each by a small log of its own


def test_mini_swe_agent_v1(tmp_path: Path) -> None:
    said = "Look first.\n\n```bash\npython train.py | tail\n```"
    log = write(
        tmp_path / "task-7.traj.json",
        [
            {"role": "system", "content": "s"},
            {"role": "user", "content": "Fit a model."},
            {"role": "assistant", "content": said},
            {"role": "user", "content": "<returncode>0</returncode>\n<output>\nValueError: bad\n</output>"},
            {"role": "assistant", "content": "no block at all"},
            {"role": "user", "content": "Please always provide one action."},
            {"role": "assistant", "content": "```bash\npython train.py\n```"},
            {
                "role": "user",
                "content": "The last command <command>python train.py</command> timed out and has been killed.\n <output>\nepoch 1\n</output>",
            },
            {"role": "assistant", "content": "```bash\necho COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT\n```"},
        ],
    )
    piped, slow, last = commands_of(log)
    assert (piped.exit_code, piped.output_tail, piped.masked_pipe) == (0, "ValueError: bad", True)
    assert (slow.exit_code, slow.timed_out, slow.output_tail.strip()) == (None, True, "epoch 1")
    assert (last.kind, last.exit_code, last.output_sha256) == (CommandKind.SUBMIT, None, "")
    assert [event.step for event in (piped, slow, last)] == [1, 3, 4]


def test_mini_swe_agent_v2_reads_the_recorded_output_and_no_code_of_a_broken_run(tmp_path: Path) -> None:
    actions = [
        {"command": "python a.py", "tool_call_id": "1"},
        {"command": "ls", "tool_call_id": "2"},
        {"command": "sleep 99", "tool_call_id": "3"},
    ]
    answers = [
        {"role": "tool", "tool_call_id": "2", "content": "shown", "extra": {"returncode": 0, "raw_output": "b.py"}},
        {
            "role": "tool",
            "tool_call_id": "1",
            "content": "shown",
            "extra": {"returncode": 1, "raw_output": "Traceback (most recent call last)\n"},
        },
        {
            "role": "tool",
            "tool_call_id": "3",
            "content": "",
            "extra": {"returncode": -1, "raw_output": "", "exception_info": "timed out after 60 seconds"},
        },
    ]
    log = write(
        tmp_path / "x.traj.json",
        {
            "trajectory_format": "mini-swe-agent-1.1",
            "info": {"exit_status": "Submitted", "submission": "patch", "model_stats": {"instance_cost": 0.5}},
            "messages": [
                {"role": "user", "content": "Do it."},
                {"role": "assistant", "content": "", "extra": {"actions": actions}},
                *answers,
            ],
        },
    )
    run, listing, slow = commands_of(log)
    assert (run.exit_code, run.output_tail) == (1, "Traceback (most recent call last)\n")
    assert (listing.exit_code, listing.output_tail, listing.kind) == (0, "b.py", CommandKind.INSPECT)
    assert (slow.exit_code, slow.timed_out) == (None, True)
    end = events_of(log)[-1]
    assert isinstance(end, EndEvent) and (end.reason, end.cost_microdollars, end.wall_s) == ("Submitted", 500_000, None)


def test_swe_agent_kinds_time_outs_and_refusals(tmp_path: Path) -> None:
    steps = [
        {"action": 'open "train.py"', "observation": "[File: train.py]", "response": "look"},
        {"action": "edit 1:2\nimport os\nend_of_edit", "observation": "ok", "response": ""},
        {
            "action": "python train.py\n",
            "observation": "Traceback (most recent call last):\nKeyError: 'a'",
            "response": "",
            "execution_time": 2.5,
        },
        {"action": "python slow.py", "observation": "\nEXECUTION TIMED OUT", "response": ""},
        {"action": "vim a.py", "observation": "Operation 'vim a.py' is not supported by this environment.", "response": ""},
        {"action": "validate", "observation": "score", "response": ""},
        {"action": "submit", "observation": "", "response": ""},
    ]
    history = [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "x\n--- DEMONSTRATION ---\n"},
        {"role": "user", "content": "The task."},
        {"role": "assistant", "content": "look", "action": "open"},
    ]
    log = write(tmp_path / "t.traj", {"trajectory": steps, "history": history, "info": {"exit_status": "submitted"}})
    commands = commands_of(log)
    assert [one.kind.value for one in commands] == ["inspect", "edit", "code_run", "code_run", "inspect", "code_run", "submit"] or commands[
        4
    ].route is Route.WITHHELD
    assert {one.exit_code for one in commands} == {None}
    assert (commands[2].duration_s, commands[3].timed_out) == (2.5, True)
    assert commands[4].route is Route.WITHHELD and commands[4].output_bytes == 0 and "not supported" in commands[4].shown
    start = events_of(log)[0]
    assert isinstance(start, StartEvent) and start.statement == "The task." and start.seed is None


def openhands_event(number: int, **more: Any) -> dict[str, Any]:
    return {"id": number, "timestamp": f"2025-01-01T00:00:{number:02}", **more}


def run_pair(number: int, command: str, code: int | None, content: str, **extras: Any) -> list[dict[str, Any]]:
    metadata = {} if code is None else {"metadata": {"exit_code": code, **extras}}
    return [
        openhands_event(number, source="agent", action="run", args={"command": command, "thought": "t"}),
        openhands_event(
            number + 1, source="agent", observation="run", cause=number, content=content, extras={"command": command, **metadata}
        ),
    ]


def test_openhands_exit_codes_minus_one_is_unknown(tmp_path: Path) -> None:
    history = [
        openhands_event(0, source="user", action="message", args={"content": "Fix it."}),
        *run_pair(1, "python a.py", 1, "KeyError"),
        *run_pair(3, "python server.py", -1, "started", suffix="[The command timed out after 30 seconds.]"),
        *run_pair(5, "ls", -1, '[Your command "ls" is NOT executed. The previous command is still running.]'),
        *run_pair(7, "python b.py", None, "fine"),
        openhands_event(9, source="agent", action="edit", args={"command": "create", "path": "/w/new.py", "file_text": "x = 1\n"}),
        openhands_event(10, source="agent", observation="edit", cause=9, content="created", extras={}),
        openhands_event(11, source="agent", action="think", args={"thought": "hm"}),
    ]
    log = write(tmp_path / "output.jsonl", json.dumps({"instance_id": "i-1", "instruction": "Fix it.", "history": history}) + "\n")
    failed, server, refused, unknown, edit = commands_of(log)
    assert failed.exit_code == 1
    assert (server.exit_code, server.timed_out) == (None, True)
    assert refused.route is Route.WITHHELD
    assert (unknown.exit_code, unknown.output_tail) == (None, "fine")
    assert edit.kind is CommandKind.EDIT
    files = [event for event in events_of(log) if isinstance(event, FileEvent)]
    assert [(event.path, event.text) for event in files] == [("w/new.py", "x = 1\n")]


def test_openhands_current_events(tmp_path: Path) -> None:
    events = [
        {
            "id": "m",
            "kind": "MessageEvent",
            "source": "user",
            "llm_message": {"role": "user", "content": [{"type": "text", "text": "Go."}]},
        },
        {
            "id": "a",
            "kind": "ActionEvent",
            "source": "agent",
            "tool_name": "terminal",
            "tool_call_id": "c",
            "thought": [],
            "action": {"kind": "TerminalAction", "command": "python a.py"},
        },
        {
            "id": "o",
            "kind": "ObservationEvent",
            "source": "environment",
            "action_id": "a",
            "observation": {"kind": "TerminalObservation", "content": [{"type": "text", "text": "boom"}], "metadata": {"exit_code": 3}},
        },
    ]
    (command,) = commands_of(write(tmp_path / "trajectory.json", events))
    assert (command.text, command.exit_code, command.output_tail, command.kind) == ("python a.py", 3, "boom", CommandKind.CODE_RUN)


def inspect_log(messages: list[dict[str, Any]], events: list[dict[str, Any]], **sample: Any) -> dict[str, Any]:
    one = {"id": "s", "epoch": 1, "input": "Do it.", "messages": messages, "events": events, **sample}
    return {"version": 2, "status": "success", "eval": {"task": "mytask", "model": "m", "created": "2026-01-01"}, "samples": [one]}


def asked(number: int, command: str) -> dict[str, Any]:
    return {"role": "assistant", "content": "", "tool_calls": [{"id": f"c{number}", "function": "bash", "arguments": {"cmd": command}}]}


def answered(number: int, content: str, **more: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": f"c{number}", "function": "bash", "content": content, **more}


def inspect_example() -> dict[str, Any]:
    messages = [
        {"role": "user", "content": "attachment://abc123"},
        asked(1, "python a.py"),
        answered(1, "boom"),
        asked(2, "python b.py"),
        answered(2, "", error={"type": "timeout", "message": "Command timed out"}),
        asked(3, "rm -rf /"),
        answered(3, "", error={"type": "approval", "message": "rejected"}),
        asked(4, "python c.py"),
        answered(4, "two commands ran"),
    ]
    sandbox = {"event": "sandbox", "action": "exec"}
    events = [
        {"event": "tool", "id": "c1", "span_id": "t1"},
        {**sandbox, "span_id": "t1", "cmd": "bash -c 'python a.py'", "result": 7},
        {"event": "model"},
        {"event": "tool", "id": "c4", "events": [{**sandbox, "result": 0}, {**sandbox, "result": 1}]},
    ]
    return inspect_log(messages, events, attachments={"abc123": "Do it."}, scores={"match": {"value": "I"}})


@pytest.mark.parametrize("form", ["json", "eval", "zstd"])
def test_inspect_exit_codes_only_where_a_tool_ran_one_command(tmp_path: Path, form: str) -> None:
    log = inspect_example()
    path = tmp_path / ("log.json" if form == "json" else "log.eval")
    if form == "json":
        write(path, log)
    else:
        write_eval(path, log, zstd=form == "zstd")
    run, slow, rejected, several = commands_of(path)
    assert (run.exit_code, run.output_tail) == (7, "boom")
    assert (slow.exit_code, slow.timed_out) == (None, True)
    assert rejected.route is Route.WITHHELD and "rejected" in rejected.shown
    assert several.exit_code is None
    first = next(event for event in events_of(path) if isinstance(event, MessageEvent))
    assert first.text == "Do it."


def write_eval(path: Path, log: dict[str, Any], zstd: bool) -> None:
    """An `.eval` file. zipfile cannot write zstd members before Python 3.14: the stored bytes are compressed and the method is patched."""
    header = {key: value for key, value in log.items() if key != "samples"}
    members = {"header.json": header, "samples/s_epoch_1.json": log["samples"][0]}
    if not zstd:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, value in members.items():
                archive.writestr(name, json.dumps(value))
        return
    import zstandard

    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, value in members.items():
            archive.writestr(name, zstandard.ZstdCompressor().compress(json.dumps(value).encode()))
    content = bytearray(path.read_bytes())
    for signature, offset in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        for found in re.finditer(re.escape(signature), bytes(content)):
            content[found.start() + offset : found.start() + offset + 2] = (93).to_bytes(2, "little")
    path.write_bytes(bytes(content))


def test_atif(tmp_path: Path) -> None:
    steps = [
        {"step_id": 1, "source": "user", "message": "Go."},
        {
            "step_id": 2,
            "source": "agent",
            "message": "I run it",
            "tool_calls": [
                {"tool_call_id": "1", "function_name": "bash_command", "arguments": {"keystrokes": "python a.py\n", "duration": 1}},
                {"tool_call_id": "2", "function_name": "bash", "arguments": {"command": ["bash", "-lc", "python b.py"]}},
                {"tool_call_id": "3", "function_name": "Read", "arguments": {"file_path": "a.py"}},
            ],
            "observation": {
                "results": [
                    {"source_call_id": "2", "content": "two", "extra": {"exit_code": 2}},
                    {"source_call_id": "1", "content": [{"type": "text", "text": "one"}]},
                    {"source_call_id": "3", "content": "text", "extra": {"executed": False}},
                ]
            },
        },
    ]
    log = write(tmp_path / "trajectory.json", {"schema_version": "ATIF-v1.6", "agent": {"name": "a", "version": "1"}, "steps": steps})
    first, second, third = commands_of(log)
    assert (first.text.strip(), first.exit_code, first.output_tail) == ("python a.py", None, "one")
    assert (second.text, second.exit_code) == ("python b.py", 2)
    assert third.route is Route.WITHHELD


def test_aide_journal(tmp_path: Path) -> None:
    nodes = [
        {
            "step": 1,
            "plan": "p",
            "code": "import lgb",
            "_term_out": ["Traceback (most recent call last):\n", "ImportError"],
            "exec_time": 3.0,
            "exc_type": "ImportError",
            "is_buggy": True,
        },
        {"step": 0, "plan": "first", "code": "print(1)", "_term_out": ["1\n"], "exec_time": 1.5, "exc_type": None, "is_buggy": False},
        {
            "step": 2,
            "plan": "slow",
            "code": "while 1: pass",
            "_term_out": ["TimeoutError: Execution exceeded the time limit of 1 hour"],
            "exc_type": "TimeoutError",
        },
        {"step": 3, "plan": "never ran", "code": "x"},
    ]
    log = write(tmp_path / "my-competition" / "logs" / "journal.json", {"nodes": nodes, "node2parent": {}})
    commands = commands_of(log)
    assert [(one.exit_code, one.timed_out, one.duration_s) for one in commands] == [
        (None, False, 1.5),
        (None, False, 3.0),
        (None, True, None),
    ]
    assert [event.text for event in events_of(log) if isinstance(event, FileEvent)] == ["print(1)", "import lgb", "while 1: pass"]
    assert [failure.step for failure in detect(events_of(log), RULES).events] == [2, 3]
    kinds = [type(event).__name__ for event in events_of(log) if isinstance(event, CommandEvent | FileEvent)]
    assert kinds[:2] == ["FileEvent", "CommandEvent"]  # the program is there before it runs: a judge can be replayed over it


def test_super_notebook_with_its_metrics(tmp_path: Path) -> None:
    def markdown(text: str) -> dict[str, Any]:
        return {"cell_type": "markdown", "source": [text]}

    def code(text: str, output: str) -> dict[str, Any]:
        return {"cell_type": "code", "source": [text], "outputs": [{"output_type": "execute_result", "data": {"text/plain": [output]}}]}

    cells = [
        markdown("### Query\nTrain it."),
        markdown("### Step 1"),
        markdown("Execution Start time: 1, End time: 2 (duration: 12 seconds)"),
        markdown("**Thought**: install"),
        markdown("**Action (execute)**:"),
        code("!pip install torch", "ok"),
        markdown("**Action (edit)**:"),
        code("a.py\n<<<BEFORE_EDIT>>>\nx\n<<<AFTER_EDIT>>>\ny", "done"),
        markdown("**Action (execute)**:"),
        code("import torch\ntorch.load('x')", "Traceback (most recent call last):\nFileNotFoundError: x"),
        markdown("**Action (submit)**:"),
        code("{'a': 1}", ""),
    ]
    folder = tmp_path / "gpt" / "some_task"
    log = write(folder / "history.ipynb", {"nbformat": 4, "cells": cells})
    write(folder / "metrics.json", {"output_match": 0.0, "submitted": 1})
    commands = commands_of(log)
    assert [one.kind.value for one in commands] == ["install", "edit", "code_run", "submit"]
    assert [one.duration_s for one in commands] == [12.0, None, None, None]
    assert {one.exit_code for one in commands} == {None}
    assert [failure.step for failure in detect(events_of(log), RULES).events] == [3]
    (run,) = read_runs(log, LogFormat.SUPER)
    assert run.result is not None and run.result.ended_wrong is True


# ---------------------------------------------------------------- whole imports


def test_an_import_leaves_what_a_rollout_leaves_and_passes_over_held_out_tasks(tmp_path: Path) -> None:
    mine = write(
        tmp_path / "logs" / "task-1.traj",
        {"trajectory": [{"action": "python a.py", "observation": "x" * 60_000, "response": ""}], "info": {"submission": "mine"}},
    )
    write(tmp_path / "logs" / "held-out.traj", json.loads(mine.read_text()))
    write(tmp_path / "logs" / "held-out_58af4168-aaaa.traj", json.loads(mine.read_text()))
    write(tmp_path / "logs" / "notes.json", {"some": "thing"})
    found = find(candidates(tmp_path / "logs"), LogFormat.AUTO, single=False)
    rows = import_runs(found, "mine", tmp_path / "out", frozenset({"held_out"}))
    assert [row.skipped for row in rows] == ["its task is held out", "its task is held out", "not a run in any of the known formats", ""]
    (trajectory,) = attempt_files([str(tmp_path / "out")], "trajectory.jsonl")
    events = read_trajectory(trajectory)
    assert isinstance(events[0], StartEvent) and events[0].unit == "rollouts/mine/swe_agent/task-1/0"
    archive = read_archive(attempt_files([str(tmp_path / "out")], "artifacts.tar.gz")[0])
    assert archive["handed_in.txt"] == b"mine"
    assert archive[".harness/outputs/001-00.txt"] == b"x" * 60_000  # the record holds head and tail


def test_what_cannot_be_read_says_so(tmp_path: Path) -> None:
    pointer = write(tmp_path / "journal.json", "version https://git-lfs.github.com/spec/v1\noid sha256:1\n")
    with pytest.raises(UnreadableLog, match="Git LFS pointer"):
        find([pointer], LogFormat.AUTO, single=True)
    cut = write(tmp_path / "cut.traj", '{"trajectory": [')
    with pytest.raises(UnreadableLog, match=r"cut\.traj: not valid JSON"):
        find([cut], LogFormat.AUTO, single=True)
    assert "not valid JSON" in find([cut], LogFormat.AUTO, single=False)[0].skipped
    other = write(tmp_path / "other.json", {"a": 1})
    with pytest.raises(UnreadableLog, match="none of the formats"):
        find([other], LogFormat.AUTO, single=True)
    with pytest.raises(UnreadableLog, match="ATIF"):
        read_runs(other, LogFormat.ATIF)
    odd = write(tmp_path / "odd.traj", {"trajectory": [{"action": "ls", "observation": "x"}], "info": "text"})
    with pytest.raises(UnreadableLog, match="does not have the shape"):
        read_runs(odd, LogFormat.SWE_AGENT)


def test_every_format_says_what_it_loses_and_the_page_says_it_too() -> None:
    page = (TOP / "docs" / "interchange.md").read_text(encoding="utf-8")
    for name in set(LogFormat) - {LogFormat.AUTO}:
        assert FORMATS[name].loses
        for lost in FORMATS[name].loses:
            assert lost in page, lost


# ---------------------------------------------------------------- real logs of other systems, counted a second way


def row(path: str, number: int = 0) -> ImportRow:
    import tempfile

    found = find([CASES / path], LogFormat.AUTO, single=True)
    with tempfile.TemporaryDirectory() as folder:
        return import_runs(found, "mine", Path(folder), frozenset())[number]


@needs_cases
def test_openhands_cases_hold_every_exit_code() -> None:
    path = "openhands/multi_swe_bench_output.jsonl"
    for number, line in enumerate((CASES / path).read_text().splitlines()):
        history = json.loads(line)["history"]
        codes = [event["extras"]["metadata"]["exit_code"] for event in history if event.get("observation") == "run"]
        imported = row(path, number)
        assert (imported.with_exit_code, imported.failed_exit) == (len(codes), sum(code != 0 for code in codes))
        assert imported.commands == sum(event.get("action") in ("run", "read", "edit", "finish") for event in history)


@needs_cases
def test_mini_swe_agent_case_holds_every_exit_code() -> None:
    path = "mini-swe-agent/github_issue.traj.json"
    codes = re.findall(r"<returncode>(-?\d+)</returncode>\\n<output>", (CASES / path).read_text())
    imported = row(path)
    assert (imported.with_exit_code, imported.failed_exit) == (len(codes), sum(code != "0" for code in codes))


@needs_cases
@pytest.mark.parametrize(
    "path", sorted(str(file.relative_to(CASES)) for file in CASES.glob("super/*/*/history.ipynb")) if CASES.is_dir() else []
)
def test_super_cases_hold_every_cell_and_no_exit_code(path: str) -> None:
    cells = [cell for cell in json.loads((CASES / path).read_text())["cells"] if cell["cell_type"] == "code"]
    imported = row(path)
    assert (imported.commands, imported.with_output, imported.with_exit_code) == (len(cells), len(cells), 0)


@needs_cases
def test_swe_agent_and_aide_cases_hold_every_step() -> None:
    steps = json.loads((CASES / "swe-agent/marshmallow-1867.traj").read_text())["trajectory"]
    assert row("swe-agent/marshmallow-1867.traj").commands == len(steps)
    log = (CASES / "aide/dog-breed/aide.verbose.log").read_text()
    assert row("aide/dog-breed/aide.verbose.log").commands == log.count("INFO: REPL is executing code")
    assert row("aide/dog-breed/aide.verbose.log").with_output == log.count("INFO: Agent is parsing execution results")


def test_ai_scientist_log_holds_the_runs_that_failed(tmp_path: Path) -> None:
    crash = "Traceback (most recent call last):\n  File \"experiment.py\", line 1\nKeyError: 'a'\n"
    log = (
        "*Starting idea: my_idea*\n*Starting Experiments*\nI change it.\n1,200 prompt tokens, 30 completion tokens, $0.05 cost\n\n"
        f"Applied edit to experiment.py\nI change it.\n{crash}\nRun 1 failed with return code 1\nRun failed with the following error {crash}\n"
        "I fix it.\n9k prompt tokens, 40 completion tokens, $0.02 cost\n\nApplied edit to experiment.py\nI fix it.\nRun 2 timed out after 7200 seconds\n"
    )
    edit, failed, again, slow = commands_of(write(tmp_path / "log.txt", log))
    assert (edit.kind, again.kind) == (CommandKind.EDIT, CommandKind.EDIT)
    assert (failed.text, failed.exit_code, failed.output_tail) == ("python experiment.py --out_dir=run_1", 1, crash.strip())
    assert (slow.exit_code, slow.timed_out) == (None, True)
    said = [event.text for event in events_of(tmp_path / "log.txt") if isinstance(event, MessageEvent) and event.role == "assistant"]
    assert said[1].endswith("I fix it.")


def test_exit_codes_written_into_results_are_read(tmp_path: Path) -> None:
    def step(number: int, content: str) -> dict[str, Any]:
        call = {"tool_call_id": str(number), "function_name": "shell", "arguments": {"command": "python a.py"}}
        return {
            "step_id": number,
            "source": "agent",
            "message": "",
            "tool_calls": [call],
            "observation": {"results": [{"source_call_id": str(number), "content": content}]},
        }

    results = [
        "<returncode>3</returncode>\n<output>\nboom\n</output>",
        json.dumps({"output": "fine\n", "metadata": {"exit_code": 0, "duration_seconds": 0.1}}),
        "exit code 1, says the program itself",
        "<exception>timed out</exception>\n<returncode>-1</returncode>\n<output>\nepoch 1\n</output>",  # no process ended with that
    ]
    steps = [step(number, content) for number, content in enumerate(results, 1)]
    log = write(tmp_path / "t.json", {"schema_version": "ATIF-v1.7", "agent": {"name": "a", "version": "1"}, "steps": steps})
    assert [(one.exit_code, one.output_tail) for one in commands_of(log)] == [
        (3, "boom"),
        (0, "fine\n"),
        (None, results[2]),
        (None, "epoch 1"),
    ]


def test_costs_of_less_than_a_tenth_of_a_cent_are_kept(tmp_path: Path) -> None:
    step = {"step_id": 1, "source": "agent", "message": "hello", "metrics": {"cost_usd": 0.000123}}
    log = {
        "schema_version": "ATIF-v1.7",
        "agent": {"name": "a", "version": "1"},
        "steps": [step],
        "final_metrics": {"total_cost_usd": 0.000456},
    }
    events = events_of(write(tmp_path / "t.json", log))
    assert [event.cost_microdollars for event in events if isinstance(event, MessageEvent | EndEvent)] == [123, 456]


@pytest.mark.parametrize("damage", ["deflated bytes", "zstd bytes", "unknown method", "too large"])
def test_a_damaged_member_of_an_inspect_log_passes_over_that_log_alone(
    tmp_path: Path, damage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "log.eval"
    write_eval(path, inspect_example(), zstd=damage == "zstd bytes")
    content = bytearray(path.read_bytes())
    if damage == "unknown method":
        for signature, offset in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
            place = content.find(signature) + offset
            content[place : place + 2] = (97).to_bytes(2, "little")
    elif damage == "too large":
        monkeypatch.setattr(inspect_logs, "_MAX_BYTES", 10)
    else:
        content[45:75] = bytes(byte ^ 0xFF for byte in content[45:75])
    path.write_bytes(bytes(content))
    rows = import_runs(find([path], LogFormat.AUTO, single=False), "mine", tmp_path / "out", frozenset())
    assert [row.unit for row in rows] == [""] and "member header.json" in rows[0].skipped


def test_a_log_without_end_or_depth_passes_over_that_log_alone(tmp_path: Path) -> None:
    deep = [write(tmp_path / name, "[" * 200_000) for name in ("deep.json", "deep.jsonl")]
    assert [one.format for one in find(deep, LogFormat.AUTO, single=False)] == [None, None]
    events = [
        {"event": "tool", "id": "c1", "span_id": "t1"},
        {"event": "span_begin", "id": "s1", "parent_id": "s1"},  # its own ancestor
        {"event": "sandbox", "action": "exec", "span_id": "s1", "result": 7},
    ]
    log = write(
        tmp_path / "log.json", inspect_log([{"role": "user", "content": "Go."}, asked(1, "python a.py"), answered(1, "boom")], events)
    )
    assert [one.exit_code for one in commands_of(log)] == [7]


# ---------------------------------------------------------------- logs of older and newer versions, and damaged ones


def rows_of(path: Path, single: bool = False) -> list[ImportRow]:
    return import_runs(find([path], LogFormat.AUTO, single), "mine", path.parent / "out", frozenset(), single)


def ran(command: str, **more: Any) -> dict[str, Any]:
    return {"source": "agent", "action": "run", "args": {"command": command}, **more}


def gave(output: str, code: int, **more: Any) -> dict[str, Any]:
    return {"source": "agent", "observation": "run", "content": output, "extras": {"exit_code": code}, **more}


def test_openhands_pairs_without_ids_keep_their_own_exit_codes(tmp_path: Path) -> None:
    history = [[ran("ls"), gave("f", 0)], [ran("python a.py"), gave("boom", 3)], [ran("pwd")]]
    log = write(tmp_path / "output.jsonl", {"instance_id": "i", "history": history})
    assert [(one.output_tail, one.exit_code) for one in commands_of(log)] == [("f", 0), ("boom", 3), ("", None)]


def test_openhands_answers_to_parallel_calls_find_their_calls(tmp_path: Path) -> None:
    events = [ran("python a.py", id=1), ran("ls", id=2), gave("", 0, id=3, cause=2), gave("boom", 1, id=4, cause=1)]
    assert [(one.text, one.exit_code) for one in commands_of(write(tmp_path / "t.json", events))] == [("python a.py", 1), ("ls", 0)]


def test_openhands_runs_that_broke_down_and_a_cut_line_are_told(tmp_path: Path) -> None:
    whole = {"instance_id": "whole", "history": [ran("ls", id=1), gave("f", 0, cause=1)]}
    broken = {"instance_id": "broken", "history": None, "error": "the container died"}
    log = write(tmp_path / "output.jsonl", f"{json.dumps(broken)}\n{json.dumps(whole)}\n{json.dumps(whole)[:40]}")
    rows = rows_of(log)
    assert [(row.task, row.commands) for row in rows] == [("broken", 0), ("whole", 1), ("line-3", 0)]
    assert "the container died" in rows[0].skipped and "its line was cut" in rows[2].skipped


def test_swe_agent_step_without_observation_has_no_output(tmp_path: Path) -> None:
    steps = [{"action": "ls", "observation": ""}, {"action": "python a.py", "observation": None}]
    empty, unknown = commands_of(write(tmp_path / "a.traj", {"trajectory": steps, "info": None}))
    assert empty.output_sha256 and not unknown.output_sha256


def test_mini_swe_agent_with_empty_info_and_parallel_tool_calls(tmp_path: Path) -> None:
    calls = [{"id": name, "function": {"name": "bash", "arguments": json.dumps({"command": name})}} for name in ("ls", "pwd")]
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "Do it."}]},
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "tool_call_id": "pwd", "content": "<returncode>1</returncode>\n<output>\n</output>"},
        {"role": "tool", "tool_call_id": "ls", "content": "<returncode>0</returncode>\n<output>\na\n</output>"},
    ]
    info = {"mini_version": "2", "config": None, "model_stats": None}
    commands = commands_of(write(tmp_path / "a.traj.json", {"info": info, "messages": messages}))
    assert [(one.text, one.exit_code, one.output_tail) for one in commands] == [("ls", 0, "a"), ("pwd", 1, "")]


def test_notebook_cells_that_were_not_run_did_not_run(tmp_path: Path) -> None:
    cells = [
        {"cell_type": "code", "source": "x = 1", "execution_count": 1, "outputs": []},
        {"cell_type": "code", "source": ["y"], "execution_count": None, "outputs": []},
    ]
    done, waiting = commands_of(write(tmp_path / "n.ipynb", {"nbformat": 4, "cells": cells}))
    assert (done.route, waiting.route) == (Route.EXECUTED, Route.WITHHELD)


def test_logs_of_windows_editors_and_of_other_encodings_are_read(tmp_path: Path) -> None:
    log = json.dumps({"trajectory": [{"action": "ls", "observation": "é"}]}, ensure_ascii=False)
    marked, latin = tmp_path / "a.traj", tmp_path / "b.traj"
    marked.write_bytes(log.encode("utf-8-sig"))
    latin.write_bytes(log.encode("latin-1"))
    assert commands_of(marked)[0].output_tail == "é"
    assert commands_of(latin)[0].output_tail == "\N{REPLACEMENT CHARACTER}"


def test_what_nests_too_deep_is_passed_over_with_its_reason(tmp_path: Path) -> None:
    (row,) = rows_of(write(tmp_path / "deep.json", "[" * 100_000))
    assert "deep.json: not valid JSON" in row.skipped


def test_a_log_without_runs_has_its_row(tmp_path: Path) -> None:
    (row,) = rows_of(write(tmp_path / "a.json", {"version": 2, "status": "started", "eval": {"task": "t"}, "samples": None}))
    assert row.skipped == "the log holds no run"


def test_outputs_beyond_what_an_archive_holds_are_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, members: object) -> None:
        raise UnsafeArchive(f"{path}: more than 5 bytes do not fit in this archive")

    monkeypatch.setattr("rubrics_gym.interchange.importing.write_archive", refuse)
    (row,) = rows_of(write(tmp_path / "a.traj", {"trajectory": [{"action": "ls", "observation": "x" * 60_000}]}))
    assert "do not fit" in row.skipped
    assert list(tmp_path.rglob("trajectory.jsonl")) == []


def test_names_inside_an_eval_log_lead_nowhere(tmp_path: Path) -> None:
    sample = inspect_example()["samples"][0]
    log = tmp_path / "in" / "log.eval"
    log.parent.mkdir()
    with zipfile.ZipFile(log, "w") as archive:
        archive.writestr("header.json", json.dumps({"eval": {"task": "../../t"}}))
        archive.writestr("samples/../../outside.json", json.dumps(sample))
        archive.writestr("samples/a.json", json.dumps({**sample, "id": "../../../outside"}))
    (row,) = rows_of(log)
    assert (row.benchmark, row.task) == ("t", "outside")
    assert {path.name for path in tmp_path.iterdir()} == {"in"}


@pytest.mark.parametrize("zstd", [False, True])
def test_an_eval_log_that_unpacks_to_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, zstd: bool) -> None:
    log = inspect_example()
    log["samples"][0]["store"] = "0" * 3_000_000
    write_eval(tmp_path / "log.eval", log, zstd)
    assert (tmp_path / "log.eval").stat().st_size < 100_000
    monkeypatch.setattr("rubrics_gym.interchange.inspect_logs._MAX_BYTES", 1_000_000)
    with pytest.raises(UnreadableLog, match=r"log\.eval, member samples/s_epoch_1\.json: the log unpacks to more than 1,000,000 bytes"):
        rows_of(tmp_path / "log.eval", single=True)


def cut_zip(content: bytes) -> bytes:
    return content[:-30]


def encrypted(content: bytes) -> bytes:
    place = content.index(b"PK\x01\x02") + 8
    return content[:6] + b"\x01" + content[7:place] + b"\x01" + content[place + 1 :]


def other_method(number: int) -> Callable[[bytes], bytes]:
    def patched(content: bytes) -> bytes:
        place = content.index(b"PK\x01\x02") + 10
        return content[:8] + bytes([number]) + content[9:place] + bytes([number]) + content[place + 1 :]

    return patched


def flipped(content: bytes) -> bytes:
    return content[:60] + bytes(255 - one for one in content[60:90]) + content[90:]


@pytest.mark.parametrize("damage", [cut_zip, encrypted, flipped, *(other_method(number) for number in (9, 12, 14, 93))])
def test_a_damaged_eval_log_says_which_and_what_to_do(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "log.eval"
    write_eval(path, inspect_example(), zstd=False)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(UnreadableLog, match=r"log\.eval.*copy it again"):
        rows_of(path, single=True)
