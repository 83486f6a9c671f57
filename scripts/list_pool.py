"""List every task of every benchmark: in the pool or not, and why; and look into packaged tables, which may share rows under other names."""

from rubrics_gym.report.specs import POOL
from rubrics_gym.report.writing import write_table
from rubrics_gym.settings.job import job
from rubrics_gym.settings.rules import ListPool
from rubrics_gym.tasks.catalog import benchmark_names
from rubrics_gym.tasks.disjoint import check_disjoint
from rubrics_gym.tasks.pool import pool_rows

with job(snakemake, ListPool) as (settings, log):
    rows = pool_rows(benchmark_names(), settings.holdouts)
    shared = check_disjoint("packaged")
    if shared:
        raise ValueError(f"the pool and the held-out tasks share data: {shared[0]}. Add an alias for it to resources/holdouts/.")
    write_table(POOL, [row.model_dump() for row in rows], snakemake.output.pool)
    log.info("%d tasks, %d in the pool", len(rows), sum(row.status == "in the pool" for row in rows))
