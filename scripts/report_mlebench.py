"""MLE-bench's grading report of one arm and repeat, as upstream writes it, and what that format cannot say beside it."""

from datetime import datetime
from pathlib import Path

from rubrics_gym.grading.mlebench_report import Graded, own_report, upstream_report
from rubrics_gym.harness.recorder import read_trajectory
from rubrics_gym.records.files import read_json, whole_file, write_json
from rubrics_gym.records.grades import Grade
from rubrics_gym.records.trajectory import EndEvent, StartEvent
from rubrics_gym.settings.job import job
from rubrics_gym.settings.rules import Nothing

with job(snakemake, Nothing) as (settings, log):
    attempts = []
    for path, trajectory in zip(snakemake.input.grades, snakemake.input.trajectories, strict=True):
        events = read_trajectory(trajectory)
        ended = datetime.fromisoformat(next(event.at for event in reversed(events) if isinstance(event, EndEvent | StartEvent)))
        submission = Path(path).with_name("final_artifacts.tar.gz") / events[0].deliverable
        attempts.append(Graded(Grade.model_validate(read_json(path)), ended, str(submission)))
    with whole_file(snakemake.output.report) as temporary:
        temporary.write_bytes(upstream_report(attempts))
    write_json(snakemake.output.details, own_report(attempts))
    log.info("%d attempts", len(attempts))
