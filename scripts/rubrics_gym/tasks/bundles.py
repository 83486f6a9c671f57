"""Building the two bundles of a task: the public one is all that an agent gets, the private one is for graders alone."""

from __future__ import annotations

from pathlib import Path

from rubrics_gym.records.archives import write_archive
from rubrics_gym.records.base import canonical_json
from rubrics_gym.records.tasks import Metric, Task
from rubrics_gym.tasks import predictions, questions, result_files
from rubrics_gym.tasks.built import BuiltTask, built
from rubrics_gym.tasks.catalog import Entry, load_benchmark, load_spec, load_tables, load_thresholds
from rubrics_gym.tasks.loaders import loader_of
from rubrics_gym.tasks.metrics import metric
from rubrics_gym.tasks.sources import open_source
from rubrics_gym.tasks.specs import PredictionSpec, QuestionSpec, ResultFileSpec, TableSpec
from rubrics_gym.tasks.tables import as_written, csv_bytes, describe, prepare_table

PACKAGED = "packaged"  # the benchmark whose tables ship inside packages


def make_task(benchmark: str, task_id: str) -> BuiltTask:
    """Make one task, from a packaged table or from the cached source of its benchmark: statement, public files, answers, what the grader needs.

    The private bundle holds grading.json (task, metric, deliverables, what the grader needs) and the answers.
    """
    table = load_benchmark(benchmark)
    entry = table.entry(task_id)
    return make_packaged(benchmark, entry) if benchmark == PACKAGED else loader_of(benchmark)(open_source(table), entry)


def make_packaged(benchmark: str, entry: Entry) -> BuiltTask:
    """Make one task of the packaged benchmark; the answers are answers.json or answers.csv."""
    spec = load_spec(benchmark, entry.id)
    tables = load_tables(benchmark)
    match spec:
        case QuestionSpec():
            return _question(benchmark, entry, spec, tables)
        case ResultFileSpec():
            return _result_file(benchmark, entry, spec, tables)
        case PredictionSpec():
            return _prediction(benchmark, entry, spec, tables)


def build_task(benchmark: str, task_id: str, public: str | Path, private: str | Path) -> Task:
    """Write both bundles; the same inputs give the same bytes."""
    made = make_task(benchmark, task_id)
    write_bundles(made, public, private)
    return made.task


def write_bundles(made: BuiltTask, public: str | Path, private: str | Path) -> None:
    """Write the public and the private bundle of a task."""
    limits = load_benchmark(made.task.benchmark).bundle
    write_archive(public, made.public, limits.bytes, limits.files)
    write_archive(private, made.private, limits.bytes, limits.files)


def _question(benchmark: str, entry: Entry, spec: QuestionSpec, tables: dict[str, TableSpec]) -> BuiltTask:
    table = tables[spec.table]
    frame = prepare_table(spec.table, table)
    answers = questions.solve(spec, frame)
    files = {f"data/{spec.table}.csv": csv_bytes(as_written(frame, table))}
    task = _task(benchmark, entry, files, questions.statement(entry.title, spec, table, len(frame)), _all_right("answers"), [table])
    return built(task, files, {"tolerance": 1e-6}, {"answers.json": canonical_json(answers).encode()})


def _result_file(benchmark: str, entry: Entry, spec: ResultFileSpec, tables: dict[str, TableSpec]) -> BuiltTask:
    frames = {name: prepare_table(name, tables[name]) for name in spec.tables}
    files = {f"data/{name}.csv": csv_bytes(as_written(frame, tables[name])) for name, frame in frames.items()}
    rows = {name: len(frame) for name, frame in frames.items()}
    words = result_files.statement(entry.title, spec, tables, rows)
    task = _task(benchmark, entry, files, words, _all_right("columns"), [tables[name] for name in spec.tables])
    # one unit in the last place, so that two ways of rounding a half are both right
    grading = {"tolerance": 10.0**-spec.decimals, "key": list(spec.key)}
    return built(task, files, grading, {"answers.csv": csv_bytes(result_files.solve(spec, frames))})


def _prediction(benchmark: str, entry: Entry, spec: PredictionSpec, tables: dict[str, TableSpec]) -> BuiltTask:
    table = tables[spec.table]
    parts = predictions.split(entry.id, spec, table, prepare_table(spec.table, table))
    files = {
        "data/train.csv": csv_bytes(parts.train),
        "data/test.csv": csv_bytes(parts.test),
        "data/sample_submission.csv": csv_bytes(predictions.sample_submission(spec, parts)),
    }
    task = _task(
        benchmark, entry, files, predictions.statement(entry.title, spec, table, parts, entry.competition), metric(spec.metric), [table]
    )
    thresholds, constant = load_thresholds(benchmark, entry.id)
    grading = {
        "id_column": spec.id,
        "target": spec.target,
        "labels": list(parts.labels),
        "thresholds": thresholds.model_dump() if thresholds else None,
        "constant": constant,
    }
    return built(task, files, grading, {"answers.csv": csv_bytes(parts.answers)})


def _all_right(parts: str) -> Metric:
    return Metric(name=f"all_{parts}_right", greater_is_better=True)


def _task(benchmark: str, entry: Entry, files: dict[str, bytes], statement: str, measure: Metric, tables: list[TableSpec]) -> Task:
    return Task(
        benchmark=benchmark,
        id=entry.id,
        kind=entry.kind,
        title=entry.title,
        statement=statement,
        files=tuple(sorted(files)),
        metric=measure,
        source=" ".join(describe(table) for table in tables),
    )
