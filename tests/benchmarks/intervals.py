"""Coverage and width of the intervals in the design of the study, by simulation.

    python tests/benchmarks/intervals.py [SETS]

22 competitions x 4 repeats x 2 arms. Competition difficulty is Beta distributed, the arm's effect varies over competitions, repeats
are independent given their competition; the truth is the mean effect in the population of competitions. Prints, per scenario and
interval, the share of nominal 95% intervals that hold the truth (with the Monte-Carlo standard error) and their mean width.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

from rubrics_gym.statistics.intervals import Interval, cluster_bootstrap, paired_t

COMPETITIONS, REPEATS, POPULATION = 22, 4, 400_000
SCENARIOS = {  # Beta parameters of difficulty, mean effect, its spread over competitions
    "U-shaped difficulty": (0.7, 0.5, 0.10, 0.10),
    "no effect": (0.7, 0.5, 0.0, 0.10),
    "rare outcome (8%)": (0.25, 2.9, 0.03, 0.03),
}


def independent_z(first: np.ndarray, second: np.ndarray) -> Interval:
    """What an analysis that takes all runs as independent would print."""
    a, b = first.mean(), second.mean()
    half = 1.96 * np.sqrt((a * (1 - a) + b * (1 - b)) / (COMPETITIONS * REPEATS))
    return Interval(a - b, a - b - half, a - b + half, first.size, first.size, "iid_z", 0.95)


def simulate(scenario: tuple[float, float, float, float], sets: int, rng: np.random.Generator) -> dict[str, tuple[float, float, float]]:
    """Interval kind -> coverage, mean width (share), share of sets without an interval."""
    alpha, beta, effect, spread = scenario
    base = rng.beta(alpha, beta, POPULATION)
    treated = np.clip(base + rng.normal(effect, spread, POPULATION), 0, 1)
    truth = float((treated - base).mean())
    found: dict[str, list[Interval]] = {}
    for number in range(sets):
        picks = rng.integers(0, POPULATION, COMPETITIONS)
        first = rng.binomial(REPEATS, treated[picks]) / REPEATS
        second = rng.binomial(REPEATS, base[picks]) / REPEATS
        for interval in (
            independent_z(first, second),
            paired_t(first - second),
            cluster_bootstrap(first - second, draws=1000, seed=number),
        ):
            found.setdefault(interval.kind, []).append(interval)
    table = {}
    for kind, intervals in found.items():
        known = [(i.low, i.high) for i in intervals if i.low is not None and i.high is not None]
        covered = sum(low <= truth <= high for low, high in known) / len(known)
        table[kind] = covered, float(np.mean([high - low for low, high in known])), 1 - len(known) / sets
    return table


def main(sets: int) -> None:
    started = time.perf_counter()
    rng = np.random.default_rng(20261129)
    error = 100 * np.sqrt(0.95 * 0.05 / sets)
    print(f"{COMPETITIONS} competitions x {REPEATS} repeats, {sets} sets per scenario; standard error of a coverage {error:.1f} points")
    print(f"{'scenario':24}{'interval':20}{'coverage %':>11}{'width pp':>10}{'no interval %':>15}")
    for name, scenario in SCENARIOS.items():
        for kind, (covered, width, without) in simulate(scenario, sets, rng).items():
            print(f"{name:24}{kind:20}{100 * covered:11.1f}{100 * width:10.1f}{100 * without:15.1f}")
    print(f"{time.perf_counter() - started:.1f} s")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 4000)
