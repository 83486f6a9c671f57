"""Ask a miner for rubrics of every rollout that may be mined, and keep those whose citations hold."""

from collections import Counter
from itertools import groupby

from rubrics_gym.failures.types import load_rules
from rubrics_gym.libraries.mining import Miner
from rubrics_gym.libraries.rollouts import read_rollouts
from rubrics_gym.libraries.traces import trace_of
from rubrics_gym.models.prompts import load_prompt
from rubrics_gym.providers.opening import SHARED_PATIENCE_S, open_client
from rubrics_gym.records.files import write_json, write_json_lines
from rubrics_gym.settings.asking import read_asking
from rubrics_gym.settings.job import job
from rubrics_gym.settings.places import store_folder
from rubrics_gym.settings.rules import MineCandidates
from rubrics_gym.store.serving import copy_ledger, work_key

with job(snakemake, MineCandidates) as (settings, log):
    inputs = snakemake.input
    rules = load_rules(inputs.types)
    miner = Miner(settings.miner, settings.model, load_prompt(inputs.prompt), settings.seed, settings.per_request, settings.weights)
    account = work_key(settings, {"prompt": inputs.prompt}, f"mine/{snakemake.wildcards.library}")
    asking = snakemake.resources.asking
    allowance_usd = float(read_asking(asking).budget.job_usd)
    candidates, rejected, units = [], Counter(), []
    rollouts = read_rollouts(inputs.trajectories, inputs.artifacts, inputs.grades)
    for collection, of_collection in groupby(rollouts, key=lambda rollout: rollout.collection):
        # the unit has no library's name: a second library of this miner is served the same answers
        units.append(f"mine/{settings.miner.value}/{collection}")
        with open_client(
            settings.model,
            "miner",
            settings.simulation,
            units[-1],
            account,
            inputs.prices,
            asking,
            allowance_usd,
            patience_s=SHARED_PATIENCE_S,
        ) as client:
            readings = []
            for rollout in of_collection:
                if not rollout.may_be_mined:
                    rejected["rollout_lost"] += 1
                    continue
                trace = trace_of(collection, rollout.events, rollout.grade, rollout.deliverable, rules, settings.trace_chars)
                if trace.cut_chars:
                    log.info("%s: %d characters of the trace were cut", rollout.unit, trace.cut_chars)
                readings += [(rollout.unit, reading) for reading in miner.readings(trace, settings.trace_chars)]
            client.ask_ahead((miner.request(reading), 0) for _, reading in readings)
            for name, reading in readings:
                mined = miner.mine(reading, client)
                candidates += mined.rubrics
                rejected.update(mined.rejected)
                if mined.abstained:
                    rejected[f"answer_{mined.abstained}"] += 1
                    log.warning("%s: no usable answer (%s)", name, mined.abstained)
            allowance_usd -= client.charged_microdollars / 1_000_000
    write_json_lines(snakemake.output.candidates, candidates)
    write_json(snakemake.output.rejected, dict(sorted(rejected.items())))
    copy_ledger(store_folder(), units, snakemake.output.requests)
    log.info("%d candidates kept, rejected: %s", len(candidates), dict(rejected) or "none")
