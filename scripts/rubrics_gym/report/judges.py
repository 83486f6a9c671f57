"""Measures of the judges as rows of tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from rubrics_gym.judge.curves import CalibrationBin, CurvePoint
from rubrics_gym.judge.exposure import CategoryLine, ConfusionCell, RubricLine, StageLine
from rubrics_gym.judge.measuring import Measured, TypeRecall
from rubrics_gym.judge.pairs import JudgePair
from rubrics_gym.judge.rates import Rate
from rubrics_gym.judge.reweighting import Reweighted
from rubrics_gym.judge.wrong_results import WrongResultLine
from rubrics_gym.report.contamination import mark
from rubrics_gym.report.writing import Row
from rubrics_gym.settings.rules import MeasureJudge
from rubrics_gym.statistics.noise import NoiseShare

NO_LIBRARY = "none (task criterion alone)"
WIDE = ("prevalence", "coverage", "precision", "recall", "specificity", "npv", "mcc", "average_precision", "brier")
LONG = ("f1", "roc_auc", "brier_skill", "ece", "calibration_slope", "calibration_intercept", "first_failure", "flip")


def cells(name: str, rate: Rate, scale: float = 1.0) -> Row:
    """A rate with its interval, n, clusters, kind of interval and note, as columns of its own."""
    return {
        **interval(name, rate, scale),
        f"{name}_n": rate.n,
        f"{name}_clusters": rate.clusters,
        f"{name}_interval": rate.interval,
        f"{name}_note": rate.note,
    }


def interval(name: str, rate: Rate, scale: float = 1.0) -> Row:
    """A rate with the ends of its interval."""
    values = {name: rate.estimate, f"{name}_low": rate.low, f"{name}_high": rate.high}
    return {key: None if value is None else scale * value for key, value in values.items()}


def of_rate(rate: Rate) -> Row:
    """n, clusters, kind of interval and note of the one rate of a row."""
    return {"n": rate.n, "clusters": rate.clusters, "interval_kind": rate.interval, "note": rate.note}


def provenance(settings: MeasureJudge) -> Row:
    return {"study": settings.study, "simulated": settings.simulated}


def precision_recall_rows(table: Iterable[Measured], settings: MeasureJudge, sizes: Mapping[str, int]) -> list[Row]:
    """One row per judge or baseline, truth, and reading of its abstentions. Table `precision_recall`. n and clusters are of the commands judged."""
    rows = []
    for line in table:
        rates = {name: getattr(line, name) for name in WIDE}
        notes = [f"{name}: {rate.note}" for name, rate in rates.items() if rate.note]
        judge = settings.judges.get(line.judge)
        rows.append(
            {
                **_who(line, settings),
                "kind": _kind(line),
                "truth": line.truth,
                "reading": line.reading,
                "k": None if judge is None else judge.k if judge.library else 0,
                "rubrics": sizes.get(line.library) if line.library else None,
                "commands": line.commands,
                "abstentions": "; ".join(f"{reason}: {count}" for reason, count in line.abstentions.items()),
                **line.confusion.model_dump(),
                **{key: value for name, rate in rates.items() for key, value in cells(name, rate).items()},
                "cost_per_verdict": None if line.baseline or not line.commands else round(line.cost_microdollars / line.commands),
                "n": line.commands,
                "clusters": line.competitions,
                "interval_kind": line.precision.interval,
                "note": "; ".join(notes),
                **provenance(settings),
            }
        )
    return rows


def measure_rows(table: Iterable[Measured], settings: MeasureJudge) -> list[Row]:
    """One row per line of the table and measure that the wide one leaves out. Table `judge_measures`."""
    return [
        {
            **_who(line, settings),
            "kind": _kind(line),
            "truth": line.truth,
            "reading": line.reading,
            "measure": name,
            **interval("value", getattr(line, name)),
            **of_rate(getattr(line, name)),
            **provenance(settings),
        }
        for line in table
        for name in LONG
    ]


def type_recall_rows(table: Iterable[TypeRecall], settings: MeasureJudge) -> list[Row]:
    """One row per judge and failure type. Table `recall_by_type`."""
    return [_row(line, settings, line.recall, {"failure_type": line.failure_type, **interval("recall", line.recall)}) for line in table]


CATEGORY_RATES = ("recall_any", "recall_exact", "precision_any", "precision_exact")


def category_rows(table: Iterable[CategoryLine], settings: MeasureJudge, competitions: int) -> list[Row]:
    """One row per judge and category. Table `judge_categories`. Cells from few observations are counted and not printed."""
    rows = []
    for line in table:
        rates = {name: suppressed(getattr(line, name), settings.suppress_below, competitions) for name in CATEGORY_RATES}
        own = {
            "category": line.category,
            "failures": line.failures,
            "rubrics": line.rubrics,
            **{key: value for name, rate in rates.items() for key, value in cells(name, rate).items()},
        }
        rows.append(_row(line, settings, rates["recall_any"], own))
    return rows


def suppressed(rate: Rate, below: int, competitions: int) -> Rate:
    """The rate, or its counts alone where it has fewer than `below` observations, or comes from fewer than half as many competitions (or than
    there are)."""
    if rate.estimate is None or (rate.n >= below and rate.clusters >= min(below / 2, competitions)):
        return rate
    note = f"not printed: {rate.n} observations in {rate.clusters} competitions"
    return rate.model_copy(update={"estimate": None, "low": None, "high": None, "note": note})


def confusion_rows(table: Iterable[ConfusionCell], settings: MeasureJudge) -> list[Row]:
    """One row per non-empty cell. Table `judge_confusion`."""
    return [
        {**_who(cell, settings), "predicted": cell.predicted, "real": cell.real, "count": cell.count, **provenance(settings)}
        for cell in table
    ]


RUBRIC_COLUMNS = ("rubric", "title", "category", "kind", "weight", "support", "retrieved", "applicable", "flagged", "tp", "fp", "exact", "lift",
                  "p_adjusted", "shrunken", "lower")  # fmt: skip


def rubric_rows(table: Iterable[RubricLine], settings: MeasureJudge, competitions: int) -> list[Row]:
    """One row per judge and rubric. Table `judge_rubrics`."""
    rows = []
    for line in table:
        precision = suppressed(line.precision, settings.suppress_below, competitions)
        own = {
            **{name: getattr(line, name) for name in RUBRIC_COLUMNS},
            "twin": line.twin or "",
            "twin_overlap": line.twin_overlap,
            **interval("precision", precision),
        }
        rows.append(_row(line, settings, precision, own))
    return rows


def pair_rows(table: Iterable[JudgePair], settings: MeasureJudge) -> list[Row]:
    """One row per pair of judges and measure. Table `judge_pairs`."""
    rows = [
        {
            "first": line.first,
            "second": line.second,
            "measure": line.measure,
            "only_first": line.only_first,
            "only_second": line.only_second,
            "mcnemar_p": line.mcnemar_p,
            "difference": _points(line.difference.estimate),
            "low": _points(line.difference.low),
            "high": _points(line.difference.high),
            "p": line.p,
            "test": line.test,
            **of_rate(line.difference),
            **provenance(settings),
        }
        for line in table
    ]
    return mark(rows, _fitted(settings))


def curve_rows(points: Iterable[CurvePoint], settings: MeasureJudge) -> list[Row]:
    """One row per judge and threshold. Table `pr_curve`."""
    rows = []
    for point in points:
        rates = {**cells("precision", point.precision), **cells("recall", point.recall)}
        rows.append(_row(point, settings, point.precision, {"threshold": point.threshold, "flagged": point.flagged, **rates}))
    return rows


def calibration_rows(bins: Iterable[CalibrationBin], settings: MeasureJudge) -> list[Row]:
    """One row per judge and tenth of the score. Table `calibration`."""
    rows = []
    for one in bins:
        edges = {"from": one.low, "upto": one.high, "mean_score": one.mean_score}
        rows.append(_row(one, settings, one.observed, {**edges, **interval("observed", one.observed)}))
    return rows


def wrong_result_rows(table: Iterable[WrongResultLine], settings: MeasureJudge) -> list[Row]:
    """One row per judge and cause. Table `wrong_results`; n counts episodes."""
    rows = []
    for line in table:
        counts = {"cause": line.cause, "wrong": line.wrong, "rubrics": line.rubrics, "flagged": line.flagged}
        rates = {key: value for name in CATEGORY_RATES for key, value in cells(name, getattr(line, name)).items()}
        rows.append(_row(line, settings, line.recall_any, counts | rates) | {"n": line.episodes})
    return rows


def funnel_rows(table: Iterable[StageLine], settings: MeasureJudge) -> list[Row]:
    """One row per judge, category and stage. Table `funnel`."""
    rows = []
    for line in table:
        counts = {"category": line.category, "stage": line.stage, "count": line.count}
        rows.append(_row(line, settings, line.kept, {**counts, **interval("kept", line.kept)}))
    return rows


def reweighted_rows(table: Iterable[Reweighted], settings: MeasureJudge) -> list[Row]:
    """One row per judge and mix. Table `reweighted`."""
    rows = []
    for line in table:
        own = {
            "target": line.target,
            "by": line.by,
            "covered": line.covered,
            **cells("observed", line.observed),
            **cells("recall", line.recall),
            "bound_low": line.bound_low,
            "bound_high": line.bound_high,
            **cells("precision", line.precision),
            "effective": line.effective,
        }
        row = _row(line, settings, line.recall, own)
        rows.append(row | {"note": "; ".join(filter(None, [line.recall.note, line.note]))})
    return rows


def judge_noise_rows(shares: Mapping[str, Sequence[NoiseShare]], settings: MeasureJudge) -> list[Row]:
    """One row per judge and source of noise. Table `judge_noise`."""
    quantity = "share of an episode's commands that is flagged"
    rows = [{**noise_cells(one, judge, quantity), **provenance(settings)} for judge, found in shares.items() for one in found]
    return mark(rows, _fitted(settings))


def noise_cells(one: NoiseShare, of: str, quantity: str) -> Row:
    """One source of noise: its standard deviation and its share of the variance of full repeats, both with the jackknife's interval."""
    return {
        "source": one.source,
        "of": of,
        "quantity": quantity,
        **{
            name: None if value is None else value**0.5
            for name, value in (("sd", one.variance), ("sd_low", one.low), ("sd_high", one.high))
        },
        "share": one.share,
        "share_low": one.share_low,
        "share_high": one.share_high,
        "n": one.n,
        "clusters": one.clusters,
        "interval_kind": one.kind,
        "note": one.note,
    }


class _OfJudge(Protocol):
    """A line about one judge with one library."""

    @property
    def judge(self) -> str: ...
    @property
    def library(self) -> str | None: ...


def _row(line: _OfJudge, settings: MeasureJudge, rate: Rate, own: Row) -> Row:
    """A row about one judge: who it is, columns of the table's own, and the evidence behind its first rate."""
    return {**_who(line, settings), **own, **of_rate(rate), **provenance(settings)}


def _who(line: _OfJudge, settings: MeasureJudge) -> Row:
    """Judge and library, and whether it was fitted to held-out failures; a judge without a library says so, a baseline never has one."""
    return {
        "judge": line.judge,
        "library": line.library or (NO_LIBRARY if line.judge in settings.judges else ""),
        "contaminated": line.library in settings.contaminated,
    }


def _fitted(settings: MeasureJudge) -> set[str]:
    """The judges whose library was fitted to held-out failures."""
    return {name for name, facts in settings.judges.items() if facts.library in settings.contaminated}


def _kind(line: Measured) -> str:
    return "baseline" if line.baseline else "judge"


def _points(share: float | None) -> float | None:
    return None if share is None else 100 * max(-1.0, min(1.0, share))
