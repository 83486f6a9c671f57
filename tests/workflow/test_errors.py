"""Mistakes of a user end before the first job, in one paragraph without a traceback, and leave nothing half-written."""

from __future__ import annotations

import subprocess

import pytest
import yaml

from tests.workflow.conftest import Workflow


@pytest.mark.parametrize(
    ("overlay", "says"),
    [
        ("evalution={repeats: 2}", "unknown key `evalution`. Did you mean `evaluation`?"),
        ("evaluation={arms: [excute]}", "the arm `excute`, which the configuration does not define. Did you mean `execute`?"),
        (
            "arms={matched: {judge: {library: matchd}}}",
            "the library `matchd`, which the configuration does not define. Did you mean `matched`?",
        ),
        (
            "evaluation={unreachable: [orange-juice]}",
            "`evaluation.unreachable` names `orange-juice`, which is no held-out task of packaged",
        ),
        ("evaluation={split: lite}", "has no split `lite`; it has quick"),
        ("evaluation={benchmark: nowhere}", "there is no benchmark `nowhere`"),
        ("collections={pool: {tasks: {benchmark: nowhere}}}", "there is no benchmark `nowhere`"),
        ("collections={pool: {tasks: {role: validation}}}", "has no task in the role `validation`"),
        ("collections={pool: {tasks: {benchmark: dabstep}}}", "the benchmark `dabstep` has no task in the role `train`"),
        ("collections={pool: {tasks: {role: held_out}}}", "held-out tasks are never mined"),
        ("collections={pool: {tasks: {benchmark: openml, role: validation}}}", "only tasks with the role train are mined"),
        ("collections={pool: {tasks: {benchmark: mlebench, role: development}}}", "`mlebench` has no task in the role `development`"),
        ("collections={pool: {tasks: {benchmark: dabench}}}", "add `dabench-non-commercial` to `accepted_terms`"),
        ("collections={pool: {tasks: {benchmark: mlagentbench, prepared: [hous-price]}}}", "mlagentbench has no task 'hous-price'"),
        (
            "collections={pool: {tasks: {benchmark: dacode}}}",
            "the source of dacode is missing (sources/dacode). Run `make source NAME=dacode`",
        ),
    ],
)
def test_a_mistaken_configuration_is_one_paragraph(tree: Workflow, overlay: str, says: str) -> None:
    run = tree.snakemake("results/dashboard.html", "--config", overlay)
    printed = run.stdout + run.stderr
    assert run.returncode != 0
    assert says in printed
    assert "Traceback" not in printed
    assert not (tree.folder / "results").exists()


def test_a_split_that_the_study_does_not_evaluate_is_no_target(tree: Workflow) -> None:
    """Its files would hold what is asked of another split."""
    assert tree.snakemake("-n", "results/mlebench/quick/execute/0/grading_report.json").returncode == 0
    assert tree.snakemake("-n", "results/mlebench/all/execute/0/grading_report.json").returncode != 0


def test_a_results_folder_that_cannot_be_made_is_named(tree: Workflow) -> None:
    (tree.folder / "results").write_text("a file where a folder should be")
    run = tree.snakemake("results/dashboard.html")
    printed = run.stdout + run.stderr
    assert run.returncode != 0
    assert "results folder cannot be written" in printed
    assert "Traceback" not in printed


def test_a_second_workflow_is_refused_and_a_dry_run_beside_it_is_not(tree: Workflow) -> None:
    import sys

    holder = (
        "import sys, time; sys.path.insert(0, 'scripts'); from rubrics_gym.settings import lock; "
        "held = lock.hold('results'); print('held', flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", holder], cwd=tree.folder, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "held\n"
        try:
            refused = tree.snakemake("results/dashboard.html")
            assert refused.returncode != 0
            assert "another workflow is working on this results folder" in refused.stdout + refused.stderr
            assert tree.dry_run().returncode == 0
        finally:
            process.kill()


def test_a_source_that_is_fetched_and_looked_through_lets_a_study_start(tree: Workflow) -> None:
    """`make source` fetches a pinned commit, says what is complete, and writes nothing of the source into results/."""
    upstream = tree.folder / "upstream"
    files = {"da_code/configs/task/all.jsonl": "{}\n", "da_code/source/dm-csv-001/README.md": "nothing\n"}
    for name, text in files.items():
        (upstream / name).parent.mkdir(parents=True, exist_ok=True)
        (upstream / name).write_text(text)
    for arguments in (
        ["init", "--quiet"],
        ["add", "-A"],
        ["-c", "user.name=T", "-c", "user.email=t@example.org", "commit", "--quiet", "-m", "one"],
    ):
        subprocess.run(["git", "-C", str(upstream), *arguments], check=True)
    commit = subprocess.run(["git", "-C", str(upstream), "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    table = tree.folder / "resources" / "benchmarks" / "dacode.yaml"
    source = yaml.safe_load(table.read_text())["source"]
    table.write_text(table.read_text().replace(source["repository"], upstream.as_uri()).replace(source["commit"], commit))

    run = tree.snakemake("results/sources/dacode.json", "--force")
    assert run.returncode == 0, run.stderr
    assert "dacode: 0 tasks are complete, 53 are not" in run.stdout + run.stderr
    assert (tree.folder / "sources" / "dacode" / "da_code" / "configs").is_dir()
    assert [path.name for path in (tree.folder / "results" / "sources").iterdir()] == ["dacode.json"]

    refused = tree.snakemake("-n", "results/dashboard.html", "--config", "collections={pool: {tasks: {benchmark: dacode}}}")
    printed = refused.stdout + refused.stderr
    assert refused.returncode != 0 and "Traceback" not in printed, printed
    assert "the source of dacode is incomplete for 18 of 18 tasks; di-text-001: " in printed
