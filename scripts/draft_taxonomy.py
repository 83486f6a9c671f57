"""Ask the classifier for a taxonomy of the failures and causes of a collection, from scratch."""

from rubrics_gym.failures.drafting import Drafter, cases_of, to_yaml
from rubrics_gym.failures.taxonomy import load_taxonomy
from rubrics_gym.models.prompts import load_prompt
from rubrics_gym.providers.opening import open_client
from rubrics_gym.records.columns import read_columns
from rubrics_gym.records.failures import Cause, FailureEvent
from rubrics_gym.records.files import write_text
from rubrics_gym.settings.job import job
from rubrics_gym.settings.places import store_folder
from rubrics_gym.settings.slices import Reader
from rubrics_gym.store.serving import copy_ledger, work_key

with job(snakemake, Reader) as (settings, log):
    unit = f"draft/{snakemake.wildcards.collection}"
    account = work_key(settings, {"prompt": snakemake.input.prompt}, unit)
    cases = cases_of(read_columns(snakemake.input.events, FailureEvent), read_columns(snakemake.input.causes, Cause))
    drafter = Drafter(settings.model, load_prompt(snakemake.input.prompt), load_taxonomy(snakemake.input.taxonomy), settings.seed)
    with open_client(
        settings.model, "classifier", settings.simulation, unit, account, snakemake.input.prices, snakemake.resources.asking
    ) as client:
        taxonomy, invalid = drafter.draft(cases, client)
    write_text(snakemake.output.taxonomy, to_yaml(taxonomy))
    copy_ledger(store_folder(), [unit], snakemake.output.requests)
    log.info("%d categories from %d cases; %d answers could not be read", len(taxonomy.categories), len(cases), invalid)
