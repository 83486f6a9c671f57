"""Precision and recall of judges against real execution, with baselines over the same commands.

A positive is a command that failed; a prediction is positive when a criterion about execution is violated. Competitions are the clusters of
every interval. What a denominator of zero leaves undefined is *not identified*: no number, and the reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from rubrics_gym.judge.columns import NO_PREDICTION, Judged
from rubrics_gym.judge.rates import Rate, as_rate, share
from rubrics_gym.judge.score_measures import by_jackknife
from rubrics_gym.judge.views import Reading, Truth, View, view_of
from rubrics_gym.records.base import Record
from rubrics_gym.statistics.intervals import ratio


class DifferentCommands(ValueError):
    """Judges that are compared were not asked about the same commands."""


class Confusion(Record):
    """Commands by what was predicted and what came of them."""

    tp: int
    fp: int
    fn: int
    tn: int


class Measured(Record):
    """One judge with one library, over the commands of a set of `execute` episodes."""

    judge: str
    library: str | None
    baseline: bool
    reading: Reading
    truth: Truth
    commands: int
    left_out: int  # by this truth
    episodes: int
    competitions: int
    prevalence: Rate
    coverage: Rate  # share of the commands with a prediction
    abstentions: dict[str, int]  # reason -> commands
    confusion: Confusion
    precision: Rate
    recall: Rate
    specificity: Rate
    npv: Rate
    f1: Rate
    mcc: Rate
    roc_auc: Rate
    average_precision: Rate  # area under the precision-recall curve
    brier: Rate
    brier_skill: Rate  # 1 - Brier / that of always saying the prevalence
    ece: Rate  # expected calibration error, ten equal bins
    calibration_slope: Rate
    calibration_intercept: Rate
    first_failure: Rate  # episodes with a failure: flagged at or before the first
    flip: Rate  # judged twice: the prediction changed
    masked: int  # exit code 0 of a pipeline that may hide a failure: not counted as failed
    truncated_queries: int
    cost_microdollars: int


class TypeRecall(Record):
    """How many failures of one type were flagged at all, for whatever reason."""

    judge: str
    library: str | None
    failure_type: str
    recall: Rate


def precision_recall(judged: Mapping[str, Judged], baselines: Iterable[str] = (), confidence: float = 0.95) -> list[Measured]:
    """The table: one line per entry of `judged` (name -> verdicts over the same commands), two more readings where it abstained, and two more
    truths: crashes alone, and time-outs alone.

    `baselines` names the entries that are baselines. Raises DifferentCommands when two entries were not asked about the same commands.
    """
    require_same_commands(judged)
    marked = set(baselines)
    table: list[Measured] = []
    for name, one in judged.items():
        abstains = bool((one.prediction == NO_PREDICTION).any())
        readings: tuple[Reading, ...] = ("excluded", "as_clean", "as_flagged") if abstains else ("excluded",)
        table += [measure(one, reading, baseline=name in marked, confidence=confidence) for reading in readings]
        apart: tuple[Truth, ...] = ("crashed", "timed_out")
        table += [measure(one, truth=truth, baseline=name in marked, confidence=confidence) for truth in apart]
    return table


def measure(
    commands: Judged, reading: Reading = "excluded", *, truth: Truth = "failed", baseline: bool = False, confidence: float = 0.95
) -> Measured:
    """One line of the table, from the verdicts of one judge with one library."""
    view = view_of(commands, reading, truth)
    flagged, clean, failed, said = view.flagged, view.clean, view.failed, view.said

    def rate(hit: np.ndarray, of: np.ndarray, why_not: str) -> Rate:
        return share(commands.clusters, hit, of, confidence, why_not)

    everything = view.known
    return Measured(
        judge=commands.judge,
        library=commands.library,
        baseline=baseline,
        reading=reading,
        truth=truth,
        commands=int(everything.sum()),
        left_out=int((~everything).sum()),
        episodes=len(np.unique(commands.units[everything])),
        competitions=len(np.unique(commands.clusters[everything])),
        prevalence=rate(failed, everything, "no commands"),
        coverage=rate(commands.prediction != NO_PREDICTION, everything, "no commands"),
        abstentions=_abstentions(commands, everything),
        confusion=Confusion(
            tp=int((flagged & failed).sum()),
            fp=int((flagged & ~failed).sum()),
            fn=int((clean & failed).sum()),
            tn=int((clean & ~failed).sum()),
        ),
        precision=rate(failed, flagged, "nothing was flagged" if said.any() else "no prediction"),
        recall=rate(flagged, failed & said, "no prediction about a command that failed" if failed.any() else "nothing failed"),
        specificity=rate(
            clean, ~failed & said, "no prediction about a command that ran" if (everything & ~failed).any() else "everything failed"
        ),
        npv=rate(~failed, clean, "everything was flagged" if said.any() else "no prediction"),
        f1=_f1(view, confidence),
        **by_jackknife(view, confidence),
        first_failure=_first_failure(commands, view, confidence),
        flip=_flip(commands, confidence),
        masked=int(commands.masked[everything].sum()),
        truncated_queries=int(commands.truncated[everything].sum()),
        cost_microdollars=int(commands.cost_microdollars[everything].sum()),
    )


def recall_by_type(commands: Judged, confidence: float = 0.95) -> list[TypeRecall]:
    """Share of the failures of each type that were flagged; commands without a prediction are left out."""
    view = view_of(commands, "excluded", "failed")
    table = []
    for name in sorted(commands.type_names):
        of_kind = (commands.types == commands.type_names.index(name)) & view.said
        recall = share(commands.clusters, view.flagged, of_kind, confidence, "no prediction about such a failure")
        table.append(TypeRecall(judge=commands.judge, library=commands.library, failure_type=name, recall=recall))
    return table


def require_same_commands(judged: Mapping[str, Judged]) -> None:
    """Raises DifferentCommands unless all entries were asked about the same commands, each once."""
    expected: tuple[str, set[tuple[str, int, int]]] | None = None
    for name, one in judged.items():
        own = set(one.commands)
        if len(own) != len(one.commands):
            raise DifferentCommands(f"{name}: a command was judged twice; give one verdict per command")
        if expected is None:
            expected = name, own
        elif own != expected[1]:
            odd = sorted(own ^ expected[1])[0]
            raise DifferentCommands(
                f"{expected[0]} and {name} were not asked about the same commands ({odd[0]}, step {odd[1]}, command {odd[2]} is in one only): "
                "replay both over the same episodes"
            )


def _abstentions(commands: Judged, of: np.ndarray) -> dict[str, int]:
    counts = np.bincount(commands.abstained[of & (commands.abstained >= 0)], minlength=len(commands.reasons))
    return {reason: int(count) for reason, count in sorted(zip(commands.reasons, counts, strict=True)) if count}


# ---------------------------------------------------------------- rates of more than one sum


def _f1(view: View, confidence: float) -> Rate:
    """F1 = 2 TP / (2 TP + FP + FN), a ratio of cluster sums."""
    size = int(view.clusters.max()) + 1
    tp = np.bincount(view.clusters[view.flagged & view.failed], minlength=size)
    wrong = np.bincount(view.clusters[(view.flagged & ~view.failed) | (view.clean & view.failed)], minlength=size)
    interval = ratio(2 * tp, 2 * tp + wrong, confidence, n=int((tp + wrong).sum()))
    found = as_rate(interval, "nothing failed and nothing was flagged")
    ends = {name: None if value is None else min(1.0, max(0.0, value)) for name, value in (("low", found.low), ("high", found.high))}
    return found.model_copy(update=ends)


def _first_failure(commands: Judged, view: View, confidence: float) -> Rate:
    """Of the episodes in which a command failed, those in which one was flagged at or before the first that failed.

    Where none was and one of these commands has no prediction, it is not known whether it would have been: such an episode is left out.
    """
    order = np.lexsort((np.array([c[2] for c in commands.commands]), np.array([c[1] for c in commands.commands]), commands.units))
    units = commands.units[order]
    size, place = int(units.max()) + 1, np.arange(len(units))

    def first(of: np.ndarray) -> np.ndarray:
        """Place of the first such command of each episode; after all others where there is none."""
        found = np.full(size, len(units))
        np.minimum.at(found, units[of[order]], place[of[order]])
        return found

    failed, flagged, silent = first(view.failed), first(view.flagged), first(view.known & ~view.said)
    cluster = np.zeros(size, dtype=int)
    cluster[commands.units] = commands.clusters
    has_failure, hit = failed < len(units), flagged <= failed
    why_not = "no prediction about a command that failed first" if has_failure.any() else "no episode has a failure"
    return share(cluster, hit, has_failure & (hit | (silent > failed)), confidence, why_not)


def _flip(commands: Judged, confidence: float) -> Rate:
    """Of the commands that were judged twice, those whose prediction changed."""
    again = commands.again
    if again is None:
        return as_rate(ratio([], [], confidence), "no command was judged twice")
    first = dict(zip(commands.commands, zip(commands.prediction, commands.clusters, strict=True), strict=True))
    pairs = [(first[key], other) for key, other in zip(again.commands, again.prediction, strict=True)]
    clusters = np.array([cluster for (_, cluster), _ in pairs])
    changed = np.array([one != other for (one, _), other in pairs])
    return share(clusters, changed, np.ones(len(pairs), dtype=bool), confidence, "no command was judged twice")


def flat(line: Record) -> dict[str, Any]:
    """One line as plain columns: a rate `x` becomes x, x_low, x_high, x_n, x_clusters, x_interval, x_note."""
    columns: dict[str, Any] = {}
    for name, value in line.model_dump(mode="json").items():
        if isinstance(value, dict) and "estimate" in value:
            columns |= {name: value.pop("estimate")} | {f"{name}_{part}": inner for part, inner in value.items()}
        elif name == "confusion":
            columns |= value
        elif name == "abstentions":
            columns |= {"abstained": sum(value.values()), "abstentions": "; ".join(f"{reason}: {n}" for reason, n in sorted(value.items()))}
        else:
            columns[name] = value
    return columns
