"""Precision and recall of a judge as they would be on another mix: its rates per class of outcome, weighted by the other mix.

The commands of `execute` episodes are those of an agent that was shown real output; where code does not run, other things fail. What a judge
flags within one class of failure is taken to be the same in both mixes (post-stratification; Holt and Smith 1979), the mix as given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from rubrics_gym.judge.columns import FLAGGED, NO_PREDICTION, Judged
from rubrics_gym.judge.exposure import UNSORTED, Bins
from rubrics_gym.judge.rates import Rate, share
from rubrics_gym.judge.sampling import jackknifed_share, shadowed, why_not_all
from rubrics_gym.records.base import Record
from rubrics_gym.records.failures import Distribution
from rubrics_gym.records.rubrics import RubricKind
from rubrics_gym.records.shadows import ShadowRun
from rubrics_gym.statistics.intervals import effective_weight

PASSED = "passed"  # the class of commands that did not fail
Statistic = Callable[[np.ndarray], float | None]  # of chosen commands, boolean of shape (commands,)


class Mix(NamedTuple):
    """Another mix of commands: class -> mass; only failures, or failures and PASSED. `unknown`: why it is not known; `note`: what limits it."""

    masses: Mapping[str, float]
    unknown: str = ""
    note: str = ""


class Reweighted(Record):
    """One judge on one other mix. Classes of the mix in which no failure was judged are not covered: `recall` is over the covered ones, and
    the bounds are what it is over all if every failure of the others were missed, or flagged."""

    judge: str
    library: str | None
    target: str
    by: str  # what the classes are
    covered: float | None  # share of the mix's failures that lies in classes with a judged failure
    observed: Rate  # recall on the judged commands' own mix
    recall: Rate
    bound_low: float | None
    bound_high: float | None
    precision: Rate  # identified where the mix says how many commands pass, and all its classes of failure were judged
    effective: float  # equally weighted failures that the weighted ones are worth
    note: str = ""  # what limits the mix


def reweighted(commands: Judged, classes: Sequence[str], target: str, by: str, mix: Mix, confidence: float = 0.95) -> Reweighted:
    """The rates of a judge on a mix. `classes` gives the class of every command (PASSED for those that did not fail).

    Raises ValueError for a mass that is negative or not finite.
    """
    if any(not 0 <= mass < float("inf") for mass in mix.masses.values()):
        raise ValueError(f"{target}: the masses of a mix are finite and not negative, got {dict(mix.masses)}")
    names = [] if mix.unknown else [name for name, mass in mix.masses.items() if name != PASSED and mass > 0]
    masses = np.array([mix.masses[name] for name in names], dtype=float)
    code_of = {name: code for code, name in enumerate(names)}
    said, flagged = commands.prediction != NO_PREDICTION, commands.prediction == FLAGGED
    of = np.array([code_of.get(name, -1) for name in classes], dtype=int)
    used = said & (of >= 0)
    passed = said & np.array([name == PASSED for name in classes], dtype=bool)
    counts = np.bincount(of[used], minlength=len(names)).astype(float)
    seen = counts > 0

    def recall(chosen: np.ndarray) -> float | None:
        judged = np.bincount(of[chosen & used], minlength=len(names))[seen]
        hits = np.bincount(of[chosen & used & flagged], minlength=len(names))[seen]
        if not seen.any() or (judged == 0).any():  # over the other classes alone it would be another quantity
            return None
        return float((masses[seen] * hits / judged).sum() / masses[seen].sum())

    def precision(chosen: np.ndarray) -> float | None:
        right, ran = recall(chosen), chosen & passed
        if right is None or not ran.any():
            return None
        true, false = masses.sum() * right, mix.masses[PASSED] * float(flagged[ran].mean())
        return float(true / (true + false)) if true + false else None

    covered = float(masses[seen].sum() / masses.sum()) if len(names) else None
    n = int(used.sum())
    why_no_recall = mix.unknown or ("" if n else "no judged command failed with a class of this mix")
    found = jackknifed_share(commands.clusters[used], _within(recall, used), n, confidence) if n else _not_identified(why_no_recall)
    both = used | passed
    why_no_precision = why_no_recall
    if not why_no_precision and PASSED not in mix.masses:
        why_no_precision = "the mix does not say how many commands pass"
    elif not why_no_precision and not seen.all():
        why_no_precision = f"{100 * (1 - (covered or 0)):.0f}% of the mix's failures are of classes that were never judged"
    found_precision = (
        _not_identified(why_no_precision)
        if why_no_precision
        else jackknifed_share(commands.clusters[both], _within(precision, both), int(both.sum()), confidence)
    )
    low = None if found.estimate is None or covered is None else covered * found.estimate
    return Reweighted(
        judge=commands.judge, library=commands.library, target=target, by=by, covered=covered,
        observed=share(commands.clusters, flagged, commands.failed & said, confidence, "nothing failed"),
        recall=found, bound_low=low, bound_high=None if low is None or covered is None else low + 1 - covered,
        precision=found_precision, effective=effective_weight((masses / np.where(seen, counts, 1))[of[used]]), note=mix.note,
    )  # fmt: skip


def failure_types(commands: Judged) -> list[str]:
    """The class of every command by the type of its failure."""
    return [
        commands.type_names[code] if failed and code >= 0 else PASSED for code, failed in zip(commands.types, commands.failed, strict=True)
    ]


def categories(commands: Judged, bins: Bins) -> list[str]:
    """The class of every command by the category of its failure."""
    return [bins.get(command, UNSORTED) if failed else PASSED for command, failed in zip(commands.commands, commands.failed, strict=True)]


def failed_commands(distribution: Distribution) -> Mix:
    """The failed commands of a distribution, by category. Causes of wrong results are left out: no command failed with them."""
    counts = {share.bin: float(share.commands) for share in distribution.shares if share.commands}
    left_out = sum(share.count - share.commands for share in distribution.shares)
    return Mix(
        counts,
        unknown="" if counts else "no command failed in this mix",
        note=f"{left_out} causes of wrong results left out: no command failed with them" if left_out else "",
    )


def shadow_mix(runs: Iterable[ShadowRun], kinds: Mapping[str, RubricKind]) -> Mix:
    """How the judged commands of an arm would have ended, by the type of failure: sums of one over the logged chance. Second runs are left out.

    Not known where a class of verdicts was never run: what it hides is in no sum. Runs that ended unknown are taken to be like the others.
    """
    verdicts = shadowed(runs, kinds)
    masses: dict[str, float] = {}
    for one in verdicts:
        if one.failed is not None:
            name = (one.failure_type or "") if one.failed else PASSED
            masses[name] = masses.get(name, 0.0) + 1 / one.probability
    unknown = sum(one.ran and one.failed is None for one in verdicts)
    note = f"{unknown} shadow runs ended unknown, taken to be like the others" if unknown else ""
    return Mix(masses, unknown=why_not_all(verdicts), note=note)


def _within(statistic: Statistic, of: np.ndarray) -> Statistic:
    """A statistic of chosen commands, as one of commands chosen among some."""
    places = np.flatnonzero(of)

    def narrowed(chosen: np.ndarray) -> float | None:
        whole = np.zeros(len(of), dtype=bool)
        whole[places[chosen]] = True
        return statistic(whole)

    return narrowed


def _not_identified(why: str) -> Rate:
    return Rate(estimate=None, low=None, high=None, n=0, clusters=0, interval="jackknife_t", note=f"not identified: {why}")
