"""Real files of the benchmarks, outside the project: ../shared/corpus beside the clone, or below the folder that RUBRICS_CORPUS names."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rubrics_gym.tasks.catalog import Benchmark, load_benchmark
from rubrics_gym.tasks.sources import SourceFiles, part_of_source

CORPUS = Path(os.environ.get("RUBRICS_CORPUS", Path(__file__).resolve().parents[2] / "shared")) / "corpus"
FOLDERS = {
    "dabench": "DABench",
    "dacode": "DA-Code",
    "dsbench": "DSBench",
    "mlgym": "MLGym",
    "mlagentbench": "MLAgentBench",
    "rebench": "RE-Bench",
    "openml": "OpenML/tests/files/org/openml/test",
    "mlebench": "mle-bench",
    "paperbench": "PaperBench",
}

needs_corpus = pytest.mark.skipif(
    not CORPUS.is_dir(), reason=f"the corpus of real files is not at {CORPUS} (RUBRICS_CORPUS names its parent)"
)


def corpus_of(name: str) -> tuple[Benchmark, SourceFiles]:
    """A benchmark and the part of its source that the corpus holds."""
    benchmark = load_benchmark(name)
    return benchmark, part_of_source(benchmark, CORPUS / FOLDERS[name])
