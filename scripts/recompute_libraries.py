"""The published figures about libraries beside what this project's own code makes of what is visible of them."""

from rubrics_gym.libraries.published import Published, recompute
from rubrics_gym.report.specs import PUBLISHED_LIBRARIES
from rubrics_gym.report.writing import write_table
from rubrics_gym.settings.job import job
from rubrics_gym.settings.rules import Nothing

with job(snakemake, Nothing) as (settings, log):
    lines = recompute(Published("resources/published"))
    write_table(PUBLISHED_LIBRARIES, [line.model_dump(mode="json") for line in lines], snakemake.output.table)
    log.info("%d figures", len(lines))
