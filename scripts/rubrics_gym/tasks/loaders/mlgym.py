"""MLGym: a task file, starter code, local data, and an evaluation program that prints one line of JSON."""

from __future__ import annotations

import csv
import io
import math
from pathlib import PurePosixPath
from typing import Any, NamedTuple

import yaml

from rubrics_gym.records.tasks import Metric
from rubrics_gym.tasks.built import BuiltTask, Content, built, list_files, outside_task
from rubrics_gym.tasks.catalog import Entry
from rubrics_gym.tasks.sources import SourceFiles, SourceProblem

LOWER_IS_BETTER = ("rmse", "time", "loss", "mae", "mse", "perplexity")  # no task file says the direction: it follows from the metric's name
ANSWER_FILES = ("ground_truth.csv", "answer.csv")  # what the evaluation programs compare with
DELIVERABLES = {
    "CSVSubmissionTasks": ("submission.csv",),
    "ModelSubmissionTasks": ("checkpoints", "config.yaml"),
    "LMSubmissionTasks": ("model.pt", "model_config.pt"),
}
HOUSE_PRICES = "data/regressionKaggleHousePrice/_helpers/train.csv"


class TaskFiles(NamedTuple):
    """What the task file and the data set files say, without the code."""

    task: dict[str, Any]
    datasets: list[dict[str, Any]]
    metric: Metric
    home: str  # the folder of the task's code


def read_task_files(source: SourceFiles, entry: Entry) -> TaskFiles:
    """Read configs/tasks/ID.yaml and the data set files that it names. SourceProblem when one is missing."""
    task = yaml.safe_load(source.text(f"configs/tasks/{entry.id}.yaml"))
    datasets = [yaml.safe_load(source.text(f"configs/{name}")) for name in task.get("dataset_configs", [])]
    measure = next(iter(task["baseline_scores"][0]))
    metric = Metric(name=measure, greater_is_better=not any(word in measure.lower() for word in LOWER_IS_BETTER))
    return TaskFiles(task, datasets, metric, "/".join(PurePosixPath(task["starter_code"][0]).parts[:2]))


def load(source: SourceFiles, entry: Entry) -> BuiltTask:
    """Make one task. SourceProblem when a file that its task file names is not there."""
    described = read_task_files(source, entry)
    task_file = described.task
    files, gold = split_data(source, entry, described.datasets)
    for path in _starter_files(source, task_file):
        files[f"data/{path.removeprefix(f'{described.home}/')}"] = source.path(path)
    if task_file.get("sample_submission"):
        files["data/sample_submission.csv"] = source.path(task_file["sample_submission"])
    scripts = [PurePosixPath(name).name for name in task_file["evaluation_paths"]]
    evaluation: dict[str, Content] = {f"evaluation/{name}": source.path(f"{described.home}/{name}") for name in scripts}
    # what an evaluation program imports lies beside it, as it does upstream; the graders use these copies, never the agent's
    evaluation |= {f"evaluation/{name.removeprefix('data/')}": content for name, content in files.items() if name.endswith(".py")}
    deliverables = DELIVERABLES.get(task_file["task_entrypoint"]) or _program(entry, files)
    statement = _statement(described, files, deliverables)
    task = outside_task(source.benchmark, entry, statement, files, described.metric, deliverables)
    grading = {
        "entrypoint": task_file["task_entrypoint"],
        "baseline_scores": task_file["baseline_scores"],
        "evaluation": scripts,
        "timeout_s": task_file["training_timeout"],
    }
    return built(task, files, grading, {**evaluation, **gold})


def _starter_files(source: SourceFiles, task_file: dict[str, Any]) -> list[str]:
    named = [*task_file["starter_code"], *filter(None, [task_file.get("requirements_path")])]
    folders = tuple(f"{name}/" for name in named)
    return [path for path in sorted(source.hashes) if path in named or path.startswith(folders)]


def split_data(source: SourceFiles, entry: Entry, datasets: list[dict[str, Any]]) -> tuple[dict[str, Content], dict[str, Content]]:
    """The data that the agent gets, and what only the grader gets."""
    if entry.id == "regressionKaggleHousePrice":
        return _house_prices(source)
    files: dict[str, Content] = {}
    gold: dict[str, Content] = {}
    for dataset in datasets:
        folder = dataset["data_path"] if dataset["is_local"] else f"data/{entry.id}/data"
        found = source.below(f"{folder}/")
        if not found:
            raise SourceProblem(f"mlgym {entry.id}: there are no data in {folder}. By hand: {entry.by_hand or 'see the repository'}.")
        for path in found:
            name = path.removeprefix(f"{folder}/")
            kind, prefix = (gold, "gold/") if PurePosixPath(name).name in ANSWER_FILES else (files, "data/")
            kind[prefix + name] = source.path(path)
    return files, gold


def _house_prices(source: SourceFiles) -> tuple[dict[str, Content], dict[str, Content]]:
    """The split of upstream's _generate_split.py: 20% test, then 12.5% of the rest for validation, both with random state 42."""
    header, *rows = [line for line in csv.reader(io.StringIO(source.text(HOUSE_PRICES))) if line]
    rest, test = split_rows(list(range(len(rows))), 0.2)
    train, validation = split_rows(rest, 0.125)
    target = header.index("SalePrice")
    features = [column for column in range(len(header)) if column != target]
    ordered = [*features, target]
    public = {
        "data/train.csv": _table(header, rows, train, ordered),
        "data/validation.csv": _table(header, rows, validation, ordered),
        "data/test.csv": _table(header, rows, test, features),
    }
    return dict(public), {"gold/answer.csv": _table(header, rows, test, [header.index("Id"), target])}


def split_rows(rows: list[int], test_share: float, seed: int = 42) -> tuple[list[int], list[int]]:
    """Train and test rows as scikit-learn's train_test_split shuffles them (its ShuffleSplit), without the second that importing it takes."""
    import numpy as np

    tests = math.ceil(test_share * len(rows))
    shuffled = [rows[place] for place in np.random.RandomState(seed).permutation(len(rows))]
    return shuffled[tests:], shuffled[:tests]


def _table(header: list[str], rows: list[list[str]], chosen: list[int], columns: list[int]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header[column] for column in columns)
    writer.writerows([rows[row][column] for column in columns] for row in chosen)
    return text.getvalue().encode()


def _program(entry: Entry, files: dict[str, Content]) -> tuple[str, ...]:
    """The program that the agent is asked to improve, in a task without data."""
    found = [name for name in ("strategy.py", "heuristic.py") if f"data/{name}" in files]
    if not found:
        raise SourceProblem(f"mlgym {entry.id}: its starter code holds neither strategy.py nor heuristic.py")
    return tuple(found)


def _statement(described: TaskFiles, files: dict[str, Content], deliverables: tuple[str, ...]) -> str:
    data = "\n\n".join(f"{dataset['name']}: {dataset['description'].strip()}" for dataset in described.datasets)
    words = described.task["description"].strip().replace("{dataset_docs}", data)
    asked = "\n".join(f"- `{name}`" for name in deliverables)
    return f"{words}\n\n{list_files(files)}\n\n## What to hand in\n{asked}\n"
