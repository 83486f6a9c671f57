"""What a careful reader notices in a rollout: crashes on the way, what explains a wrong end, and what a better model would have done."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from typing import NamedTuple

from rubrics_gym.providers.simulated.miner.reading import ReadStep, Rollout

QUOTE_CHARS = 160

# Lines of an output -> what died. The first that is found in a failed step decides.
CRASHES = (
    ("absent_library", r"No module named '?([A-Za-z_]\w*)'?\s*$", "{0}"),
    ("exhausted_memory", r"\bMemoryError\b|Unable to allocate|Cannot allocate memory|^Killed", ""),
    (
        "holes",
        r"contains? NaN|contains? (?:infinity|missing)|[Cc]annot convert (?:non-finite|float NaN)|NA(?:N| values)? (?:to|in) integer|Input \w+ contains",
        "",
    ),
    ("own_exception", r"'(?:NoneType|str|int|float|list|dict|tuple|function)' object (?:has no attribute|is not|does not)", ""),
    ("outdated_call", r"has no attribute '(\w+)'\.? ?(?:Did you mean|$)", "{0}"),
    ("outdated_call", r"got an unexpected keyword argument '(\w+)'", "{0}"),
    ("outdated_call", r"cannot import name '(\w+)'", "{0}"),
    ("outdated_call", r"No module named '([\w.]+\.\w+)'|was (?:removed|deprecated)|no longer supported", ""),
    ("lost_path", r"FileNotFoundError|No such file or directory|can't open file", ""),
    ("absent_column", r"^KeyError: |not in index|not found in axis|None of \[", ""),
    (
        "text_as_number",
        r"could not convert string to float|unsupported operand type|can only concatenate|not supported between instances|invalid literal for int",
        "",
    ),
    (
        "unequal_lengths",
        r"inconsistent numbers of samples|[Ss]hape(?:s| mismatch| of passed)|Length (?:mismatch|of values)|All arrays must be of the same length|broadcast|features?, but \w+ is expecting|feature names",
        "",
    ),
    ("unseen_value", r"unseen labels|unknown categories|Found unknown|not in list", ""),
    ("undefined_name", r"^NameError: |^UnboundLocalError: ", ""),
    ("broken_syntax", r"SyntaxError|IndentationError", ""),
    ("own_exception", r"^(?:\w+\.)*\w+(?:Error|Exception): ", ""),
)

MEASURES = (
    (r"logarithmic error|RMSLE", r"log1p|mean_squared_log_error|root_mean_squared_log_error|expm1"),
    (r"\(MAE\)|mean absolute error", r"absolute_error|mean_absolute_error|neg_mean_absolute|median"),
    (r"ROC AUC|area under the ROC", r"roc_auc|predict_proba|decision_function"),
    (r"log loss", r"log_loss|predict_proba"),
    (r"balanced accuracy", r"balanced"),
    (r"macro-averaged F1", r"f1_macro|macro|balanced"),
    (r"weighted kappa", r"kappa|quadratic"),
)

# What a stronger solution would have: topic, what the program shows.
ADVICE = (
    ("untuned_settings", r"(?:Forest|Boosting|Tree|Ridge|Lasso|Logistic|SVC|SVR|KNeighbors|HistGradient)\w*\("),
    ("single_weak_model", r"(?:LinearRegression|LogisticRegression|Ridge|DecisionTree|KNeighbors)\w*\("),
    ("dropped_text_columns", r"select_dtypes|drop\(columns|_get_numeric_data"),
    ("invented_order", r"LabelEncoder|OrdinalEncoder|\.cat\.codes|factorize\("),
    ("no_feature_work", r"\.fit\("),
    ("no_ensemble", r"\.fit\("),
    ("skewed_target", r"Regress\w+\("),
    ("unequal_classes", r"Classif\w+\(|LogisticRegression\("),
    ("fixed_rounds", r"n_estimators|max_iter|n_iter"),
    ("plain_imputation", r"fillna\(|SimpleImputer"),
    ("unscaled_distances", r"KNeighbors|SVC|SVR|KMeans|LogisticRegression|Ridge"),
    ("one_split_only", r"train_test_split"),
    ("outliers_kept", r"LinearRegression|mean\(\)|squared"),
)


class Noticed(NamedTuple):
    """One lesson: its topic, a word of detail, its kind, and the words that show it in steps and in the final files."""

    topic: str
    detail: str
    kind: str
    steps: tuple[tuple[int, str], ...] = ()
    final: tuple[str, ...] = ()


def notice(rollout: Rollout, dice: random.Random) -> list[Noticed]:
    """All lessons, most useful first: deaths on the way (each once), what explains a wrong end, then advice on modelling."""
    lessons = [*deaths(rollout), *(_wrong_end(rollout) if rollout.ended_wrong else ()), *_habits(rollout), *_advice(rollout, dice)]
    return list({(lesson.topic, lesson.detail): lesson for lesson in reversed(lessons)}.values())[::-1]


def deaths(rollout: Rollout) -> Iterator[Noticed]:
    """What the failed steps died of, one lesson a step."""
    for step in rollout.steps:
        if step.failed:
            death = _death(step)
            kind = "crash" if step.repaired or not rollout.ended_wrong else "crash_caused_wrong_result"
            if death and kind != "crash" and rollout.program:
                yield death._replace(kind=kind)
            elif death:
                yield death


def _death(step: ReadStep) -> Noticed | None:
    if "time limit" in step.ending:
        return Noticed("too_slow", "", "crash", ((step.number, _short(step.body.split("\n")[0])),))
    for topic, pattern, detail in CRASHES:
        line = step.last_line_like(pattern)
        if line is not None:
            found = re.search(pattern, line)
            groups = [group or "" for group in found.groups()] if found else []
            return Noticed(topic, detail.format(*groups) if detail and groups else "", "crash", ((step.number, _short(line)),))
    if "out of memory" in step.ending:
        return Noticed("exhausted_memory", "", "crash", ((step.number, _short(step.body.split("\n")[0])),))
    return None


def _wrong_end(rollout: Rollout) -> Iterator[Noticed]:
    program = rollout.program
    any_line = _short(next((line.strip() for line in program.split("\n") if line.strip()), ""))
    proof = (any_line,) if any_line else ()
    if rollout.handed_in is None:
        yield _from_program("never_written", rollout, r"print\(", proof)
        return
    if "outcome invalid" in rollout.verdict:
        yield _from_program("wrong_shape", rollout, r"to_csv|write\(", (_short(rollout.handed_in.split("\n")[0]),))
    elif rollout.is_prediction:
        if not re.search(r"cross_val|train_test_split|KFold|Split\(|oob_score|mean_(?:absolute|squared)_error\(|_score\(", program):
            yield _from_program("unchecked_predictions", rollout, r"\.fit\(", proof)
        for measure, served in MEASURES:
            if re.search(measure, rollout.task) and not re.search(served, program):
                yield _from_program("other_measure", rollout, r"scoring|_score|_error|\.predict\(|\.fit\(", proof)
                break
        if re.search(r"\.predict\(", program) and "probability" in rollout.task and "predict_proba" not in program:
            yield _from_program("labels_for_probabilities", rollout, r"\.predict\(", proof)
        if re.search(r"sort_values|\.sample\(|shuffle", program):
            yield _from_program("out_of_step", rollout, r"sort_values|\.sample\(|shuffle", proof)
    else:
        yield from _wrong_figures(rollout, proof)


def _wrong_figures(rollout: Rollout, proof: tuple[str, ...]) -> Iterator[Noticed]:
    """What makes a figure or a table wrong, in programs that run."""
    program = rollout.program
    if re.search(r"fillna\(", program):
        yield _from_program("holes_filled", rollout, r"fillna\(", proof)
    if re.search(r"dropna\(\)", program):
        yield _from_program("too_many_rows_dropped", rollout, r"dropna\(\)", proof)
    if "rows where" in rollout.task and not re.search(r"query\(|\.loc\[|\[.*(?:==|!=|>|<|isin|between)", program):
        yield _from_program("all_rows_taken", rollout, r"mean\(|sum\(|median\(|count|std\(|nunique|corr\(|max\(|min\(", proof)
    if re.search(r"ddof|np\.(?:std|var)\(", program):
        yield _from_program("other_definition", rollout, r"ddof|np\.(?:std|var)\(", proof)
    if "ound" in rollout.task and "round" not in program and not re.search(r":\.\d+f|\.\d+f", program):
        yield _from_program("unrounded", rollout, r"write\(|to_csv", proof)
    if re.search(r"head\(\d+\)|nrows=|\.sample\(", program):
        yield _from_program("partial_data", rollout, r"head\(\d+\)|nrows=|\.sample\(", proof)
    if re.search(r"idxmax|idxmin|nlargest|nsmallest|sort_values", program):
        yield _from_program("wrong_end_of_ranking", rollout, r"idxmax|idxmin|nlargest|nsmallest|sort_values", proof)
    yield _from_program("figures_of_other_rows", rollout, r"mean\(|sum\(|median\(|groupby|count|std\(|corr\(", proof)


def _habits(rollout: Rollout) -> Iterator[Noticed]:
    """Weak habits that show in the final program whatever the verdict."""
    if not rollout.is_prediction:
        return
    if re.search(r"concat\(\[train", rollout.program):
        yield _from_program("seen_test_rows", rollout, r"concat\(\[train", ())
    if re.search(r"except(?: Exception)?(?: as \w+)?:", rollout.program):
        yield _from_program("swallowed_exception", rollout, r"except(?: Exception)?(?: as \w+)?:", ())


def _advice(rollout: Rollout, dice: random.Random) -> list[Noticed]:
    """Some of the advice that the program gives occasion for; the same program gets other advice in another reading."""
    if not rollout.is_prediction:
        return []
    fitting = [topic for topic, pattern in ADVICE if rollout.program_line(pattern)]
    chosen = dice.sample(fitting, min(len(fitting), dice.randint(1, 4)))
    patterns = dict(ADVICE)
    return [_from_program(topic, rollout, patterns[topic], ()) for topic in chosen]


def _from_program(topic: str, rollout: Rollout, pattern: str, otherwise: tuple[str, ...]) -> Noticed:
    line = rollout.program_line(pattern)
    final = (_short(line),) if line else otherwise
    steps = () if final else tuple((step.number, _short(step.body.split("\n")[0])) for step in rollout.steps[-1:])
    return Noticed(topic, "", "wrong_result", steps, final)


def _short(line: str) -> str:
    return line[:QUOTE_CHARS].strip()
