"""Export the sentence encoder once, so that no later job pays for importing torch."""

from pathlib import Path

from rubrics_gym.settings.job import job
from rubrics_gym.settings.rules import ExportEncoder

with job(snakemake, ExportEncoder) as (settings, log):
    from rubrics_gym.libraries.encoder_export import export

    folder = Path(snakemake.output.model).parent
    export(folder, settings.source)
    log.info("exported to %s", folder)
