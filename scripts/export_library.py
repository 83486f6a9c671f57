"""Write a library for others: JSON lines with schema and card, a check-list, an instruction file, and a page to search it with its evidence."""

import shutil
from pathlib import Path

from rubrics_gym.libraries.exchange import card, checklist, instructions, schema
from rubrics_gym.records.columns import read_columns
from rubrics_gym.records.failures import FailureEvent
from rubrics_gym.records.files import read_json, read_records, whole_file, write_json, write_text
from rubrics_gym.records.rubrics import LibraryManifest, Rubric
from rubrics_gym.report.library_page import library_page
from rubrics_gym.settings.job import job
from rubrics_gym.settings.rules import Nothing

with job(snakemake, Nothing) as (settings, log):
    manifest = LibraryManifest.model_validate(read_json(snakemake.input.manifest))
    rubrics = read_records(snakemake.input.rubrics, Rubric)
    events = [event for path in snakemake.input.events for event in read_columns(path, FailureEvent)]
    folder = Path(snakemake.output.folder)
    with whole_file(folder / "rubrics.jsonl") as temporary:
        shutil.copyfile(snakemake.input.rubrics, temporary)
    write_json(folder / "manifest.json", manifest)
    write_json(folder / "schema.json", schema())
    write_text(folder / "README.md", card(manifest, rubrics))
    write_text(folder / "checklist.md", checklist(rubrics, manifest.library))
    write_text(folder / "instructions.md", instructions(rubrics))
    write_text(folder / "index.html", library_page(manifest, rubrics, events))
    log.info("%d rubrics with %d failed commands behind them", len(rubrics), len(events))
