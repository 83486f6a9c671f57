"""A small study for real: killed once on the way, finished by the same command, and then there is nothing left to do."""

from __future__ import annotations

import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from rubrics_gym.records.trajectory import EVENT
from rubrics_gym.report.specs import SPECS
from tests.table_walk import unsaid
from tests.workflow.conftest import TOP, Workflow, copy_tree

CONFIG = ("--configfile", "config/small.yaml")
STUDY = {
    "extends": "config/config.yaml",
    "name": "small",
    "collections": {"pool": {"tasks": {"limit": 6}}},
    "libraries": {
        "lessons": {"recipe": "contrast", "collections": ["pool"]}
    },  # of one attempt per task: it has no pair of programs and stays empty
    "evaluation": {"split": "development", "arms": ["execute", "notice", "task_only", "scrambled", "random", "matched"]},
}
# tables of what need not occur in so few episodes
MAY_BE_EMPTY = {"recall_by_type", "judge_rubrics", "rubric_alarms", "judge_confusion", "funnel", "time_contrasts", "sampled_types", "gates"}

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed"),
]


def under_way(attempts: Path) -> bool:
    """Whether an attempt has begun and is not complete."""
    return any(not begun.with_name("complete.json").exists() for begun in attempts.rglob("begun.json"))


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Workflow:
    workflow = copy_tree(tmp_path_factory.mktemp("study"))
    (workflow.folder / "config" / "small.yaml").write_text(yaml.safe_dump(STUDY))
    first = subprocess.Popen(
        ["snakemake", "results/dashboard.html", *CONFIG],
        cwd=workflow.folder,
        env=workflow.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and not under_way(workflow.folder / "store" / "attempts"):
        time.sleep(0.05)
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    second = workflow.snakemake("results/dashboard.html", *CONFIG)
    assert second.returncode == 0, second.stderr[-3000:]
    return workflow


def table(study: Workflow, name: str) -> list[dict[str, str]]:
    with open(study.folder / "results" / "tables" / f"{name}.csv", newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def test_the_second_command_finishes_and_the_third_has_nothing_to_do(study: Workflow) -> None:
    assert (study.folder / "results" / "dashboard.html").stat().st_size > 50_000
    assert study.planned(*CONFIG) == {}


def test_the_kill_is_on_record_and_nothing_paid_is_asked_twice(study: Workflow) -> None:
    assert [row for row in table(study, "attempts") if row["state"] == "lost"]
    for ledger in (study.folder / "store" / "requests").rglob("ledger.jsonl"):
        answered: set[str] = set()
        for line in map(json.loads, ledger.read_text().splitlines()):
            if line.get("state") == "sent":
                assert line["key"] not in answered, ledger
            if line.get("state") == "returned":
                answered.add(line["key"])


def test_trajectories_validate_and_only_commands_that_ran_have_an_end(study: Workflow) -> None:
    trajectories = list((study.folder / "results").rglob("trajectory.jsonl"))
    assert len(trajectories) == 6 + 2 * 6
    for path in trajectories:
        events = [EVENT.validate_json(line) for line in path.read_text().splitlines()]
        assert (events[0].event, events[-1].event) == ("start", "end")
        for event in events:
            if event.event == "command" and event.route != "executed":
                assert event.exit_code is None and event.duration_s is None


def test_every_rate_of_every_table_travels_with_its_evidence(study: Workflow) -> None:
    for name, spec in SPECS.items():
        rows = table(study, name)
        assert rows or name in MAY_BE_EMPTY, name
        assert all(row["simulated"] == "true" for row in rows if "simulated" in row) or name in ("published_results", "planner"), name
        assert [unsaid(spec, row) for row in rows] == [[]] * len(rows), name


def test_requests_add_up(study: Workflow) -> None:
    for row in table(study, "requests"):
        parts = [int(row[name]) for name in ("returned", "failed", "unresolved", "refused")]
        assert int(row["reserved"]) == sum(parts), row


def test_no_episode_without_its_outcome(study: Workflow) -> None:
    for row in table(study, "arms"):
        assert int(row["planned"]) == 2
        assert int(row["finished"]) + int(row["lost"]) + int(row["not_run"]) == 2


def test_a_library_without_enough_lessons_is_shown_and_no_judge_gets_it(study: Workflow) -> None:
    manifest = json.loads((study.folder / "results/libraries/lessons/manifest.json").read_text())
    assert (manifest["candidates"], manifest["rubrics"]) == (0, 0)
    refused = study.snakemake("results/libraries/lessons/index.npy", *CONFIG)
    printed = refused.stdout + refused.stderr
    assert refused.returncode != 0
    assert "0 lessons of lessons passed its gate, and a judge wants 12 (`libraries.lessons.fewest`)" in printed
    assert "Traceback" not in printed


def test_a_browser_opens_its_dashboard(study: Workflow) -> None:
    browser = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/end_to_end/test_dashboard_browser.py"]
    dashboard = str(study.folder / "results" / "dashboard.html")
    run = subprocess.run(browser, cwd=TOP, env={**os.environ, "RUBRICS_DASHBOARD": dashboard}, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout[-3000:]


def test_results_can_be_deleted_and_nothing_is_paid_again(study: Workflow, tmp_path: Path) -> None:
    sent = sum(path.read_text().count('"state":"sent"') for path in (study.folder / "store" / "requests").rglob("ledger.jsonl"))
    shutil.move(study.folder / "results", tmp_path / "results")
    shutil.move(study.folder / ".snakemake", tmp_path / ".snakemake")
    again = study.snakemake("results/tables/arms.csv", *CONFIG)
    assert again.returncode == 0, again.stderr[-3000:]
    after = sum(path.read_text().count('"state":"sent"') for path in (study.folder / "store" / "requests").rglob("ledger.jsonl"))
    assert after == sent
    assert (study.folder / "results/tables/arms.csv").read_bytes() == (tmp_path / "results/tables/arms.csv").read_bytes()
