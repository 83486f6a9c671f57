"""Checks of what a program hands in: the file, its columns, its answers."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from rubrics_gym.providers.simulated.judge.case import Case, Observation, Source, here
from rubrics_gym.providers.simulated.judge.following import Use, called, calls, keyword, words
from rubrics_gym.providers.simulated.judge.mistakes import Mistake
from rubrics_gym.providers.simulated.judge.reading import base


def never_written(case: Case) -> Iterator[Observation]:
    if not (case.is_hand_in and case.deliverables):
        return
    texts = {base(path) for source in case.sources for path in _written(source)}
    for name in case.deliverables:
        elsewhere = sorted(other for other in texts if other.rpartition(".")[2] == name.rpartition(".")[2])
        unknown = any(use.path is None for source in case.sources for use in source.story.writes)
        absent = name not in texts and not unknown
        yield Observation(Mistake.NEVER_WRITTEN, absent and not elsewhere, f"{name} is never written" if absent else f"{name} is written")
        yield Observation(
            Mistake.WRONG_PLACE,
            absent and bool(elsewhere),
            f"writes {', '.join(elsewhere)} instead of {name}" if absent else f"{name} is its name",
        )


def wrong_place(case: Case) -> Iterator[Observation]:
    for source in case.sources:
        for path in _written(source):
            if base(path) in case.deliverables:
                beside = "/" in path.strip("./") and not re.match(r"^(/workspace/|\./)?[^/]+$", path)
                yield Observation(
                    Mistake.WRONG_PLACE,
                    beside,
                    f"{path} is not where the task wants it" if beside else f"{path} is where the task wants it",
                )


def overwritten(case: Case) -> Iterator[Observation]:
    for source in case.sources:
        for name in case.deliverables:
            times = [path for path in _written(source) if base(path) == name]
            guarded = any(isinstance(node, ast.Try | ast.If) for node in ast.walk(source.parsed))
            if times:
                yield Observation(Mistake.OVERWRITTEN, len(times) > 1 and not guarded, f"{name} is written {len(times)} times")


def wrong_columns(case: Case) -> Iterator[Observation]:
    for source, use in _deliveries(case):
        wanted = case.headers.get(base(use.path or ""))
        made = _header(source, use)
        if wanted and made is not None:
            wrong = sorted(set(made) ^ set(wanted))
            reason = f"writes {', '.join(made)} where {', '.join(wanted)} is wanted" if wrong else f"writes {', '.join(wanted)}"
            yield Observation(Mistake.WRONG_COLUMNS, bool(wrong), reason)


def index_written(case: Case) -> Iterator[Observation]:
    for source, use in _deliveries(case):
        if use.node is None or called(use.node) != "to_csv":
            continue
        given = keyword(use.node, "index")
        kept = given is None or (isinstance(given, ast.Constant) and given.value is True)
        indexed = bool(words(source.parsed) & {"set_index", "index_label", "groupby", "pivot_table", "pivot"}) or _uses_index_col(source)
        yield Observation(
            Mistake.INDEX_WRITTEN, kept and not indexed, f"to_csv at {here(use.line, source)} keeps the index" if kept else "index=False"
        )


def no_header(case: Case) -> Iterator[Observation]:
    for source, use in _deliveries(case):
        header = keyword(use.node, "header") if use.node is not None else None
        if use.node is not None and called(use.node) == "to_csv":
            off = isinstance(header, ast.Constant) and header.value in (False, None)
            yield Observation(Mistake.NO_HEADER, off, f"header is off at {here(use.line, source)}" if off else "the header is written")


def answer_format(case: Case) -> Iterator[Observation]:
    names = list(dict.fromkeys(re.findall(r"@(\w+)\[", case.reading.statement)))
    if not (names and case.is_hand_in):
        return
    for source in case.sources:
        if not source.story.writes and not source.text.count("@"):
            continue
        literal = [name for name in names if name in source.text]
        absent = [name for name in names if name not in literal]
        framed = re.search(r"@(\{|%s|\w)", source.text) is not None and "[" in source.text
        wrong = bool(absent) or not framed
        reason = f"no {', '.join(absent)}" if absent else "no line of the form @name[value]"
        yield Observation(Mistake.ANSWER_FORMAT, wrong, reason if wrong else "every answer is named")


def not_rounded(case: Case) -> Iterator[Observation]:
    asked = re.search(r"(\d+|one|two|three|four|five) (?:decimal|digits after)", case.reading.statement, re.IGNORECASE)
    if not (asked and case.is_hand_in):
        return
    for source in case.sources:
        rounds = bool({called(node) for node in calls(source.parsed)} & {"round", "around", "format"}) or bool(
            re.search(r":[,]?\.\d[feg]|float_format|%\.\d", source.text)
        )
        yield Observation(Mistake.NOT_ROUNDED, not rounds, "nothing rounds the result" if not rounds else "the result is rounded")


def labels_for_scores(case: Case) -> Iterator[Observation]:
    statement = case.reading.statement.lower()
    ranking = re.search(r"\b(auc|roc|log[ -]?loss|cross[- ]entropy|brier|average precision|probabilit)", statement)
    labels = re.search(r"\b(accuracy|f1|kappa|matthews|exact match)\b", statement)
    if not (case.is_hand_in and bool(ranking) != bool(labels)):
        return
    for source in case.sources:
        used = {called(use.node) for use in source.story.predictions if use.node is not None}
        if not used:
            continue
        if ranking:
            wrong = not used & {"predict_proba", "decision_function"} and any(
                name.endswith("Classifier") or "Logistic" in name for name in words(source.parsed)
            )
            yield Observation(
                Mistake.LABELS_FOR_SCORES,
                wrong,
                f"predict gives labels; the metric ({ranking.group(0)}) ranks probabilities" if wrong else "it predicts scores",
            )
        elif labels:
            wrong = (
                used == {"predict_proba"}
                and not words(source.parsed) & {"argmax", "astype", "where", "round", "classes_"}
                and ">" not in source.text
            )
            yield Observation(
                Mistake.LABELS_FOR_SCORES,
                wrong,
                f"probabilities are written; the metric ({labels.group(0)}) takes labels" if wrong else "it predicts labels",
            )


CHECKS = (never_written, wrong_place, overwritten, wrong_columns, index_written, no_header, answer_format, not_rounded, labels_for_scores)


def _written(source: Source) -> list[str]:
    return [use.path for use in source.story.writes if use.path]


def _deliveries(case: Case) -> Iterator[tuple[Source, Use]]:
    """Every write of a file that the statement asks for."""
    for source in case.sources:
        for use in source.story.writes:
            if use.path and base(use.path) in case.deliverables:
                yield source, use


def _header(source: Source, use: Use) -> tuple[str, ...] | None:
    """The columns that a write makes, where they can be told: a dictionary of columns, or a frame that was followed."""
    owner = use.node.func.value if use.node is not None and isinstance(use.node.func, ast.Attribute) else None
    if isinstance(owner, ast.Name):
        made = [
            node.value
            for node in ast.walk(source.parsed)
            if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == owner.id for t in node.targets)
        ]
        owner = made[-1] if len(made) == 1 else None
        if made and _adds_columns(source, use):
            return None
    if isinstance(owner, ast.Call) and called(owner) == "DataFrame":
        given = owner.args[0] if owner.args else keyword(owner, "data")
        if isinstance(given, ast.Dict) and all(isinstance(key, ast.Constant) for key in given.keys):
            return tuple(str(key.value) for key in given.keys if isinstance(key, ast.Constant))
        return None
    frame = use.frame
    if frame is not None and frame.columns is not None and frame.table is not None and not frame.single and not source.story.predictions:
        return None
    return tuple(sorted(frame.columns)) if frame is not None and frame.columns is not None and not frame.single else None


def _adds_columns(source: Source, use: Use) -> bool:
    owner = use.node.func.value if use.node is not None and isinstance(use.node.func, ast.Attribute) else None
    return (
        any(
            isinstance(node, ast.Subscript)
            and isinstance(node.ctx, ast.Store)
            and isinstance(node.value, ast.Name)
            and isinstance(owner, ast.Name)
            and node.value.id == owner.id
            for node in ast.walk(source.parsed)
        )
        and use.frame is None
    )


def _uses_index_col(source: Source) -> bool:
    return any(keyword(node, "index_col") is not None for node in calls(source.parsed))
