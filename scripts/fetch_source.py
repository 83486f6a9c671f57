"""Bring the source of a benchmark into the cache, unless it is there, and look through it: which of its tasks are complete."""

import os

from rubrics_gym.settings.job import job
from rubrics_gym.settings.rules import Nothing
from rubrics_gym.tasks.catalog import load_benchmark
from rubrics_gym.tasks.fetching import fetch
from rubrics_gym.tasks.loaders import loader_of
from rubrics_gym.tasks.sources import look_through, open_source, place_of, receipt_of, write_receipt

with job(snakemake, Nothing) as (settings, log):
    benchmark = load_benchmark(snakemake.wildcards.benchmark)
    for terms in benchmark.terms:
        log.info("terms %s: %s", terms.name, terms.text)
        print(f"terms {terms.name}: {terms.text} A study accepts them by this name under `accepted_terms`.", flush=True)
    # which tasks are prepared on this machine is no setting of a study
    fetch(benchmark, place_of(benchmark.name), log.info, os.environ.get("RUBRICS_PREPARE", "").split())
    receipt = look_through(open_source(benchmark), loader_of(benchmark.name))
    write_receipt(receipt, receipt_of(benchmark.name), snakemake.output.receipt)
    found = f"{benchmark.name}: {len(receipt.complete)} tasks are complete, {len(receipt.incomplete)} are not"
    log.info("%s", found)
    print(found, flush=True)
    for task, problem in receipt.incomplete.items():
        log.info("%s: %s", task, problem)
    if receipt.incomplete:
        task, problem = next(iter(receipt.incomplete.items()))
        print(f"the first that is not complete: {task}: {problem} (all of them: {snakemake.log[0]})", flush=True)
