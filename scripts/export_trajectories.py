"""Write every attempt in the formats of other systems: ATIF one file per attempt, Inspect one log per arm or collection."""

from pathlib import Path

from rubrics_gym.harness.recorder import read_trajectory
from rubrics_gym.interchange.export_atif import atif
from rubrics_gym.interchange.export_inspect import inspect_log
from rubrics_gym.interchange.turns import exported
from rubrics_gym.records.files import attempt_files, read_json, write_json
from rubrics_gym.records.grades import Grade
from rubrics_gym.records.trajectory import FinalEvent
from rubrics_gym.settings.job import job
from rubrics_gym.settings.rules import Nothing

with job(snakemake, Nothing) as (settings, log):
    finals = dict(zip(snakemake.input.final_of, snakemake.input.finals, strict=True))
    folder = Path(snakemake.output.exports)
    groups = {}
    trajectories = attempt_files(snakemake.input.trajectories, "trajectory.jsonl")
    for path, grade in zip(trajectories, attempt_files(snakemake.input.grades, "grade.json"), strict=True):
        final = FinalEvent.model_validate(read_json(finals[path])) if path in finals else None
        attempt = exported(read_trajectory(path), Grade.model_validate(read_json(grade)), final)
        write_json(folder / "atif" / f"{attempt.start.unit}.json", atif(attempt))
        groups.setdefault("-".join(attempt.start.unit.split("/")[:2]), []).append(attempt)
    for name, attempts in groups.items():
        write_json(folder / "inspect" / f"{name}.json", inspect_log(name, attempts))
    log.info("%d attempts as ATIF, %d logs for Inspect", len(trajectories), len(groups))
