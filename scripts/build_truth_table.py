"""Compare what the simulated agent planted with what the pipeline found. The only script that reads what a plan says."""

from rubrics_gym.harness.recorder import read_trajectory
from rubrics_gym.records.columns import read_columns
from rubrics_gym.records.failures import Categorized, Cause, FailureEvent
from rubrics_gym.records.files import iter_json_lines, read_json
from rubrics_gym.records.grades import Grade
from rubrics_gym.records.trajectory import FinalEvent
from rubrics_gym.report.specs import PLANTED_MIX, TRUTH
from rubrics_gym.report.truth import Attempt, findings, planted_mix_rows, read_plan, truth_rows
from rubrics_gym.report.writing import write_table
from rubrics_gym.settings.job import job
from rubrics_gym.settings.rules import BuildTruthTable

with job(snakemake, BuildTruthTable) as (settings, log):
    failures = [event for path in snakemake.input.events for event in read_columns(path, FailureEvent)]
    categories = {answer.item_id: answer for path in snakemake.input.categories for answer in read_columns(path, Categorized)}
    causes = {cause.unit: cause for path in snakemake.input.causes for cause in read_columns(path, Cause)}
    finals = dict(zip(snakemake.input.final_of, snakemake.input.finals, strict=True))
    found = []
    for plan, trajectory, grade in zip(snakemake.input.plans, snakemake.input.trajectories, snakemake.input.grades, strict=True):
        events = read_trajectory(trajectory)
        unit = events[0].unit
        if trajectory in finals:
            events.append(FinalEvent.model_validate(read_json(finals[trajectory])))
        attempt = Attempt(
            unit=unit,
            plan=read_plan(iter_json_lines(plan)),
            events=events,
            failures=[event for event in failures if event.unit == unit],
            categories=categories,
            cause=causes.get(unit),
            ended_wrong=Grade.model_validate(read_json(grade)).ended_wrong,
        )
        found += findings(attempt)
    write_table(TRUTH, truth_rows(found, settings.study, settings.simulated, settings.statistics.confidence), snakemake.output.table)
    mix = planted_mix_rows(found, settings.study, settings.simulated, settings.statistics, settings.seed)
    write_table(PLANTED_MIX, mix, snakemake.output.planted_mix)
    log.info("%d mistakes planted, %d surfaced", len(found), sum(finding.surfaced for finding in found))
