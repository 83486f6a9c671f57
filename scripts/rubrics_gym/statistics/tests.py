"""Significance tests for paired differences, paired binary outcomes and families of tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rubrics_gym.statistics.intervals import all_equal

EXACT_UP_TO = 20  # non-zero differences: 2^20 sign patterns fit in 8 MB and take milliseconds


@dataclass(frozen=True, slots=True)
class TestResult:
    """A two-sided p value; None when there is nothing to test. `n` counts the units tested, `kind` names the method."""

    p: float | None
    n: int
    kind: str
    __test__ = False  # not a test of pytest's


def sign_flip(differences: ArrayLike, draws: int = 4000, seed: int = 0) -> TestResult:
    """Test that paired differences, shape (clusters,), are symmetric about 0, by flipping their signs (Fisher's randomisation test).

    Exact over all 2^m sign patterns of the m non-zero differences up to m = 20, else (1 + hits) / (1 + draws) over seeded draws
    (Phipson and Smyth 2010). The smallest p of an exact test is 2 / 2^m: with 5 clusters nothing can be below 0.0625.
    """
    values = np.asarray(differences, dtype=float)
    if values.ndim != 1 or not np.isfinite(values).all():
        raise ValueError("sign_flip: expected one finite difference per cluster")
    if len(values) == 0:
        return TestResult(None, 0, "sign_flip_exact")
    moving = values[values != 0]
    observed = abs(moving.sum())
    threshold = observed - 1e-9 * np.abs(moving).sum()  # patterns that tie with the observed one count as extreme
    if len(moving) <= EXACT_UP_TO:
        sums = np.zeros(1)
        for value in moving:
            sums = np.concatenate([sums + value, sums - value])
        return TestResult(float((np.abs(sums) >= threshold).mean()), len(values), "sign_flip_exact")
    rng = np.random.default_rng(seed)
    hits = 0
    for start in range(0, draws, 4096):  # in blocks, so that memory does not grow with the number of draws
        signs = rng.choice([-1.0, 1.0], size=(min(4096, draws - start), len(moving)))
        hits += int((np.abs(signs @ moving) >= threshold).sum())
    return TestResult((1 + hits) / (1 + draws), len(values), "sign_flip_monte_carlo")


def mcnemar(only_first: int, only_second: int) -> TestResult:
    """Exact McNemar test of two binary outcomes of the same units, from the counts of units where only one of the two is true.

    Units must be matched (commands judged under two libraries are; repeats of two arms are not).
    """
    from scipy.special import bdtr

    discordant = only_first + only_second
    if discordant == 0:
        return TestResult(None, 0, "mcnemar_exact")
    tail = float(bdtr(min(only_first, only_second), discordant, 0.5))
    return TestResult(min(1.0, 2 * tail), discordant, "mcnemar_exact")


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's step-down adjusted p values (Holm 1979), in the order given. A None is no test and does not count in the family."""
    tested = sorted((p, index) for index, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    running = 0.0
    for rank, (p, index) in enumerate(tested):
        running = max(running, min(1.0, (len(tested) - rank) * p))
        adjusted[index] = running
    return adjusted


def paired_t_test(differences: ArrayLike, shift: float = 0.0) -> TestResult:
    """Student's t test that the mean of paired differences, shape (clusters,), is `shift`; two-sided, clusters - 1 degrees of freedom."""
    from scipy.special import stdtr

    statistic, groups = _t_statistic(differences, shift)
    if statistic is None:
        return TestResult(None, groups, "paired_t_test")
    return TestResult(2 * float(stdtr(groups - 1, -abs(statistic))), groups, "paired_t_test")


@dataclass(frozen=True, slots=True)
class NonInferiority:
    """Whether the first arm is worse than the second by less than `margin` (in the unit of the differences, positive).

    `p` is of the one-sided test of "worse by the margin or more"; `shown` when p <= (1 - confidence) / 2, which is when the lower end of
    the two-sided interval lies above -margin. None: the data do not identify it. Not shown is not the same as inferior.
    """

    margin: float
    p: float | None
    shown: bool | None
    clusters: int


def non_inferiority(differences: ArrayLike, margin: float, confidence: float = 0.95) -> NonInferiority:
    """One-sided t test of the mean of paired differences, shape (clusters,), against -margin. The margin is fixed before the data are seen."""
    from scipy.special import stdtr

    if margin <= 0:
        raise ValueError(f"a non-inferiority margin is a positive difference, got {margin}")
    statistic, groups = _t_statistic(differences, -margin)
    if statistic is None:
        return NonInferiority(margin, None, None, groups)
    p = float(stdtr(groups - 1, -statistic))
    return NonInferiority(margin, p, p <= (1 - confidence) / 2, groups)


def _t_statistic(differences: ArrayLike, shift: float) -> tuple[float | None, int]:
    values = np.asarray(differences, dtype=float)
    if len(values) < 2 or all_equal(values):
        return None, len(values)
    return float((values.mean() - shift) / (values.std(ddof=1) / np.sqrt(len(values)))), len(values)


def fixed_sequence(p_values: Sequence[float | None]) -> list[float | None]:
    """p values of hypotheses tested in a declared order, each only if all before it were rejected: the running maximum.

    Keeps the family's error without a correction, because the order is fixed beforehand (Maurer, Hothorn and Lehmacher 1995).
    A None ends the sequence: what follows it is not tested.
    """
    adjusted: list[float | None] = []
    running: float | None = 0.0
    for p in p_values:
        running = None if running is None or p is None else max(running, p)
        adjusted.append(running)
    return adjusted


def benjamini_hochberg(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjusted p values that control the false discovery rate (Benjamini and Hochberg 1995), in the order given; None is no test."""
    tested = sorted(((p, index) for index, p in enumerate(p_values) if p is not None), reverse=True)
    adjusted: list[float | None] = [None] * len(p_values)
    running = 1.0
    for place, (p, index) in enumerate(tested):
        running = min(running, p * len(tested) / (len(tested) - place))
        adjusted[index] = running
    return adjusted
