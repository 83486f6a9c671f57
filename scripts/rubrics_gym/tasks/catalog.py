"""The task table of a benchmark. Read when the DAG is parsed, so it is YAML and nothing else: no data is touched to list tasks."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import Field

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
    tables: tuple[str, ...] = ()  # of the packaged benchmark
    words: tuple[str, ...] = ()  # where no title says what a task is about: words of its text that occur in a held-out id, and no others
    # published figures that a grader needs, and no file of the source holds in the open
    facts: dict[str, Any] = Field(default_factory=dict)
    exclude: str = ""  # why it cannot be run here
    by_hand: str = ""  # what must be prepared by hand before it can be run

    @property
    def competition(self) -> bool:
        """Held-out prediction tasks carry medals."""
        return self.role is Role.HELD_OUT


class Terms(Record):
    """Something that the owner of a benchmark asks for, beyond a licence that allows everything; to be accepted by its name.

    `of` says what must not happen without it: any use, or the mining of traces.
    """

    name: str
    text: str
    of: Literal["use", "mining"] = "use"


class Source(Record):
    """Where the files of a benchmark come from. Empty for tables that ship inside packages."""

    repository: str = ""
    commit: str = ""  # 40 hex digits
    client: str = ""  # the owner's program that brings the data, where it is not in the repository
    by_hand: str = ""  # what a person must do, beyond the download
    code_licence: str = ""
    data_licence: str = ""


class BundleLimits(Record):
    """What a bundle of this benchmark may hold. Larger ones are neither written nor unpacked."""

    bytes: int = 2_000_000_000
    files: int = 10_000


class Benchmark(Record):
    """The task table of one benchmark, before the hold-out filter, with its source, its terms and its named splits of held-out tasks.

    `needs` are the files that one task is made from, as paths in the source: `{id}` and `{title}` stand for those of the task, and a path that
    ends in a slash for every file below it.
    """

    name: str
    entries: tuple[Entry, ...]
    splits: dict[str, tuple[str, ...]]
    title: str = ""
    holdouts: str = ""  # resources/holdouts/NAME.yaml
    filter_on: Literal["id", "title", "words"] = "id"  # what the hold-out filter looks for words in
    source: Source = Source()
    terms: tuple[Terms, ...] = ()
    needs: tuple[str, ...] = ()
    bundle: BundleLimits = BundleLimits()

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

    def needed(self, entry: Entry) -> tuple[str, ...]:
        """What one task is made from: files, and folders that end in a slash."""
        return tuple(need.format(id=entry.id, title=entry.title) for need in self.needs)


def benchmark_names() -> tuple[str, ...]:
    """Every benchmark that has a task table, in the order of the names. Files with an underscore belong to the table before it."""
    return tuple(sorted(path.stem for path in RESOURCES.glob("*.yaml") if "_" not in path.stem))


@functools.cache
def load_benchmark(name: str) -> Benchmark:
    """Read resources/benchmarks/NAME.yaml."""
    content = dict(_read(f"{name}.yaml"))
    common = {key: content.pop(key) for key in ("kind", "role") if key in content}
    excluded, by_hand = content.pop("exclude", {}), content.pop("by_hand", {})
    entries = tuple(
        Entry.model_validate({**common, "exclude": excluded.get(line["id"], ""), "by_hand": by_hand.get(line["id"], ""), **line})
        for line in content.pop("tasks")
    )
    benchmark = Benchmark.model_validate({"name": name, "entries": entries, "splits": {}, **content})
    roles = {entry.id: entry.role for entry in entries}
    if len(roles) != len(entries):
        raise CatalogError(f"{RESOURCES / name}.yaml: a task id occurs twice; a task has exactly one role")
    strangers = sorted({*excluded, *by_hand} - roles.keys())
    if strangers:
        raise CatalogError(f"{RESOURCES / name}.yaml: `exclude` or `by_hand` names {strangers[0]}, which is not a task of the table")
    for split, tasks in benchmark.splits.items():
        stray = [task for task in tasks if roles.get(task) not in (Role.HELD_OUT, Role.DEVELOPMENT)]
        if stray or len({roles[task] for task in tasks}) > 1:
            raise CatalogError(f"{RESOURCES / name}.yaml: split {split!r} names {stray or tasks}, which are not held-out tasks")
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
    whole = load_benchmark(benchmark)
    entry = whole.entry(task)
    if not entry.tables:  # made from the files of a source
        needs = {"entry": entry.model_dump(mode="json"), "source": whole.source.model_dump(mode="json"), "needs": whole.needed(entry)}
        return content_hash(needs)
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
        raise CatalogError(f"{path} does not exist; benchmarks are {', '.join(benchmark_names())}")
    # libyaml reads the table ten times faster than the Python parser, and the DAG is parsed often
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return yaml.load(path.read_text(encoding="utf-8"), Loader=loader)
