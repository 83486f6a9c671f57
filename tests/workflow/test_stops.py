"""A stopped study delivers its planned slots as not run, says so, and plans exactly these again when it goes on."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections.abc import Callable

import yaml

from rubrics_gym.records.outcomes import Outcome
from rubrics_gym.records.tasks import Role
from rubrics_gym.records.trajectory import EndEvent, StartEvent
from rubrics_gym.settings import lock
from rubrics_gym.settings.study import Budget, ReplayAttempts
from rubrics_gym.store.attempts import AttemptStore
from rubrics_gym.store.stops import StudyRecord
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


TRAJECTORY = "\n".join(
    event.model_dump_json()
    for event in (
        StartEvent(at="2026-01-01T00:00:00Z", unit="u", attempt=1, benchmark="packaged", task="t", statement="s", deliverable="d", seed=1, model="m",
                   arm="execute", limits={}, protocol="1", code="c"),
        EndEvent(at="2026-01-01T00:00:01Z", reason="provider_error:server", outcome=Outcome.PROVIDER_ERROR, steps=1, commands=0, requests=1,
                 cost_microdollars=0, wall_s=1.0, working_s=1.0),
    )
)  # fmt: skip


def steer(workflow: Workflow, script: str, named: str = CONFIG) -> subprocess.CompletedProcess[str]:
    environment = workflow.environment | {"PYTHONPATH": "scripts"}
    command = [sys.executable, f"scripts/{script}.py", named]
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

    results = tree.folder / "results"
    held = lock.hold(results)
    at_work = steer(tree, "resume_study")
    assert at_work.returncode != 0 and "a workflow is still at work on results" in at_work.stderr
    held.close()


def test_a_run_is_stopped_by_its_results_folder_in_the_store_that_it_uses(tree: Workflow) -> None:
    """What was given on the command line stands in no file but the run's own record of its configuration."""
    frozen = yaml.safe_load((tree.folder / "config" / "protocols" / "small" / "config.yaml").read_text())
    frozen["protocol"] = {**frozen["protocol"], "by": "reexecute"}
    folder = tree.folder / "results" / "protocols" / "small_again"
    folder.mkdir(parents=True)
    (folder / "run_config.yaml").write_text(yaml.safe_dump(frozen))
    stopped = steer(tree, "stop_study", "results/protocols/small_again")
    assert stopped.returncode == 0, stopped.stderr
    assert list((tree.folder / "store" / "protocols" / "small" / "reexecute" / "studies").rglob("*-stopped.json"))
    assert not (tree.folder / "store" / "studies").exists()


def test_a_job_that_failed_is_planned_again_by_the_same_command(finished: Workflow, copy_of: Callable[[Workflow], Workflow]) -> None:
    """Older results of what it makes are there; Snakemake alone would take the failed job's new settings for done."""
    clone = copy_of(finished)
    changed = clone.folder / "config" / "changed.yaml"
    changed.write_text(yaml.safe_dump({"extends": "config/small.yaml", "holdouts": "exact"}))
    script = clone.folder / "scripts" / "list_pool.py"
    sound = script.read_text()
    script.write_text(sound + "\nraise RuntimeError('the machine hiccups')\n")
    failed = clone.snakemake("results/dashboard.html", "--configfile", "config/changed.yaml", "--cores", "1")
    assert failed.returncode != 0 and "list_pool" in failed.stderr + failed.stdout
    script.write_text(sound)
    assert set(clone.planned("--configfile", "config/changed.yaml")) == {"list_pool", "build_dashboard"}
    assert set(clone.planned("--configfile", "config/small.yaml")) == {
        "list_pool",
        "build_dashboard",
    }  # and the old one too: what it made is gone


def test_paid_work_that_is_asked_anew_is_planned_again(finished: Workflow, copy_of: Callable[[Workflow], Workflow]) -> None:
    clone = copy_of(finished)
    slot = next((clone.folder / "results" / "rollouts" / "pool" / "packaged").glob("*/0"))
    unit = f"rollouts/pool/packaged/{slot.parent.name}/0"
    AttemptStore(clone.folder / "store").begin(unit, "a" * 64).release()
    environment = clone.environment | {"PYTHONPATH": "scripts"}
    command = [sys.executable, "scripts/ask_anew.py", unit]
    fresh = subprocess.run(command, cwd=clone.folder, env=environment, capture_output=True, text=True, check=False)
    assert "1 slots of results/ are planned again" in fresh.stdout, fresh.stderr
    assert clone.planned("--configfile", "config/small.yaml")["collect_rollout"] == 1
    StudyRecord(clone.folder / "store", "").start(Budget(replay_attempts=ReplayAttempts.NEVER), {})
    never = subprocess.run(command, cwd=clone.folder, env=environment, capture_output=True, text=True, check=False)
    assert never.returncode != 0 and "attempts nothing again" in never.stderr


def test_what_was_lost_to_the_infrastructure_is_attempted_again_on_demand(
    finished: Workflow, copy_of: Callable[[Workflow], Workflow]
) -> None:
    clone = copy_of(finished)
    slots = sorted((clone.folder / "results" / "rollouts" / "pool" / "packaged").glob("*/0"))
    store = AttemptStore(clone.folder / "store", "default")
    for slot, outcome in zip(slots, ("provider_error", "invalid"), strict=True):
        unit = slot.relative_to(clone.folder / "results").as_posix()
        start, end = (json.loads(line) for line in TRAJECTORY.splitlines())
        record = [{**start, "unit": unit}, {**end, "outcome": outcome}]
        written = "".join(f"{json.dumps(event)}\n" for event in record)
        (slot / "trajectory.jsonl").write_text(written)
        for by, key in ((store, "a" * 64), (AttemptStore(clone.folder / "store", "another"), "b" * 64)):
            with by.begin(unit, key) as attempt:  # the other study's attempt ended well
                (attempt.folder / "trajectory.jsonl").write_text(written if by is store else written.replace("provider_error", "invalid"))
                attempt.complete()
    assert clone.snakemake("results/dashboard.html", "--touch", "--forceall", "--configfile", "config/small.yaml").returncode == 0
    retried = steer(clone, "retry_lost", "config/small.yaml")
    assert "1 lost slots of results/ are planned again" in retried.stdout, retried.stderr
    states = [row.state.value for row in store.rows()]
    assert sorted(states) == ["complete", "complete", "complete", "superseded"]
    assert clone.planned("--configfile", "config/small.yaml")["collect_rollout"] == 1
    StudyRecord(clone.folder / "store", "default").stop("asked for")
    standing = steer(clone, "retry_lost", "config/small.yaml")
    assert standing.returncode != 0 and "make resume first" in standing.stderr
    never = clone.folder / "config" / "never.yaml"
    never.write_text(yaml.safe_dump({"extends": "config/small.yaml", "budget": {"replay_attempts": "never"}}))
    refused = steer(clone, "retry_lost", "config/never.yaml")
    assert refused.returncode != 0 and "attempts nothing again" in refused.stderr
