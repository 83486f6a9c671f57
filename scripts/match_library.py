"""Cut a library to a failure mix by a budget per bin."""

from rubrics_gym.libraries.manifests import describe_derived
from rubrics_gym.libraries.matching import match
from rubrics_gym.records.failures import Distribution
from rubrics_gym.records.files import read_json, read_records, write_json, write_json_lines
from rubrics_gym.records.rubrics import Rubric
from rubrics_gym.settings.job import job
from rubrics_gym.settings.rules import DeriveLibrary

with job(snakemake, DeriveLibrary) as (settings, log):
    source = read_records(snakemake.input.rubrics, Rubric)
    target = Distribution.model_validate(read_json(snakemake.input.target))
    matched = match(source, target, settings.recipe.total, settings.recipe.order, settings.seed)
    measured = matched._asdict()
    rubrics = measured.pop("rubrics")
    manifest = describe_derived(
        settings,
        source,
        rubrics,
        {settings.recipe.source: snakemake.input.rubrics},
        target=target.id,
        shares={line.bin: line.share for line in matched.budget},
        **measured,
    )
    write_json_lines(snakemake.output.rubrics, rubrics)
    write_json(snakemake.output.manifest, manifest)
    log.info(
        "%d of %d rubrics; %s is binding; distance %.1f to %.1f",
        len(rubrics),
        len(source),
        matched.binding_bin,
        matched.distance_before,
        matched.distance,
    )
