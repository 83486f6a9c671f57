"""Precision and recall of every judge and of the baselines, over the same commands, against what execution did."""

from rubrics_gym.failures.types import load_rules
from rubrics_gym.harness.recorder import read_trajectory
from rubrics_gym.judge.measuring import baselines, precision_recall, recall_by_type
from rubrics_gym.judge.replay import ReplayedVerdict, replay
from rubrics_gym.judge.static_checks import static_verdict
from rubrics_gym.records.files import read_records
from rubrics_gym.report.judges import precision_recall_rows, type_recall_rows
from rubrics_gym.report.specs import PRECISION_RECALL, RECALL_BY_TYPE
from rubrics_gym.report.writing import write_table
from rubrics_gym.settings.job import job
from rubrics_gym.settings.slices import MeasureJudge
from rubrics_gym.settings.study import Sight

with job(snakemake, MeasureJudge) as (settings, log):
    rules = load_rules(snakemake.input.types)
    judged = {name: read_records(path, ReplayedVerdict) for name, path in zip(settings.judges, snakemake.input.verdicts, strict=True)}
    static = [row for path in snakemake.input.trajectories for row in replay(read_trajectory(path), static_verdict, tuple(Sight), rules)]
    simple = {"static_checks": static, **baselines(static)}
    confidence = settings.statistics.confidence
    table = precision_recall({**judged, **simple}, baselines=simple, confidence=confidence)
    by_type = [row for rows in (*judged.values(), static) for row in recall_by_type(rows, confidence)]
    write_table(PRECISION_RECALL, precision_recall_rows(table, settings), snakemake.output.table)
    write_table(RECALL_BY_TYPE, type_recall_rows(by_type, settings), snakemake.output.by_type)
    log.info("%d judges and %d baselines over %d commands", len(judged), len(simple), len(static))
