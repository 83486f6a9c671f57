"""The pilot: its targets are few, and where a study asks for it nothing else starts before."""

from __future__ import annotations

import re

from rubrics_gym.records.tasks import Role
from rubrics_gym.tasks.catalog import load_benchmark
from tests.workflow.conftest import Workflow


def counts(workflow: Workflow, *arguments: str) -> str:
    run = workflow.snakemake("-n", *arguments)
    assert run.returncode == 0, run.stderr
    return run.stdout + run.stderr


def test_the_pilot_is_one_rollout_and_one_episode_per_arm_without_a_library(tree: Workflow) -> None:
    printed = counts(tree, "pilot")
    assert re.search(r"^collect_rollout +1$", printed, re.MULTILINE)
    assert re.search(r"^run_episode +4$", printed, re.MULTILINE)  # execute, notice, checks_only, task_only
    assert "mine_candidates" not in printed


def test_nothing_beyond_the_pilot_starts_before_it(tree: Workflow) -> None:
    run = tree.snakemake("results/dashboard.html", "--config", "budget={pilot: true}")
    printed = run.stdout + run.stderr
    assert run.returncode != 0
    assert "budget.pilot asks for a pilot first" in printed
    assert "Traceback" not in printed
    assert not (tree.folder / "store" / "attempts").exists()


def test_nothing_beyond_the_pilot_starts_where_the_target_itself_needs_no_pilot(tree: Workflow) -> None:
    second = [entry.id for entry in load_benchmark("packaged").entries if entry.role is Role.TRAIN][1]
    run = tree.snakemake(f"results/rollouts/pool/packaged/{second}/0/trajectory.jsonl", "--config", "budget={pilot: true}")
    printed = run.stdout + run.stderr
    assert run.returncode != 0 and "budget.pilot asks for a pilot first" in printed
    assert not (tree.folder / "store" / "attempts").exists()
