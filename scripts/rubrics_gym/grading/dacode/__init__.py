"""Grading of DA-Code: one or several comparisons per task, named in the benchmark's own evaluation record.

`grading.json` holds, besides the common keys, `evaluation` (the task's line of `configs/eval/eval_*.jsonl`) and `deliverables` (the file names that
the task asks for); `gold/` the benchmark's gold files by their base names. An answer in words is the text of the deliverable.

The official rule is what `da_agent/evaluators` does under pandas 2; anything that goes wrong in a comparison scores 0 there. The corrected
rule differs in what `rules.py` lists.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Any

from rubrics_gym.grading.bundle import PrivateBundle
from rubrics_gym.grading.dacode import alignment, metrics, texts
from rubrics_gym.grading.dacode.images import compare_image
from rubrics_gym.grading.dacode.models import compare_competition_ml, compare_ml
from rubrics_gym.grading.dacode.rules import (
    Comparison,
    Config,
    Options,
    Rule,
    corrected_options,
    corrected_scale,
    official_options,
    official_scale,
)
from rubrics_gym.grading.dacode.tables import compare_csv, compare_sqlite
from rubrics_gym.grading.dacode.texts import compare_text
from rubrics_gym.grading.findings import Findings, by_corrected, left_out, not_scored
from rubrics_gym.grading.submissions import InvalidSubmission, read_text
from rubrics_gym.records.grades import RuleResult
from rubrics_gym.records.outcomes import Outcome

COMPARISONS: dict[str, Comparison] = {
    "compare_csv": compare_csv,
    "compare_sqlite": compare_sqlite,
    "compare_text": compare_text,
    "compare_ml": compare_ml,
    "compare_competition_ml": compare_competition_ml,
    "compare_image": compare_image,
}
OFFICIAL = Rule(official_options, official_scale, alignment.official, metrics.OFFICIAL, texts.official_same)
CORRECTED = Rule(corrected_options, corrected_scale, alignment.corrected, metrics.CORRECTED, texts.corrected_same)
FULL = 1 - 1e-9  # means of floating-point shares


def grade(bundle: PrivateBundle, deliverable: Path) -> Findings:
    """Grade the files beside `deliverable` by both rules. InvalidSubmission when the corrected rule cannot read them."""
    evaluation = bundle.grading["evaluation"]
    with tempfile.TemporaryDirectory() as folder:
        gold = bundle.write("gold", Path(folder))
        answer = read_text(deliverable) if asks_for_text(evaluation) else None
        corrected = score(evaluation, deliverable.parent, gold, answer, CORRECTED)
        official = official_score(evaluation, deliverable.parent, gold, answer)
    return by_corrected(_result(official), _result(corrected))


def missing(bundle: PrivateBundle, outcome: Outcome, reason: str) -> Findings:
    """The official script leaves a task without a run out of its mean; the corrected rule counts it as wrong."""
    return by_corrected(left_out(outcome, reason), not_scored(outcome, reason))


def reference(bundle: PrivateBundle) -> dict[str, bytes] | None:
    """The gold files under the names that the task asks for, or the expected values as JSON text. None where the gold is not complete."""
    evaluation = bundle.grading["evaluation"]
    if asks_for_text(evaluation):
        expected = evaluation["result"][0]["number"]
        return {bundle.grading["deliverables"][0]: json.dumps((expected if isinstance(expected, list) else [expected])[0]).encode()}
    gold = bundle.files("gold")
    names = [name for group in asked_files(evaluation) for name in group]
    if not all(PurePosixPath(name).name in gold for name in names):
        return None
    return {name: gold[PurePosixPath(name).name] for name in names}


def asks_for_text(evaluation: dict[str, Any]) -> bool:
    """Whether the expected answer is words and numbers, not a file."""
    return "number" in _listed(evaluation["result"])[0]


def asked_files(evaluation: dict[str, Any]) -> list[list[str]]:
    """The files that each comparison of a task reads, in the order of the comparisons."""
    groups: list[list[str]] = []
    for result in _listed(evaluation["result"]):
        names = _listed(result["file"])
        groups += [names] if result.get("multi") else [[name] for name in names]
    return groups


def official_score(evaluation: dict[str, Any], folder: Path, gold: Path, answer: str | None) -> float:
    """The official score; what goes wrong in a comparison ends the task's evaluation there, and counts 0 beside what was compared before."""
    scores: list[float] = []
    for compare in _comparisons(evaluation, folder, gold, answer, OFFICIAL):
        try:
            scores.append(compare())
        except Exception:
            scores.append(0.0)
            break
    return sum(scores) / len(scores)


def score(evaluation: dict[str, Any], folder: Path, gold: Path, answer: str | None, rule: Rule) -> float:
    """Mean score of the comparisons of a task, in [0, 1]. `folder` holds the agent's files, `gold` the gold ones, `answer` the answer in words."""
    scores = [compare() for compare in _comparisons(evaluation, folder, gold, answer, rule)]
    return sum(scores) / len(scores)


def _comparisons(evaluation: dict[str, Any], folder: Path, gold: Path, answer: str | None, rule: Rule) -> list[Callable[[], float]]:
    """Calls without arguments, one per comparison. One function or one set of options stands for all files of a task."""
    names = _listed(evaluation["func"])
    given: list[Any]
    expected: list[Any]
    if asks_for_text(evaluation):
        given, expected = [answer], [_listed(evaluation["result"])[0]["number"]]
    else:
        groups = asked_files(evaluation)
        given = [[_inside(folder, name) for name in group] for group in groups]
        expected = [[gold / PurePosixPath(name).name for name in group] for group in groups]
    options = [one or {} for one in _listed(evaluation.get("options") or [{}])]
    wanted = max(len(given), len(names))
    lists = [one * wanted if len(one) == 1 else one for one in (names, given, expected, options)]
    config = evaluation.get("config", {})
    # the shortest list decides, as officially
    return [_comparison(name, one, gold_of, chosen, config, rule) for name, one, gold_of, chosen in zip(*lists, strict=False)]


def _comparison(name: str, given: Any, expected: Any, options: Options, config: Config, rule: Rule) -> Callable[[], float]:
    if name not in COMPARISONS:
        raise ValueError(f"DA-Code's comparison {name!r} is not known; known are {', '.join(COMPARISONS)}")
    return lambda: COMPARISONS[name](given, expected, rule.read_options(options), config, rule)


def _inside(folder: Path, name: str) -> Path:
    """A file of the agent's: at its place, or by its base name, which is what the statement asks for. No link, which could point anywhere."""
    path = folder / name if (folder / name).is_file() else folder / PurePosixPath(name).name
    if path.is_symlink() or not path.resolve().is_relative_to(folder.resolve()):
        raise InvalidSubmission(f"{name} is not a regular file of the work folder")
    return path


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _result(score: float) -> RuleResult:
    return RuleResult(outcome=Outcome.VALID, score=score, correct_share=score, ended_wrong=score < FULL)
