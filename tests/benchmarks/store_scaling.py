"""Does the store slow down as it grows? Prints times and ratios; asserts nothing.

    python tests/benchmarks/store_scaling.py [responses]

Grows a store in steps of four, with a unit of its own for every 50 requests and one long unit, and measures what one request costs (each is
three waits for the disk), what a hit costs, opening the long ledger, and reading the whole table. A ratio near 1 means that the price of one
request does not depend on how many are stored; opening and reading grow in proportion, so their price per record is what is compared.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

from rubrics_gym.models.live import Allowance, LiveClient
from rubrics_gym.models.prices import Price, PriceTable, Rates
from rubrics_gym.models.request import Message, Request, Response, Usage
from rubrics_gym.store.ledger import accounts, read_requests
from rubrics_gym.store.requests import Ledger

FREE = Rates.model_validate({"input": 0, "output": 0, "cache_read": 0, "cache_write": 0})
PRICES = PriceTable(version="benchmark", models={"simulated": (Price(since=date(2026, 1, 1), rates=FREE),)})
PER_UNIT = 50
LONG = "rollouts/long/packaged/task/0"


class Echo:
    def answer(self, request: Request) -> Response:
        return Response(text="x" * 2000, model="simulated", usage=Usage(input_tokens=500, output_tokens=500))


def request(number: int) -> Request:
    return Request(purpose="agent", model="simulated", system="s" * 1000, messages=(Message(role="user", text=f"{number} " + "m" * 4000),))


def ask(root: Path, unit: str, numbers: range) -> None:
    with Ledger(root, unit) as ledger:
        client = LiveClient(Echo, ledger, PRICES, Allowance(0))
        for number in numbers:
            client.ask(request(number))


@contextmanager
def stopwatch(times: list[float]) -> Iterator[None]:
    begun = time.perf_counter()
    yield
    times.append(time.perf_counter() - begun)


def grow(root: Path, stored: int, target: int) -> None:
    """Half of the new responses go to small units, half to the long one. `stored` and `target` are even multiples of PER_UNIT."""
    for begin in range(stored // 2, target // 2, PER_UNIT):
        ask(root, f"mine/unit{begin}", range(begin, begin + PER_UNIT))
    ask(root, LONG, range(stored // 2, target // 2))


def measure(root: Path, stored: int, target: int) -> list[float]:
    """Milliseconds per request asked and per hit, microseconds per record to open the long ledger and to read the whole table."""
    times: list[float] = []
    with stopwatch(times):
        grow(root, stored, target)
    with stopwatch(times):
        ask(root, LONG, range(100))
    with stopwatch(times):
        Ledger(root, LONG).close()
    with stopwatch(times):
        accounts(read_requests(root))
    asked, hits, opened, table = times
    return [asked / (target - stored) * 1e3, (hits - opened) / 100 * 1e3, opened / (target / 2) * 1e6, table / target * 1e6]


def main(most: int) -> None:
    print("responses   ask ms   hit ms   open us/record   table us/record   peak MB   | ratios to the first row")
    with tempfile.TemporaryDirectory() as folder:
        stored, target = 0, 4 * PER_UNIT
        first: list[float] = []
        while target <= most:
            row = measure(Path(folder), stored, target)
            first = first or row
            ratios = "  ".join(f"{now / then:.2f}" for now, then in zip(row, first, strict=True))
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(f"{target:9d} {row[0]:8.2f} {row[1]:8.2f} {row[2]:16.1f} {row[3]:17.1f} {peak:9.0f}   | {ratios}", flush=True)
            stored, target = target, target * 4


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3200)
