"""How far two identical runs are apart, and which part of the machinery makes them so."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Spread:
    """A pooled standard deviation of identical runs with its chi-square interval, in the unit of the observations.

    `variance` is sum of squares over `freedom`; `groups` are the configurations that were run more than once, `n` their runs.
    None: nothing was run twice.
    """

    sd: float | None
    low: float | None
    high: float | None
    variance: float | None
    freedom: int
    groups: int
    n: int
    confidence: float
    kind: str = "chi_square"


def run_spread(groups: Iterable[Sequence[float]], confidence: float = 0.95) -> Spread:
    """Run-to-run standard deviation from groups of identical runs: squares about each group's mean, pooled over their degrees of freedom.

    For pairs this is sqrt(sum d^2 / (2 m)) over m pairs. Groups of one run say nothing and are left out. The interval takes runs as normal.
    """
    from scipy.special import chdtri

    repeated = [np.asarray(group, dtype=float) for group in groups if len(group) > 1]
    freedom = sum(len(group) - 1 for group in repeated)
    n = sum(len(group) for group in repeated)
    if freedom == 0:
        return Spread(None, None, None, None, 0, 0, 0, confidence)
    squares = sum(float(((group - group.mean()) ** 2).sum()) for group in repeated)
    tail = (1 - confidence) / 2
    low, high = (math.sqrt(squares / float(chdtri(freedom, level))) for level in (tail, 1 - tail))
    return Spread(math.sqrt(squares / freedom), low, high, squares / freedom, freedom, len(repeated), n, confidence)


@dataclass(frozen=True, slots=True)
class NoiseShare:
    """What one source contributes to the variance of full repeats. `share` in [0, 1]; None where it is not identified, and `note` says why."""

    source: str
    variance: float | None
    share: float | None
    spread: Spread | None
    note: str = ""


def noise_shares(full: Iterable[Sequence[float]], parts: Mapping[str, Iterable[Sequence[float]]], rest: str = "agent") -> list[NoiseShare]:
    """Shares of the variance of full repeats: one per part that was repeated alone (the judge over one trajectory, the final run of one
    program), and the rest. All observations are of the same quantity.

    The parts are taken as independent of one another, so their variances add up to that of the whole with the rest. Estimates that come
    out above the whole are cut to it and said to be.
    """
    whole = run_spread(full)
    shares = []
    left = whole.variance
    for source, groups in parts.items():
        own = run_spread(groups)
        if own.variance is None or whole.variance is None:
            left = None
            shares.append(
                NoiseShare(
                    source, own.variance, None, own, "not identified: " + ("never" if own.variance is None else "whole never") + " repeated"
                )
            )
            continue
        left = None if left is None else left - own.variance
        note = "more than the whole: cut to it" if own.variance > whole.variance else ""
        shares.append(NoiseShare(source, own.variance, _share(own.variance, whole.variance), own, note))
    note = "not identified: a part or the whole was never repeated" if left is None else "below nothing: cut to 0" if left < 0 else ""
    remainder = None if left is None or whole.variance is None else _share(max(0.0, left), whole.variance)
    shares.append(NoiseShare(rest, None if left is None else max(0.0, left), remainder, None, note))
    shares.append(NoiseShare("full repeats", whole.variance, 1.0 if whole.variance else None, whole, _whole_note(whole)))
    return shares


def _share(part: float, whole: float) -> float | None:
    return None if whole == 0 else min(1.0, part / whole)


def _whole_note(whole: Spread) -> str:
    if whole.variance is None:
        return "not identified: never repeated"
    return "" if whole.variance else "repeats are all equal"
