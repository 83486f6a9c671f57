"""Draw a blind sheet of a collection for people to label, with a guide, and the key that only the scoring reads."""

from rubrics_gym.failures.labelling import category_items, cause_items, citation_items, draw, guide, write_sheet
from rubrics_gym.failures.taxonomy import load_taxonomy
from rubrics_gym.harness.recorder import read_trajectory
from rubrics_gym.records.columns import read_columns
from rubrics_gym.records.failures import FailureEvent
from rubrics_gym.records.files import attempt_files, iter_json_lines, read_records, whole_file, write_json_lines, write_text
from rubrics_gym.records.rubrics import Rubric
from rubrics_gym.records.trajectory import CommandEvent
from rubrics_gym.settings.job import job
from rubrics_gym.settings.rules import DrawLabelSheet

with job(snakemake, DrawLabelSheet) as (settings, log):
    steps = {}
    for path in attempt_files(snakemake.input.trajectories, "trajectory.jsonl"):
        start, *events = read_trajectory(path)
        slot = int(start.unit.rsplit("/", 1)[-1]) if start.unit.startswith("rollouts/") else 0
        steps[start.benchmark, start.task, slot] = {event.step: event for event in events if isinstance(event, CommandEvent)}
    asked = [(one["unit"], one["benchmark"], one["task"], one["text"]) for one in iter_json_lines(snakemake.input.questions)]
    rubrics = [rubric for path in snakemake.input.rubrics for rubric in read_records(path, Rubric)]
    items = category_items(read_columns(snakemake.input.events, FailureEvent)) + cause_items(asked)
    items += citation_items(rubrics, steps, settings.seed)
    drawn = draw(items, settings.per_question, settings.seed)
    with whole_file(snakemake.output.sheet) as sheet:
        write_sheet(sheet, drawn)
    write_text(snakemake.output.guide, guide(load_taxonomy(snakemake.input.taxonomy)))
    write_json_lines(snakemake.output.key, items)
    log.info("%d items on the sheet, of %d", len(drawn), len(items))
