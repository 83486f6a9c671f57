"""Ask the classifier for the category of every failed command of a collection."""

from rubrics_gym.failures.categories import Classifier
from rubrics_gym.failures.taxonomy import load_taxonomy
from rubrics_gym.models.prompts import load_prompt
from rubrics_gym.providers.opening import open_client
from rubrics_gym.records.columns import read_columns, write_records
from rubrics_gym.records.failures import Categorized, FailureEvent
from rubrics_gym.settings.job import job
from rubrics_gym.settings.places import store_folder
from rubrics_gym.settings.slices import Reader
from rubrics_gym.store.serving import copy_ledger, work_key

with job(snakemake, Reader) as (settings, log):
    unit = f"classify/{snakemake.wildcards.collection}"
    account = work_key(settings, {"prompt": snakemake.input.prompt}, unit)
    events = read_columns(snakemake.input.events, FailureEvent)
    classifier = Classifier(settings.model, load_prompt(snakemake.input.prompt), load_taxonomy(snakemake.input.taxonomy), settings.seed)
    with open_client(
        settings.model, "classifier", settings.simulation, unit, account, snakemake.input.prices, snakemake.resources.asking
    ) as client:
        client.ask_ahead((classifier.event_request(event), 0) for event in events)
        answers = [classifier.event(event, client) for event in events]
    write_records(snakemake.output.categories, answers, Categorized)
    copy_ledger(store_folder(), [unit], snakemake.output.requests)
    log.info("%d failures, %d without a category", len(answers), sum(answer.category is None for answer in answers))
