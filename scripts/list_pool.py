"""List every task of every benchmark: kept, or removed and why; and look into the tables, which may share rows under other names."""

from rubrics_gym.report.specs import POOL
from rubrics_gym.report.writing import write_table
from rubrics_gym.settings.job import job
from rubrics_gym.settings.slices import ListPool
from rubrics_gym.tasks.catalog import load_benchmark, load_tables
from rubrics_gym.tasks.disjoint import check_disjoint
from rubrics_gym.tasks.holdouts import decide, load_rule
from rubrics_gym.tasks.tables import describe

with job(snakemake, ListPool) as (settings, log):
    rows, shared = [], []
    for name in settings.benchmarks:
        benchmark, tables = load_benchmark(name), load_tables(name)
        for decision in decide(benchmark, load_rule(name)):
            rows.append(
                {
                    "benchmark": name,
                    "task": decision.task,
                    "title": decision.title,
                    "kind": decision.kind,
                    "role": decision.role,
                    "status": "kept" if decision.kept else "removed",
                    "reason": f"{decision.rule}: {decision.word}" if decision.rule else "",
                    "source": "; ".join(describe(tables[table]) for table in benchmark.entry(decision.task).tables),
                }
            )
        shared += check_disjoint(name)
    if shared:
        raise ValueError(f"the pool and the held-out tasks share data: {shared[0]}. Add an alias for it to resources/holdouts/.")
    write_table(POOL, rows, snakemake.output.pool)
    log.info("%d tasks, %d kept", len(rows), sum(row["status"] == "kept" for row in rows))
