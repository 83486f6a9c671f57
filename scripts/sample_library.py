"""Null library: as many rubrics as another library has, drawn at random."""

from rubrics_gym.libraries.manifests import describe_derived
from rubrics_gym.libraries.nulls import sample
from rubrics_gym.records.files import read_records, write_json, write_json_lines
from rubrics_gym.records.rubrics import Rubric
from rubrics_gym.settings.job import job
from rubrics_gym.settings.rules import DeriveLibrary

with job(snakemake, DeriveLibrary) as (settings, log):
    source = read_records(snakemake.input.rubrics, Rubric)
    size = len(read_records(snakemake.input.size_of, Rubric))
    rubrics = sample(source, size, settings.seed)
    parents = {settings.recipe.source: snakemake.input.rubrics, settings.recipe.size_of: snakemake.input.size_of}
    write_json_lines(snakemake.output.rubrics, rubrics)
    write_json(snakemake.output.manifest, describe_derived(settings, source, rubrics, parents))
    log.info("%d of %d rubrics drawn", len(rubrics), len(source))
