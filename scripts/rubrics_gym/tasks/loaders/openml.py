"""OpenML, supervised classification: one data set, one fixed split. The labels of the test rows are cut before anyone sees them.

The source is the cache of the owner's client (openml-python): tasks/ID/{task.xml,datasplits.arff}, datasets/ID/{description.xml,features.xml} and
dataset.arff or dataset_ID.pq. A task of cross-validation has every row in some test fold, so an agent gets one fold: the first of the first repeat.
"""

from __future__ import annotations

import csv
import io
import xml.etree.ElementTree as ElementTree
from typing import Any, NamedTuple

from rubrics_gym.records.tasks import Metric
from rubrics_gym.tasks.built import BuiltTask, built, outside_task
from rubrics_gym.tasks.catalog import Entry
from rubrics_gym.tasks.sources import SourceFiles, SourceProblem

SPACE = "{http://openml.org/openml}"
CLASSIFICATION = "1"  # task type
REPEAT, FOLD = 0, 0


class _Feature(NamedTuple):
    name: str
    kind: str  # nominal, numeric, string, date
    dropped: bool  # an identifier of the row, or to be ignored


class _Split(NamedTuple):
    train: list[int]
    test: list[int]
    folds: int


def load(source: SourceFiles, entry: Entry) -> BuiltTask:
    """Make one task. SourceProblem when the objects do not belong together, or the data set is not the one that the task table names."""
    try:
        return _load(source, entry)
    except SourceProblem:
        raise
    except (KeyError, IndexError, ValueError) as error:  # a number that is none, a column that is not there: nothing here has a known hash
        raise SourceProblem(f"openml {entry.id}: its files contradict each other ({type(error).__name__}: {error})") from None


def _load(source: SourceFiles, entry: Entry) -> BuiltTask:
    task = _xml(source, f"tasks/{entry.id}/task.xml")
    if _value(task, "task_type_id") != CLASSIFICATION:
        raise SourceProblem(f"openml {entry.id}: task type {_value(task, 'task_type_id')}, expected 1 (supervised classification)")
    data_set, target = _value(task, "data_set_id"), _value(task, "target_feature")
    about = _xml(source, f"datasets/{data_set}/description.xml")
    name, licence = _value(about, "name"), _value(about, "licence")
    if name != entry.title:
        raise SourceProblem(f"openml {entry.id}: it is about the data set {name!r}, the task table says {entry.title!r}")
    features = _features(source, data_set)
    rows = _rows(source, data_set, len(features))
    split = _split(source, entry.id, len(rows))
    columns = [number for number, feature in enumerate(features) if not feature.dropped and feature.name != target]
    place = [feature.name for feature in features].index(target)
    header = ["row_id", *(features[column].name for column in columns)]
    classes = sorted({row[place] for row in rows})
    files = {
        "data/train.csv": _csv([*header, target], [[str(row), *(rows[row][c] for c in columns), rows[row][place]] for row in split.train]),
        "data/test.csv": _csv(header, [[str(row), *(rows[row][c] for c in columns)] for row in split.test]),
        "data/sample_submission.csv": _csv(["row_id", target], [[str(row), classes[0]] for row in split.test]),
    }
    answers = _csv(["row_id", "repeat", "fold", target], [[str(row), str(REPEAT), str(FOLD), rows[row][place]] for row in split.test])
    made = outside_task(
        source.benchmark,
        entry,
        _statement(name, target, classes, split),
        files,
        Metric(name="balanced_accuracy", greater_is_better=True),
        source=f"OpenML task {entry.id}, data set {data_set} ({name}), licence: {licence or 'not stated'}",
    )
    return built(made, files, {"id_column": "row_id", "target": target, "classes": classes, "folds": split.folds}, {"answers.csv": answers})


def _xml(source: SourceFiles, path: str) -> ElementTree.Element:
    text = source.text(path)
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise SourceProblem(f"openml: {path} declares a document type or entities, which OpenML's files never do")
    try:
        return ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise SourceProblem(f"openml: {path} is not valid XML ({error})") from None


