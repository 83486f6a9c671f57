"""A stopped study delivers its planned slots as not run, says so, and plans exactly these again when it goes on."""

from __future__ import annotations

import csv
import subprocess
import sys

import yaml

from rubrics_gym.records.tasks import Role
from rubrics_gym.tasks.catalog import load_benchmark
from tests.workflow.conftest import Workflow

CONFIG = "config/mine.yaml"
STUDY = {
    "extends": "config/config.yaml",
    "name": "mine",
    "collections": {"pool": {"tasks": {"limit": 2}}},
    "evaluation": {"split": "development"},
    "budget": {"study_usd": 5},
}


def steer(workflow: Workflow, script: str) -> subprocess.CompletedProcess[str]:
    environment = workflow.environment | {"PYTHONPATH": "scripts"}
    command = [sys.executable, f"scripts/{script}.py", CONFIG]
    return subprocess.run(command, cwd=workflow.folder, env=environment, capture_output=True, text=True, check=False)


def test_a_stopped_study_shows_what_was_not_run_and_plans_it_again_when_resumed(tree: Workflow) -> None:
    (tree.folder / CONFIG).write_text(yaml.safe_dump(STUDY))
    assert steer(tree, "stop_study").returncode == 0
    first = next(entry.id for entry in load_benchmark("packaged").entries if entry.role is Role.TRAIN)
    slot = f"results/rollouts/pool/packaged/{first}/0/grade.json"

    stopped = tree.snakemake(slot, "--configfile", CONFIG)
    printed = stopped.stdout + stopped.stderr
    assert stopped.returncode == 0, printed
    assert "Traceback" not in printed
    assert "The study mine stands still since" in printed and "asked for with `make stop`" in printed
    assert "rollouts/pool: 2 planned, 0 ended, 0 lost, 2 not run" in printed
    assert '"not_run"' in (tree.folder / slot).read_text()
    assert not (tree.folder / "store" / "attempts").exists()  # no attempt is on record
    with open(tree.folder / "results" / "progress.csv", newline="") as file:
        rows = {row["group"]: row for row in csv.DictReader(file)}
    assert rows["rollouts/pool"]["planned"] == rows["rollouts/pool"]["not_run"] == "2"

    (tree.folder / CONFIG).write_text(yaml.safe_dump(STUDY | {"budget": {"study_usd": 9}}))
    loosened = tree.snakemake(slot, "--forcerun", "grade_rollout", "--configfile", CONFIG)
    assert loosened.returncode != 0 and "budget.study_usd (5.0 on record, 9.0 now)" in loosened.stdout + loosened.stderr

    resumed = steer(tree, "resume_study")
    assert "goes on as a continuation; 1 slots" in resumed.stdout, resumed.stderr
    again = tree.snakemake("-n", slot, "--configfile", CONFIG)
    planned = again.stdout + again.stderr
    assert "collect_rollout" in planned and "grade_rollout" in planned and "prepare_task" not in planned.partition("Job stats")[2]
