"""How far those who sorted the failures agree, on what they differ, and what the mix would be without the errors of the classifier."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rubrics_gym.failures.labelling import Question
from rubrics_gym.failures.readers import ABSTAINED, Answers, Pair, pairs
from rubrics_gym.report.table_spec import FULL_COUNT
from rubrics_gym.report.writing import Row
from rubrics_gym.settings.rules import CompareReaders
from rubrics_gym.statistics.agreement import agreement, confusion, corrected_mix

NO_INTERVAL = "none"


def agreement_rows(readers: Sequence[Answers], settings: CompareReaders) -> list[Row]:
    """One row per question and pair of readers. Table `agreement`."""
    rows = []
    for pair in pairs(readers):
        first, second = pair.answers
        found = agreement(first, second, pair.clusters, settings.statistics.confidence, min(settings.statistics.draws, 2000), settings.seed)
        rows.append(
            {
                **_names(pair),
                "observed": found.observed.estimate,
                "observed_low": found.observed.low,
                "observed_high": found.observed.high,
                "kappa": found.kappa.estimate,
                "kappa_low": found.kappa.low,
                "kappa_high": found.kappa.high,
                "left_out": pair.left_out,
                "n": found.observed.n,
                "clusters": found.observed.clusters,
                "interval_kind": found.kappa.kind,
                "note": found.kappa.note or found.observed.note,
                "study": settings.study,
                "simulated": settings.simulated,
            }
        )
    return rows


def confusion_rows(readers: Sequence[Answers], settings: CompareReaders) -> list[Row]:
    """One row per pair of answers that occurs, of every pair of readers, the most frequent first. Table `confusion`."""
    rows = []
    for pair in pairs(readers):
        first, second = pair.answers
        names = sorted({*first} | {*second})
        table = confusion(first, second, names)
        for row, column in sorted(np.argwhere(table > 0).tolist(), key=lambda at: (-table[at[0], at[1]], at)):
            rows.append(
                {
                    **_names(pair),
                    "first_answer": names[row],
                    "second_answer": names[column],
                    "count": int(table[row, column]),
                    "same": row == column,
                    "n": len(first),
                    "clusters": len(set(pair.clusters)),
                    "interval_kind": FULL_COUNT,
                    "study": settings.study,
                    "simulated": settings.simulated,
                }
            )
    return rows


def corrected_rows(readers: Sequence[Answers], settings: CompareReaders, bins: Sequence[str]) -> list[Row]:
    """The mix of failed commands as the classifier counted it and as it would be without its errors, one row per bin that occurs.

    Errors are measured against people where there are any, else against the second classifier, who errs too: then the row says so.
    Table `corrected_mix`.
    """
    classifier = next(reader for reader in readers if reader.question is Question.CATEGORY and not reader.person)
    against = next(
        (pair for pair in pairs(readers) if classifier in (pair.first, pair.second) and pair.first.question is Question.CATEGORY), None
    )
    counted = [answer for answer in classifier.of.values() if answer != ABSTAINED]
    if against is None or not counted or not against.things:
        return []
    reference = against.second if against.first is classifier else against.first
    names = [name for name in bins if name in counted or name in reference.of.values()]
    truth, assigned = ([one.of[thing] for thing in against.things] for one in (reference, classifier))
    counts = np.array([counted.count(name) for name in names], dtype=float)
    corrected = corrected_mix(counts, confusion(truth, assigned, names))
    return [
        {
            "bin": name,
            "classifier": classifier.reader,
            "reference": reference.reader,
            "reference_kind": "person" if reference.person else "classifier",
            "count": int(counts[place]),
            "share": counts[place] / counts.sum(),
            "corrected_share": float(corrected[place]),
            "checked": len(against.things),
            "n": len(counted),
            "clusters": len(set(classifier.clusters.values())),
            "interval_kind": NO_INTERVAL,
            "note": "" if reference.person else "the reference errs too: differences show where the two disagree, not who is right",
            "study": settings.study,
            "simulated": settings.simulated,
        }
        for place, name in enumerate(names)
    ]


def _names(pair: Pair) -> Row:
    kinds = sorted("people" if reader.person else "models" for reader in (pair.first, pair.second))
    return {
        "question": pair.first.question.value,
        "first": pair.first.reader,
        "second": pair.second.reader,
        "between": " and ".join(dict.fromkeys(kinds)),
    }
