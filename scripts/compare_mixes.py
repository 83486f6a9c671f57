"""Tables of what failed among all that ran, and of how far the failure mixes are apart."""

from pathlib import Path

from rubrics_gym.failures.taxonomy import load_taxonomy
from rubrics_gym.records.columns import read_columns
from rubrics_gym.records.failures import Distribution, ObservedCommand
from rubrics_gym.records.files import read_json
from rubrics_gym.report.failures import failure_rate_rows, mix_distance_rows
from rubrics_gym.report.specs import FAILURE_RATES, MIX_DISTANCES
from rubrics_gym.report.writing import write_table
from rubrics_gym.settings.job import job
from rubrics_gym.settings.rules import CompareMixes

with job(snakemake, CompareMixes) as (settings, log):
    commands = {Path(path).parent.name: read_columns(path, ObservedCommand) for path in snakemake.input.commands}
    mixes = {Path(path).stem: Distribution.model_validate(read_json(path)) for path in snakemake.input.distributions}
    rates = failure_rate_rows(commands, settings.study, settings.simulated, settings.statistics.confidence)
    distances = mix_distance_rows(mixes, load_taxonomy(snakemake.input.taxonomy), settings.statistics, settings.seed)
    write_table(FAILURE_RATES, rates, snakemake.output.failure_rates)
    write_table(MIX_DISTANCES, distances, snakemake.output.mix_distances)
    log.info("%d commands, %d pairs of mixes", sum(map(len, commands.values())), len(distances))
