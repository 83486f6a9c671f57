"""What the agents of all arms were shown, what they did next, and what the verdicts that were run by chance say about the judge."""

from pathlib import Path

from rubrics_gym.failures.types import load_rules
from rubrics_gym.harness.outcomes import was_run
from rubrics_gym.harness.recorder import read_trajectory
from rubrics_gym.judge.sampling import outcome_flips, shadowed, weighted, weighted_recall_by_type
from rubrics_gym.records.files import read_json, read_records
from rubrics_gym.records.rubrics import Rubric
from rubrics_gym.records.shadows import ShadowRun
from rubrics_gym.records.trajectory import FinalEvent
from rubrics_gym.report.contamination import mark
from rubrics_gym.report.feedback import (
    alarm_rows,
    alarms,
    feedback_rows,
    rubric_alarm_rows,
    sampled_row,
    sampled_type_rows,
    sampled_verdicts,
    shown,
)
from rubrics_gym.report.judge_specs import ALARMS, FEEDBACK, RUBRIC_ALARMS, SAMPLED, SAMPLED_TYPES
from rubrics_gym.report.writing import write_table
from rubrics_gym.settings.job import job
from rubrics_gym.settings.rules import MeasureFeedback

with job(snakemake, MeasureFeedback) as (settings, log):
    rules, confidence = load_rules(snakemake.input.types), settings.confidence
    libraries = {Path(path).parent.name: {rubric.id: rubric for rubric in read_records(path, Rubric)} for path in snakemake.input.rubrics}
    counts, raised, drawn = [], {name: [] for name in settings.arms}, {name: [] for name in settings.arms}
    for path, final in zip(snakemake.input.trajectories, snakemake.input.finals, strict=True):
        events = read_trajectory(path)
        if not was_run(events):
            continue
        events.append(FinalEvent.model_validate(read_json(final)))
        counts.append(shown(events))
        arm = counts[-1].arm
        if arm in settings.arms:
            rubrics = libraries.get(settings.arms[arm].library or "", {})
            raised[arm] += alarms(events, rubrics, rules)
            drawn[arm] += sampled_verdicts(events, settings.arms[arm].escalate, rubrics, rules)
    labels = {"study": settings.study, "simulated": settings.simulated}
    fitted = settings.contaminated
    write_table(FEEDBACK, mark(feedback_rows(counts, settings.study, settings.simulated, confidence), fitted), snakemake.output.feedback)
    rows = [
        row for arm, found in raised.items() for row in alarm_rows(arm, settings.arms[arm].library, found, confidence=confidence, **labels)
    ]
    write_table(ALARMS, mark(rows, fitted), snakemake.output.alarms)
    rows = []
    for arm, found in raised.items():
        library = settings.arms[arm].library
        rows += rubric_alarm_rows(arm, library, found, libraries[library], **labels) if library else []
    write_table(RUBRIC_ALARMS, mark(rows, fitted), snakemake.output.rubric_alarms)
    once = outcome_flips([], confidence)  # within an episode a command runs once
    sampled = [sampled_row(arm, "escalated", weighted(found, confidence), once, **labels) for arm, found in drawn.items() if found]
    types = [
        row
        for arm, found in drawn.items()
        for row in sampled_type_rows(arm, "escalated", weighted_recall_by_type(found, confidence), **labels)
    ]
    runs = {}
    for run in (run for path in snakemake.input.shadows for run in read_records(path, ShadowRun)):
        runs.setdefault(run.arm, []).append(run)
    for arm, found in runs.items():
        rubrics = libraries.get(settings.arms[arm].library or "", {})
        verdicts = shadowed(found, {key: rubric.kind for key, rubric in rubrics.items()})
        sampled += [sampled_row(arm, "shadow", weighted(verdicts, confidence), outcome_flips(found, confidence), **labels)]
        types += sampled_type_rows(arm, "shadow", weighted_recall_by_type(verdicts, confidence), **labels)
    write_table(SAMPLED, mark(sampled, fitted), snakemake.output.sampled)
    write_table(SAMPLED_TYPES, mark(types, fitted), snakemake.output.sampled_types)
    log.info("%d episodes, %d verdicts shown", len(counts), sum(len(found) for found in raised.values()))
