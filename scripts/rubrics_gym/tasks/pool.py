"""The table of the pool: every task of every benchmark, in or out, and by which rule."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from rubrics_gym.records.base import Record
from rubrics_gym.records.tasks import HoldoutVariant, Role
from rubrics_gym.tasks.catalog import Benchmark, load_benchmark, load_tables
from rubrics_gym.tasks.holdouts import Decision, decide, rules_for
from rubrics_gym.tasks.tables import describe

Verdict = Literal["kept", "removed"]


class PoolRow(Record):
    """One task. What the hold-out filter says and whether the task can be run are two things, in columns of their own."""

    benchmark: str
    task: str
    title: str
    kind: str
    role: str
    status: Literal["in the pool", "held out", "removed", "cannot run", "by hand"]  # the first reason that keeps it out
    holdout: Verdict  # under the variant of this study
    rule: str = ""
    match: str = ""  # the name, alias or word that hit
    held_out_task: str = ""  # whose
    cannot_run: str = ""  # why not here
    by_hand: str = ""  # what must be prepared first
    published: Verdict
    strict: Verdict
    exact: Verdict
    source: str


def pool_rows(names: Iterable[str], variant: HoldoutVariant) -> list[PoolRow]:
    """One row for every task of the named benchmarks, in the order of their tables. Reads task tables and nothing else."""
    rows = []
    for name in names:
        benchmark = load_benchmark(name)
        by_variant = {each: decide(benchmark, rules_for(benchmark), each) for each in HoldoutVariant}
        for index, decision in enumerate(by_variant[variant]):
            verdicts: dict[str, Verdict] = {
                each.value: "kept" if decisions[index].kept else "removed" for each, decisions in by_variant.items()
            }
            rows.append(_row(benchmark, decision, verdicts))
    return rows


def _row(benchmark: Benchmark, decision: Decision, verdicts: dict[str, Verdict]) -> PoolRow:
    entry, conflict = decision.entry, decision.conflict
    reasons = (
        ("held out", entry.role is Role.HELD_OUT),
        ("removed", not decision.kept),
        ("cannot run", entry.exclude),
        ("by hand", entry.by_hand),
    )
    return PoolRow.model_validate(
        {
            "benchmark": benchmark.name,
            "task": entry.id,
            "title": entry.title,
            "kind": entry.kind.value,
            "role": entry.role.value,
            "status": next((name for name, holds in reasons if holds), "in the pool"),
            "holdout": "kept" if decision.kept else "removed",
            "rule": conflict.rule if conflict else "",
            "match": conflict.match if conflict else "",
            "held_out_task": conflict.held_out if conflict else "",
            "cannot_run": entry.exclude,
            "by_hand": entry.by_hand,
            **verdicts,
            "source": _source(benchmark, entry.tables),
        }
    )


def _source(benchmark: Benchmark, tables: tuple[str, ...]) -> str:
    if tables:
        described = load_tables(benchmark.name)
        return "; ".join(describe(described[table]) for table in tables)
    place = f"{benchmark.source.repository} {benchmark.source.commit[:12]}".strip() or benchmark.title
    return f"{place} ({benchmark.source.data_licence})"
