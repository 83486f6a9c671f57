"""Rates of commands with intervals that take competitions as clusters.

What a denominator of zero leaves undefined is *not identified*: no number, and the reason.
"""

from __future__ import annotations

import numpy as np

from rubrics_gym.records.base import Record
from rubrics_gym.statistics.intervals import Interval, proportion


class Rate(Record):
    """An estimate with its cluster interval. `estimate` is None where the data do not identify it, and `note` says why."""

    estimate: float | None
    low: float | None
    high: float | None
    n: int  # observations in the denominator
    clusters: int
    interval: str
    note: str = ""


def share(clusters: np.ndarray, hit: np.ndarray, of: np.ndarray, confidence: float, why_not: str) -> Rate:
    """Share of the commands in `of` that are a `hit` (both boolean), by the ratio estimator over clusters (statistics.intervals.proportion)."""
    totals = np.bincount(clusters[of])
    hits = np.bincount(clusters[of & hit], minlength=len(totals))
    return as_rate(proportion(hits, totals, confidence), why_not)


def as_rate(interval: Interval, why_not: str) -> Rate:
    """An interval as a rate; without an estimate it is not identified, for the reason given."""
    note = f"not identified: {why_not}" if interval.estimate is None else interval.note
    return Rate(
        estimate=interval.estimate,
        low=interval.low,
        high=interval.high,
        n=interval.n,
        clusters=interval.clusters,
        interval=interval.kind,
        note=note,
    )
