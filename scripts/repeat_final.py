"""Run final.py of an episode once more in a clean sandbox, from what the episode left. A run that was lost stays lost."""

from pathlib import Path

from rubrics_gym.harness.attempts import WorkPlace
from rubrics_gym.harness.final import run_final
from rubrics_gym.records.files import write_json
from rubrics_gym.settings.job import job
from rubrics_gym.settings.places import wheel_folder
from rubrics_gym.settings.rules import RunFinal

with job(snakemake, RunFinal) as (settings, log), WorkPlace(snakemake.input.public) as place:
    final = run_final(
        place.task.deliverable,
        place.data,
        Path(snakemake.input.artifacts),
        settings.sandbox,
        settings.limits,
        settings.start,
        Path(snakemake.output.run_log),
        Path(snakemake.output.artifacts),
        wheel_folder(),
    )
    write_json(snakemake.output.final, final)
    log.info("exit code %s, stopped at the cap: %s, deliverable: %s", final.exit_code, final.timed_out, final.deliverable_present)
