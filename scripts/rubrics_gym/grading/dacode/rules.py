"""The two rules of DA-Code, as the functions in which they differ.

| part | official (`da_agent/evaluators`) | corrected |
|---|---|---|
| options | unknown names are passed over | a misspelt name is read as the option that it must mean |
| scale | (m - lower) / (upper - lower), whatever the metric | metrics of which less is better run from the larger bound to the smaller |
| rows of models' predictions | compared by position, ids are dropped unread | joined by id where both tables have the same ids |
| metrics | mean squared log error for `rmsle`; log losses to base 2 and halved; kappa over labels 0..n-1; accuracy of a table is 0 | as the metric's name says |
| answers in words | 3.7 is right where 3 is expected; an empty list never equals another; a truth value stops the script | whole numbers must be whole; empty lists are equal; truth values are compared |

`LOWER_METRICS` is defined in the official code and never used, which is why the scale is wrong there.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Options = dict[str, Any]
Config = dict[str, Any]
Scale = Callable[[float, str, float, float], float]

OPTIONS = ("condition_cols", "condition_tabs", "score_rule", "ignore_order", "total_scores", "target_column", "average", "keys", "scale")
LOWER_IS_BETTER = frozenset({"logloss_class", "logloss_total", "rmsle", "rmse", "mae", "mse", "smape", "medae"})
_SIMILAR = 0.75  # `cleaned_condition_cols` and `condition_cols` are 0.78 alike, no two options more than 0.65


@dataclass(frozen=True)
class Rule:
    """The functions in which the two rules differ."""

    read_options: Callable[[Options], Options]
    scale: Scale  # metric's value, its name, lower and upper bound -> score in [0, 1]
    align: Callable[[Any, Any, list[str]], Any]  # table of predictions, gold table, id columns -> predictions in the gold's order
    metrics: dict[str, Callable[..., float | None]]
    same_value: Callable[[Any, Any, bool], bool]  # expected and given value of an answer in words, ignore the order of lists


Comparison = Callable[[Any, Any, Options, Config, Rule], float]


def official_options(options: Options) -> Options:
    """The options whose names the official functions know."""
    return {name: value for name, value in options.items() if name in OPTIONS}


def corrected_options(options: Options) -> Options:
    """All options; a name that is not known is read as the most similar one that is. ValueError when there is none."""
    read = {}
    for name, value in options.items():
        similar = [name] if name in OPTIONS else difflib.get_close_matches(name, OPTIONS, n=1, cutoff=_SIMILAR)
        if not similar:
            raise ValueError(f"DA-Code's option {name!r} is not known; known are {', '.join(OPTIONS)}")
        read[similar[0]] = value
    return read


def official_scale(value: float, metric: str, lower: float, upper: float) -> float:
    return _clipped((value - lower) / (upper - lower))


def corrected_scale(value: float, metric: str, lower: float, upper: float) -> float:
    """0 at the worse bound and beyond, 1 at the better one and beyond; which is which follows from the metric, not from the order of the bounds."""
    low, high = sorted((lower, upper))
    worse, better = (high, low) if metric in LOWER_IS_BETTER else (low, high)
    return _clipped((value - worse) / (better - worse))


def _clipped(score: float) -> float:
    return min(max(score, 0.0), 1.0)
