"""Ask the miner for rubrics of every rollout that may be mined, and keep those whose citations hold."""

from collections import Counter

from rubrics_gym.failures.types import load_rules
from rubrics_gym.harness.recorder import read_trajectory
from rubrics_gym.libraries.mining import Miner
from rubrics_gym.libraries.traces import trace_of
from rubrics_gym.models.prompts import load_prompt
from rubrics_gym.providers.opening import open_client
from rubrics_gym.records.archives import read_archive
from rubrics_gym.records.files import read_json, write_json, write_json_lines
from rubrics_gym.records.grades import Grade
from rubrics_gym.records.outcomes import POLICY
from rubrics_gym.settings.job import job
from rubrics_gym.settings.places import store_folder
from rubrics_gym.settings.slices import MineCandidates
from rubrics_gym.store.serving import copy_ledger, work_key

with job(snakemake, MineCandidates) as (settings, log):
    unit = f"mine/{snakemake.wildcards.library}"
    account = work_key(settings, {"prompt": snakemake.input.prompt}, unit)
    rules = load_rules(snakemake.input.types)
    miner = Miner(settings.model, load_prompt(snakemake.input.prompt), settings.per_rollout, settings.seed)
    candidates, rejected, traces = [], Counter(), []
    for trajectory, archive, grade_file in zip(
        snakemake.input.trajectories, snakemake.input.artifacts, snakemake.input.grades, strict=True
    ):
        grade = Grade.model_validate(read_json(grade_file))
        if not POLICY[grade.outcome].may_mine:
            rejected["rollout_lost"] += 1
            continue
        events = read_trajectory(trajectory)
        collection = events[0].unit.split("/")[1]
        deliverable = read_archive(archive).get(events[0].deliverable, b"").decode(errors="replace")
        traces.append(trace_of(collection, events, grade, deliverable, rules, settings.trace_chars))
        if traces[-1].cut_chars:
            log.info("%s: %d characters of the trace were cut", events[0].unit, traces[-1].cut_chars)
    with open_client(
        settings.model, "miner", settings.simulation, unit, account, snakemake.input.prices, snakemake.resources.asking
    ) as client:
        client.ask_ahead((miner.request(trace), 0) for trace in traces)
        for trace in traces:
            mined = miner.mine(trace, client)
            candidates += mined.rubrics
            rejected.update(mined.rejected)
            if mined.abstained:
                rejected[f"answer_{mined.abstained}"] += 1
                log.warning("%s, attempt %s: no usable answer (%s)", trace.task, trace.attempt, mined.abstained)
    write_json_lines(snakemake.output.candidates, candidates)
    write_json(snakemake.output.rejected, dict(sorted(rejected.items())))
    copy_ledger(store_folder(), [unit], snakemake.output.requests)
    log.info("%d candidates kept, rejected: %s", len(candidates), dict(rejected) or "none")
