"""Tables of how far those who sorted the failures agree: two classifiers, and people."""

from rubrics_gym.failures.labelling import Item, read_labels
from rubrics_gym.failures.readers import answers_of_models, answers_of_people
from rubrics_gym.failures.taxonomy import load_taxonomy
from rubrics_gym.records.columns import read_columns
from rubrics_gym.records.failures import Categorized, Cause, FailureEvent
from rubrics_gym.records.files import read_records
from rubrics_gym.report.readers import agreement_rows, confusion_rows, corrected_rows
from rubrics_gym.report.specs import AGREEMENT, CONFUSION, CORRECTED_MIX
from rubrics_gym.report.writing import write_table
from rubrics_gym.settings.job import job
from rubrics_gym.settings.rules import CompareReaders

with job(snakemake, CompareReaders) as (settings, log):
    taxonomy = load_taxonomy(snakemake.input.taxonomy)
    events = [event for path in snakemake.input.events for event in read_columns(path, FailureEvent)]
    first, second = (
        {answer.item_id: answer for path in paths for answer in read_columns(path, Categorized)}
        for paths in (snakemake.input.categories, snakemake.input.second)
    )
    causes = [cause for path in snakemake.input.causes for cause in read_columns(path, Cause)]
    key = {item.item: item for path in snakemake.input.label_keys for item in read_records(path, Item)}
    people = [read_labels(path, key, taxonomy) for path in snakemake.input.sheets]
    readers = answers_of_models(settings, events, first, second, causes, key.values()) + answers_of_people(people, key)
    agreements = agreement_rows(readers, settings)
    write_table(AGREEMENT, agreements, snakemake.output.agreement)
    write_table(CONFUSION, confusion_rows(readers, settings), snakemake.output.confusion)
    write_table(CORRECTED_MIX, corrected_rows(readers, settings, taxonomy.bins), snakemake.output.corrected_mix)
    log.info("%d failures, %d causes, %d people, %d pairs of readers", len(events), len(causes), len(people), len(agreements))
