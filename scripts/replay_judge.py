"""Judge every command of the execute episodes, each with exactly the state before it; beside each verdict what execution did."""

from rubrics_gym.failures.types import load_rules
from rubrics_gym.harness.recorder import read_trajectory
from rubrics_gym.judge.judging import Judge
from rubrics_gym.judge.opening import open_lookup
from rubrics_gym.judge.replay import Again, replay
from rubrics_gym.models.prompts import load_prompt
from rubrics_gym.providers.opening import open_client
from rubrics_gym.records.files import write_json_lines
from rubrics_gym.settings.job import job
from rubrics_gym.settings.places import store_folder
from rubrics_gym.settings.rules import ReplayJudge
from rubrics_gym.store.serving import copy_ledger, work_key

with job(snakemake, ReplayJudge) as (settings, log):
    rules = load_rules(snakemake.input.types)
    prompt = load_prompt(snakemake.input.judge_prompt)
    lookup = open_lookup(settings.judge, snakemake.input)
    given = {"encode": lookup.encoder.encode if lookup else None} if settings.simulation else {}
    rows, units = [], []
    account = work_key(settings, {"prompt": snakemake.input.judge_prompt}, "judge/replay")
    for path in snakemake.input.trajectories:
        events = read_trajectory(path)
        units.append(f"judge/replay/{settings.judge_name}/{events[0].unit}")
        with open_client(
            settings.model, "judge", settings.simulation, units[-1], account, snakemake.input.prices, snakemake.resources.asking, **given
        ) as client:
            judge, other = (Judge(settings.judge_name, client, settings.model, prompt, settings.seed + turn, lookup) for turn in (0, 1))
            rows += replay(events, judge, settings.judge.sees, rules, Again(other, settings.rejudged, settings.seed))
        log.info("%s: %d commands so far", events[0].unit, len(rows))
    write_json_lines(snakemake.output.verdicts, rows)
    copy_ledger(store_folder(), units, snakemake.output.requests)
    log.info(
        "%d verdicts, %d flagged, %d failed", len(rows), sum(bool(row.verdict.flagged) for row in rows), sum(row.failed for row in rows)
    )
