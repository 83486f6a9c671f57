"""Ask the classifier for the category of every failed command of a collection."""

from rubrics_gym.failures.categories import Classifier
from rubrics_gym.failures.taxonomy import load_taxonomy
from rubrics_gym.models.prompts import load_prompt
from rubrics_gym.providers.opening import open_reader
from rubrics_gym.records.columns import read_columns, write_records
from rubrics_gym.records.failures import Categorized, FailureEvent
from rubrics_gym.settings.job import job
from rubrics_gym.settings.rules import Reader

with job(snakemake, Reader) as (settings, log):
    classifier = Classifier(settings.model, load_prompt(snakemake.input.prompt), load_taxonomy(snakemake.input.taxonomy), settings.seed)
    with open_reader(snakemake, settings, "classifier", f"classify/{snakemake.wildcards.collection}") as client:
        answers = classifier.events(read_columns(snakemake.input.events, FailureEvent), client)
    write_records(snakemake.output.categories, answers, Categorized)
    log.info("%d failures, %d without a category", len(answers), sum(answer.category is None for answer in answers))
