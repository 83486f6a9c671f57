"""Grades submissions to one MLE-bench competition with upstream's own grading function.

Request (JSON on stdin): `competition`, `upstream` (folder that holds the package `mlebench`), `answers`, `sample` and `gold` (paths; null where there
is none), and `submission` (a path), or null for the self-test of the grader. Answer (JSON on stdout): see `grade` and `self_test`.

    PYTHONPATH=scripts .venv-grading/bin/python -m rubrics_gym.grading.outside.worker < request.json

What upstream does is described in its `mlebench/grade.py` and `grade_helpers.py` (github.com/openai/mle-bench): a table is read with
`float_precision="round_trip"`, an empty file is an empty table, answers are CSV or JSON lines, and the score is rounded to five decimals.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any, TextIO

import pandas as pd

from rubrics_gym.grading.outside.canonical import Defect, Shape, canonical, shape_of

PROTOCOL = "rubrics-gym/mlebench-grading/1"
PACKAGES = ("pandas", "numpy", "scikit-learn", "scipy")
DECIMALS = 5
MESSAGE = 2000  # characters of a message that are kept

Result = dict[str, Any]
GradeFunction = Callable[[Any, Any], float]


def main(request: dict[str, Any]) -> dict[str, Any]:
    """Answer one request. Whatever goes wrong with the grader itself is `status: error`, never a word about the submission."""
    answer: dict[str, Any] = {"protocol": PROTOCOL, "packages": _versions()}
    try:
        grader = Grader(request)
    except Exception as error:
        return {**answer, "status": "error", "reason": _message(error), "traceback": traceback.format_exc()}
    found = self_test(grader) if request["submission"] is None else grade(grader, request["submission"])
    return {**answer, "status": "graded", **found}


class Grader:
    """Upstream's function for one competition, its answers, and the shape of a submission (None without a sample submission)."""

    def __init__(self, request: dict[str, Any]):
        sys.path.insert(0, request["upstream"])
        name = request["competition"]
        self.function: GradeFunction = importlib.import_module(f"mlebench.competitions.{name}.grade").grade
        self.invalid: type[Exception] = importlib.import_module("mlebench.grade_helpers").InvalidSubmissionError
        self._answers = request["answers"]
        self.answers = self.read_answers()
        self.sample = read_table(request["sample"]) if request["sample"] else None
        self.gold = read_table(request["gold"]) if request["gold"] else None
        self.shape: Shape | None = shape_of(self.sample, self.answers) if self.sample is not None else None

    def read_answers(self) -> Any:
        """The answers, read afresh: a grading function may change what it is given."""
        if self._answers.endswith(".jsonl"):
            with open(self._answers, encoding="utf-8") as lines:
                return [json.loads(line) for line in lines if line.strip()]
        return read_table(self._answers)

    def ask(self, submission: Any) -> Result:
        """What upstream's function says about a table: scored, invalid (it says so) or crashed (it stopped in some other way)."""
        try:
            score = float(self.function(submission.copy(), self.read_answers()))
        except self.invalid as error:
            return {"status": "invalid", "score": None, "reason": _message(error)}
        except Exception as error:
            return {"status": "crashed", "score": None, "reason": _message(error), "traceback": traceback.format_exc()}
        if score != score or score in (float("inf"), float("-inf")):
            return {"status": "crashed", "score": None, "reason": f"the grader's score is {score}"}
        return {"status": "scored", "score": round(score, DECIMALS), "reason": ""}

    def is_sound(self) -> bool:
        """Whether the function gets through the reference answers or the sample submission at all."""
        return any(table is not None and self.ask(table)["status"] != "crashed" for table in (self.gold, self.sample))


def grade(grader: Grader, path: str) -> dict[str, Any]:
    """`official`: upstream's function on the submission as it is. `corrected`: the same function on its canonical form.

    Each is {status, score, reason}; status is scored, invalid, or error. A function that stops is the submission's doing only when something is
    visibly wrong with the submission and the function gets through a table that is right; else it is an error of the grader.
    """
    try:
        submission = read_table(path)
    except (pd.errors.ParserError, UnicodeDecodeError) as error:
        unreadable = {"status": "invalid", "score": None, "reason": f"not readable as CSV: {_message(error)}"}
        return {"official": unreadable, "corrected": unreadable}
    official = grader.ask(submission)
    form, defect = _canonical_form(grader, submission)
    corrected = {"status": "invalid", "score": None, "reason": defect} if defect else grader.ask(form)
    if "crashed" in (official["status"], corrected["status"]):
        blame = defect if defect and grader.is_sound() else ""
        official, corrected = _settled(official, blame), _settled(corrected, blame)
    return {"official": official, "corrected": corrected}


def self_test(grader: Grader) -> dict[str, Any]:
    """Upstream's function on the reference answers (`gold`), on the sample submission (`sample`), and on the reference answers with their rows in
    another order, as they are (`shuffled`) and in canonical form (`shuffled_canonical`). Each is {status, score, reason}, or null without a file."""
    shuffled = None if grader.gold is None else _shuffled(grader.gold)
    return {
        "gold": None if grader.gold is None else grader.ask(grader.gold),
        "sample": None if grader.sample is None else grader.ask(grader.sample),
        "shuffled": None if shuffled is None else grader.ask(shuffled),
        "shuffled_canonical": None if shuffled is None else _ask_canonical(grader, shuffled),
        "ids": list(grader.shape.ids) if grader.shape else [],
    }


def read_table(path: str) -> pd.DataFrame:
    """A table as upstream reads it; an empty file is an empty table."""
    try:
        return pd.read_csv(path, float_precision="round_trip")
    except pd.errors.EmptyDataError:
        return pd.DataFrame()


def _canonical_form(grader: Grader, submission: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """The canonical form, or what keeps the submission from having one. Without a sample submission it is the submission itself."""
    if grader.shape is None:
        return submission, ""
    try:
        return canonical(submission, grader.shape), ""
    except Defect as defect:
        return submission, str(defect)


def _ask_canonical(grader: Grader, submission: pd.DataFrame) -> Result:
    form, defect = _canonical_form(grader, submission)
    return {"status": "invalid", "score": None, "reason": defect} if defect else grader.ask(form)


def _settled(result: Result, blame: str) -> Result:
    if result["status"] != "crashed":
        return result
    if blame:
        return {"status": "invalid", "score": None, "reason": f"{blame}; the grader stopped with {result['reason']}"}
    return {**result, "status": "error"}


def _shuffled(table: pd.DataFrame) -> pd.DataFrame:
    """Rows in another order, the same every time."""
    return table.sample(frac=1, random_state=0)


def _message(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:MESSAGE]


def _versions() -> dict[str, str]:
    found = {"python": sys.version.split()[0]}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "missing"
    return found


def _own_stdout() -> TextIO:
    """Stdout for the answer alone; whatever a grading function prints goes to stderr."""
    own = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return own


if __name__ == "__main__":
    answer_to = _own_stdout()
    json.dump(main(json.load(sys.stdin)), answer_to, allow_nan=False)
    answer_to.close()
