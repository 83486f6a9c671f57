"""Pair the programs of each task whose scores differ, and ask a miner what the stronger one teaches about the weaker."""

import sys
from collections import Counter

from rubrics_gym.failures.types import load_rules
from rubrics_gym.libraries.contrasts import LessonMiner, contrasts, development_tasks
from rubrics_gym.libraries.rollouts import read_rollouts
from rubrics_gym.libraries.traces import at_end, trace_of
from rubrics_gym.models.prompts import load_prompt
from rubrics_gym.providers.opening import SHARED_PATIENCE_S, open_reader
from rubrics_gym.records.files import write_json, write_json_lines
from rubrics_gym.settings.job import job
from rubrics_gym.settings.rules import MineLessons

with job(snakemake, MineLessons) as (settings, log):
    inputs = snakemake.input
    rules = load_rules(inputs.types)
    places, ends = [], []
    for one in read_rollouts(inputs.trajectories, inputs.artifacts, inputs.grades):
        places.append((one.grade.benchmark, one.grade.task))
        if one.may_be_mined:
            trace = trace_of(one.collection, one.events, one.grade, one.deliverable, rules, sys.maxsize)
            ends.append(at_end(trace, settings.program_chars))
    development = development_tasks(places, settings.development, settings.seed)
    found = contrasts(ends, settings.per_task, development)
    sources = [contrast for contrast in found if not contrast.development]
    miner = LessonMiner(
        settings.model, load_prompt(inputs.prompt), settings.seed, settings.citing, settings.near_misses, settings.per_contrast
    )
    candidates, rejected = [], Counter()
    with open_reader(snakemake, settings, "miner", settings.unit, patience_s=SHARED_PATIENCE_S) as client:
        client.ask_ahead((miner.request(contrast), 0) for contrast in sources)
        for contrast in sources:
            mined = miner.mine(contrast, client)
            candidates += mined.rubrics
            rejected.update(mined.rejected)
            if mined.abstained:
                rejected[f"answer_{mined.abstained}"] += 1
                log.warning("%s: no usable answer (%s)", contrast.id, mined.abstained)
    write_json_lines(snakemake.output.contrasts, found)
    write_json_lines(snakemake.output.candidates, candidates)
    write_json(snakemake.output.rejected, dict(sorted(rejected.items())))
    log.info(
        "%d contrasts, %d to write from; %d lessons, rejected: %s", len(found), len(sources), len(candidates), dict(rejected) or "none"
    )
