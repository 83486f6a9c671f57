"""Grade what a rollout left in its work folder. Of all scripts only the two graders open a private bundle."""

import tempfile
from pathlib import Path

from rubrics_gym.grading.attempts import grade
from rubrics_gym.harness.outcomes import attempt_outcome
from rubrics_gym.harness.recorder import read_trajectory
from rubrics_gym.records.archives import unpack_archive
from rubrics_gym.records.files import write_json
from rubrics_gym.settings.job import job
from rubrics_gym.settings.slices import Nothing

with job(snakemake, Nothing) as (settings, log), tempfile.TemporaryDirectory() as folder:
    events = read_trajectory(snakemake.input.trajectory)
    unpack_archive(snakemake.input.artifacts, folder)
    deliverable = Path(folder) / events[0].deliverable
    graded = grade(snakemake.input.private, deliverable, attempt_outcome(events))
    write_json(snakemake.output.grade, graded)
    log.info("%s %s: %s, score %s %s", graded.benchmark, graded.task, graded.outcome, graded.score, graded.reason)
