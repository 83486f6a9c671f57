"""Build the public and the private bundle of one task."""

from rubrics_gym.settings.job import job
from rubrics_gym.settings.rules import Nothing
from rubrics_gym.tasks.bundles import build_task

with job(snakemake, Nothing) as (settings, log):
    task = build_task(snakemake.wildcards.benchmark, snakemake.wildcards.task, snakemake.output.public, snakemake.output.private)
    log.info("%s: %s, files %s", task.id, task.kind, ", ".join(task.files))
