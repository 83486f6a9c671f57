"""Write a library bin by bin, until each has its share of the planned size or nothing new to say."""

from collections import Counter
from pathlib import Path

from rubrics_gym.failures.taxonomy import load_taxonomy
from rubrics_gym.failures.types import load_rules
from rubrics_gym.libraries.encoder import Encoder
from rubrics_gym.libraries.quota import Bin, QuotaMiner, plan, spread_over_tasks
from rubrics_gym.libraries.readings import failures_by_bin
from rubrics_gym.libraries.rollouts import read_rollouts
from rubrics_gym.models.prompts import load_prompt
from rubrics_gym.providers.opening import open_reader
from rubrics_gym.records.columns import read_columns
from rubrics_gym.records.failures import Categorized, Cause, Distribution, FailureEvent
from rubrics_gym.records.files import read_json, write_json, write_json_lines
from rubrics_gym.settings.job import job
from rubrics_gym.settings.rules import FillQuota

with job(snakemake, FillQuota) as (settings, log):
    inputs, recipe = snakemake.input, settings.recipe
    target = Distribution.model_validate(read_json(inputs.target))
    wanted = {share.bin: share.count for share in target.shares}
    failures = failures_by_bin(
        read_rollouts(inputs.trajectories, inputs.artifacts, inputs.grades),
        [event for path in inputs.events for event in read_columns(path, FailureEvent)],
        [answer for path in inputs.categories for answer in read_columns(path, Categorized)],
        [cause for path in inputs.causes for cause in read_columns(path, Cause)],
        load_rules(inputs.types),
        recipe.trace_chars,
    )
    planned = plan(wanted, {name: len(readings) for name, readings in failures.items()}, recipe.size)
    miner = QuotaMiner(
        settings.model,
        load_prompt(inputs.prompt),
        settings.seed,
        Encoder(Path(inputs.encoder).parent).encode,
        recipe.per_failure,
        recipe.batch,
        recipe.threshold,
    )
    taxonomy = load_taxonomy(inputs.taxonomy)
    rubrics, candidates, lines, rejected = [], [], [], Counter()
    with open_reader(snakemake, settings, "miner", f"mine/quota/{snakemake.wildcards.library}", target=inputs.target) as client:
        for name in sorted(wanted, key=lambda name: (-wanted[name], name)):
            readings = spread_over_tasks(failures.get(name, ()))
            share = wanted[name] / sum(wanted.values())
            filled = miner.fill(Bin(name, *taxonomy.describe(name), share, planned.get(name, 0), tuple(readings)), client)
            rubrics += filled.rubrics
            candidates += filled.candidates
            rejected.update(filled.rejected)
            lines.append(filled.line)
            log.info("%s: %d of %d planned, %s", name, filled.line.written, filled.line.planned, filled.line.stopped)
    write_json_lines(snakemake.output.candidates, candidates)
    write_json_lines(snakemake.output.merged, rubrics)
    write_json_lines(snakemake.output.quota, lines)
    write_json(snakemake.output.rejected, dict(sorted(rejected.items())))
    log.info("%d of %d rubrics written", len(rubrics), recipe.size)
