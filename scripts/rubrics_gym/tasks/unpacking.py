"""Opening a public bundle. Apart from what builds bundles, so that an edit of a loader is no reason to plan an attempt."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from rubrics_gym.records.archives import UnsafeArchive, read_member, unpack_archive
from rubrics_gym.records.tasks import Task
from rubrics_gym.tasks.built import TASK_FILE
from rubrics_gym.tasks.catalog import load_benchmark


def unpack_public(archive: str | Path, folder: str | Path) -> Task:
    """Unpack the data of a public bundle to `folder`/data and return the task. UnsafeArchive when the bundle is not what it should be."""
    task = read_task(archive)
    limits = load_benchmark(task.benchmark).bundle
    names = unpack_archive(archive, folder, limits.bytes, limits.files)
    different = sorted({TASK_FILE, *task.files} ^ set(names))
    if different:
        raise UnsafeArchive(
            f"{archive}: its files and those that {TASK_FILE} names differ in {len(different)}, such as {different[0]!r}. Build the bundle again."
        )
    (Path(folder) / TASK_FILE).unlink()
    return task


def read_task(archive: str | Path) -> Task:
    """The task of a public bundle, without unpacking it."""
    content = read_member(archive, TASK_FILE)
    if content is None:
        raise UnsafeArchive(f"{archive}: holds no {TASK_FILE}, so it is not a public bundle")
    try:
        return Task.model_validate_json(content)
    except ValidationError as error:
        raise UnsafeArchive(f"{archive}: {TASK_FILE} is no task ({error.errors()[0]['msg']}). Build the bundle again.") from None
