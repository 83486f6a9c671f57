"""Read the logs of other systems' agents into trajectories, artifacts and grades like those of rollouts."""

import csv
from pathlib import Path

from rubrics_gym.interchange.formats import find
from rubrics_gym.interchange.importing import ImportRow, import_runs
from rubrics_gym.records.files import whole_file
from rubrics_gym.settings.job import job
from rubrics_gym.settings.rules import ImportCollection

with job(snakemake, ImportCollection) as (settings, log):
    single = Path(settings.path).is_file()
    found = find([Path(path) for path in snakemake.input.logs], settings.format, single)
    folder = Path(snakemake.output.rollouts)
    rows = import_runs(found, snakemake.wildcards.collection, folder, frozenset(snakemake.params.held_out), single)
    kept = [row for row in rows if not row.skipped]
    for row in rows:
        log.info(
            "%s: %s", row.source, row.skipped or f"{row.unit}, {row.steps} steps, {row.commands} commands, {row.with_exit_code} exit codes"
        )
    if not kept:
        why = rows[0].skipped if rows else "no file has an ending that a known format uses"
        raise ValueError(
            f"no run was found in {settings.path} ({len(rows)} files looked at; the first: {why}). docs/interchange.md lists the formats."
        )
    with whole_file(snakemake.output.table) as temporary, open(temporary, "w", encoding="utf-8", newline="") as table:
        lines = csv.DictWriter(table, list(ImportRow.model_fields), lineterminator="\n")
        lines.writeheader()
        lines.writerows(row.model_dump() for row in rows)
    log.info("%d runs imported, %d files or runs passed over", len(kept), len(rows) - len(kept))
