"""Find the failed commands of a collection, with their types, by fixed rules."""

from rubrics_gym.failures.detection import detect
from rubrics_gym.failures.types import load_rules
from rubrics_gym.harness.recorder import read_trajectory
from rubrics_gym.records.columns import write_records
from rubrics_gym.records.failures import FailureEvent
from rubrics_gym.records.files import attempt_files
from rubrics_gym.settings.job import job
from rubrics_gym.settings.slices import Nothing

with job(snakemake, Nothing) as (settings, log):
    rules = load_rules(snakemake.input.types)
    found = [detect(read_trajectory(path), rules) for path in attempt_files(snakemake.input.trajectories, "trajectory.jsonl")]
    events = [event for detected in found for event in detected.events]
    write_records(snakemake.output.events, events, FailureEvent)
    log.info("%d of %d code-running commands failed", len(events), sum(detected.code_runs for detected in found))
    log.info("%d more ended with exit code 0 behind a pipe and printed an error (not counted)", sum(detected.masked for detected in found))
