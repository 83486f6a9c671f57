"""Speed of the evaluation: bootstrap of a whole study beside scipy's, and the tables of a million verdicts.

    python tests/benchmarks/evaluation.py [VERDICTS]

Prints times, ratios and peak memory; asserts nothing. The verdicts are made up as columns; reading them from JSON lines is measured apart,
on fewer, and given per verdict.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

from rubrics_gym.judge.columns import Exposures, Judged, judged
from rubrics_gym.judge.curves import calibration, curve
from rubrics_gym.judge.exposure import by_category, by_rubric, funnel
from rubrics_gym.judge.measuring import measure, recall_by_type
from rubrics_gym.judge.replay import ReplayedVerdict
from rubrics_gym.records.files import iter_records, write_json_lines
from rubrics_gym.records.rubrics import Rubric, RubricKind
from rubrics_gym.records.verdicts import Criterion, Verdict
from rubrics_gym.statistics.resampling import resampled_means

COMPETITIONS, REPEATS, ARMS, DRAWS = 22, 4, 10, 10_000
RUBRICS, EXPOSED = 500, 12


def timed(work: Callable[[], object], times: int = 5) -> float:
    """Seconds of the quickest of several runs."""
    found = []
    for _ in range(times):
        began = time.perf_counter()
        work()
        found.append(time.perf_counter() - began)
    return min(found)


def study_bootstrap() -> tuple[float, float]:
    """10,000 draws of a 22 x 4 x 10-arm study: every contrast with the first arm, ours and scipy's; seconds of each."""
    from scipy.stats import bootstrap

    outcomes = np.random.default_rng(1).binomial(1, 0.5, (COMPETITIONS, REPEATS, ARMS)).astype(float)

    def ours() -> np.ndarray:
        means = resampled_means(outcomes.mean(axis=1), DRAWS, 0)
        return np.quantile(means[:, 1:] - means[:, :1], [0.025, 0.975], axis=0)

    def theirs() -> list[object]:
        means = outcomes.mean(axis=1)
        return [
            bootstrap(
                (means[:, arm], means[:, 0]),
                lambda a, b, axis: (a - b).mean(axis=axis),
                paired=True,
                n_resamples=DRAWS,
                method="percentile",
            ).confidence_interval
            for arm in range(1, ARMS)
        ]

    return timed(ours), timed(theirs, times=2)


def made_up(count: int) -> Judged:
    """Verdicts of 75 competitions x 4 repeats; 12 of 500 rubrics before each."""
    rng = np.random.default_rng(0)
    clusters = rng.integers(0, 75, count)
    units = clusters * 4 + rng.integers(0, 4, count)
    failed = rng.random(count) < 0.3
    score = np.round(np.clip(rng.random(count) * 0.6 + 0.5 * failed * rng.random(count), 0, 1) * 12) / 12
    prediction = (score > 0.4).astype(int)
    rubrics = tuple(
        Rubric(title=f"r{n}", applies_when="", pattern=str(n), detect="", not_a_violation="", consequence="", kind=RubricKind.CRASH, category="runtime",
               runtime_type=f"t{n % 11}") for n in range(RUBRICS)
    )  # fmt: skip
    shown = np.repeat(np.arange(count, dtype=np.int32), EXPOSED)
    exposures = Exposures(shown, rng.integers(0, RUBRICS, len(shown)).astype(np.int32), rng.random(len(shown)) < 0.5, (rng.random(len(shown)) < 0.05) & (prediction[shown] == 1))  # fmt: skip
    none = np.full(count, -1)
    return Judged(
        judge="made_up", library="made_up", commands=tuple((f"episode-{unit}", step, 0) for step, unit in enumerate(units)), units=units, clusters=clusters,
        cluster_names=tuple(("b", str(n)) for n in range(75)), failed=failed, timed_out=failed & (rng.random(count) < 0.5), masked=np.zeros(count, dtype=bool),
        types=np.where(failed, rng.integers(0, 11, count), -1), type_names=tuple(f"t{n}" for n in range(11)), prediction=prediction, shown_flagged=prediction,
        score=score, abstained=none, reasons=(), previous_failed=none, cost_microdollars=np.zeros(count, dtype=int), truncated=np.zeros(count, dtype=bool),
        exposures=exposures, rubrics=rubrics,
    )  # fmt: skip


def verdict_tables(count: int) -> dict[str, float]:
    """Seconds of every table of `count` verdicts."""
    commands = made_up(count)
    bins = {
        command: f"runtime:t{code}"
        for command, code, failed in zip(commands.commands, commands.types, commands.failed, strict=True)
        if failed
    }
    tables: dict[str, Callable[[], object]] = {
        "precision and recall": lambda: measure(commands),
        "recall by type": lambda: recall_by_type(commands),
        "categories": lambda: by_category(commands, bins),
        "funnel": lambda: funnel(commands, bins),
        "rubrics": lambda: by_rubric(commands, bins),
        "curve": lambda: curve(commands),
        "calibration": lambda: calibration(commands),
    }
    return {name: timed(work, times=1) for name, work in tables.items()}


def reading(count: int = 5000) -> float:
    """Seconds per verdict from JSON lines to columns, twelve rubrics in each."""
    criteria = tuple(
        Criterion(
            rubric_id=f"r{n}",
            title="A mistake",
            text="A mistake: its pattern",
            similarity=0.5,
            applicable=True,
            violated=n == 3,
            reason="because",
        )
        for n in range(12)
    )
    rubrics = {
        f"r{n}": Rubric(title=str(n), applies_when="", pattern="", detect="", not_a_violation="", consequence="", kind=RubricKind.CRASH)
        for n in range(12)
    }
    rows = [
        ReplayedVerdict(unit="u", benchmark="b", task=f"t{n % 22}", step=n, index=0, verdict=Verdict(judge="j", library="l", criteria=criteria, flagged=True, predicted_reward=0.9),
                        failed=False, failure_type=None, timed_out=False, out_of_memory=False, masked_pipe=False, duration_s=1.0, previous_failed=None)
        for n in range(count)
    ]  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "verdicts.jsonl"
        write_json_lines(path, rows)
        return timed(lambda: judged(iter_records(path, ReplayedVerdict), rubrics), times=1) / count


def main(verdicts: int) -> None:
    ours, theirs = study_bootstrap()
    print(
        f"{DRAWS:,} draws of {COMPETITIONS} x {REPEATS} x {ARMS} arms, nine contrasts: {1000 * ours:.1f} ms; scipy.stats.bootstrap {1000 * theirs:.0f} ms ({theirs / ours:.0f} times)"
    )
    took = verdict_tables(verdicts)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"tables of {verdicts:,} verdicts with {EXPOSED} rubrics each: {sum(took.values()):.1f} s, peak {peak:.2f} GB")
    for name, seconds in took.items():
        print(f"  {name}: {seconds:.2f} s")
    each = reading()
    print(f"from JSON lines to columns: {1e6 * each:.0f} microseconds per verdict, {each * 1e6 / 60:.1f} minutes for a million")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
