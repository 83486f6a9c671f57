"""What became of rubrics: by category of failure, one rubric at a time, and where between the library and a true alarm each category is lost.

Only criteria about execution count here: rubrics about wrong results have a table of their own (judge.wrong_results).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np

from rubrics_gym.judge.columns import NO_PREDICTION, Command, Judged
from rubrics_gym.judge.rates import Rate, share
from rubrics_gym.records.base import Record
from rubrics_gym.records.rubrics import Rubric, RubricKind
from rubrics_gym.statistics.tests import benjamini_hochberg

UNSORTED = "unsorted"  # a failure or a rubric to which the classifier gave no category
Bins = Mapping[Command, str]  # command that failed -> bin of its category (and runtime type)

STAGES = ("failed", "judged", "in_library", "retrieved", "applicable", "flagged")


class CategoryLine(Record):
    """One judge by one category of failure. `recall_any`: flagged at all; `recall_exact`: by a rubric of this category; `precision_exact`: of the
    commands flagged by a rubric of this category, those that failed with it; `precision_any`: that failed at all."""

    judge: str
    library: str | None
    category: str
    failures: int
    rubrics: int
    recall_any: Rate
    recall_exact: Rate
    precision_any: Rate
    precision_exact: Rate


class StageLine(Record):
    """How many of the commands that failed with one category came so far: the judge gave a verdict → the library holds a rubric of the category →
    one was before the judge → one was called applicable → one was violated. `kept` is the share of the stage before."""

    judge: str
    library: str | None
    category: str
    stage: str
    count: int
    kept: Rate


class ConfusionCell(Record):
    """Commands that a rubric of `predicted` flagged (none: not flagged by a rubric; no_verdict: the judge gave none) and that really were `real` (none:
    they ran)."""

    judge: str
    library: str | None
    predicted: str
    real: str
    count: int


class RubricLine(Record):
    """One rubric of a library: how often it was before the judge, and how often it was right when it was violated.

    `shrunken` is the mean of its precision under a beta prior from the other rubrics of its category, `lower` the 5% point by which it is
    ranked; `lift` is precision over the prevalence; `p_adjusted` (Benjamini-Hochberg) of a one-sided binomial test against the prevalence,
    which takes commands as independent. `twin` is the rubric that shares most of its true alarms, by `twin_overlap` (Jaccard).
    """

    judge: str
    library: str | None
    rubric: str
    title: str
    kind: str
    category: str
    weight: int
    support: int  # tasks behind it
    retrieved: int
    applicable: int
    flagged: int
    tp: int
    fp: int
    exact: int  # failed with the rubric's own category
    competitions: int
    precision: Rate
    shrunken: float | None
    lower: float | None
    lift: float | None
    p_adjusted: float | None
    twin: str | None
    twin_overlap: float | None


def bin_of(rubric: Rubric) -> str:
    """The bin of a rubric's category; rubrics that were not sorted have one of their own."""
    return rubric.bin or UNSORTED


def by_category(commands: Judged, bins: Bins, confidence: float = 0.95) -> list[CategoryLine]:
    """One line per category that a failure or a rubric about execution has, by name."""
    real = _Real(commands, bins)
    alarms = _marks(commands, commands.exposures.violated)
    said = commands.prediction != NO_PREDICTION
    flagged = commands.prediction == 1
    supply = Counter(bin_of(rubric) for rubric in commands.rubrics if rubric.kind is not RubricKind.WRONG_RESULT)
    lines = []
    for category in sorted(set(real.names) | supply.keys()):
        mine, alarmed = real.is_(category) & said, alarms.get(category, np.zeros(len(commands), dtype=bool))
        none_failed, none_flagged = "no failure of this category", "no rubric of this category flagged"
        lines.append(
            CategoryLine(
                judge=commands.judge,
                library=commands.library,
                category=category,
                failures=int(real.is_(category).sum()),
                rubrics=supply[category],
                recall_any=share(commands.clusters, flagged, mine, confidence, none_failed),
                recall_exact=share(commands.clusters, alarmed, mine, confidence, none_failed),
                precision_any=share(commands.clusters, commands.failed, alarmed, confidence, none_flagged),
                precision_exact=share(commands.clusters, real.is_(category), alarmed, confidence, none_flagged),
            )
        )
    return lines


