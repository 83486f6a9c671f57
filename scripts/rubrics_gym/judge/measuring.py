"""Precision and recall of judges against real execution, with baselines over the same commands.

A positive is a command that failed; a prediction is positive when the verdict is flagged. Competitions are the clusters of every
interval. What a denominator of zero leaves undefined is *not identified*: no number, and the reason.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

from rubrics_gym.judge.replay import ReplayedVerdict
from rubrics_gym.records.base import Record
from rubrics_gym.records.verdicts import Verdict
from rubrics_gym.statistics.intervals import Interval, mean_t, proportion, ratio

Reading = Literal["excluded", "as_clean", "as_flagged"]  # what an abstention counts as
Rows = Sequence[ReplayedVerdict]
NO_EARLIER_RUN = "no_earlier_run"


class DifferentCommands(ValueError):
    """Judges that are compared were not asked about the same commands."""


class Rate(Record):
    """An estimate with its cluster interval. `estimate` is None where the data do not identify it, and `note` says why."""

    estimate: float | None
    low: float | None
    high: float | None
    n: int  # observations in the denominator
    clusters: int
    interval: str
    note: str = ""


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
    commands: int
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
    roc_auc: Rate  # of 1 - predicted reward
    average_precision: Rate
    crash_recall: Rate  # of failures that are not time-outs
    timeout_recall: Rate
    truncated_queries: int
    cost_microdollars: int


class TypeRecall(Record):
    """How many failures of one type were flagged at all, for whatever reason."""

    judge: str
    library: str | None
    failure_type: str
    recall: Rate


def baselines(rows: Rows) -> dict[str, list[ReplayedVerdict]]:
    """Predictions that need no judge, over the same commands: always clean, always flagged, and whatever the last real run did."""

    def last_outcome(row: ReplayedVerdict) -> Verdict:
        if row.previous_failed is None:
            return Verdict(judge="last_outcome", library=None, abstained=NO_EARLIER_RUN)
        return _constant("last_outcome", row.previous_failed)

    rules: dict[str, Callable[[ReplayedVerdict], Verdict]] = {
        "always_clean": lambda _: _constant("always_clean", False),
        "always_flag": lambda _: _constant("always_flag", True),
        "last_outcome": last_outcome,
    }
    return {name: [row.model_copy(update={"verdict": rule(row)}) for row in rows] for name, rule in rules.items()}


def precision_recall(judged: Mapping[str, Rows], baselines: Iterable[str] = (), confidence: float = 0.95) -> list[Measured]:
    """The table: one line per entry of `judged` (name -> verdicts over the same commands), and two more readings where it abstained.

    `baselines` names the entries that are baselines. Raises DifferentCommands when two entries were not asked about the same commands.
    """
    _require_same_commands(judged)
    marked = set(baselines)
    table: list[Measured] = []
    for name, rows in judged.items():
        readings: tuple[Reading, ...] = ("excluded", "as_clean", "as_flagged") if _abstentions(rows) else ("excluded",)
        table += [measure(rows, reading, baseline=name in marked, confidence=confidence) for reading in readings if rows]
    return table


def measure(rows: Rows, reading: Reading = "excluded", *, baseline: bool = False, confidence: float = 0.95) -> Measured:
    """One line of the table, from the verdicts of one judge with one library. Raises ValueError when there are none."""
    if not rows:
        raise ValueError("no verdicts to measure: replay the judge over at least one episode in which code ran")
    predicted = [row for row in rows if _prediction(row, reading) is not None]
    clusters = _by_competition(rows)

    def rate(hit: Callable[[ReplayedVerdict], bool], of: Callable[[ReplayedVerdict], bool], why_not: str) -> Rate:
        return _proportion(clusters, hit, of, confidence, why_not)

    def flagged(row: ReplayedVerdict) -> bool:
        return _prediction(row, reading) is True

    def clean(row: ReplayedVerdict) -> bool:
        return _prediction(row, reading) is False

    def said(row: ReplayedVerdict) -> bool:
        return flagged(row) or clean(row)

    return Measured(
        judge=rows[0].verdict.judge,
        library=rows[0].verdict.library,
        baseline=baseline,
        reading=reading,
        commands=len(rows),
        episodes=len({row.unit for row in rows}),
        competitions=len(clusters),
        prevalence=rate(lambda row: row.failed, lambda _: True, "no commands"),
        coverage=rate(lambda row: row.verdict.flagged is not None, lambda _: True, "no commands"),
        abstentions=_abstentions(rows),
        confusion=_confusion(predicted, reading),
        precision=rate(lambda row: row.failed, flagged, "nothing was flagged"),
        recall=rate(flagged, lambda row: row.failed and said(row), "nothing failed"),
        specificity=rate(clean, lambda row: not row.failed and said(row), "everything failed"),
        npv=rate(lambda row: not row.failed, clean, "everything was flagged"),
        f1=_f1(clusters, reading, confidence),
        mcc=_jackknifed(predicted, lambda some: _mcc(_confusion(some, reading)), confidence, "only one outcome or one prediction"),
        roc_auc=_jackknifed(predicted, lambda some: _roc_auc(some, reading), confidence, "only one outcome"),
        average_precision=_jackknifed(predicted, lambda some: _average_precision(some, reading), confidence, "only one outcome"),
        crash_recall=rate(flagged, lambda row: row.failed and not row.timed_out and said(row), "nothing crashed"),
        timeout_recall=rate(flagged, lambda row: row.failed and row.timed_out and said(row), "nothing timed out"),
        truncated_queries=sum(row.verdict.query_truncated for row in rows),
        cost_microdollars=sum(row.verdict.cost_microdollars for row in rows),
    )


def recall_by_type(rows: Rows, confidence: float = 0.95) -> list[TypeRecall]:
    """Share of the failures of each type that were flagged; commands without a prediction are left out."""
    table = []
    for kind in sorted({row.failure_type for row in rows if row.failure_type}):
        of_kind = [row for row in rows if row.failure_type == kind]
        rate = _proportion(
            _by_competition(of_kind),
            lambda row: row.verdict.flagged is True,
            lambda row: row.verdict.flagged is not None,
            confidence,
            "no prediction about such a failure",
        )
        table.append(TypeRecall(judge=rows[0].verdict.judge, library=rows[0].verdict.library, failure_type=kind, recall=rate))
    return table


def flat(line: Measured | TypeRecall) -> dict[str, Any]:
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


# ---------------------------------------------------------------- predictions


def _constant(name: str, flagged: bool) -> Verdict:
    return Verdict(judge=name, library=None, predicted_reward=0.0 if flagged else 1.0, flagged=flagged)


def _prediction(row: ReplayedVerdict, reading: Reading) -> bool | None:
    """Flagged, clean, or None: no prediction."""
    if row.verdict.flagged is None and reading != "excluded":
        return reading == "as_flagged"
    return row.verdict.flagged


def _score(row: ReplayedVerdict, reading: Reading) -> float:
    """How strongly a failure is predicted, in [0, 1]: what is missing of the reward. A verdict without a reward is clean, or as it is read."""
    if row.verdict.predicted_reward is None:
        return float(bool(_prediction(row, reading)))
    return 1 - row.verdict.predicted_reward


def _abstentions(rows: Rows) -> dict[str, int]:
    return dict(sorted(Counter(row.verdict.abstained for row in rows if row.verdict.abstained).items()))


def _confusion(rows: Rows, reading: Reading) -> Confusion:
    counts = Counter((_prediction(row, reading), row.failed) for row in rows)
    return Confusion(tp=counts[True, True], fp=counts[True, False], fn=counts[False, True], tn=counts[False, False])


def _require_same_commands(judged: Mapping[str, Rows]) -> None:
    commands = {name: [(row.unit, row.step, row.index) for row in rows] for name, rows in judged.items()}
    for name, own in commands.items():
        if len(set(own)) != len(own):
            raise DifferentCommands(f"{name}: a command was judged twice; give one verdict per command")
    expected = next(iter(commands.items()), None)
    for name, own in commands.items():
        if expected is not None and set(own) != set(expected[1]):
            odd = sorted(set(own) ^ set(expected[1]))[0]
            raise DifferentCommands(
                f"{expected[0]} and {name} were not asked about the same commands ({odd[0]}, step {odd[1]}, command {odd[2]} is in one only): "
                "replay both over the same episodes"
            )


# ---------------------------------------------------------------- rates


def _by_competition(rows: Rows) -> list[list[ReplayedVerdict]]:
    groups: dict[tuple[str, str], list[ReplayedVerdict]] = {}
    for row in rows:
        groups.setdefault((row.benchmark, row.task), []).append(row)
    return [groups[key] for key in sorted(groups)]


def _rate(interval: Interval, why_not: str) -> Rate:
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


def _proportion(
    clusters: Sequence[Rows],
    hit: Callable[[ReplayedVerdict], bool],
    of: Callable[[ReplayedVerdict], bool],
    confidence: float,
    why_not: str,
) -> Rate:
    """Share of the rows in `of` that are a `hit`, by the ratio estimator over clusters (statistics.intervals.proportion)."""
    totals = [sum(of(row) for row in rows) for rows in clusters]
    hits = [sum(of(row) and hit(row) for row in rows) for rows in clusters]
    return _rate(proportion(hits, totals, confidence), why_not)


def _f1(clusters: Sequence[Rows], reading: Reading, confidence: float) -> Rate:
    """F1 = 2 TP / (2 TP + FP + FN), a ratio of cluster sums."""
    counts = [_confusion(rows, reading) for rows in clusters]
    interval = ratio(
        [2 * c.tp for c in counts], [2 * c.tp + c.fp + c.fn for c in counts], confidence, n=sum(c.tp + c.fp + c.fn for c in counts)
    )
    return _rate(interval, "nothing failed and nothing was flagged")


def _jackknifed(rows: Rows, statistic: Callable[[Rows], float | None], confidence: float, why_not: str) -> Rate:
    """A statistic of all rows, with the delete-one-cluster jackknife's standard error and a t quantile (Efron and Tibshirani 1993, 11.5).

    Where leaving out one competition leaves the statistic undefined, there is an estimate and no interval.
    """
    clusters, estimate = _by_competition(rows), statistic(rows)
    if estimate is None or len(clusters) < 2:
        note = f"not identified: {why_not}" if estimate is None else "one cluster: its spread is unknown"
        return Rate(estimate=estimate, low=None, high=None, n=len(rows), clusters=len(clusters), interval="jackknife_t", note=note)
    without = [statistic([row for other in clusters if other is not left_out for row in other]) for left_out in clusters]
    known = [value for value in without if value is not None]
    if len(known) < len(without):
        note = "no interval: without one of the competitions it is not identified"
        return Rate(estimate=estimate, low=None, high=None, n=len(rows), clusters=len(clusters), interval="jackknife_t", note=note)
    pseudo = [len(clusters) * estimate - (len(clusters) - 1) * value for value in known]
    around = mean_t(pseudo, confidence, n=len(rows))
    half = None if around.low is None or around.high is None else (around.high - around.low) / 2
    return Rate(
        estimate=estimate,
        low=None if half is None else estimate - half,
        high=None if half is None else estimate + half,
        n=len(rows),
        clusters=len(clusters),
        interval="jackknife_t",
        note=around.note,
    )


def _mcc(counts: Confusion) -> float | None:
    """Matthews correlation coefficient; None where a margin of the table is empty."""
    margins = (counts.tp + counts.fp) * (counts.tp + counts.fn) * (counts.tn + counts.fp) * (counts.tn + counts.fn)
    return None if margins == 0 else (counts.tp * counts.tn - counts.fp * counts.fn) / math.sqrt(margins)


def _roc_auc(rows: Rows, reading: Reading) -> float | None:
    """Chance that a command that failed has the higher score than one that did not; ties count half (Mann and Whitney 1947)."""
    failed = [_score(row, reading) for row in rows if row.failed]
    passed = [_score(row, reading) for row in rows if not row.failed]
    if not failed or not passed:
        return None
    below, equal = Counter(passed), 0.0
    wins = 0.0
    for score, times in Counter(failed).items():
        wins += times * sum(count for other, count in below.items() if other < score)
        equal += times * below[score]
    return (wins + equal / 2) / (len(failed) * len(passed))


def _average_precision(rows: Rows, reading: Reading) -> float | None:
    """Sum of precision times gain in recall over the distinct scores, from the highest down (as scikit-learn defines it)."""
    failures = sum(row.failed for row in rows)
    if not failures or failures == len(rows):
        return None
    total = hits = 0
    area = 0.0
    by_score = Counter((_score(row, reading), row.failed) for row in rows)
    for score in sorted({score for score, _ in by_score}, reverse=True):
        gained = by_score[score, True]
        hits += gained
        total += gained + by_score[score, False]
        area += gained / failures * hits / total
    return area
