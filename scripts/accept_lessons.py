"""Keep the lessons of a library that pass its gate, and write down how every lesson stands."""

from rubrics_gym.libraries.gates import gate_lines
from rubrics_gym.records.contrasts import Contrast, LessonReview
from rubrics_gym.records.files import read_records, write_json_lines
from rubrics_gym.records.rubrics import Rubric
from rubrics_gym.settings.job import job
from rubrics_gym.settings.rules import AcceptLessons

with job(snakemake, AcceptLessons) as (settings, log):
    lessons = read_records(snakemake.input.merged, Rubric)
    contrasts = read_records(snakemake.input.contrasts, Contrast)
    lines = gate_lines(lessons, contrasts, read_records(snakemake.input.reviews, LessonReview), settings.gate)
    accepted = [lesson for lesson, line in zip(lessons, lines, strict=True) if line.accepted]
    write_json_lines(snakemake.output.gate, lines)
    write_json_lines(snakemake.output.accepted, accepted)
    log.info("%d of %d lessons accepted", len(accepted), len(lessons))
