"""Ask the classifier for the category of every rubric that has none, and write the library's manifest."""

from rubrics_gym.failures.categories import Classifier
from rubrics_gym.failures.taxonomy import load_taxonomy
from rubrics_gym.models.prompts import load_prompt
from rubrics_gym.providers.opening import open_reader
from rubrics_gym.records.files import read_json, read_records, write_json, write_json_lines
from rubrics_gym.records.rubrics import LibraryManifest, QuotaLine, Rubric
from rubrics_gym.settings.job import job
from rubrics_gym.settings.rules import DescribeLibrary

with job(snakemake, DescribeLibrary) as (settings, log):
    merged = read_records(snakemake.input.merged, Rubric)
    classifier = Classifier(settings.model, load_prompt(snakemake.input.prompt), load_taxonomy(snakemake.input.taxonomy), settings.seed)
    with open_reader(snakemake, settings, "classifier", f"classify/{settings.library}") as client:
        client.ask_ahead((classifier.rubric_request(rubric), 0) for rubric in merged if classifier.has_to_ask(rubric))
        rubrics = [classifier.sorted_rubric(rubric, client) for rubric in merged]
    candidates, rejected, quota = (snakemake.input.get(name) for name in ("candidates", "rejected", "quota"))
    planned = tuple(read_records(quota, QuotaLine)) if quota else ()
    manifest = LibraryManifest(
        library=settings.library,
        recipe=settings.recipe.model_dump(mode="json"),
        candidates=len(read_records(candidates, Rubric)) if candidates else len(merged),
        rubrics=len(rubrics),
        rejected=read_json(rejected) if rejected else {},
        quota=planned,
        shares={line.bin: line.share for line in planned},
        unclassified=sum(rubric.category is None for rubric in rubrics),
        simulated=settings.simulated,
        contaminated=settings.contaminated,
    )
    write_json_lines(snakemake.output.rubrics, rubrics)
    write_json(snakemake.output.manifest, manifest)
    log.info("%d rubrics, %d without a category", len(rubrics), manifest.unclassified)
