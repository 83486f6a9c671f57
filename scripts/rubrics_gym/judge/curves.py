"""Precision against recall, and what failed against the score, at every score."""

from __future__ import annotations

import numpy as np

from rubrics_gym.judge.columns import Judged
from rubrics_gym.judge.rates import Rate, share
from rubrics_gym.judge.score_measures import BINS
from rubrics_gym.judge.views import view_of
from rubrics_gym.records.base import Record


class CurvePoint(Record):
    """Precision and recall when everything with at least this score is flagged."""

    judge: str
    library: str | None
    threshold: float
    flagged: int
    precision: Rate
    recall: Rate


class CalibrationBin(Record):
    """Commands whose score lies in one tenth of [0, 1]: their mean score beside the share that failed."""

    judge: str
    library: str | None
    low: float
    high: float
    mean_score: float | None
    observed: Rate


def curve(commands: Judged, confidence: float = 0.95, most: int = 25) -> list[CurvePoint]:
    """Points of the precision-recall curve at the distinct scores, from the highest; at most `most`, evenly spaced among them."""
    view = view_of(commands, "excluded", "failed")
    scores = np.unique(np.round(view.score[view.said], 9))[::-1]
    if len(scores) > most:
        scores = scores[np.unique(np.linspace(0, len(scores) - 1, most).round().astype(int))]
    points = []
    for threshold in scores:
        above = view.said & (np.round(view.score, 9) >= threshold)
        points.append(
            CurvePoint(
                judge=commands.judge,
                library=commands.library,
                threshold=float(threshold),
                flagged=int(above.sum()),
                precision=share(commands.clusters, view.failed, above, confidence, "nothing was flagged"),
                recall=share(commands.clusters, above, view.failed & view.said, confidence, "nothing failed"),
            )
        )
    return points


def calibration(commands: Judged, confidence: float = 0.95) -> list[CalibrationBin]:
    """The calibration curve in ten equal bins of the score; empty bins are left out."""
    view = view_of(commands, "excluded", "failed")
    bins = np.minimum((np.nan_to_num(view.score) * BINS).astype(int), BINS - 1)
    table = []
    for place in range(BINS):
        inside = view.said & (bins == place)
        if inside.any():
            observed = share(commands.clusters, view.failed, inside, confidence, "no commands")
            table.append(
                CalibrationBin(
                    judge=commands.judge, library=commands.library, low=place / BINS, high=(place + 1) / BINS,
                    mean_score=float(view.score[inside].mean()), observed=observed,
                )
            )  # fmt: skip
    return table
