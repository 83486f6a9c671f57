"""Does the store slow down as it grows? Prints times and ratios to the first row; asserts nothing.

    python tests/benchmarks/store_scaling.py [responses ...]     default: 1000 10000 100000

A store is filled without waiting for the disk, half in units of 50 requests, half in one long unit. Then it is measured with every wait in place: one request asked (three
waits for the disk), one hit served, a small unit and the long one opened, and the tables of requests built from all of it, with the peak memory of a process of its own.
"""

from __future__ import annotations

import contextlib
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import NamedTuple
from unittest import mock

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

from rubrics_gym.models.live import Allowance, LiveClient
from rubrics_gym.models.prices import Price, PriceTable, Rates
from rubrics_gym.models.request import Message, Request, Response, Usage
from rubrics_gym.store.ledger import read_requests
from rubrics_gym.store.requests import Ledger

FREE = Rates.model_validate({"input": 0, "output": 0, "cache_read": 0, "cache_write": 0})
PRICES = PriceTable(version="benchmark", models={"simulated": (Price(since=date(2026, 1, 1), rates=FREE),)})
PER_UNIT = 50
LONG = "rollouts/long/packaged/task/0"


class Echo:
    def answer(self, request: Request) -> Response:
        return Response(text="x" * 500, model="simulated", usage=Usage(input_tokens=500, output_tokens=500))


def request(number: int) -> Request:
    return Request(purpose="agent", model="simulated", system="s" * 200, messages=(Message(role="user", text=f"{number} " + "m" * 500),))


def ask(root: Path, unit: str, numbers: range, allowance: Allowance) -> float:
    """Seconds for some requests of one unit, without opening it."""
    with Ledger(root, unit, study="benchmark") as ledger:
        client = LiveClient(Echo, ledger, PRICES, allowance)
        begun = time.perf_counter()
        for number in numbers:
            client.ask(request(number))
        return time.perf_counter() - begun


@contextmanager
def stopwatch(times: list[float]) -> Iterator[None]:
    begun = time.perf_counter()
    yield
    times.append(time.perf_counter() - begun)


def fill(root: Path, stored: int, target: int) -> None:
    """Add responses until there are `target`; both are even multiples of PER_UNIT."""
    # no waiting for the disk, and each unit says what it has taken only when it is closed
    with mock.patch.object(os, "fsync", lambda handle: None), mock.patch.object(Ledger, "_publish", lambda self: None):
        for begin in range(stored // 2, target // 2, PER_UNIT):
            ask(root, f"mine/unit{begin}", range(begin, begin + PER_UNIT), Allowance(0))
        ask(root, LONG, range(stored // 2, target // 2), Allowance(0))


class Measured(NamedTuple):
    """What a store of some size takes."""

    responses: int
    ask_ms: float
    hit_ms: float
    open_small_ms: float
    open_long_us_per_record: float
    tables_s: float
    tables_cpu_s: float
    tables_us_per_record: float
    tables_peak_mb: float


def measure(root: Path, responses: int) -> Measured:
    capped = Allowance(0, study_requests=10**9)  # so that every request looks at what all units have taken
    asked = ask(root, f"mine/asked{responses}", range(20), capped) / 20
    hit = ask(root, LONG, range(100), capped) / 100
    times: list[float] = []
    with stopwatch(times):
        Ledger(root, "mine/unit0").close()
    with stopwatch(times):
        Ledger(root, LONG).close()
    built = subprocess.run([sys.executable, __file__, "tables", str(root)], capture_output=True, text=True, check=True).stdout.split()
    seconds, cpu_s, peak_mb = (float(word) for word in built)
    small, long = times
    return Measured(
        responses, asked * 1e3, hit * 1e3, small * 1e3, long / (responses / 2) * 1e6, seconds, cpu_s, cpu_s / responses * 1e6, peak_mb
    )


def build_tables(root: Path) -> None:
    """In a process of its own: the tables of requests, as `account_costs` builds them; prints seconds, those of the processor, and peak megabytes."""
    from rubrics_gym.report.ledger import request_rows

    begun, used = time.perf_counter(), time.process_time()
    rows = request_rows(read_requests(root), "benchmark", True)
    seconds = time.perf_counter() - begun
    assert rows[-1]["reserved"] == rows[-1]["returned"]
    print(seconds, time.process_time() - used, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def grow(sizes: list[int], folder: str | None = None) -> Iterator[Measured]:
    """Measure a store at every size on its way."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        stored = 0
        for size in sizes:
            fill(Path(place), stored, size)
            yield measure(Path(place), size)
            stored = size


def main(sizes: list[int]) -> None:
    print(
        "responses   ask ms   hit ms   open small ms   open long us/record   tables s   cpu s   cpu us/record   peak MB   | ratios to the first row"
    )
    first: Measured | None = None
    for row in grow(sizes):
        first = first or row
        ratios = "  ".join(f"{now / then:.2f}" for now, then in zip(row[1:], first[1:], strict=True))
        print(
            f"{row.responses:9d} {row.ask_ms:8.2f} {row.hit_ms:8.2f} {row.open_small_ms:15.2f} {row.open_long_us_per_record:21.1f} "
            f"{row.tables_s:10.2f} {row.tables_cpu_s:7.2f} {row.tables_us_per_record:18.1f} {row.tables_peak_mb:9.0f}   | {ratios}",
            flush=True,
        )


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        if sys.argv[1:2] == ["tables"]:
            build_tables(Path(sys.argv[2]))
        else:
            main([int(size) for size in sys.argv[1:]] or [1_000, 10_000, 100_000])
