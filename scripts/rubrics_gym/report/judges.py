"""Precision and recall of the judges as rows of tables."""

from __future__ import annotations

from collections.abc import Iterable

from rubrics_gym.judge.measuring import Measured, Rate, TypeRecall
from rubrics_gym.report.writing import Row
from rubrics_gym.settings.slices import MeasureJudge

NO_LIBRARY = "none (task criterion alone)"


def precision_recall_rows(table: Iterable[Measured], settings: MeasureJudge) -> list[Row]:
    """One row per judge or baseline and reading of its abstentions. Table `precision_recall`. n and clusters are of the commands judged;
    each rate's own denominator is a cell of the confusion."""
    rows = []
    for line in table:
        notes = [f"{name}: {rate.note}" for name, rate in _rates(line).items() if rate.note]
        rows.append(
            {
                "judge": line.judge,
                "library": line.library or ("" if line.baseline else NO_LIBRARY),
                "kind": "baseline" if line.baseline else "judge",
                "reading": line.reading,
                "commands": line.commands,
                "prevalence": line.prevalence.estimate,
                "coverage": line.coverage.estimate,
                "tp": line.confusion.tp,
                "fp": line.confusion.fp,
                "fn": line.confusion.fn,
                "tn": line.confusion.tn,
                **{key: value for name, rate in _rates(line).items() for key, value in _cells(name, rate).items()},
                "mcc": line.mcc.estimate,
                "contaminated": line.library in settings.contaminated,
                "n": line.commands,
                "clusters": line.competitions,
                "interval_kind": line.precision.interval,
                "note": "; ".join(notes),
                "study": settings.study,
                "simulated": settings.simulated,
            }
        )
    return rows


def type_recall_rows(table: Iterable[TypeRecall], settings: MeasureJudge) -> list[Row]:
    """One row per judge and failure type. Table `recall_by_type`."""
    return [
        {
            "judge": line.judge,
            "library": line.library or "",
            "failure_type": line.failure_type,
            **_cells("recall", line.recall),
            "n": line.recall.n,
            "clusters": line.recall.clusters,
            "interval_kind": line.recall.interval,
            "note": line.recall.note,
            "study": settings.study,
            "simulated": settings.simulated,
        }
        for line in table
    ]


def _rates(line: Measured) -> dict[str, Rate]:
    return {"precision": line.precision, "recall": line.recall, "npv": line.npv}


def _cells(name: str, rate: Rate) -> Row:
    return {name: rate.estimate, f"{name}_low": rate.low, f"{name}_high": rate.high}