def funnel(commands: Judged, bins: Bins, confidence: float = 0.95) -> list[StageLine]:
    """Every category that failed, stage by stage; the counts are of commands that failed with it."""
    real = _Real(commands, bins)
    seen = commands.exposures
    stages = {
        "retrieved": _marks(commands, np.ones(len(seen.command), dtype=bool)),
        "applicable": _marks(commands, seen.applicable),
        "flagged": _marks(commands, seen.violated),
    }
    supply = {bin_of(rubric) for rubric in commands.rubrics if rubric.kind is not RubricKind.WRONG_RESULT}
    nothing = np.zeros(len(commands), dtype=bool)
    lines = []
    for category in sorted(real.names):
        before = reached = real.is_(category)
        for stage in STAGES:
            if stage == "judged":
                reached = before & (commands.prediction != NO_PREDICTION)
            elif stage == "in_library":
                reached = before & (category in supply)
            elif stage != "failed":
                reached = before & stages[stage].get(category, nothing)
            kept = share(commands.clusters, reached, before, confidence, "none came to the stage before")
            lines.append(
                StageLine(
                    judge=commands.judge, library=commands.library, category=category, stage=stage, count=int(reached.sum()), kept=kept
                )
            )
            before = reached
    return lines


def confusion(commands: Judged, bins: Bins) -> list[ConfusionCell]:
    """Predicted by real category, non-empty cells; a command that rubrics of several categories flagged is in each of them."""
    real = _Real(commands, bins)
    counts: dict[tuple[str, str], int] = {}
    alarmed = np.zeros(len(commands), dtype=bool)
    for category, mark in _marks(commands, commands.exposures.violated).items():
        counts |= {(category, name): count for name, count in real.counts(mark).items()}
        alarmed |= mark
    silent = commands.prediction == NO_PREDICTION
    for predicted, mark in (("none", ~alarmed & ~silent), ("no_verdict", silent)):
        counts |= {(predicted, name): count for name, count in real.counts(mark).items()}
    return [
        ConfusionCell(judge=commands.judge, library=commands.library, predicted=predicted, real=name or "none", count=count)
        for (predicted, name), count in sorted(counts.items())
    ]


def by_rubric(commands: Judged, bins: Bins, confidence: float = 0.95) -> list[RubricLine]:
    """One line per rubric about execution that was ever before the judge, the best lower end of its precision first."""
    from scipy.special import bdtrc, betaincinv

    seen, real = commands.exposures, _Real(commands, bins)
    size = len(commands.rubrics)
    true = commands.failed[seen.command] & seen.violated
    counts = {
        "retrieved": np.bincount(seen.rubric, minlength=size),
        "applicable": np.bincount(seen.rubric[seen.applicable], minlength=size),
        "flagged": np.bincount(seen.rubric[seen.violated], minlength=size),
        "tp": np.bincount(seen.rubric[true], minlength=size),
    }
    categories = [bin_of(rubric) for rubric in commands.rubrics]
    chosen = [place for place in range(size) if counts["retrieved"][place] and commands.rubrics[place].kind is not RubricKind.WRONG_RESULT]
    prevalence = float(commands.failed.mean())
    priors = _Priors(chosen, categories, counts["tp"], counts["flagged"])
    alarms = np.flatnonzero(seen.violated)
    alarms = alarms[np.argsort(seen.rubric[alarms], kind="stable")]
    rows_of = np.split(seen.command[alarms], np.cumsum(counts["flagged"])[:-1])
    by_place = {place: rows_of[place] for place in chosen if counts["flagged"][place]}
    tested = [
        float(bdtrc(counts["tp"][place] - 1, counts["flagged"][place], prevalence)) if counts["tp"][place] else 1.0 for place in by_place
    ]
    adjusted = dict(zip(by_place, benjamini_hochberg(tested), strict=True))
    twins = _twins({place: set(rows[commands.failed[rows]].tolist()) for place, rows in by_place.items()})
    lines = []
    for place in chosen:
        rubric, rows = commands.rubrics[place], by_place.get(place, np.array([], dtype=int))
        flagged, tp = int(counts["flagged"][place]), int(counts["tp"][place])
        a, b = priors.of(place)
        own = share(commands.clusters[rows], commands.failed[rows], np.ones(len(rows), dtype=bool), confidence, "never violated")
        twin, overlap = twins.get(place, (None, None))
        lines.append(
            RubricLine(
                judge=commands.judge, library=commands.library, rubric=rubric.id, title=rubric.title, kind=rubric.kind.value,
                category=categories[place], weight=rubric.weight, support=len({(one.benchmark, one.task) for one in rubric.support}),
                retrieved=int(counts["retrieved"][place]), applicable=int(counts["applicable"][place]), flagged=flagged, tp=tp, fp=flagged - tp,
                exact=real.counts(rows)[categories[place]], competitions=len(np.unique(commands.clusters[rows])), precision=own,
                shrunken=(a + tp) / (a + b + flagged) if flagged else None,
                lower=float(betaincinv(a + tp, b + flagged - tp, 0.05)) if flagged else None,
                lift=tp / flagged / prevalence if flagged and prevalence else None, p_adjusted=adjusted.get(place),
                twin=None if twin is None else commands.rubrics[twin].id, twin_overlap=overlap,
            )
        )  # fmt: skip
    return sorted(lines, key=lambda line: (line.lower is None, -(line.lower or 0.0), -line.flagged, line.rubric))


