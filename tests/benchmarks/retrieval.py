"""One look-up of twelve rubrics in libraries of 1,000, 100,000 and 1,000,000: seconds, and how many times the bare matrix-vector product.

    python tests/benchmarks/retrieval.py [SIZE ...]

The index is mapped from disk, as a judge opens it: opening reads no rubric. The library of a million takes 2 GB of disk in a temporary folder and as much
page cache. Its index is written from made-up columns, because a million rubrics as objects would only measure the reader of JSON.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

from rubrics_gym.libraries.index import ROW, Index, IndexNames
from rubrics_gym.libraries.retrieval import Retriever
from rubrics_gym.records.base import canonical_json
from rubrics_gym.records.files import write_json
from rubrics_gym.records.rubrics import Rubric, RubricKind
from rubrics_gym.settings.study import Retrieval, Split

WIDTH, BINS, CHUNK = 384, 32, 50_000
PLANS = {
    "similarity": (Retrieval.SIMILARITY, Split()),
    "category_split": (Retrieval.CATEGORY_SPLIT, Split()),
    "kind_weight": (Retrieval.KIND_WEIGHT, Split()),
    "kind_weight_squared": (Retrieval.KIND_WEIGHT_SQUARED, Split()),
    "split with a floor": (Retrieval.CATEGORY_SPLIT, Split(similarity_floor=0.0)),
}


def write_library(folder: Path, n: int) -> tuple[Path, Path, Path]:
    """A library of `n` rubrics on disk."""
    dice = np.random.default_rng(n)
    paths = folder / "rubrics.jsonl", folder / "embeddings.npy", folder / "index.npy"
    one = Rubric(
        title="A mistake",
        applies_when="a",
        pattern="p " * 40,
        detect="d " * 20,
        not_a_violation="n",
        consequence="c",
        kind=RubricKind.CRASH,
    )
    line = (canonical_json(one) + "\n").encode()
    with open(paths[0], "wb") as file:
        for start in range(0, n, CHUNK):
            file.write(line * min(CHUNK, n - start))
    vectors = np.lib.format.open_memmap(paths[1], mode="w+", dtype=np.float32, shape=(n, WIDTH))
    for start in range(0, n, CHUNK):
        rows = dice.standard_normal((min(CHUNK, n - start), WIDTH), dtype=np.float32)
        vectors[start : start + len(rows)] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    vectors.flush()
    table = np.zeros(n, dtype=ROW)
    table["offset"], table["length"] = np.arange(n) * len(line), len(line)
    table["bin"], table["kind"] = dice.integers(BINS, size=n), dice.integers(3, size=n)
    table["weight"], table["support"], table["id_rank"] = dice.integers(4, size=n), 1, dice.permutation(n)
    np.save(paths[2], table)
    names = IndexNames(bins=tuple(f"bin {number:02}" for number in range(BINS)), rubrics=n, bytes=len(line) * n)
    write_json(paths[2].with_suffix(".json"), names)
    return paths


def seconds(call: Callable[[], object], times: int) -> float:
    """Median of some calls, after one that warms the caches."""
    call()
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        call()
        taken.append(time.perf_counter() - began)
    return statistics.median(taken)


def measure(n: int, folder: Path) -> None:
    """Print the lines of one size."""
    paths = write_library(folder, n)
    times = 20 if n <= 100_000 else 5
    began = time.perf_counter()
    index = Index.open(*paths)
    opened = time.perf_counter() - began
    queries = np.random.default_rng(1).standard_normal((2, WIDTH), dtype=np.float32)
    statement, code = queries / np.linalg.norm(queries, axis=1, keepdims=True)
    bare = seconds(lambda: index.embeddings @ statement, times)
    print(f"{n:>9}  {'opening the index':24}{1000 * opened:>10.2f}{opened / bare:>11.2f}")
    print(f"{n:>9}  {'bare product':24}{1000 * bare:>10.2f}{1:>11.2f}")
    for name, (policy, split) in PLANS.items():
        took = seconds(partial(Retriever(index, 12, policy, split).retrieve, statement, code), times)
        print(f"{n:>9}  {name:24}{1000 * took:>10.2f}{took / bare:>11.2f}", flush=True)


def main(sizes: list[int]) -> None:
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}, OPENBLAS_CORETYPE={os.environ.get('OPENBLAS_CORETYPE', 'not set')}")
    print(f"{'size':>9}  {'what':24}{'ms':>10}{'x product':>11}")
    for n in sizes:
        with tempfile.TemporaryDirectory() as folder:
            measure(n, Path(folder))


if __name__ == "__main__":
    main([int(size) for size in sys.argv[1:]] or [1_000, 100_000, 1_000_000])
