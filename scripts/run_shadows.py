"""Run judged commands of an episode for real, from its snapshots: what would have come of them."""

from collections import Counter

from rubrics_gym.failures.types import load_rules
from rubrics_gym.harness.attempts import WorkPlace
from rubrics_gym.harness.recorder import read_trajectory
from rubrics_gym.harness.shadows import run_shadow
from rubrics_gym.harness.snapshots import read_contents
from rubrics_gym.judge.shadows import shadow_runs
from rubrics_gym.records.files import write_json_lines
from rubrics_gym.settings.job import job
from rubrics_gym.settings.places import wheel_folder
from rubrics_gym.settings.rules import RunShadows

with job(snakemake, RunShadows) as (settings, log):
    source = snakemake.input.snapshots
    contents = read_contents(source)
    with WorkPlace(snakemake.input.public) as place:

        def execute(snapshot):
            return run_shadow(snapshot, contents, source, place.data, settings.sandbox, settings.limits, wheel_folder())

        rules, cap_s = load_rules(snakemake.input.types), settings.limits.command_s
        runs = shadow_runs(read_trajectory(snakemake.input.trajectory), settings.shadows, settings.seed, cap_s, execute, rules)
    write_json_lines(snakemake.output.shadows, runs)
    log.info("%d judged commands: %s", len(runs), dict(Counter(run.state.value for run in runs)))
    log.info("%d ran, %d of them failed", sum(run.failed is not None for run in runs), sum(bool(run.failed) for run in runs))
