"""Find the failed commands of a collection, with their types, by fixed rules."""

from rubrics_gym.failures.detection import detect
from rubrics_gym.failures.types import load_rules
from rubrics_gym.harness.recorder import read_trajectory
from rubrics_gym.records.columns import write_records
from rubrics_gym.records.failures import FailureEvent, ObservedCommand
from rubrics_gym.records.files import attempt_files
from rubrics_gym.settings.job import job
from rubrics_gym.settings.rules import Nothing

with job(snakemake, Nothing) as (settings, log):
    rules = load_rules(snakemake.input.types)
    found = [detect(read_trajectory(path), rules) for path in attempt_files(snakemake.input.trajectories, "trajectory.jsonl")]
    events = [event for detected in found for event in detected.events]
    commands = [command for detected in found for command in detected.commands]
    write_records(snakemake.output.events, events, FailureEvent)
    write_records(snakemake.output.commands, commands, ObservedCommand)
    runs = sum(command.kind == "code_run" for command in commands)
    log.info("%d of %d code-running commands failed; %d installs", len(events), runs, len(commands) - runs)
    log.info("%d more ended with exit code 0 and hid an error (not counted)", sum(command.masked for command in commands))
