"""Mistakes of a user end before the first job, in one paragraph without a traceback, and leave nothing half-written."""

from __future__ import annotations

import subprocess

import pytest

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
        ("evaluation={split: lite}", "has no split `lite`; it has quick"),
        ("evaluation={benchmark: nowhere}", "there is no benchmark `nowhere`"),
        ("collections={pool: {tasks: {benchmark: nowhere}}}", "there is no benchmark `nowhere`"),
        ("collections={pool: {tasks: {role: validation}}}", "only tasks with the role train are mined"),
        ("collections={pool: {tasks: {benchmark: dabstep}}}", "the benchmark `dabstep` has no task in the role `train`"),
        ("collections={pool: {tasks: {role: held_out}}}", "held-out tasks are never mined"),
    ],
)
def test_a_mistaken_configuration_is_one_paragraph(tree: Workflow, overlay: str, says: str) -> None:
    run = tree.snakemake("results/dashboard.html", "--config", overlay)
    printed = run.stdout + run.stderr
    assert run.returncode != 0
    assert says in printed
    assert "Traceback" not in printed
    assert not (tree.folder / "results").exists()


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
