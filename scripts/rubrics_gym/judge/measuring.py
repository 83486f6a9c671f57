"""Precision and recall of judges against real execution, with baselines over the same commands.

A positive is a command that failed; a prediction is positive when a criterion about execution is violated. Competitions are the clusters of
every interval. What a denominator of zero leaves undefined is *not identified*: no number, and the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from rubrics_gym.judge.columns import FLAGGED, NO_PREDICTION, Judged
from rubrics_gym.records.base import Record
from rubrics_gym.statistics.intervals import Interval, mean_t, proportion, ratio

Reading = Literal["excluded", "as_clean", "as_flagged"]  # what an abstention counts as
Truth = Literal["failed", "crashed", "timed_out"]
# crashed: a command that was stopped at its limit is censored (how it would have ended is not known) and left out; timed_out: time-outs against
# what ran, crashes left out


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
    view = _view(commands, reading, truth)
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
        precision=rate(failed, flagged, "nothing was flagged"),
        recall=rate(flagged, failed & said, "nothing failed"),
        specificity=rate(clean, ~failed & said, "everything failed"),
        npv=rate(~failed, clean, "everything was flagged"),
        f1=_f1(view, confidence),
        **_by_jackknife(view, confidence),
        first_failure=_first_failure(commands, view, confidence),
        flip=_flip(commands, confidence),
        masked=int(commands.masked[everything].sum()),
        truncated_queries=int(commands.truncated[everything].sum()),
        cost_microdollars=int(commands.cost_microdollars[everything].sum()),
    )


def recall_by_type(commands: Judged, confidence: float = 0.95) -> list[TypeRecall]:
    """Share of the failures of each type that were flagged; commands without a prediction are left out."""
    view = _view(commands, "excluded", "failed")
    table = []
    for name in sorted(commands.type_names):
        of_kind = (commands.types == commands.type_names.index(name)) & view.said
        recall = share(commands.clusters, view.flagged, of_kind, confidence, "no prediction about such a failure")
        table.append(TypeRecall(judge=commands.judge, library=commands.library, failure_type=name, recall=recall))
    return table


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


# ---------------------------------------------------------------- predictions


@dataclass(frozen=True)
class _View:
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


def _view(commands: Judged, reading: Reading, truth: Truth) -> _View:
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
    return _View(commands.clusters, known, failed, flagged & known, clean & known, score)


def _abstentions(commands: Judged, of: np.ndarray) -> dict[str, int]:
    counts = np.bincount(commands.abstained[of & (commands.abstained >= 0)], minlength=len(commands.reasons))
    return {reason: int(count) for reason, count in sorted(zip(commands.reasons, counts, strict=True)) if count}


# ---------------------------------------------------------------- rates of more than one sum


def _f1(view: _View, confidence: float) -> Rate:
    """F1 = 2 TP / (2 TP + FP + FN), a ratio of cluster sums."""
    size = int(view.clusters.max()) + 1
    tp = np.bincount(view.clusters[view.flagged & view.failed], minlength=size)
    wrong = np.bincount(view.clusters[(view.flagged & ~view.failed) | (view.clean & view.failed)], minlength=size)
    interval = ratio(2 * tp, 2 * tp + wrong, confidence, n=int((tp + wrong).sum()))
    return as_rate(interval, "nothing failed and nothing was flagged")


def _first_failure(commands: Judged, view: _View, confidence: float) -> Rate:
    """Of the episodes in which a command failed, those in which one was flagged at or before the first that failed."""
    order = np.lexsort((np.array([c[2] for c in commands.commands]), np.array([c[1] for c in commands.commands]), commands.units))
    units, failed, flagged = commands.units[order], view.failed[order], view.flagged[order]
    size = int(units.max()) + 1
    place = np.arange(len(units))
    first_failed, first_flagged = np.full(size, len(units)), np.full(size, len(units))
    np.minimum.at(first_failed, units[failed], place[failed])
    np.minimum.at(first_flagged, units[flagged], place[flagged])
    cluster = np.zeros(size, dtype=int)
    cluster[commands.units] = commands.clusters
    return share(cluster, first_flagged <= first_failed, first_failed < len(units), confidence, "no episode has a failure")


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


@dataclass(frozen=True)
class _Histogram:
    """Counts of passed and failed commands at every distinct score, shapes (scores,), scores ascending; `tp`, `fp`, `fn`, `tn` beside."""

    scores: np.ndarray
    passed: np.ndarray
    failed: np.ndarray
    cells: tuple[int, int, int, int]


Statistic = Callable[[_Histogram], float | None]
BINS = 10


def _by_jackknife(view: _View, confidence: float) -> dict[str, Rate]:
    """Measures that are no ratio of sums, each with the delete-one-cluster jackknife's standard error and a t quantile (Efron and Tibshirani
    1993, 11.5). Where leaving out one competition leaves a measure undefined, there is an estimate and no interval.

    Commands enter through counts per distinct score, so that leaving a competition out is a subtraction.
    """
    used = np.flatnonzero(view.said)
    scores, places = np.unique(np.round(view.score[used], 9), return_inverse=True)
    clusters, failed = view.clusters[used], view.failed[used]
    cells = 2 * view.flagged[used] + failed  # 0 TN, 1 FN, 2 FP, 3 TP

    def counts(rows: np.ndarray | slice) -> np.ndarray:
        """Failed per score, passed per score, cells: side by side, so that they can be subtracted at once."""
        at, bad = places[rows], failed[rows]
        parts = (
            np.bincount(at[bad], minlength=len(scores)),
            np.bincount(at[~bad], minlength=len(scores)),
            np.bincount(cells[rows], minlength=4),
        )
        return np.concatenate(parts)

    def histogram(counted: np.ndarray) -> _Histogram:
        failed_at, passed_at, cell = np.split(counted, [len(scores), 2 * len(scores)])
        return _Histogram(scores, passed_at, failed_at, (int(cell[3]), int(cell[2]), int(cell[1]), int(cell[0])))

    every = counts(slice(None))
    order = np.argsort(clusters, kind="stable")
    edges = np.flatnonzero(np.diff(clusters[order])) + 1
    members = np.split(order, edges) if len(order) else []
    whole, without = histogram(every), [histogram(every - counts(member)) for member in members]
    return {name: _jackknifed(whole, without, statistic, confidence, why_not) for name, (statistic, why_not) in STATISTICS.items()}


def _jackknifed(whole: _Histogram, without: list[_Histogram], statistic: Statistic, confidence: float, why_not: str) -> Rate:
    n, groups = int(whole.passed.sum() + whole.failed.sum()), len(without)

    def rate(estimate: float | None, half: float | None = None, note: str = "") -> Rate:
        low, high = (None, None) if half is None or estimate is None else (estimate - half, estimate + half)
        return Rate(estimate=estimate, low=low, high=high, n=n, clusters=groups, interval="jackknife_t", note=note)

    estimate = statistic(whole)
    if estimate is None:
        return rate(None, note=f"not identified: {why_not}")
    if groups < 2:
        return rate(estimate, note="one cluster: its spread is unknown")
    known = [value for value in map(statistic, without) if value is not None]
    if len(known) < groups:
        return rate(estimate, note="no interval: without one of the competitions it is not identified")
    around = mean_t([groups * estimate - (groups - 1) * value for value in known], confidence, n=n)
    half = None if around.low is None or around.high is None else (around.high - around.low) / 2
    return rate(estimate, half, around.note)


def _mcc(counts: _Histogram) -> float | None:
    """Matthews correlation coefficient; None where a margin of the table is empty."""
    tp, fp, fn, tn = counts.cells
    margins = float(tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    return None if margins == 0 else (tp * tn - fp * fn) / margins**0.5


def _roc_auc(counts: _Histogram) -> float | None:
    """Chance that a command that failed has the higher score than one that did not; ties count half (Mann and Whitney 1947)."""
    pairs = float(counts.failed.sum()) * float(counts.passed.sum())
    if pairs == 0:
        return None
    below = np.cumsum(counts.passed) - counts.passed
    return float((counts.failed * (below + counts.passed / 2)).sum()) / pairs


def _average_precision(counts: _Histogram) -> float | None:
    """Sum of precision times gain in recall over the distinct scores, from the highest down (as scikit-learn defines it)."""
    failures = counts.failed.sum()
    if failures == 0 or counts.passed.sum() == 0:
        return None
    gained, total = counts.failed[::-1], np.cumsum((counts.failed + counts.passed)[::-1])
    hits = np.cumsum(gained)
    precision = np.divide(hits, total, out=np.zeros(len(hits)), where=total > 0)
    return float((gained * precision).sum() / failures)


def _brier(counts: _Histogram) -> float | None:
    """Mean squared distance of the score from what came of it (Brier 1950)."""
    n = counts.failed.sum() + counts.passed.sum()
    if n == 0:
        return None
    return float((counts.failed * (1 - counts.scores) ** 2 + counts.passed * counts.scores**2).sum() / n)


def _brier_skill(counts: _Histogram) -> float | None:
    """1 - Brier score / that of always saying the prevalence."""
    n = counts.failed.sum() + counts.passed.sum()
    prevalence = float(counts.failed.sum()) / n if n else 0.0
    brier = _brier(counts)
    return None if brier is None or prevalence in (0.0, 1.0) else 1 - brier / (prevalence * (1 - prevalence))


def _ece(counts: _Histogram) -> float | None:
    """Expected calibration error: mean over ten equal bins, weighted by commands, of |share that failed - mean score|."""
    n = counts.failed.sum() + counts.passed.sum()
    if n == 0:
        return None
    bins = np.minimum((counts.scores * BINS).astype(int), BINS - 1)
    both = counts.failed + counts.passed
    gap = np.bincount(bins, weights=counts.failed - both * counts.scores, minlength=BINS)
    return float(np.abs(gap).sum() / n)


def _calibration(counts: _Histogram) -> tuple[float, float] | None:
    """Slope and intercept of the outcome on the score by least squares; (1, 0) is calibrated. None where the score does not vary."""
    both = (counts.failed + counts.passed).astype(float)
    n = both.sum()
    if n == 0:
        return None
    mean, prevalence = float((both * counts.scores).sum() / n), float(counts.failed.sum() / n)
    spread = float((both * (counts.scores - mean) ** 2).sum())
    if spread < 1e-12 * n:
        return None
    slope = float((counts.scores - mean) @ (counts.failed - both * prevalence)) / spread
    return slope, prevalence - slope * mean


def _part(place: int) -> Statistic:
    def part(counts: _Histogram) -> float | None:
        fitted = _calibration(counts)
        return None if fitted is None else fitted[place]

    return part


STATISTICS: dict[str, tuple[Statistic, str]] = {
    "mcc": (_mcc, "only one outcome or one prediction"),
    "roc_auc": (_roc_auc, "only one outcome"),
    "average_precision": (_average_precision, "only one outcome"),
    "brier": (_brier, "no predictions"),
    "brier_skill": (_brier_skill, "only one outcome"),
    "ece": (_ece, "no predictions"),
    "calibration_slope": (_part(0), "only one score"),
    "calibration_intercept": (_part(1), "only one score"),
}


# ---------------------------------------------------------------- curves


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
    view = _view(commands, "excluded", "failed")
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
    view = _view(commands, "excluded", "failed")
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
