"""Checks of what a program hands in: the file, its columns, its answers."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator

from rubrics_gym.providers.simulated.judge.case import Case, Observation, Source, here, sought
from rubrics_gym.providers.simulated.judge.mistakes import Mistake
from rubrics_gym.providers.simulated.judge.reading import base, normal
from rubrics_gym.providers.simulated.judge.story import Use
from rubrics_gym.providers.simulated.judge.syntax import called, keyword

_MAKES_INDEX = {"set_index", "index_label", "groupby", "pivot_table", "pivot"}
_COMPUTES = {"mean", "std", "var", "median", "corr", "agg", "skew", "linregress", "polyfit", "corrcoef", "pearsonr", "predict"}


def never_written(case: Case) -> Iterator[Observation]:
    written = {base(use.path) for source in case.sources for use in source.story.writes if use.path}
    unclear = any(use.path is None for source in case.sources for use in source.story.writes)
    for name in case.deliverables if case.is_hand_in else ():
        absent = name not in written and not unclear
        instead = sorted(other for other in written if other.rpartition(".")[2] == name.rpartition(".")[2])
        yield sought(Mistake.NEVER_WRITTEN, [f"{name} is never written"] if absent and not instead else [])
        yield sought(Mistake.WRONG_PLACE, [f"writes {other} where {name} is asked for" for other in instead] if absent else [])


def wrong_place(case: Case) -> Iterator[Observation]:
    for source, use in _deliveries(case):
        path = normal(use.path or "")
        beside = path != f"/workspace/{base(path)}"
        yield sought(Mistake.WRONG_PLACE, [f"{path} ({here(use.line, source)}) is not where the task wants it"] if beside else [])


def overwritten(case: Case) -> Iterator[Observation]:
    for source in case.sources:
        branches = any(isinstance(node, ast.Try | ast.If) for node in ast.walk(source.parsed))
        times = Counter(base(use.path) for use in source.story.writes if use.path and base(use.path) in case.deliverables)
        if times:
            twice = [name for name, count in times.items() if count > 1 and not branches]
            yield sought(Mistake.OVERWRITTEN, [f"{name} is written {times[name]} times" for name in twice])


def wrong_columns(case: Case) -> Iterator[Observation]:
    for source, use in _deliveries(case):
        wanted, made = case.headers.get(base(use.path or "")), _header(use)
        if wanted and made is not None:
            wrong = made != set(wanted)
            reason = f"{', '.join(sorted(made))} where {', '.join(wanted)} is wanted ({here(use.line, source)})"
            yield sought(Mistake.WRONG_COLUMNS, [reason] if wrong else [])


def index_written(case: Case) -> Iterator[Observation]:
    for source, use in _deliveries(case):
        if use.node is not None and called(use.node) == "to_csv":
            given = keyword(use.node, "index")
            kept = given is None or (isinstance(given, ast.Constant) and given.value is True)
            wanted = "index_col" in source.text or (source.words & _MAKES_INDEX and "reset_index" not in source.words)
            yield sought(Mistake.INDEX_WRITTEN, [f"to_csv at {here(use.line, source)} keeps the index"] if kept and not wanted else [])


def no_header(case: Case) -> Iterator[Observation]:
    for source, use in _deliveries(case):
        if use.node is not None and called(use.node) == "to_csv":
            header = keyword(use.node, "header")
            off = isinstance(header, ast.Constant) and header.value in (False, None)
            yield sought(Mistake.NO_HEADER, [f"the header is off at {here(use.line, source)}"] if off else [])


def answer_format(case: Case) -> Iterator[Observation]:
    names = list(dict.fromkeys(re.findall(r"@(\w+)\[", case.reading.statement)))
    for source in case.sources:
        if names and case.is_hand_in and (source.story.writes or "@" in source.text):
            absent = [f"the answer {name} is left out" for name in names if name not in source.text]
            framed = re.search(r"@(\{|%s|\w)", source.text) and "[" in source.text
            yield sought(Mistake.ANSWER_FORMAT, absent + ([] if framed else ["no line has the form @name[value]"]))


def not_rounded(case: Case) -> Iterator[Observation]:
    asked = re.search(r"(\d+|one|two|three|four|five) (?:decimal|digits after)", case.reading.statement, re.IGNORECASE)
    for source in case.sources:
        if asked and case.is_hand_in and source.called & _COMPUTES:
            rounds = source.called & {"round", "around", "format"} or re.search(r":,?\.\d[feg]|float_format|%\.\d", source.text)
            yield sought(Mistake.NOT_ROUNDED, [] if rounds else [f"nothing rounds to the {asked.group(0)}s"])


def labels_for_scores(case: Case) -> Iterator[Observation]:
    statement = case.reading.statement.lower()
    ranking = re.search(r"\b(auc|roc|log[ -]?loss|cross[- ]entropy|brier|average precision|probabilit)", statement)
    labels = re.search(r"\b(accuracy|f1|kappa|matthews|exact match)\b", statement)
    for source in case.sources:
        used = {called(use.node) for use in source.story.predictions if use.node is not None}
        if not used or not case.is_hand_in or bool(ranking) == bool(labels):
            continue
        if ranking:
            classifies = any(name.endswith("Classifier") or "Logistic" in name for name in source.words)
            wrong = classifies and not used & {"predict_proba", "decision_function"}
            yield sought(Mistake.LABELS_FOR_SCORES, [f"predict gives labels; {ranking.group(0)} needs probabilities"] if wrong else [])
        elif labels:
            wrong = (
                used == {"predict_proba"}
                and not source.words & {"argmax", "astype", "where", "round", "classes_"}
                and ">" not in source.text
            )
            yield sought(Mistake.LABELS_FOR_SCORES, [f"probabilities are written; {labels.group(0)} needs labels"] if wrong else [])


CHECKS = (never_written, wrong_place, overwritten, wrong_columns, index_written, no_header, answer_format, not_rounded, labels_for_scores)


def _deliveries(case: Case) -> Iterator[tuple[Source, Use]]:
    """Every write of a file that the statement asks for."""
    for source in case.sources:
        for use in source.story.writes:
            if use.path and base(use.path) in case.deliverables:
                yield source, use


def _header(use: Use) -> frozenset[str] | None:
    """The columns that a write makes, where the frame was followed: made from a dictionary, or read from a table and changed."""
    return None if use.frame is None or use.frame.single else use.frame.columns
