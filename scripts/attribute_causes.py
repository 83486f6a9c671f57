"""Ask the reviewer for the one cause of every attempt of a collection that ended wrong."""

from rubrics_gym.failures.causes import Reviewer, evidence
from rubrics_gym.failures.taxonomy import load_taxonomy
from rubrics_gym.harness.recorder import read_trajectory
from rubrics_gym.models.prompts import load_prompt
from rubrics_gym.providers.opening import open_reader
from rubrics_gym.records.archives import read_archive
from rubrics_gym.records.columns import read_columns, write_records
from rubrics_gym.records.failures import Cause, FailureEvent
from rubrics_gym.records.files import attempt_files, read_json, write_json_lines
from rubrics_gym.records.grades import Grade
from rubrics_gym.records.trajectory import FinalEvent
from rubrics_gym.settings.job import job
from rubrics_gym.settings.rules import Reader

with job(snakemake, Reader) as (settings, log):
    failures = read_columns(snakemake.input.events, FailureEvent)
    reviewer = Reviewer(settings.model, load_prompt(snakemake.input.prompt), load_taxonomy(snakemake.input.taxonomy), settings.seed)
    trajectories = attempt_files(snakemake.input.trajectories, "trajectory.jsonl")
    artifacts, grades = attempt_files(snakemake.input.artifacts, "artifacts.tar.gz"), attempt_files(snakemake.input.grades, "grade.json")
    finals = list(snakemake.input.finals) or [None] * len(trajectories)
    found = []
    for trajectory, archive, grade_file, final in zip(trajectories, artifacts, grades, finals, strict=True):
        grade = Grade.model_validate(read_json(grade_file))
        if not grade.ended_wrong:
            continue
        events = read_trajectory(trajectory)
        if final is not None:
            events.append(FinalEvent.model_validate(read_json(final)))
        start = events[0]
        deliverable = read_archive(archive).get(start.deliverable, b"").decode(errors="replace")
        on_the_way = [failure for failure in failures if failure.unit == start.unit]
        found.append(evidence(events, grade, deliverable, on_the_way))
    with open_reader(snakemake, settings, "reviewer", f"attribute/{snakemake.wildcards.collection}") as client:
        client.ask_ahead((reviewer.request(one), 0) for one in found)
        causes = [reviewer.cause(one, client) for one in found]
    questions = [
        {"unit": one.start.unit, "benchmark": one.start.benchmark, "task": one.start.task, "text": reviewer.question(one)} for one in found
    ]
    write_records(snakemake.output.causes, causes, Cause)
    write_json_lines(snakemake.output.questions, questions)
    log.info("%d attempts ended wrong, %d without a cause", len(causes), sum(cause.category is None for cause in causes))
