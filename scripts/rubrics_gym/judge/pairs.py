"""Two judges over the same commands: where only one of them was right, and by how much a rate differs, paired by competition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rubrics_gym.judge.columns import FLAGGED, NO_PREDICTION, Judged
from rubrics_gym.judge.measuring import require_same_commands
from rubrics_gym.judge.rates import Rate, as_rate
from rubrics_gym.records.base import Record
from rubrics_gym.statistics.intervals import Interval, paired_t
from rubrics_gym.statistics.tests import mcnemar, sign_flip

OF = ("accuracy", "recall", "specificity")


class JudgePair(Record):
    """Two judges by one measure, over the commands about which both said something.

    `only_first` and `only_second` are the commands that only one of them got right; McNemar's test takes commands as independent, the paired
    difference and its sign-flip test take competitions.
    """

    first: str
    first_library: str | None
    second: str
    second_library: str | None
    measure: str
    both: int
    only_first: int
    only_second: int
    neither: int
    mcnemar_p: float | None
    difference: Rate  # mean over competitions of the difference of the two shares
    p: float | None
    test: str


def compare(
    judged: Mapping[str, Judged], pairs: Sequence[tuple[str, str]], confidence: float = 0.95, draws: int = 4000, seed: int = 0
) -> list[JudgePair]:
    """Every pair by accuracy over all commands, recall over those that failed, specificity over those that ran. Raises DifferentCommands."""
    require_same_commands({name: judged[name] for name in dict.fromkeys(name for pair in pairs for name in pair)})
    return [_compare(judged[first], judged[second], measure, confidence, draws, seed) for first, second in pairs for measure in OF]


def _compare(first: Judged, second: Judged, measure: str, confidence: float, draws: int, seed: int) -> JudgePair:
    place = {command: number for number, command in enumerate(second.commands)}
    matched = np.array([place[command] for command in first.commands])
    one, other = first.prediction, second.prediction[matched]
    of = (one != NO_PREDICTION) & (other != NO_PREDICTION)
    if measure != "accuracy":
        of &= first.failed if measure == "recall" else ~first.failed
    right_one, right_other = ((said == FLAGGED) == first.failed for said in (one, other))
    clusters = np.unique(first.clusters[of])
    differences = [
        float(right_one[of & (first.clusters == cluster)].mean() - right_other[of & (first.clusters == cluster)].mean())
        for cluster in clusters
    ]
    counts = [int((of & a & b).sum()) for a in (right_one, ~right_one) for b in (right_other, ~right_other)]
    interval: Interval = paired_t(differences, confidence, int(of.sum()), reach=(-1.0, 1.0))
    test = sign_flip(differences, draws, seed)
    return JudgePair(
        first=first.judge,
        first_library=first.library,
        second=second.judge,
        second_library=second.library,
        measure=measure,
        both=counts[0],
        only_first=counts[1],
        only_second=counts[2],
        neither=counts[3],
        mcnemar_p=mcnemar(counts[1], counts[2]).p,
        difference=as_rate(interval, "no command about which both said something"),
        p=test.p,
        test=test.kind,
    )
