"""Judged commands as the measures see them: what an abstention counts as, and which end of a command is the truth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from rubrics_gym.judge.columns import FLAGGED, NO_PREDICTION, Judged

Reading = Literal["excluded", "as_clean", "as_flagged"]  # what an abstention counts as
Truth = Literal["failed", "crashed", "timed_out"]
# crashed: a command that was stopped at its limit is censored (how it would have ended is not known) and left out; timed_out: time-outs against
# what ran, crashes left out


@dataclass(frozen=True)
class View:
    """The commands under one reading of abstentions and one truth, all boolean of shape (commands,) except `score`."""

    clusters: np.ndarray
    known: np.ndarray  # not left out by this truth
    failed: np.ndarray
    flagged: np.ndarray
    clean: np.ndarray
    score: np.ndarray

    @property
    def said(self) -> np.ndarray:
        either: np.ndarray = self.flagged | self.clean
        return either


def view_of(commands: Judged, reading: Reading, truth: Truth) -> View:
    """The commands as one reading and one truth see them."""
    left_out = {
        "failed": np.zeros(len(commands), dtype=bool),
        "crashed": commands.failed & commands.timed_out,
        "timed_out": commands.failed & ~commands.timed_out,
    }
    known = ~left_out[truth]
    failed = commands.failed & known
    silent = commands.prediction == NO_PREDICTION
    flagged = (commands.prediction == FLAGGED) | (silent & (reading == "as_flagged"))
    clean = ~flagged & (~silent | (reading == "as_clean"))
    score = np.where(silent, float(reading == "as_flagged"), commands.score)
    return View(commands.clusters, known, failed, flagged & known, clean & known, score)
