"""Coverage and width of every interval in the design of the study, by simulation.

    python tests/benchmarks/intervals.py [SETS]

22 competitions x 4 repeats x 2 arms. Competition difficulty is Beta distributed, the arm's effect varies over competitions, repeats
are independent given their competition. The truth of an interval about competitions like these is the mean effect in their population; of
one about these competitions, the mean effect over the 22 that were drawn. Prints, per scenario and interval, the share of nominal 95%
intervals that hold their truth (with the Monte-Carlo standard error), their mean width, and how many sets identify none.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

from rubrics_gym.statistics.bootstrap import bca, fixed_t, studentised, within_bootstrap
from rubrics_gym.statistics.intervals import Interval, cluster_bootstrap, paired_t

COMPETITIONS, REPEATS, POPULATION, DRAWS = 22, 4, 400_000, 1000
SCENARIOS = {  # Beta parameters of difficulty, mean effect, its spread over competitions
    "U-shaped difficulty": (0.7, 0.5, 0.10, 0.10),
    "no effect": (0.7, 0.5, 0.0, 0.10),
    "rare outcome (8%)": (0.25, 2.9, 0.03, 0.03),
}
Arms = tuple[np.ndarray, np.ndarray]  # outcomes of shape (competitions, repeats)


def independent_z(first: np.ndarray, second: np.ndarray) -> Interval:
    """What an analysis that takes all runs as independent would print."""
    a, b = first.mean(), second.mean()
    half = 1.96 * np.sqrt((a * (1 - a) + b * (1 - b)) / (COMPETITIONS * REPEATS))
    return Interval(a - b, a - b - half, a - b + half, first.size, first.size, "iid_z", 0.95)


def differences(arms: Arms) -> np.ndarray:
    return np.asarray(arms[0].mean(axis=1) - arms[1].mean(axis=1))


ABOUT_LIKE: list[Callable[[Arms, int], Interval]] = [
    lambda arms, seed: independent_z(*arms),
    lambda arms, seed: paired_t(differences(arms)),
    lambda arms, seed: cluster_bootstrap(differences(arms), draws=DRAWS, seed=seed),
    lambda arms, seed: bca(differences(arms), draws=DRAWS, seed=seed),
    lambda arms, seed: studentised(differences(arms), draws=DRAWS, seed=seed),
]
ABOUT_THESE: list[Callable[[Arms, int], Interval]] = [
    lambda arms, seed: fixed_t(*arms),
    lambda arms, seed: within_bootstrap(*arms, draws=DRAWS, seed=seed),
]


def simulate(scenario: tuple[float, float, float, float], sets: int, rng: np.random.Generator) -> dict[str, tuple[float, float, float]]:
    """Interval kind -> coverage, mean width (share), share of sets without an interval."""
    alpha, beta, effect, spread = scenario
    base = rng.beta(alpha, beta, POPULATION)
    treated = np.clip(base + rng.normal(effect, spread, POPULATION), 0, 1)
    population = float((treated - base).mean())
    held: dict[str, list[bool]] = {}
    width: dict[str, list[float]] = {}
    for number in range(sets):
        picks = rng.integers(0, POPULATION, COMPETITIONS)
        arms = tuple(rng.binomial(1, chance[picks][:, None], (COMPETITIONS, REPEATS)).astype(float) for chance in (treated, base))
        these = float((treated - base)[picks].mean())
        for truth, methods in ((population, ABOUT_LIKE), (these, ABOUT_THESE)):
            for method in methods:
                interval = method(arms, number)  # type: ignore[arg-type]
                held.setdefault(interval.kind, [])
                if interval.low is not None and interval.high is not None:
                    held[interval.kind].append(interval.low <= truth <= interval.high)
                    width.setdefault(interval.kind, []).append(interval.high - interval.low)
    return {kind: (float(np.mean(found)), float(np.mean(width[kind])), 1 - len(found) / sets) for kind, found in held.items()}


def main(sets: int) -> dict[str, dict[str, tuple[float, float, float]]]:
    started = time.perf_counter()
    rng = np.random.default_rng(20261129)
    error = 100 * np.sqrt(0.95 * 0.05 / sets)
    print(f"{COMPETITIONS} competitions x {REPEATS} repeats, {sets} sets per scenario; standard error of a coverage {error:.1f} points")
    print(f"{'scenario':24}{'interval':30}{'coverage %':>11}{'width pp':>10}{'no interval %':>15}")
    found = {}
    for name, scenario in SCENARIOS.items():
        found[name] = simulate(scenario, sets, rng)
        for kind, (covered, width, without) in found[name].items():
            print(f"{name:24}{kind:30}{100 * covered:11.1f}{100 * width:10.1f}{100 * without:15.1f}", flush=True)
    print(f"{time.perf_counter() - started:.1f} s")
    return found


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 4000)
