"""A finished study without running it: every output exists, and Snakemake has recorded its parameters as after a real run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

TOP = Path(__file__).parents[2]
TREE = ("Snakefile", "rules", "scripts", "config", "profiles", "resources")

SMALL = {
    "extends": "config/config.yaml",
    "collections": {"pool": {"tasks": {"limit": 2}}},
    "evaluation": {"split": "development"},
}


class Workflow:
    """A copy of the repository, and Snakemake in it."""

    def __init__(self, folder: Path):
        self.folder = folder

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "COLUMNS": "200"}

    def snakemake(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["snakemake", *arguments], cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False)

    def dry_run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self.snakemake("-n", "results/dashboard.html", *arguments)

    def planned(self, *arguments: str) -> dict[str, int]:
        """Rule -> planned jobs, read from a dry-run's own table."""
        run = self.dry_run(*arguments)
        printed = run.stdout + run.stderr
        assert run.returncode == 0, printed
        if "Nothing to be done" in printed:
            return {}
        table = re.search(r"Job stats:\njob +count\n[- ]+\n(.*?)\n\n", printed, re.DOTALL)
        assert table is not None, printed
        counts = {name: int(count) for name, count in (line.rsplit(None, 1) for line in table.group(1).splitlines())}
        return {name: count for name, count in counts.items() if name not in ("total", "all")}


def copy_tree(folder: Path) -> Workflow:
    for name in TREE:
        source = TOP / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(source, folder / name)
    return Workflow(folder)


def finish(workflow: Workflow, *arguments: str) -> None:
    """Make every output by hand and let Snakemake record the parameters it would have run with."""
    summary = workflow.snakemake("--summary", "results/dashboard.html", *arguments)
    assert summary.returncode == 0, summary.stderr
    for line in summary.stdout.splitlines()[1:]:
        path = workflow.folder / line.split("\t")[0]
        if path.suffix == "":
            path.mkdir(parents=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(line.split("\t")[0])
    touched = workflow.snakemake("results/dashboard.html", "--touch", "--forceall", *arguments)
    assert touched.returncode == 0, touched.stderr


@pytest.fixture
def tree(tmp_path: Path) -> Workflow:
    """A fresh copy of the repository in which nothing was run."""
    return copy_tree(tmp_path)


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Workflow:
    """A finished study on two pool tasks and the quick split. Tests only look at it; `copy_of` gives one to change."""
    workflow = copy_tree(tmp_path_factory.mktemp("finished"))
    (workflow.folder / "config" / "small.yaml").write_text(yaml.safe_dump(SMALL))
    finish(workflow, "--configfile", "config/small.yaml")
    assert workflow.planned("--configfile", "config/small.yaml") == {}
    return workflow


@pytest.fixture
def copy_of(tmp_path: Path) -> object:
    """Clone a workflow with its results and Snakemake's records."""

    def clone(workflow: Workflow) -> Workflow:
        shutil.copytree(workflow.folder, tmp_path / "clone")
        return Workflow(tmp_path / "clone")

    return clone
