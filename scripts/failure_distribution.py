"""Count a failure mix."""

from rubrics_gym.failures.distributions import distribution
from rubrics_gym.failures.taxonomy import load_taxonomy
from rubrics_gym.records.columns import read_columns
from rubrics_gym.records.failures import Categorized, Cause, FailureEvent
from rubrics_gym.records.files import write_json
from rubrics_gym.settings.job import job
from rubrics_gym.settings.rules import FailureDistribution

with job(snakemake, FailureDistribution) as (settings, log):
    counted = distribution(
        collections=settings.distribution.collections,
        target=settings.distribution.target,
        classifier=settings.classifier,
        taxonomy_version=load_taxonomy(snakemake.input.taxonomy).version,
        events=[event for path in snakemake.input.events for event in read_columns(path, FailureEvent)],
        categories=[answer for path in snakemake.input.categories for answer in read_columns(path, Categorized)],
        causes=[cause for path in snakemake.input.causes for cause in read_columns(path, Cause)],
        simulated=settings.simulated,
        min_confidence=settings.distribution.min_confidence,
    )
    write_json(snakemake.output.distribution, counted)
    log.info("%s: %d failed commands, %d causes, %d unclassified", counted.id, counted.n_events, counted.n_causes, counted.n_unclassified)
