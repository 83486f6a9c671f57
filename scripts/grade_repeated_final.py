"""Grade what a final run that was made again wrote, as that of the episode is graded."""

import tempfile
from pathlib import Path

from rubrics_gym.grading.attempts import grade
from rubrics_gym.grading.self_tests import SelfTest, refuse_if_unsound
from rubrics_gym.harness.evaluation import run_in_sandbox
from rubrics_gym.harness.outcomes import final_outcome
from rubrics_gym.harness.recorder import read_trajectory
from rubrics_gym.records.archives import unpack_archive
from rubrics_gym.records.files import read_json, write_json
from rubrics_gym.records.trajectory import FinalEvent
from rubrics_gym.settings.job import job
from rubrics_gym.settings.rules import GradeAttempt

with job(snakemake, GradeAttempt) as (settings, log), tempfile.TemporaryDirectory() as folder:
    events = read_trajectory(snakemake.input.trajectory)
    final = FinalEvent.model_validate(read_json(snakemake.input.final))
    unpack_archive(snakemake.input.artifacts, folder)
    deliverable = Path(folder) / events[0].deliverable
    if snakemake.input.get("self_test"):
        refuse_if_unsound(SelfTest.model_validate(read_json(snakemake.input.self_test)))
    sandbox = run_in_sandbox(settings.sandbox, settings.limits) if settings.sandbox else None
    graded = grade(snakemake.input.private, deliverable, final_outcome(events, final), sandbox)
    write_json(snakemake.output.grade, graded)
    log.info("%s %s: %s, score %s %s", graded.benchmark, graded.task, graded.outcome, graded.score, graded.reason)
