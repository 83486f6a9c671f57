"""Check a matched library against the raw failure records, with no code of the match."""

from rubrics_gym.libraries.verifying import verify
from rubrics_gym.records.columns import read_columns
from rubrics_gym.records.failures import Categorized, Cause, FailureEvent
from rubrics_gym.records.files import read_json, read_records, write_json_lines
from rubrics_gym.records.rubrics import LibraryManifest, Rubric
from rubrics_gym.settings.job import job
from rubrics_gym.settings.rules import Nothing

with job(snakemake, Nothing) as (settings, log):
    checks = verify(
        read_records(snakemake.input.source, Rubric),
        read_records(snakemake.input.rubrics, Rubric),
        LibraryManifest.model_validate(read_json(snakemake.input.manifest)),
        [event for path in snakemake.input.events for event in read_columns(path, FailureEvent)],
        [answer for path in snakemake.input.categories for answer in read_columns(path, Categorized)],
        [cause for path in snakemake.input.causes for cause in read_columns(path, Cause)],
    )
    broken = [f"{check.name} ({check.figure})" for check in checks if not check.holds]
    if broken:
        raise ValueError(f"{snakemake.input.rubrics}: not the match that its manifest says: {'; '.join(broken)}. Match the library again.")
    write_json_lines(snakemake.output.checks, checks)
    log.info("%d checks hold", len(checks))
