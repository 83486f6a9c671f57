"""Detection and types on several hundred written outputs of many tools: broad, where test_failures_types.py is deep."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from rubrics_gym.failures.detection import failed_command, logged_command, typed
from rubrics_gym.failures.taxonomy import load_taxonomy
from rubrics_gym.failures.types import load_rules
from rubrics_gym.records.trajectory import CommandEvent

REPOSITORY = Path(__file__).parents[2]
RULES = load_rules(REPOSITORY / "resources/failure_types.yaml")
CASES: list[dict[str, Any]] = yaml.safe_load((Path(__file__).parent / "failure_outputs.yaml").read_text(encoding="utf-8"))
FAILED = [case for case in CASES if case["type"]]
# Of these no text tells that they failed: only an exit code or the recorder does.
SILENT = {"", "fold 0 rmse 0.412\nfold 1 rmse 0.409\n", "Loading 52 parquet files ...\n"}


def command(case: dict[str, Any], *, exit_code: int | None) -> CommandEvent:
    facts = {name: case.get(name, False) for name in ("timed_out", "out_of_memory")}
    return logged_command(case.get("command", "python run.py"), case["output"], exit_code, **facts)


def name(case: dict[str, Any]) -> str:
    lines = case["output"].strip().splitlines()
    return f"{case['type']}-{lines[-1].strip()[:40] if lines else 'nothing'}"


@pytest.mark.parametrize("case", CASES, ids=map(name, CASES))
def test_detection_and_type(case: dict[str, Any]) -> None:
    event = command(case, exit_code=case.get("exit", 1))
    assert failed_command(event, RULES) is (case["type"] is not None)
    if case["type"]:
        assert typed(event, RULES).type == case["type"]


def test_the_text_alone_tells_of_nearly_every_failure() -> None:
    loud = [case for case in FAILED if case["output"] not in SILENT]
    missed = [name(case) for case in loud if not failed_command(command(case, exit_code=None), RULES)]
    assert len(missed) <= 0.02 * len(loud), missed


def test_every_type_has_many_cases() -> None:
    for kind in load_taxonomy(REPOSITORY / "resources/taxonomy.yaml").type_ids:
        assert sum(case["type"] == kind for case in CASES) >= 15, kind
