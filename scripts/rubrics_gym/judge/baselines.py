"""Predictions that need no judge, over the same commands. The static checks and the task-only judge are the other two baselines."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rubrics_gym.judge.columns import CLEAN, FLAGGED, NO_PREDICTION, Exposures, Judged

NO_EARLIER_RUN = "no_earlier_run"


def baselines(commands: Judged) -> dict[str, Judged]:
    """Always clean, always flagged, and whatever the last real run of the episode did, over the commands of any judge."""
    count = len(commands)
    seen = commands.previous_failed >= 0
    return {
        "always_clean": _constant(commands, "always_clean", np.full(count, CLEAN)),
        "always_flag": _constant(commands, "always_flag", np.full(count, FLAGGED)),
        "last_outcome": replace(
            _constant(commands, "last_outcome", np.where(seen, commands.previous_failed, NO_PREDICTION)),
            abstained=np.where(seen, -1, 0),
            reasons=(NO_EARLIER_RUN,),
        ),
    }


def _constant(commands: Judged, name: str, prediction: np.ndarray) -> Judged:
    """The same commands under a rule: no library, no rubric, no cost."""
    count = len(commands)
    return replace(
        commands,
        judge=name,
        library=None,
        prediction=prediction,
        shown_flagged=prediction,
        score=np.where(prediction == NO_PREDICTION, np.nan, prediction).astype(float),
        abstained=np.full(count, -1),
        reasons=(),
        cost_microdollars=np.zeros(count, dtype=np.int64),
        truncated=np.zeros(count, dtype=bool),
        exposures=Exposures(*(np.array([], dtype=kind) for kind in (np.int32, np.int32, bool, bool))),
        rubrics=(),
        again=None,
    )
