"""Ask the classifier for a taxonomy of the failures and causes of a collection, from scratch."""

from rubrics_gym.failures.drafting import Drafter, cases_of, to_yaml
from rubrics_gym.failures.taxonomy import load_taxonomy
from rubrics_gym.models.prompts import load_prompt
from rubrics_gym.providers.opening import open_reader
from rubrics_gym.records.columns import read_columns
from rubrics_gym.records.failures import Cause, FailureEvent
from rubrics_gym.records.files import write_text
from rubrics_gym.settings.job import job
from rubrics_gym.settings.rules import Reader

with job(snakemake, Reader) as (settings, log):
    cases = cases_of(read_columns(snakemake.input.events, FailureEvent), read_columns(snakemake.input.causes, Cause))
    drafter = Drafter(settings.model, load_prompt(snakemake.input.prompt), load_taxonomy(snakemake.input.taxonomy), settings.seed)
    with open_reader(snakemake, settings, "classifier", f"draft/{snakemake.wildcards.collection}") as client:
        taxonomy, invalid = drafter.draft(cases, client)
    write_text(snakemake.output.taxonomy, to_yaml(taxonomy))
    log.info("%d categories from %d cases; %d answers could not be read", len(taxonomy.categories), len(cases), invalid)
