"""Our record in the formats of other systems, and back."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tests.attempt_records import FINAL, GRADE, attempt

from rubrics_gym.interchange import atif as atif_reader
from rubrics_gym.interchange import export_atif, export_inspect, inspect_logs
from rubrics_gym.interchange.export_atif import atif
from rubrics_gym.interchange.export_inspect import inspect_log
from rubrics_gym.interchange.importing import convert
from rubrics_gym.interchange.turns import exported
from rubrics_gym.records.trajectory import CommandEvent, Route

TOP = Path(__file__).parents[2]
SCHEMA = Path(os.environ.get("RUBRICS_CORPUS", TOP.parent / "shared")) / "schemas" / "atif_v1.8.schema.json"


def test_atif_says_what_ran_and_what_was_predicted() -> None:
    document = atif(exported(attempt(), GRADE, FINAL))
    assert [step["step_id"] for step in document["steps"]] == list(range(1, len(document["steps"]) + 1))
    agent = [step for step in document["steps"] if step["source"] == "agent"]
    edit, predicted, mixed, last = agent
    assert edit["observation"]["results"][0]["extra"]["exit_code"] == 0
    extra = predicted["observation"]["results"][0]["extra"]
    assert (extra["executed"], extra["origin"]) == (False, "judge") and "exit_code" not in extra
    assert extra["verdicts"][0]["flagged"] is True and extra["commands"][0]["route"] == "predicted"
    both = mixed["observation"]["results"][0]["extra"]
    assert both["executed"] is True and [one["executed"] for one in both["commands"]] == [True, False]
    assert mixed["extra"]["checks"][0]["timed_out"] is True
    failed, submitted = last["observation"]["results"]
    assert failed["extra"]["exit_code"] == 1 and submitted["content"] is None
    assert document["final_metrics"]["total_prompt_tokens"] == 40 and document["extra"]["grade"]["score"] == 0.5


@pytest.mark.skipif(not SCHEMA.is_file(), reason=f"the schema is not at {SCHEMA}")
def test_atif_validates_against_its_schema() -> None:
    import jsonschema

    document = json.loads(json.dumps(atif(exported(attempt(), GRADE, FINAL))))
    jsonschema.validate(document, json.loads(SCHEMA.read_text()))
    ids = {call["tool_call_id"] for step in document["steps"] for call in step.get("tool_calls", [])}
    results = [one for step in document["steps"] for one in step.get("observation", {}).get("results", [])]
    assert {one["source_call_id"] for one in results} == ids


def commands_after(document: object, reader: object, path: Path) -> list[CommandEvent]:
    path.write_text(json.dumps(document))
    (run,) = reader.read(path)  # type: ignore[attr-defined]
    events = convert(run, "x", "rollouts/mine/b/t/0", "b", "t").events
    return [event for event in events if isinstance(event, CommandEvent)]


@pytest.mark.parametrize(("reader", "kind"), [(atif_reader, "atif"), (inspect_logs, "inspect")])
def test_what_was_exported_can_be_imported(tmp_path: Path, reader: object, kind: str) -> None:
    one = exported(attempt(), GRADE, FINAL)
    document = atif(one) if kind == "atif" else inspect_log("episodes-matched", [one])
    commands = commands_after(document, reader, tmp_path / "log.json")
    assert [command.text for command in commands] == [
        "cat > final.py",
        "python final.py",
        "python a.py; python final.py",
        "python b.py",
        "submit",
    ]
    assert commands[0].exit_code == 0 and commands[3].exit_code == 1
    assert "No module named 'xgboost'" in commands[3].output_tail
    assert commands[1].exit_code is None
    if kind == "atif":
        assert commands[1].route is Route.WITHHELD  # a prediction is no output, and never becomes one


def test_inspect_log_has_a_sample_per_attempt_and_an_exit_code_per_command_that_ran() -> None:
    one = exported(attempt(), GRADE, FINAL)
    log = inspect_log("episodes-matched", [one, one])
    assert [sample["epoch"] for sample in log["samples"]] == [1, 2]
    sample = log["samples"][0]
    assert [message["role"] for message in sample["messages"]].count("tool") == 4  # the submission has no answer
    ran = [event["cmd"] for event in sample["events"] if event["event"] == "sandbox"]
    assert ran == ["cat > final.py", "python a.py", "python b.py", "submit"]
    assert sample["scores"]["rubrics_gym_grade"]["value"] == "I"
    assert log["stats"]["model_usage"]["simulated-agent-1"]["input_tokens"] == 80


def test_exports_say_what_they_lose() -> None:
    page = (TOP / "docs" / "interchange.md").read_text(encoding="utf-8")
    for lost in (*export_atif.LOSES, *export_inspect.LOSES):
        assert lost in page, lost
