"""Count where a benchmark's official rule and the corrected one differ, over all attempts of the study."""

from pathlib import Path

from rubrics_gym.grading.disagreements import disagreement_rows
from rubrics_gym.records.files import read_json
from rubrics_gym.records.grades import Grade
from rubrics_gym.report.specs import DISAGREEMENTS
from rubrics_gym.report.writing import write_table
from rubrics_gym.settings.job import job
from rubrics_gym.settings.rules import Nothing

with job(snakemake, Nothing) as (settings, log):
    # …/rollouts/COLLECTION/BENCHMARK/TASK/ATTEMPT/grade.json, …/episodes/SPLIT/ARM/REPEAT/BENCHMARK/TASK/grade.json: both are five up
    grades = [(Path(path).parts[-5], Grade.model_validate(read_json(path))) for path in snakemake.input.grades]
    rows = disagreement_rows(grades)
    write_table(DISAGREEMENTS, rows, snakemake.output.table)
    log.info("%d attempts, %d of them graded by two rules", len(grades), sum(row["graded"] for row in rows))
