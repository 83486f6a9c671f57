"""The private bundle of a task: what its grader needs, and nobody else may read.

A .tar.gz with `grading.json` — benchmark, id, kind, metric, and the keys that the benchmark's grader names in its docstring — and the files that
it refers to: answers, evaluation scripts, untouched copies of files that an agent can edit.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rubrics_gym.records.archives import UnsafeArchive, read_archive
from rubrics_gym.records.tasks import Metric

MAX_BYTES = 2_000_000_000  # the answers of a competition may be as large as its test data


class PrivateBundle:
    """The answers of one task and what its grader needs. UnsafeArchive when it is damaged: then there is nothing to grade by."""

    def __init__(self, archive: str | Path):
        self.members = read_archive(archive, max_bytes=MAX_BYTES)
        if "grading.json" not in self.members:
            raise UnsafeArchive(f"{archive}: holds no grading.json, so it is not a private bundle. Build the bundle again.")
        self.grading: dict[str, Any] = json.loads(self.members["grading.json"])
        self.benchmark: str = self.grading["benchmark"]
        self.task: str = self.grading["id"]
        self.metric = Metric.model_validate(self.grading["metric"])

    def files(self, folder: str) -> dict[str, bytes]:
        """The members below one folder of the bundle: path relative to it -> bytes."""
        start = f"{folder}/"
        return {name.removeprefix(start): content for name, content in self.members.items() if name.startswith(start)}

    def write(self, folder: str, place: Path) -> Path:
        """Write the members below one folder of the bundle to `place`, and return `place`."""
        place.mkdir(parents=True, exist_ok=True)
        for name, content in self.files(folder).items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_bytes(content)
        return place
