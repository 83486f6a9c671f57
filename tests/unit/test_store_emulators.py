"""The store in buckets of servers that stand for s3 and gcs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]
PACKAGES = Path(os.environ.get("RUBRICS_EMULATORS", TOP / ".emulators"))


@pytest.mark.slow
@pytest.mark.skipif(not PACKAGES.is_dir(), reason="the emulators are not installed (envs/emulators.txt says how)")
@pytest.mark.parametrize("kind", ["s3", "gs"])
def test_the_store_keeps_its_promises_in_a_bucket(kind: str) -> None:
    environment = {**os.environ, "PYTHONPATH": str(PACKAGES)}
    run = subprocess.run(
        [sys.executable, "tests/emulators.py", kind], cwd=TOP, env=environment, capture_output=True, text=True, timeout=150, check=False
    )
    assert run.stdout.strip().endswith("holds"), run.stdout + run.stderr
