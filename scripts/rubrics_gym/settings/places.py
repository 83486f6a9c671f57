"""Places on this machine. They are no settings: where paid work is kept must never be a reason to make it again."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def store_folder() -> str:
    """What was paid for: `store/`, or the folder or the address of a bucket that RUBRICS_STORE names."""
    return os.environ.get("RUBRICS_STORE", "store")


def use_store(location: str) -> None:
    """From now on keep paid work there, in this process and in the jobs that it starts."""
    os.environ["RUBRICS_STORE"] = location


def wheel_folder() -> Path:
    """The sandbox's package index: made by set-up beside the environment, or the folder that RUBRICS_WHEELS names."""
    return Path(os.environ.get("RUBRICS_WHEELS", str(Path(sys.prefix) / "wheels")))


def source_folder() -> Path:
    """Cached sources of benchmarks: `sources/`, or the folder that RUBRICS_SOURCES names."""
    return Path(os.environ.get("RUBRICS_SOURCES", "sources"))


def grading_python() -> Path:
    """The Python of the grading environment: made by `make grading` in `.venv-grading`, or the one that RUBRICS_GRADING_PYTHON names."""
    return Path(os.environ.get("RUBRICS_GRADING_PYTHON", ".venv-grading/bin/python")).absolute()
