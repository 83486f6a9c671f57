"""Compare what a reproduced protocol gives with what was frozen."""

from pathlib import Path

from rubrics_gym.report.specs import VERIFICATION
from rubrics_gym.report.writing import write_table
from rubrics_gym.settings.job import job
from rubrics_gym.settings.rules import VerifyProtocol
from rubrics_gym.settings.study import Reproduction
from rubrics_gym.studies.protocols import changed_code, frozen_tables, read_lock, read_manifest
from rubrics_gym.studies.verification import recomputed, reexecuted

with job(snakemake, VerifyProtocol) as (settings, log):
    folder = Path(snakemake.input.frozen[0]).parent
    results, tables = Path(snakemake.input.dashboard).parent, frozen_tables(folder)
    if settings.protocol.by is Reproduction.RECOMPUTE:
        rows = recomputed(read_manifest(folder), tables, results)
    else:
        rows = reexecuted(tables, results, settings.protocol.tolerance)
    for module in changed_code(read_lock(folder), Path()):
        log.warning("other code than the frozen: %s", module)
    write_table(VERIFICATION, [row.model_dump() for row in rows], snakemake.output.table)
    log.info("%d of %d artefacts equal", sum(row.state == "equal" for row in rows), len(rows))
