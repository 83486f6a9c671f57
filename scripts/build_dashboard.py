"""The dashboard: tables, figures and libraries in one self-contained page."""

import os
from importlib.metadata import version
from pathlib import Path

from rubrics_gym.records.files import read_json, read_records, write_text
from rubrics_gym.records.rubrics import LibraryManifest, Rubric
from rubrics_gym.report.dashboard import build_dashboard
from rubrics_gym.report.writing import read_table
from rubrics_gym.settings.code import commit
from rubrics_gym.settings.job import job
from rubrics_gym.settings.rules import BuildDashboard

PACKAGES = ("snakemake", "numpy", "pandas", "scipy", "scikit-learn", "onnxruntime")


def status(arms, attempts):
    """What is missing, and what was made in a continuation, in words."""
    planned, lost, not_run = (sum(int(row[name]) for row in arms) for name in ("planned", "lost", "not_run"))
    continued = sum(row["continuation"] == "true" for row in attempts)
    lines = [f"{not_run} of {planned} planned episodes were not run."] if not_run else []
    lines += [f"{lost} of {planned} planned episodes were lost to the infrastructure or cut off."] if lost else []
    return lines + ([f"This study was stopped and continued: {continued} attempts were begun in a continuation."] if continued else [])


with job(snakemake, BuildDashboard) as (settings, log):
    tables = {Path(path).stem: read_table(path) for path in snakemake.input.tables}
    tables["pool"] = [row for row in tables["pool"] if row["benchmark"] in settings.benchmarks]
    libraries = [
        (LibraryManifest.model_validate(read_json(manifest)), read_records(rubrics, Rubric))
        for manifest, rubrics in zip(snakemake.input.manifests, snakemake.input.rubrics, strict=True)
    ]
    figures = {path.stem: path.read_text(encoding="utf-8") for path in sorted(Path(snakemake.input.figures).glob("*.svg"))}
    attempts = tables["attempts"]
    provenance = settings.model_dump(mode="json") | {
        "commit": commit(),
        "config": Path(snakemake.params.run_config).read_text(encoding="utf-8"),
        "versions": {name: version(name) for name in PACKAGES},
        "counts": {
            "tasks": len(tables["pool"]),
            "attempts": len(attempts),
            "lost attempts": sum(row["state"] == "lost" for row in attempts),
            "requests": next((row["reserved"] for row in tables["requests"] if row["stage"] == "total"), "0"),
        },
        "status": status(tables["arms"], attempts),
        "pages": os.path.relpath(snakemake.input.pages, Path(snakemake.output.dashboard).parent),
    }
    write_text(snakemake.output.dashboard, build_dashboard(provenance, tables, figures, libraries))
    log.info("%d tables, %d figures, %d libraries", len(tables), len(figures), len(libraries))
