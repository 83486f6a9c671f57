"""The cause of a wrong result, from the task, the programs, what was handed in and the grader's words."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple


class Dossier(NamedTuple):
    """The parts of a reviewing request."""

    task: str
    program: str  # the program that counts
    handed_in: bool
    grader: str
    final_end: str  # how the final run ended
    final_log: str

    @property
    def prediction(self) -> bool:
        return "submission.csv" in self.task

    def does(self, pattern: str) -> bool:
        return re.search(pattern, self.program) is not None


class Opinion(NamedTuple):
    """A cause in words by which the category is looked up, the runtime type likewise, and the reason given."""

    category: str
    kind: str | None
    reason: str


# What the log of the final run shows -> words of the runtime type.
ENDS = (
    (r"No module named '?\w+'?\s*$", "missing package"),
    (r"has no attribute|unexpected keyword|cannot import name|No module named '\w+\.", "api changed"),
    (r"FileNotFoundError|No such file", "file not found"),
    (r"MemoryError|Unable to allocate|^Killed", "out of memory"),
    (r"No space left", "disk full"),
)

METRIC_TRACES: tuple[tuple[str, str], ...] = (
    ("logarithmic error", r"log1p|expm1|log_error"),
    ("absolute error", r"absolute|median"),
    ("log loss", r"predict_proba"),
    ("ROC", r"predict_proba|decision_function"),
    ("balanced accuracy", r"balanced"),
    ("F1", r"f1|balanced"),
    ("kappa", r"kappa"),
)


def attribute(system: str, text: str, error: float, dice: random.Random) -> dict[str, object]:
    """The one category that explains the wrong result, with a reason. `error` is the chance of another one than the one found."""
    categories, types = _glossary(system)
    opinion = next(_opinions(_dossier(text)))
    category = _named(categories, opinion.category)
    if dice.random() < error:
        category = dice.choice([name for name in categories if name != category])
    ran_into = _named(categories, "prevents execution")
    return {
        "reason": opinion.reason,
        "category": category,
        "runtime_type": _named(types, opinion.kind or "none of the other types") if category == ran_into else None,
        "confidence": 0.8,
        "abstain": False,
    }


def _glossary(system: str) -> tuple[dict[str, str], dict[str, str]]:
    """id -> definition of the categories and of the runtime types."""
    halves = system.split("Runtime types:")
    read: Callable[[str], dict[str, str]] = lambda half: dict(re.findall(r"^- (\w+): (.*)$", half, re.MULTILINE))  # noqa: E731
    return read(halves[0]), read(halves[-1])


def _named(glossary: dict[str, str], phrase: str) -> str:
    """The id whose definition contains the phrase; the last one (the remainder) when none does."""
    return next((name for name, words in glossary.items() if phrase.lower() in words.lower()), list(glossary)[-1])


def _dossier(text: str) -> Dossier:
    task = re.search(r"<task>\n(.*?)\n</task>", text, re.DOTALL)
    scripts = re.findall(r"<script>\n# ([^\n]*)\n(.*?)\n</script>", text, re.DOTALL)
    final = [body for path, body in scripts if path.endswith("final.py")]
    grader = re.search(r"^The grader: .*$", text, re.MULTILINE)
    run = re.search(r"^The final run of final\.py: (.*?)\.$", text, re.MULTILINE)
    log = re.search(r"<final_log>\n(.*?)\n</final_log>", text, re.DOTALL)
    return Dossier(
        task=task[1] if task else "",
        program=final[0] if final else scripts[-1][1] if scripts else "",
        handed_in="<deliverable>" in text,
        grader=grader[0] if grader else "",
        final_end=run[1] if run else "",
        final_log=log[1] if log else "",
    )


def _opinions(case: Dossier) -> Iterator[Opinion]:
    """Explanations from the strongest to the weakest; the first that holds is taken."""
    if not case.handed_in or "no_submission" in case.grader:
        yield from _nothing_came(case)
    if "outcome invalid" in case.grader:
        yield Opinion("format or schema", None, "The file was handed in and refused because its form is not the one prescribed.")
    if case.prediction:
        yield from _poor_predictions(case)
    else:
        yield from _wrong_figures(case)


def _nothing_came(case: Dossier) -> Iterator[Opinion]:
    if "stopped at the limit" in case.final_end:
        yield Opinion("prevents execution", "longer than it may", "The final run was stopped at its limit and left nothing.")
    if re.search(r"exit code -?[1-9]", case.final_end):
        trace = case.final_log[case.final_log.rfind("Traceback") :] if "Traceback" in case.final_log else case.final_log
        if re.search(r"contains? (?:NaN|missing|infinity)|NaN to integer|non-finite", trace):
            yield Opinion("missingness", None, "The final run stopped because empty cells reached a step that cannot take them.")
        kind = next((words for pattern, words in ENDS if re.search(pattern, trace, re.MULTILINE)), "own logic")
        yield Opinion("prevents execution", kind, "The final run stopped with an error before it wrote the file.")
    yield Opinion("artifact missing", None, "No program wrote the requested file.")


def _poor_predictions(case: Dossier) -> Iterator[Opinion]:
    wanted = re.search(r"evaluated by \*\*(.*?)\*\*", case.task)
    for measure, traces in METRIC_TRACES:
        if wanted and measure in wanted[1] and not case.does(traces):
            yield Opinion("wrong metric", None, f"The task is graded by {wanted[1]}, which the program does not serve.")
    if not case.does(r"cross_val|train_test_split|Fold|_split\(|oob_score|validat"):
        yield Opinion("against a baseline", None, "The predictions were handed in without a check on rows the model had not seen.")
    if case.does(r"sort_values\(|\.sample\(frac=1"):
        yield Opinion("misaligned", None, "The rows were put into another order before the predictions were written.")
    if not case.does(r"GridSearch|RandomizedSearch|for \w+ in \[|param"):
        yield Opinion("parameter or threshold", None, "The model was checked, but its parameters were never compared with others.")
    yield Opinion("leaves score on the table", None, "The program is sound, and a stronger model would have scored better.")


def _wrong_figures(case: Dossier) -> Iterator[Opinion]:
    if case.does(r"fillna\("):
        yield Opinion("missingness", None, "Empty cells were filled and entered the calculation.")
    if case.does(r"nrows=|\.head\(\d{2,}\)|\.sample\("):
        yield Opinion("made-up", None, "Only a part of the rows was used.")
    if case.does(r"\.dropna\(\)"):
        yield Opinion("unverified scope", None, "Rows were removed for empty cells in columns that the calculation does not use.")
    if "rows where" in case.task and not case.does(r"\.query\(|\.loc\[|\[.*(?:==|!=|>|<|\.isin|\.between)"):
        yield Opinion("unverified scope", None, "The condition on the rows was left out.")
    if case.does(r"ddof=0|np\.(?:std|var)\("):
        yield Opinion("method or definition substituted", None, "Another definition of the statistic was computed.")
    if re.search(r"[Rr]ound", case.task) and not case.does(r"round|\.\d+f"):
        yield Opinion("format or schema", None, "The values were not rounded as the task prescribes.")
    if case.does(r"index=True|to_csv\([^)]*\)") and not case.does(r"index=False"):
        yield Opinion("format or schema", None, "An index column was written beside the required ones.")
    if case.does(r"idxmin|idxmax|sort_values|nlargest|nsmallest"):
        yield Opinion("extremum", None, "The direction of a ranking was not checked.")
    yield Opinion("unverified scope", None, "The figure was taken over rows or groups that were not checked against the task.")
