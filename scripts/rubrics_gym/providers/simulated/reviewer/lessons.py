"""What a lesson has to do with a program: the reviewer understands it by its words, and looks for the mistake and for what avoids it."""

from __future__ import annotations

import random
import re
from typing import NamedTuple


class Understanding(NamedTuple):
    """A kind of lesson: words that give it away, where it matters, how the mistake looks (None: by what is not there), what avoids it, and where in
    the task it matters at all."""

    words: str
    matters: str
    mistake: str | None
    remedy: str
    task: str = ""


PREDICTS = r"submission|predict"
UNDERSTOOD = (
    Understanding(r"probabilit", r"\.predict", None, r"predict_proba|decision_function", r"probability"),
    Understanding(
        r"without any validation|held-out check|simple baseline", r"\.fit\(", None, r"cross_val|train_test_split|Fold|Split\(|oob_score"
    ),
    Understanding(
        r"part of the data|sample of the rows|row limits",
        r"read_csv|read_table",
        r"nrows\s*=|\.sample\(|\.head\(\d\d",
        r"read_csv|read_table",
    ),
    Understanding(
        r"constant and enter|filled although|missing cells are filled", r"fillna|Imputer|isna", r"fillna\(\s*-?\d", r"fillna|Imputer"
    ),
    Understanding(r"out of order|reordered|order of (?:the )?rows", r"to_csv", r"sort_values\(|sample\(frac", r"to_csv"),
    Understanding(r"weak model|linear model where|kind of model", r"\.fit\(", None, r"Forest|Boosting|XGB|LGBM|Tree", PREDICTS),
    Understanding(
        r"small split|one random split|single split", r"split|cross_val|Fold", None, r"n_splits\s*=\s*[2-9]|cv\s*=\s*[2-9]|Repeated"
    ),
    Understanding(
        r"[Hh]yperparameter|parameters are never|without comparison", r"\.fit\(", None, r"Search\w*CV|max\(scores|param", PREDICTS
    ),
    Understanding(r"[Ss]kewed target|long-tailed", r"Regress|Ridge|Lasso", None, r"log1p|absolute_error|TransformedTarget"),
    Understanding(r"imbalance|[Rr]are class|class weights", r"Classif|LogisticRegression", None, r"class_weight|[Ss]tratif"),
    Understanding(r"[Ss]cal(?:e|ing)", r"LogisticRegression|Ridge|Lasso|KNeighbors|SV[CR]", None, r"Scaler\("),
    Understanding(r"categorical columns|numeric columns are used", r"\.fit\(", None, r"OneHot|get_dummies|Ordinal"),
    Understanding(r"boosting rounds|[Ii]terations", r"max_iter|n_estimators|n_iter", None, r"early_stopping"),
    Understanding(r"[Ss]everal models|averaging", r"\.fit\(", None, r"Voting|Stacking|np\.mean\(\[", PREDICTS),
    Understanding(r"metric", r"scor|_error|loss", None, r"scoring\s*=|make_scorer|_score\(", PREDICTS),
)
FINDINGS = ("violates", "satisfies", "not_applicable", "insufficient")


def review(text: str, error: float, dice: random.Random) -> dict[str, str]:
    """The findings of a reviewing request about its two programs. `error` is the chance, for each, of another finding than the one reached."""
    lesson, task, *programs = (_inside(name, text) for name in ("lesson", "task", "first", "second"))
    known = next((one for one in UNDERSTOOD if re.search(one.words, lesson)), None)
    found = [_finding(known, task, program) for program in programs]
    said = [dice.choice([other for other in FINDINGS if other != one]) if dice.random() < error else one for one in found]
    reason = "The lesson says nothing that the code could show." if known is None else f"Looked where it matters: {known.matters}"
    return {"reason": reason, "first": said[0], "second": said[1]}


def _inside(name: str, text: str) -> str:
    found = re.search(rf"<{name}>\n(.*?)\n</{name}>", text, re.DOTALL)
    return found[1] if found else ""


def _finding(known: Understanding | None, task: str, program: str) -> str:
    if known is None or not program.strip():
        return "insufficient"
    if not re.search(known.task, task) or not re.search(known.matters, program):
        return "not_applicable"
    wrong = re.search(known.mistake, program) is not None if known.mistake else re.search(known.remedy, program) is None
    return "violates" if wrong else "satisfies"
