"""Read a library that was written elsewhere: checked record by record, nothing repaired."""

from rubrics_gym.libraries.exchange import read_library
from rubrics_gym.records.files import write_json_lines
from rubrics_gym.settings.job import job
from rubrics_gym.settings.rules import ImportLibrary

with job(snakemake, ImportLibrary) as (settings, log):
    rubrics = read_library(snakemake.input.library)
    write_json_lines(snakemake.output.merged, rubrics)
    log.info("%d rubrics read from %s", len(rubrics), settings.path)
