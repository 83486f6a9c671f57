"""Ask the reviewer what each lesson of a library has to do with the two programs of every contrast."""

from rubrics_gym.libraries.gates import LessonReviewer
from rubrics_gym.models.prompts import load_prompt
from rubrics_gym.providers.opening import SHARED_PATIENCE_S, open_reader
from rubrics_gym.records.contrasts import Contrast
from rubrics_gym.records.files import read_records, write_json_lines
from rubrics_gym.records.rubrics import Rubric
from rubrics_gym.settings.job import job
from rubrics_gym.settings.rules import ReviewLessons

with job(snakemake, ReviewLessons) as (settings, log):
    lessons = read_records(snakemake.input.merged, Rubric)
    contrasts = read_records(snakemake.input.contrasts, Contrast)
    reviewer = LessonReviewer(settings.model, load_prompt(snakemake.input.prompt), settings.seed)
    # another library's reviews are other work, of another account
    asked = {"merged": snakemake.input.merged, "contrasts": snakemake.input.contrasts}
    questions = [(lesson, contrast) for lesson in lessons for contrast in contrasts]
    with open_reader(snakemake, settings, "reviewer", settings.unit, SHARED_PATIENCE_S, **asked) as client:
        client.ask_ahead((reviewer.request(*question), 0) for question in questions)
        reviews = [reviewer.review(*question, client) for question in questions]
    write_json_lines(snakemake.output.reviews, reviews)
    log.info("%d lessons in %d contrasts, %d reviews unusable", len(lessons), len(contrasts), sum(not review.usable for review in reviews))
