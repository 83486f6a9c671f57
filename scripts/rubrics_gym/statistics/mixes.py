"""Intervals of shares and of distances between mixes, when the failures of one task are alike: tasks are resampled, not failures.

Counts are arrays of shape (tasks, bins). Draws are multinomial weights of the tasks, so that a draw costs one matrix product.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rubrics_gym.statistics.intervals import NO_SPREAD, NOTHING_OBSERVED, ONE_CLUSTER, Interval, all_equal

KIND = "cluster_bootstrap"
SHIFTED = "shifted_cluster_bootstrap"
ALL_ALIKE = "no task shows a difference: the upper bound is the exact one for none of so many tasks"
NO_FAILURE_ELSEWHERE = "all failures of this bin in one task: the interval is that of this task being drawn or not"


def counts_of(tasks: Sequence[Mapping[str, int]], bins: Sequence[str]) -> np.ndarray:
    """Counts per task, shape (tasks, bins)."""
    return np.array([[task.get(name, 0) for name in bins] for task in tasks], dtype=float).reshape(len(tasks), len(bins))


def share_intervals(counts: np.ndarray, confidence: float = 0.95, draws: int = 4000, seed: int = 0) -> list[Interval]:
    """Percentile cluster bootstrap of every bin's share of all failures; one interval per bin. The same seed gives the same intervals.

    A bin without a failure gets the upper bound 1 - (1 - confidence)^(1/tasks): the share of tasks beyond which at least one of these
    tasks would have shown it (the exact bound for 0 of n independent observations); one with all failures gets its mirror image. A share that is
    the same in all tasks has no interval.
    """
    total, tasks = counts.sum(), len(counts)
    if total == 0:
        return [Interval(None, None, None, 0, tasks, KIND, confidence, NOTHING_OBSERVED) for _ in range(counts.shape[1])]
    estimates = counts.sum(axis=0) / total
    if tasks == 1:
        return [Interval(float(share), None, None, int(total), 1, KIND, confidence, ONE_CLUSTER) for share in estimates]
    drawn = _shares(counts, draws, np.random.default_rng(seed))
    tail = (1 - confidence) / 2
    lows, highs = np.quantile(drawn, [tail, 1 - tail], axis=0)
    intervals = []
    for place, share in enumerate(estimates):
        low, high, note = float(lows[place]), float(highs[place]), ""
        if share == 0:
            low, high = 0.0, 1 - (1 - confidence) ** (1 / tasks)
        elif share == 1:
            low, high = (1 - confidence) ** (1 / tasks), 1.0
        elif all_equal(drawn[:, place]):
            intervals.append(Interval(float(share), None, None, int(total), tasks, KIND, confidence, NO_SPREAD))
            continue
        elif np.count_nonzero(counts[:, place]) == 1:
            note = NO_FAILURE_ELSEWHERE
        intervals.append(Interval(float(share), low, high, int(total), tasks, KIND, confidence, note))
    return intervals


def distance_interval(
    first: np.ndarray, second: np.ndarray, confidence: float = 0.95, draws: int = 4000, seed: int = 0
) -> tuple[Interval, float | None]:
    """Total variation (0-100) of two mixes over the same bins, its interval, and its noise floor.

    Both mixes are resampled by tasks, independently. A resampled distance is on average too large by what sampling adds (its plug-in bias),
    so its quantiles are shifted by the bootstrap's own estimate of that (mean of the resampled distances minus the estimate; Efron and Tibshirani
    1993, chapter 10) and cut to [0, 100]; it reaches down to 0 where two samples of one mix may be as far apart. The noise floor is the mean distance of two
    samples of these sizes that are drawn by tasks from both together, so of two mixes that do not differ.
    """
    n, tasks = int(first.sum() + second.sum()), len(first) + len(second)
    if first.sum() == 0 or second.sum() == 0:
        return Interval(None, None, None, n, tasks, SHIFTED, confidence, NOTHING_OBSERVED), None
    estimate = float(_distance(first.sum(axis=0) / first.sum(), second.sum(axis=0) / second.sum()))
    random = np.random.default_rng(seed)
    both = np.concatenate([first, second])
    alike = _distance(_shares(both, draws, random, len(first)), _shares(both, draws, random, len(second)))
    floor = float(alike.mean())
    if len(first) == 1 or len(second) == 1:
        return Interval(estimate, None, None, n, tasks, SHIFTED, confidence, ONE_CLUSTER), floor
    drawn = _distance(_shares(first, draws, random), _shares(second, draws, random))
    tail = (1 - confidence) / 2
    if all_equal(drawn):
        return Interval(estimate, None, None, n, tasks, SHIFTED, confidence, NO_SPREAD), floor
    low, high = np.quantile(drawn, [tail, 1 - tail]) - (drawn.mean() - estimate)
    if estimate <= np.quantile(alike, 1 - tail):  # no farther apart than samples of one mix may be
        low = 0.0
    return (
        Interval(estimate, float(max(0.0, low)), float(min(100.0, max(high, 0.0))), n, tasks, SHIFTED, confidence),
        floor,
    )


def distance_to_truth(
    first: np.ndarray, second: np.ndarray, confidence: float = 0.95, draws: int = 4000, seed: int = 0
) -> tuple[Interval, float]:
    """Total variation of two readings of the same things in the same tasks (rows are tasks of both), which are resampled together.

    The noise floor is the mean distance of the first reading from a sample of its own tasks. Raises ValueError when nothing was read.
    """
    if first.sum() == 0 or second.sum() == 0:
        raise ValueError("a distance needs failures in both readings")
    estimate = float(_distance(first.sum(axis=0) / first.sum(), second.sum(axis=0) / second.sum()))
    kept = [_weighted(counts, draws, seed) for counts in (first, second)]
    drawn = _distance(*kept)
    floor = float(_distance(kept[0], first.sum(axis=0) / first.sum()).mean())
    n, tasks, kind = int(first.sum()), len(first), "cluster_bootstrap_paired"
    if tasks == 1:
        return Interval(estimate, None, None, n, 1, kind, confidence, ONE_CLUSTER), floor
    if estimate == 0 and np.array_equal(first, second):
        most = 100 * (1 - (1 - confidence) ** (1 / tasks))
        return Interval(0.0, 0.0, most, n, tasks, kind, confidence, ALL_ALIKE), floor
    tail = (1 - confidence) / 2
    low, high = np.quantile(drawn, [tail, 1 - tail])
    return Interval(estimate, float(low), float(high), n, tasks, kind, confidence), floor


def _weighted(counts: np.ndarray, draws: int, seed: int) -> np.ndarray:
    return _shares(counts, draws, np.random.default_rng(seed))


def _shares(counts: np.ndarray, draws: int, random: np.random.Generator, size: int | None = None) -> np.ndarray:
    """Shares of the bins in samples of `size` tasks (default: as many as there are), shape (draws, bins). A sample without a failure is
    taken for the whole: it says nothing of the mix."""
    tasks = len(counts)
    weights = random.multinomial(tasks if size is None else size, np.full(tasks, 1 / tasks), size=draws)
    drawn = weights @ counts
    totals = drawn.sum(axis=1, keepdims=True)
    whole = counts.sum(axis=0) / counts.sum()
    shares: np.ndarray = np.where(totals > 0, drawn / np.where(totals > 0, totals, 1), whole)
    return shares


def _distance(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    distances: np.ndarray = 50 * np.abs(first - second).sum(axis=-1)
    return distances
