"""How far two readers of the same items agree, and what a mix would be without the errors of the one who counted it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rubrics_gym.statistics.intervals import NOTHING_OBSERVED, ONE_CLUSTER, Interval

KIND = "cluster_bootstrap"
NEVER_DIFFERED = "the two readers never differed: the lower bound of their agreement is the exact one for none of so many tasks"


@dataclass(frozen=True, slots=True)
class Agreement:
    """`observed` is the share of equal answers, `kappa` the same beyond chance (Cohen 1960); None where one answer is all there is."""

    observed: Interval
    kappa: Interval


def confusion(first: Sequence[str], second: Sequence[str], names: Sequence[str]) -> np.ndarray:
    """Counts of answer pairs, shape (names, names): rows the first reader's answers, columns the second's.

    Raises ValueError for readers of different numbers of items, and for an answer that is not among the names.
    """
    if len(first) != len(second):
        raise ValueError(f"{len(first)} answers of one reader, {len(second)} of the other; give both for every item")
    place = {name: number for number, name in enumerate(names)}
    unknown = sorted(({*first} | {*second}) - place.keys())
    if unknown:
        raise ValueError(f"the answer {unknown[0]!r} is none of {', '.join(names)}")
    table = np.zeros((len(names), len(names)))
    np.add.at(table, ([place[one] for one in first], [place[one] for one in second]), 1)
    return table


def cohen_kappa(table: np.ndarray) -> float | None:
    """Cohen's kappa (1960) of a table of counts: (observed - expected) / (1 - expected). None without counts, and where both readers give
    one and the same answer throughout: then nothing could have disagreed."""
    total = table.sum()
    if total == 0:
        return None
    expected = float(table.sum(axis=1) @ table.sum(axis=0)) / total**2
    return None if expected == 1 else (float(np.trace(table)) / total - expected) / (1 - expected)


def agreement(
    first: Sequence[str], second: Sequence[str], clusters: Sequence[str], confidence: float = 0.95, draws: int = 2000, seed: int = 0
) -> Agreement:
    """Observed agreement and kappa of two readers, with percentile bootstrap intervals over clusters (tasks), all items of one together."""
    names = sorted({*first} | {*second})
    whole = confusion(first, second, names)
    groups = sorted(set(clusters))
    n = len(first)
    if n == 0:
        nothing = Interval(None, None, None, 0, 0, KIND, confidence, NOTHING_OBSERVED)
        return Agreement(nothing, nothing)
    observed, kappa = float(np.trace(whole)) / n, cohen_kappa(whole)
    if len(groups) == 1:
        return Agreement(
            Interval(observed, None, None, n, 1, KIND, confidence, ONE_CLUSTER),
            Interval(kappa, None, None, n, 1, KIND, confidence, ONE_CLUSTER),
        )
    of_group = np.zeros((len(groups), len(names), len(names)))
    place, number = {name: at for at, name in enumerate(names)}, {name: at for at, name in enumerate(groups)}
    np.add.at(of_group, ([number[one] for one in clusters], [place[one] for one in first], [place[one] for one in second]), 1)
    weights = np.random.default_rng(seed).multinomial(len(groups), np.full(len(groups), 1 / len(groups)), size=draws)
    tables = np.tensordot(weights, of_group, axes=1)
    shares = [float(np.trace(table)) / table.sum() for table in tables if table.sum()]
    kappas = [value for value in map(cohen_kappa, tables) if value is not None]
    if observed == 1:  # every draw is perfect too
        least = (1 - confidence) ** (1 / len(groups))
        note = "" if kappa is not None else "one answer throughout"
        return Agreement(
            Interval(1.0, least, 1.0, n, len(groups), KIND, confidence, NEVER_DIFFERED),
            Interval(kappa, None, None, n, len(groups), KIND, confidence, note or f"interval not identified: {NEVER_DIFFERED}"),
        )
    return Agreement(
        Interval(observed, *_quantiles(shares, confidence), n, len(groups), KIND, confidence),
        Interval(
            kappa, *_quantiles(kappas, confidence), n, len(groups), KIND, confidence, "" if kappa is not None else "one answer throughout"
        ),
    )


def corrected_mix(assigned: np.ndarray, checked: np.ndarray, rounds: int = 2000) -> np.ndarray:
    """The mix that gives the `assigned` counts, shape (bins,), through the errors seen in a checked sample.

    `checked` has the true bin in rows and the assigned one in columns; every row is smoothed by half an item on its diagonal, so that a bin
    that was never checked is taken as read. Maximum likelihood by expectation maximisation (Dempster, Laird and Rubin 1977), which, unlike
    the inverse of the error matrix, gives no negative share. Returns shares. Raises ValueError when nothing was assigned.
    """
    if assigned.sum() == 0:
        raise ValueError("there is no mix to correct: nothing was assigned")
    smoothed = checked + 0.5 * np.eye(len(checked))
    errors = smoothed / smoothed.sum(axis=1, keepdims=True)
    shares = np.full(len(assigned), 1 / len(assigned))
    for _ in range(rounds):
        joint = shares[:, None] * errors
        seen = joint.sum(axis=0)
        fresh = (joint * np.where(seen > 0, assigned / np.where(seen > 0, seen, 1), 0)).sum(axis=1) / assigned.sum()
        if np.abs(fresh - shares).max() < 1e-10:
            break
        shares = fresh
    result: np.ndarray = shares / shares.sum()
    return result


def _quantiles(values: list[float], confidence: float) -> tuple[float | None, float | None]:
    if not values:
        return None, None
    tail = (1 - confidence) / 2
    low, high = np.quantile(values, [tail, 1 - tail])
    return float(low), float(high)
