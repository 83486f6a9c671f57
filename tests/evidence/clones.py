"""Clones of the repository in which the evidence is measured: committed files only, nothing of this checkout's results."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
SCIENTIFIC = (
    "arms", "contrasts", "failure_mix", "libraries", "supply", "library_distances", "exposure", "exposure_runs", "precision_recall", "recall_by_type",
    "truth", "planted_mix", "pool", "failure_rates", "mix_distances", "agreement", "confusion", "corrected_mix",
    "arm_rates", "contrast_analyses", "ranking", "ladder", "noise", "planner", "published_results", "judge_measures", "judge_categories", "judge_confusion",
    "judge_rubrics", "judge_pairs", "pr_curve", "calibration", "wrong_results", "funnel", "judge_noise", "reweighted", "feedback", "alarms", "rubric_alarms", "sampled", "sampled_types",
)  # fmt: skip


class Clone:
    """A fresh clone and the environment that its Snakemake runs in: that of `binaries`, or this one's."""

    def __init__(self, folder: Path, binaries: Path = Path(sys.executable).parent):
        subprocess.run(["git", "clone", "--quiet", str(TOP), str(folder)], check=True)
        self.folder = folder
        self.use(binaries)

    def use(self, binaries: Path) -> None:
        """Run everything from now on with the programs of this folder first."""
        self.environment = {**os.environ, "PATH": f"{binaries}:{os.environ['PATH']}"}
        self.environment.pop("RUBRICS_STORE", None)

    def run(self, *command: str, **options: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload, no-any-return]

    def start(self, *command: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            command, cwd=self.folder, env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )

    def snakemake(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self.run("snakemake", "results/dashboard.html", *arguments)

    def planned(self, *arguments: str) -> dict[str, int] | None:
        """Rule -> planned jobs; None when the dry-run failed."""
        run = self.snakemake("-n", *arguments)
        printed = run.stdout + run.stderr
        if run.returncode:
            return None
        if "Nothing to be done" in printed:
            return {}
        table = re.search(r"Job stats:\njob +count\n[- ]+\n(.*?)\n\n", printed, re.DOTALL)
        assert table is not None, printed
        counts = {name: int(count) for name, count in (line.rsplit(None, 1) for line in table.group(1).splitlines())}
        return {name: count for name, count in counts.items() if name not in ("total", "all")}

    def tables(self, results: str = "results") -> dict[str, bytes]:
        folder = self.folder / results / "tables"
        return {name: (folder / f"{name}.csv").read_bytes() for name in SCIENTIFIC if (folder / f"{name}.csv").exists()}


class Evidence:
    """Prints one line per item with its figure, and remembers whether all hold."""

    def __init__(self) -> None:
        self.fell_short: list[str] = []

    def item(self, name: str, holds: bool, figure: str) -> None:
        if not holds:
            self.fell_short.append(name)
        print(f"{'holds      ' if holds else 'falls short'}  {name}: {figure}", flush=True)

    def report(self, name: str, figure: str) -> None:
        """A figure that is reported whatever it is."""
        print(f"reported     {name}: {figure}", flush=True)

    def finish(self) -> int:
        if self.fell_short:
            print(f"\n{len(self.fell_short)} fell short: {'; '.join(self.fell_short)}")
        return 1 if self.fell_short else 0
