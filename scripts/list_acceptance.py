"""One table of how every task treated the acceptance agents."""

from rubrics_gym.grading.acceptance import Acceptance, is_missing, oracle_verdict
from rubrics_gym.records.files import read_json
from rubrics_gym.report.specs import ACCEPTANCE
from rubrics_gym.report.writing import write_table
from rubrics_gym.settings.job import job
from rubrics_gym.settings.rules import Nothing

with job(snakemake, Nothing) as (settings, log):
    tried = [Acceptance.model_validate(read_json(path)) for path in snakemake.input.acceptance]
    rows = [
        {
            "benchmark": one.benchmark,
            "task": one.task,
            "oracle": oracle_verdict(one),
            "oracle_outcome": one.oracle.outcome if one.oracle else "",
            "oracle_score": one.oracle.score if one.oracle else None,
            "official_score": one.oracle.official.score if one.oracle and one.oracle.official else None,
            "nop": "missing" if is_missing(one.nop) else "not missing",
            "nop_outcome": one.nop.outcome,
            "reason": (one.oracle.reason if one.oracle else "") or "",
        }
        for one in tried
    ]
    write_table(ACCEPTANCE, rows, snakemake.output.table)
    full, without = (sum(row["oracle"] == verdict for row in rows) for verdict in ("full", "no reference"))
    log.info("%d tasks: the reference answer scores in full in %d, %d have none", len(rows), full, without)