def _value(element: ElementTree.Element, tag: str) -> str:
    return (element.findtext(f".//{SPACE}{tag}") or "").strip()


def _features(source: SourceFiles, data_set: str) -> list[_Feature]:
    described = _xml(source, f"datasets/{data_set}/features.xml").findall(f"{SPACE}feature")
    ordered = sorted(described, key=lambda feature: int(_value(feature, "index")))
    return [
        _Feature(
            _value(feature, "name"),
            _value(feature, "data_type"),
            "true" in (_value(feature, "is_ignore"), _value(feature, "is_row_identifier")),
        )
        for feature in ordered
    ]


def _rows(source: SourceFiles, data_set: str, width: int) -> list[list[str]]:
    """The cells of the data set as text; a missing one is empty."""
    table = f"datasets/{data_set}/dataset.arff"
    rows = _arff(source, table) if source.exists(table) else _parquet(source, f"datasets/{data_set}/dataset_{data_set}.pq")
    if any(len(row) != width for row in rows):
        raise SourceProblem(f"openml: data set {data_set} has rows that are not {width} cells wide, as features.xml says")
    return [[_spelt(cell) for cell in row] for row in rows]


def _spelt(cell: Any) -> str:
    if cell is None or cell != cell:  # Parquet has two ways to say that a cell is missing: null and NaN
        return ""
    return f"{cell:.15g}" if isinstance(cell, float) else str(cell)


def _arff(source: SourceFiles, path: str) -> list[list[Any]]:
    import arff

    try:
        return [list(row) for row in arff.loads(source.text(path))["data"]]
    except (arff.ArffException, ValueError) as error:
        raise SourceProblem(f"openml: {path} is not valid ARFF ({' '.join(str(error).split())})") from None


def _parquet(source: SourceFiles, path: str) -> list[list[Any]]:
    import pyarrow
    import pyarrow.parquet

    try:
        return [list(row.values()) for row in pyarrow.parquet.read_table(source.path(path)).to_pylist()]
    except pyarrow.ArrowInvalid as error:
        raise SourceProblem(f"openml: {path} is not valid Parquet ({error})") from None


def _split(source: SourceFiles, task: str, rows: int) -> _Split:
    """The rows of the chosen fold, in the order of the data set, and how many folds the task has."""
    lines = _arff(source, f"tasks/{task}/datasplits.arff")
    chosen: dict[str, set[int]] = {"TRAIN": set(), "TEST": set()}
    for kind, row, repeat, fold, *_ in lines:
        if (int(repeat), int(fold)) == (REPEAT, FOLD):
            chosen[kind].add(int(row))
    train, test = chosen["TRAIN"], chosen["TEST"]
    if not train or not test or train & test or max(train | test) >= rows:
        raise SourceProblem(
            f"openml {task}: the split is no split of {rows} rows: {len(train)} train, {len(test)} test, {len(train & test)} in both"
        )
    return _Split(sorted(train), sorted(test), len({(repeat, fold) for _, _, repeat, fold, *_ in lines}))


def _csv(header: list[str], rows: list[list[str]]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue().encode()


def _statement(name: str, target: str, classes: list[str], split: _Split) -> str:
    return f"""# {name}

## Description
Supervised classification: predict `{target}` for each row of `data/test.csv`. The classes are {", ".join(f"`{one}`" for one in classes)}.

## Evaluation
Submissions are evaluated by **balanced accuracy** (the mean of the recalls of the classes); higher is better.

## Submission format
For each `row_id` in `data/test.csv`, write one line with the predicted class to `submission.csv`. The file has a header line and exactly the
columns of `data/sample_submission.csv`.

## Files
- `data/train.csv`: {len(split.train)} rows with the target
- `data/test.csv`: {len(split.test)} rows without the target
- `data/sample_submission.csv`: a submission in the right format
"""
