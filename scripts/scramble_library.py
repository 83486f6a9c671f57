"""Null library: the words of all texts shuffled across the whole library. It is divided among bins as its source is: only the words differ."""

from rubrics_gym.libraries.manifests import describe_derived
from rubrics_gym.libraries.nulls import scrambled
from rubrics_gym.records.files import read_json, read_records, write_json, write_json_lines
from rubrics_gym.records.rubrics import LibraryManifest, Rubric
from rubrics_gym.settings.job import job
from rubrics_gym.settings.rules import DeriveLibrary

with job(snakemake, DeriveLibrary) as (settings, log):
    source = read_records(snakemake.input.rubrics, Rubric)
    parent = LibraryManifest.model_validate(read_json(snakemake.input.manifest))
    rubrics = scrambled(source, settings.seed)
    write_json_lines(snakemake.output.rubrics, rubrics)
    write_json(
        snakemake.output.manifest,
        describe_derived(settings, source, rubrics, {settings.recipe.source: snakemake.input.rubrics}, shares=parent.shares),
    )
    log.info("%d rubrics scrambled", len(rubrics))
