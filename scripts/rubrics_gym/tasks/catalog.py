"""The task table of a benchmark. Read when the DAG is parsed, so it is YAML and nothing else: no data is touched to list tasks."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import yaml

from rubrics_gym.records.base import Record, content_hash
from rubrics_gym.records.tasks import Role, TaskKind, Thresholds
from rubrics_gym.tasks.specs import PredictionSpec, QuestionSpec, ResultFileSpec, TableSpec, TaskSpec

RESOURCES = Path(__file__).resolve().parents[3] / "resources" / "benchmarks"
SPEC_OF_KIND: dict[TaskKind, type[QuestionSpec] | type[ResultFileSpec] | type[PredictionSpec]] = {
    TaskKind.QUESTION: QuestionSpec,
    TaskKind.RESULT_FILE: ResultFileSpec,
    TaskKind.PREDICTION: PredictionSpec,
}


class CatalogError(ValueError):
    """A benchmark, task or table that is not there or contradicts itself; the message names the file and what is known."""


class Entry(Record):
    """One line of the task table."""

    id: str
    kind: TaskKind
    role: Role
    title: str
    tables: tuple[str, ...]

    @property
    def competition(self) -> bool:
        """Held-out prediction tasks carry medals."""
        return self.role is Role.HELD_OUT


class Benchmark(Record):
    """The task table of one benchmark, before the hold-out filter, and its named splits of held-out tasks."""

    name: str
    entries: tuple[Entry, ...]
    splits: dict[str, tuple[str, ...]]

    def entry(self, task: str) -> Entry:
        """The line of one task. CatalogError when there is none."""
        for entry in self.entries:
            if entry.id == task:
                return entry
        raise CatalogError(f"benchmark {self.name} has no task {task!r}; the tasks are listed in {RESOURCES / self.name}.yaml")

    def split(self, name: str) -> tuple[str, ...]:
        """The task ids of one split. CatalogError names the known splits."""
        if name not in self.splits:
            raise CatalogError(f"benchmark {self.name} has no split {name!r}; known are {', '.join(self.splits)}")
        return self.splits[name]


@functools.cache
def load_benchmark(name: str) -> Benchmark:
    """Read resources/benchmarks/NAME.yaml."""
    content = _read(f"{name}.yaml")
    entries = tuple(Entry.model_validate(line) for line in content["tasks"])
    benchmark = Benchmark(name=name, entries=entries, splits=content["splits"])
    roles = {entry.id: entry.role for entry in entries}
    if len(roles) != len(entries):
        raise CatalogError(f"{RESOURCES / name}.yaml: a task id occurs twice; a task has exactly one role")
    for split, tasks in benchmark.splits.items():
        stray = [task for task in tasks if roles.get(task) is not Role.HELD_OUT]
        if stray:
            raise CatalogError(f"{RESOURCES / name}.yaml: split {split!r} names {stray}, which are not held-out tasks")
    return benchmark


@functools.cache
def load_tables(name: str) -> dict[str, TableSpec]:
    """Read resources/benchmarks/NAME_tables.yaml: table -> where it is and how it is prepared."""
    return {table: TableSpec.model_validate(spec) for table, spec in _read(f"{name}_tables.yaml").items()}


def load_spec(benchmark: str, task: str) -> TaskSpec:
    """What one task asks, from resources/benchmarks/NAME_specs.yaml."""
    entry = load_benchmark(benchmark).entry(task)
    specs = _specs(benchmark)
    if task not in specs:
        raise CatalogError(f"{RESOURCES / benchmark}_specs.yaml says nothing about task {task!r}")
    spec = SPEC_OF_KIND[entry.kind].model_validate(specs[task])
    used = spec.tables if isinstance(spec, ResultFileSpec) else (spec.table,)
    if used != entry.tables:
        # the hold-out filter reads the task table, so a table that it does not name would pass unseen
        raise CatalogError(f"task {task!r} uses the tables {used}, but {RESOURCES / benchmark}.yaml lists {entry.tables}")
    return spec


def load_thresholds(benchmark: str, task: str) -> tuple[Thresholds | None, float]:
    """Medal cut-offs (competitions only) and the score of the best constant prediction, from resources/benchmarks/NAME_thresholds.yaml."""
    scores = _scores(benchmark).get(task)
    if scores is None:
        raise CatalogError(
            f"{RESOURCES / benchmark}_thresholds.yaml has no line for task {task!r}. Run `python -m rubrics_gym.grading.references`."
        )
    cutoffs = scores.get("thresholds")
    return (Thresholds.model_validate(cutoffs) if cutoffs else None), scores["constant"]


def task_fingerprint(benchmark: str, task: str) -> str:
    """Hash of everything in resources/benchmarks/ that the bundles of one task are made from, so that editing one task rebuilds one task."""
    entry = load_benchmark(benchmark).entry(task)
    tables = load_tables(benchmark)
    parts = {
        "entry": entry.model_dump(mode="json"),
        "spec": load_spec(benchmark, task).model_dump(mode="json"),
        "tables": {table: tables[table].model_dump(mode="json") for table in entry.tables},
        "thresholds": _scores(benchmark).get(task),
    }
    return content_hash(parts)


@functools.cache
def _specs(name: str) -> dict[str, Any]:
    specs: dict[str, Any] = _read(f"{name}_specs.yaml")
    return specs


@functools.cache
def _scores(name: str) -> dict[str, Any]:
    path = RESOURCES / f"{name}_thresholds.yaml"
    scores: dict[str, Any] = _read(path.name)["tasks"] if path.is_file() else {}
    return scores


def _read(file: str) -> Any:
    path = RESOURCES / file
    if not path.is_file():
        known = sorted(other.stem for other in RESOURCES.glob("*.yaml") if "_" not in other.stem)
        raise CatalogError(f"{path} does not exist; benchmarks are {', '.join(known)}")
    # libyaml reads the table ten times faster than the Python parser, and the DAG is parsed often
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return yaml.load(path.read_text(encoding="utf-8"), Loader=loader)
