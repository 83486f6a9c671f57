"""Merging 10,000 and 100,000 rubrics at 0.82: time, peak memory and share of the machine's matrix-product peak, beside other ways to the same answer.

    python tests/benchmarks/merging.py [SIZE ...]      sizes 10000 and 100000

Ways: ours; scikit-learn's brute-force radius search and faiss's flat range search, each followed by the same rule on the pairs that it finds.
faiss is no dependency: name a Python that has it and numpy in FAISS_PYTHON, else it is left out. Every way runs in a process of its own, whose peak is
counted above the vectors. Vectors are 384 wide, nearly random with one in ten a rewording of another: the hard case, in which nine of ten rows head a
group. The peak is that of a 4096 x 384 x 4096 product in single precision, measured in the same process. Ratios are to ours.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

WIDTH, THRESHOLD = 384, 0.82


def vectors(n: int) -> np.ndarray:
    dice = np.random.default_rng(20261129)
    made = dice.standard_normal((n, WIDTH), dtype=np.float32)
    tenth = n // 10
    made[n - tenth :] = made[:tenth] + 0.3 * dice.standard_normal((tenth, WIDTH), dtype=np.float32)
    made /= np.linalg.norm(made, axis=1, keepdims=True)
    return made


def grouped(n: int, pairs: Any) -> list[int]:
    """The rule of merging on found pairs: `pairs(row)` gives neighbours and cosines of a row. The head of every row."""
    heads = np.arange(n)
    for row in range(n):
        near, cosine = pairs(row)
        mine = [
            (value, -other) for other, value in zip(near.tolist(), cosine.tolist(), strict=True) if other < row and heads[other] == other
        ]
        if mine:
            heads[row] = -max(mine)[1]
    return heads.tolist()


def ours(rows: np.ndarray) -> list[int]:
    from rubrics_gym.libraries.merging import groups

    heads = list(range(len(rows)))
    for group in groups(rows, THRESHOLD, 1, len(rows)):
        for row in group:
            heads[row] = group[0]
    return heads


def scikit_learn(rows: np.ndarray) -> list[int]:
    """For unit rows a cosine of c is a Euclidean distance of sqrt(2 - 2 c)."""
    from sklearn.neighbors import NearestNeighbors

    search = NearestNeighbors(radius=np.sqrt(2 - 2 * THRESHOLD), algorithm="brute").fit(rows)
    distances, near = search.radius_neighbors(rows)
    return grouped(len(rows), lambda row: (near[row], 1 - distances[row] ** 2 / 2))


def faiss_flat(rows: np.ndarray) -> list[int]:
    import faiss

    index = faiss.IndexFlatIP(WIDTH)
    index.add(rows)
    limits, cosines, near = index.range_search(rows, THRESHOLD)
    return grouped(len(rows), lambda row: (near[limits[row] : limits[row + 1]], cosines[limits[row] : limits[row + 1]]))


WAYS = {"ours": ours, "scikit-learn": scikit_learn, "faiss": faiss_flat}


def gemm_peak() -> float:
    """Floating-point operations per second of the best of five products."""
    dice = np.random.default_rng(0)
    a, b = dice.random((4096, WIDTH), dtype=np.float32), dice.random((WIDTH, 4096), dtype=np.float32)
    a @ b
    best = 0.0
    for _ in range(5):
        began = time.perf_counter()
        a @ b
        best = max(best, 2 * 4096 * 4096 * WIDTH / (time.perf_counter() - began))
    return best


def memory(what: str) -> float:
    """Megabytes of this process: VmRSS now, VmHWM at the peak."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(what))
    return int(line.split()[1]) / 1024


def measure(way: str, n: int) -> dict[str, Any]:
    """One way on one size, in this process."""
    rows = vectors(n)
    peak = gemm_peak()
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
    before = memory("VmRSS")
    began, cpu = time.perf_counter(), time.process_time()
    heads = WAYS[way](rows)
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    return {"seconds": seconds, "cpu": cpu, "mb": memory("VmHWM") - before, "peak": peak, "groups": len(set(heads)), "heads": heads}


def in_process_of_its_own(way: str, n: int) -> dict[str, Any] | None:
    python = os.environ.get("FAISS_PYTHON") if way == "faiss" else sys.executable
    if python is None:
        return None
    run = subprocess.run([python, __file__, "--measure", way, str(n)], capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(run.stdout)
    return found


def main(sizes: list[int]) -> None:
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}, OPENBLAS_CORETYPE={os.environ.get('OPENBLAS_CORETYPE', 'not set')}")
    print(
        f"{'size':>8}  {'way':14}{'seconds':>9}{'ratio':>7}{'CPU s':>8}{'ratio':>7}{'peak MB':>9}{'GEMM share':>12}{'groups':>9}  same answer"
    )
    for n in sizes:
        base = None
        for way in WAYS:
            found = in_process_of_its_own(way, n)
            if found is None:
                print(f"{n:>8}  {way:14} left out: FAISS_PYTHON names no Python that has it")
                continue
            base = base or found
            share = n * n * WIDTH / found["seconds"] / found["peak"]  # the half of the pairs that has to be looked at, two operations each
            same = sum(a == b for a, b in zip(found["heads"], base["heads"], strict=True))
            print(
                f"{n:>8}  {way:14}{found['seconds']:>9.2f}{found['seconds'] / base['seconds']:>7.2f}{found['cpu']:>8.2f}{found['cpu'] / base['cpu']:>7.2f}"
                f"{found['mb']:>9.0f}{share:>12.2f}{found['groups']:>9}  {same} of {n}",
                flush=True,
            )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        print(json.dumps(measure(sys.argv[2], int(sys.argv[3]))))
    else:
        main([int(size) for size in sys.argv[1:]] or [10_000, 100_000])
