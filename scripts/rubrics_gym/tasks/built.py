"""A task with the members of its two bundles, before they are written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rubrics_gym.records.tasks import Metric, Task
from rubrics_gym.tasks.catalog import Benchmark, Entry

TASK_FILE = "task.json"
GRADING_FILE = "grading.json"
Content = bytes | Path  # bytes, or the file that holds them


@dataclass(frozen=True)
class BuiltTask:
    """A task and the members of its two bundles, name -> content."""

    task: Task
    public: Mapping[str, Content]
    private: Mapping[str, Content]


def built(task: Task, files: Mapping[str, Content], grading: Mapping[str, Any], answers: Mapping[str, Content]) -> BuiltTask:
    """Put a task together: `files` are what the agent gets, `grading` and `answers` what the grader gets."""
    public = {TASK_FILE: json_bytes(task.model_dump(mode="json")), **files}
    # the grader needs to know what was asked, not the statement that says so
    asked = task.model_dump(mode="json", include={"benchmark", "id", "kind", "metric", "deliverables"})
    return BuiltTask(task, public, {GRADING_FILE: json_bytes({**asked, **grading}), **answers})


def outside_task(
    benchmark: Benchmark,
    entry: Entry,
    statement: str,
    files: Mapping[str, Content],
    metric: Metric,
    deliverables: tuple[str, ...] = (),
    source: str = "",
) -> Task:
    """The task of a benchmark whose files come from outside."""
    where = f"{benchmark.source.repository} at {benchmark.source.commit[:12]}" if benchmark.source.commit else benchmark.title
    return Task(
        benchmark=benchmark.name,
        id=entry.id,
        kind=entry.kind,
        title=entry.title,
        statement=statement,
        files=tuple(sorted(files)),
        metric=metric,
        source=source or f"{where} ({benchmark.source.data_licence})",
        deliverables=deliverables,
    )


def json_bytes(value: Any) -> bytes:
    """One JSON value as a file: keys sorted, indented for people."""
    return (json.dumps(value, sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def list_files(files: Mapping[str, Content]) -> str:
    """The part of a statement that names the files of a task, in order."""
    return "\n".join(["## Files", *(f"- `{name}`" for name in sorted(files))])
