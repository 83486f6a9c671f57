"""Precision and recall of every judge and of the baselines, over the same commands, against what execution did."""

from pathlib import Path

from rubrics_gym.failures.types import load_rules
from rubrics_gym.harness.recorder import read_trajectory
from rubrics_gym.judge.baselines import baselines
from rubrics_gym.judge.columns import judged
from rubrics_gym.judge.replay import ReplayedVerdict, replay
from rubrics_gym.judge.reweighting import failed_commands, shadow_mix
from rubrics_gym.judge.static_checks import static_verdict
from rubrics_gym.judge.truth import command_bins, episode_endings
from rubrics_gym.records.columns import read_columns
from rubrics_gym.records.failures import Categorized, Cause, Distribution, FailureEvent
from rubrics_gym.records.files import iter_records, read_json, read_records
from rubrics_gym.records.grades import Grade
from rubrics_gym.records.rubrics import Rubric
from rubrics_gym.records.shadows import ShadowRun
from rubrics_gym.report.judge_tables import JUDGE_TABLES, judge_tables
from rubrics_gym.report.writing import write_table
from rubrics_gym.settings.job import job
from rubrics_gym.settings.rules import MeasureJudge
from rubrics_gym.settings.study import Sight

with job(snakemake, MeasureJudge) as (settings, log):
    rules = load_rules(snakemake.input.types)
    trajectories = [read_trajectory(path) for path in snakemake.input.trajectories]
    static_rows = [row for events in trajectories for row in replay(events, static_verdict, tuple(Sight), rules)]
    made = {name: [] for name in JUDGE_TABLES}
    if static_rows:
        libraries = {
            Path(path).parent.name: {rubric.id: rubric for rubric in read_records(path, Rubric)} for path in snakemake.input.rubrics
        }
        replayed = {
            name: judged(iter_records(path, ReplayedVerdict), libraries.get(settings.judges[name].library or ""))
            for name, path in zip(settings.order, snakemake.input.verdicts, strict=True)
        }
        static = judged(static_rows)
        bins = command_bins(
            [event for path in snakemake.input.events for event in read_columns(path, FailureEvent)],
            [answer for path in snakemake.input.categories for answer in read_columns(path, Categorized)],
        )
        grades = [Grade.model_validate(read_json(path)) for path in snakemake.input.grades]
        causes = [cause for path in snakemake.input.causes for cause in read_columns(path, Cause)]
        endings = episode_endings([events[0].unit for events in trajectories], grades, causes)
        sizes = {name: len(rubrics) for name, rubrics in libraries.items()}
        distributions = {Path(path).stem: Distribution.model_validate(read_json(path)) for path in snakemake.input.distributions}
        mixes = {name: failed_commands(mix) for name, mix in distributions.items()}
        runs = {}
        for run in (run for path in snakemake.input.shadows for run in read_records(path, ShadowRun)):
            runs.setdefault(run.arm, []).append(run)
        kinds = {arm: {key: rubric.kind for key, rubric in libraries.get(settings.judges[arm].library or "", {}).items()} for arm in runs}
        shadows = {arm: shadow_mix(found, kinds[arm]) for arm, found in runs.items()}
        made = judge_tables(replayed, {"static_checks": static, **baselines(static)}, bins, endings, settings, sizes, mixes, shadows)
    else:
        log.warning("no code ran in the execute episodes: there is nothing to judge, and the tables are empty")
    for name, rows in made.items():
        write_table(JUDGE_TABLES[name], rows, snakemake.output[name])
    log.info("%d judges over %d commands", len(settings.order), len(static_rows))
