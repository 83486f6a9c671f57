"""Comparison of predictions: a metric, scaled between two bounds of the evaluation record."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rubrics_gym.grading.dacode.columns import find_columns, task_type
from rubrics_gym.grading.dacode.metrics import silhouette
from rubrics_gym.grading.dacode.rules import Config, Options, Rule
from rubrics_gym.grading.submissions import InvalidSubmission


def compare_ml(given: Sequence[Path], gold: Sequence[Path], options: Options, config: Config, rule: Rule) -> float:
    """Score in [0, 1] of a table of predictions. Clusters are scored by their silhouette over the submitted features and need no gold.

    0 without the file, with another number of rows, or when no target column is found.
    """
    if not given[0].is_file():
        return 0.0
    kind, metric = task_type(config["type"]), config["metric"]
    table = _read(given[0])
    if kind == "cluster":
        ids, target = find_columns(table, kind, "")
        if not target:
            return 0.0
        features = table.drop(columns=ids)
        return _scaled(silhouette(features, features[target]), metric, options, config, rule)
    expected = _read_gold(gold[0])
    if len(expected) != len(table):
        return 0.0
    ids, gold_target = find_columns(expected, kind, options.get("target_column", ""))
    _, target = find_columns(table, kind, gold_target)
    if not target:
        return 0.0
    aligned = rule.align(table, expected, ids)
    # the official call hands no `average` on
    return _scaled(rule.metrics[metric](expected[gold_target], aligned[target], kind, ""), metric, options, config, rule)


def compare_competition_ml(given: Sequence[Path], gold: Sequence[Path], options: Options, config: Config, rule: Rule) -> float:
    """Score in [0, 1] of a submission, which must have the columns, the number of rows and the ids of the gold; else 0."""
    if not given[0].is_file():
        return 0.0
    kind, metric = task_type(config["type"]), config["metric"].lower().strip().replace(" ", "_")
    table, expected = _read(given[0]), _read_gold(gold[0])
    if len(table) != len(expected) or set(table.columns) != set(expected.columns):
        return 0.0
    key = next((name for name in expected.columns if "id" in str(name).lower()), None)
    if key is not None and expected[key].nunique() > max(0.6 * len(expected), 2):
        if set(table[key]) != set(expected[key]):
            return 0.0
        table, expected = (frame.sort_values(by=key).drop(columns=[key]) for frame in (table, expected))
    table, expected = table.sort_index(axis=1), expected.sort_index(axis=1)
    value = rule.metrics[metric](expected, table, kind, options.get("average", ""))
    return _scaled(value, metric, options, config, rule)


def _scaled(value: float | None, metric: str, options: Options, config: Config, rule: Rule) -> float:
    """A metric that cannot be computed for what was handed in scores 0, whatever its scale."""
    if value is None:
        return 0.0
    if not options.get("scale", True):
        return float(value)
    return rule.scale(float(value), metric, config.get("lower_bound", 0.0), config.get("upper_bound", 0.9))


def _read(path: Path) -> Any:
    import pandas as pd

    if path.is_symlink():
        raise InvalidSubmission(f"{path.name} is a link")
    try:
        return pd.read_csv(path)
    except (pd.errors.EmptyDataError, pd.errors.ParserError, UnicodeDecodeError) as error:
        raise InvalidSubmission(f"{path.name} is not readable as CSV: {error}") from None


def _read_gold(path: Path) -> Any:
    import pandas as pd

    return pd.read_csv(path)
