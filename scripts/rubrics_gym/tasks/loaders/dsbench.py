"""DSBench, data modelling: the tables of a Kaggle competition with a split of the benchmark's own."""

from __future__ import annotations

import csv
import io
import math
from pathlib import PurePosixPath

from rubrics_gym.records.tasks import Metric
from rubrics_gym.tasks.built import BuiltTask, built, list_files, outside_task
from rubrics_gym.tasks.catalog import Entry
from rubrics_gym.tasks.sources import SourceFiles, SourceProblem

ROOT = "data_modeling"


def load(source: SourceFiles, entry: Entry) -> BuiltTask:
    """Make one task. SourceProblem when its data were not prepared, or are not the three tables and the answers that they should be."""
    name = entry.id
    given = source.below(f"{ROOT}/data/data_resplit/{name}/")
    files = {f"data/{PurePosixPath(path).name}": source.path(path) for path in given}
    missing = {"data/train.csv", "data/test.csv"} - files.keys()
    samples = sorted(files.keys() - {"data/train.csv", "data/test.csv"})
    if missing or not samples:
        raise source_problem(source, name, f"data_resplit holds {sorted(files)}, expected train.csv, test.csv and a sample submission")
    answers = source.path(f"{ROOT}/data/answers/{name}/test_answer.csv")
    metric = Metric(name=f"dsbench_{name}", greater_is_better=better_is_greater(entry))
    words = source.text(f"{ROOT}/data/task/{name}.txt").strip()
    statement = f"{words}\n\n{list_files(files)}\n\n## What to hand in\nWrite `submission.csv` in the form of `{samples[0]}`, in the order of its rows.\n"
    header = _header(source, f"{ROOT}/data/data_resplit/{name}/{PurePosixPath(samples[0]).name}")
    task = outside_task(source.benchmark, entry, statement, files, metric)
    return built(
        task,
        files,
        {"baseline": entry.facts["baseline"], "reference": entry.facts["reference"], "columns": header},
        {"answers.csv": answers, "evaluate.py": source.path(f"{ROOT}/evaluation/{name}_eval.py")},
    )


def better_is_greater(entry: Entry) -> bool:
    """The direction of a competition's metric: the reference (the true answers) is better than the baseline. ValueError when they are equal."""
    baseline, reference = entry.facts["baseline"], entry.facts["reference"]
    if not (math.isfinite(baseline) and math.isfinite(reference)) or baseline == reference:
        raise ValueError(f"dsbench {entry.id}: baseline {baseline} and reference {reference} give no direction")
    return bool(reference > baseline)


def _header(source: SourceFiles, path: str) -> list[str]:
    with open(source.path(path), "rb") as content:
        line = content.readline(1_000_000)
    try:
        return next(csv.reader(io.StringIO(line.decode("utf-8-sig"))))
    except (UnicodeDecodeError, StopIteration, csv.Error):
        raise source_problem(source, path, "the sample submission has no readable header line") from None


def source_problem(source: SourceFiles, what: str, why: str) -> SourceProblem:
    """A problem of this benchmark's source, with what to do by hand."""
    return SourceProblem(f"dsbench {what}: {why}. {source.benchmark.source.by_hand}")