class _Real:
    """The category of every command that failed, as codes into names; -1 where it ran."""

    def __init__(self, commands: Judged, bins: Bins):
        codes: dict[str, int] = {}
        self.of = np.full(len(commands), -1)
        for row in np.flatnonzero(commands.failed):
            self.of[row] = codes.setdefault(bins.get(commands.commands[row], UNSORTED), len(codes))
        self.names = tuple(codes)

    def is_(self, name: str) -> np.ndarray:
        same: np.ndarray = self.of == (self.names.index(name) if name in self.names else -2)
        return same

    def counts(self, rows: np.ndarray) -> Counter[str]:
        """How many of some commands failed with each category; an empty name for those that ran."""
        found = np.bincount(self.of[rows] + 1, minlength=len(self.names) + 1)
        return Counter({name: int(count) for name, count in zip(("", *self.names), found, strict=True) if count})


def _marks(commands: Judged, chosen: np.ndarray) -> dict[str, np.ndarray]:
    """Category -> the commands with a chosen exposure of a rubric of it that is about execution."""
    about = [None if rubric.kind is RubricKind.WRONG_RESULT else bin_of(rubric) for rubric in commands.rubrics]
    names = sorted({name for name in about if name is not None})
    code = np.array([-1 if name is None else names.index(name) for name in about], dtype=int)
    seen = commands.exposures
    of = code[seen.rubric] if len(code) else np.zeros(0, dtype=int)
    marks = {}
    for place, name in enumerate(names):
        mark = np.zeros(len(commands), dtype=bool)
        mark[seen.command[chosen & (of == place)]] = True
        if mark.any():
            marks[name] = mark
    return marks


class _Priors:
    """A beta prior of the precision of each rubric from the others: its mean is the pooled precision of the others of its category, drawn towards that of
    all others; its weight, in observations, is their mean number of alarms, at least 2. A rubric that is the only one with alarms has a flat prior."""

    def __init__(self, chosen: list[int], categories: list[str], tp: np.ndarray, flagged: np.ndarray):
        self._categories, self._tp, self._flagged = categories, tp, flagged
        used = [place for place in chosen if flagged[place]]
        self._used = len(used)
        self._alarms, self._right = int(flagged[used].sum()), int(tp[used].sum())
        self._of_category: dict[str, tuple[int, int]] = {}
        for place in used:
            alarms, right = self._of_category.get(categories[place], (0, 0))
            self._of_category[categories[place]] = alarms + int(flagged[place]), right + int(tp[place])

    def of(self, place: int) -> tuple[float, float]:
        """The two parameters for one rubric."""
        own, right = int(self._flagged[place]), int(self._tp[place])
        others = self._used - (own > 0)
        overall = (self._right - right + 0.5) / (self._alarms - own + 1)
        weight = max(2.0, (self._alarms - own) / others) if others else 2.0
        alarms, hits = self._of_category.get(self._categories[place], (0, 0))
        mean = (hits - right + weight * overall) / (alarms - own + weight)
        return mean * weight, (1 - mean) * weight


def _twins(alarms: Mapping[int, set[int]]) -> dict[int, tuple[int, float]]:
    """For every rubric with a true alarm the other that shares most of them, by Jaccard overlap above a half."""
    at: dict[int, list[int]] = {}
    for place, rows in alarms.items():
        for row in rows:
            at.setdefault(row, []).append(place)
    shared: dict[int, Counter[int]] = {}
    for places in at.values():
        for place in places:
            shared.setdefault(place, Counter()).update(other for other in places if other != place)
    twins = {}
    for place, others in shared.items():
        if others:
            overlaps = {other: common / len(alarms[place] | alarms[other]) for other, common in others.items()}
            best = max(sorted(overlaps), key=lambda other: overlaps[other])
            if overlaps[best] > 0.5:
                twins[place] = (best, overlaps[best])
    return twins
