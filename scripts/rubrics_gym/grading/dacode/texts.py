"""Comparison of answers in words: the first {...} of the text, read as JSON5, against the expected names and values."""

from __future__ import annotations

import re
from typing import Any

from rubrics_gym.grading.dacode.rules import Config, Options, Rule

TOLERANCE = 1e-2
_OBJECT = re.compile(r"\{.*\}", re.DOTALL)


def compare_text(given: str, expected: Any, options: Options, config: Config, rule: Rule) -> float:
    """1 when every expected value is given (rule `all`), or the share that is (`devide`, as it is spelt there); the best over several answers.

    Names are compared without case and outer blanks. 0 when the text holds no readable object.
    """
    answer = read_object(given)
    if answer is None:
        return 0.0
    names = {name.lower().strip(): value for name, value in answer.items()}
    unordered = _first(options.get("ignore_order", False))
    scores = []
    for number, values in enumerate(expected if isinstance(expected, list) else [expected]):
        right = [
            name.lower().strip() in names and same_answer(value, names[name.lower().strip()], unordered, rule)
            for name, value in values.items()
        ]
        scores.append(_score(right, options.get("score_rule", "all"), number))
    return max(scores)


def read_object(text: str) -> dict[str, Any] | None:
    """The object from the first { to the last } of a text; None when there is none or it cannot be read."""
    import json5

    match = _OBJECT.search(text)
    if match is None:
        return None
    try:
        value = json5.loads(match.group())
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def same_answer(expected: Any, given: Any, unordered: bool, rule: Rule) -> bool:
    """Whether a value is the expected one; a list of one value and the value alone are the same."""
    bare_expected, bare_given = _bare(expected), _bare(given)
    if type(bare_expected) is type(bare_given):
        expected, given = bare_expected, bare_given
    elif isinstance(expected, list) and not isinstance(given, list):
        given = [given]
    elif isinstance(given, list) and not isinstance(expected, list):
        expected = [expected]
    return rule.same_value(expected, given, unordered)


def official_same(expected: Any, given: Any, unordered: bool) -> bool:
    """The given value is turned into the expected one's type, then compared. TypeError for a type that the official script does not know."""
    try:
        converted = type(expected)(given)
    except (TypeError, ValueError):
        return False
    return _same(expected, converted, unordered)


def corrected_same(expected: Any, given: Any, unordered: bool) -> bool:
    """As officially, but whole numbers must be whole, truth values and nothing are compared, and two empty lists are equal."""
    if expected is None or isinstance(expected, bool):
        return str(given).strip().lower() == str(expected).lower()
    if isinstance(expected, int) and isinstance(given, float) and not given.is_integer():
        return False
    if isinstance(expected, list):
        if not isinstance(given, list) or len(given) != len(expected):
            return False
        if unordered:
            expected, given = sorted(expected, key=_order), sorted(given, key=_order)
        return all(corrected_same(one, other, unordered) for one, other in zip(expected, given, strict=True))
    return official_same(expected, given, unordered)


def _same(first: Any, second: Any, unordered: bool) -> bool:
    if type(first) is not type(second):
        return False
    if isinstance(first, float):
        return bool(abs(first - second) <= TOLERANCE)
    if isinstance(first, str):
        return bool(first.lower().strip() == second.lower().strip())
    if isinstance(first, list):
        if len(first) != len(second) or not first:
            return False
        if unordered:
            first, second = sorted(first, key=_order), sorted(second, key=_order)
        return all(_same(a, b, unordered) for a, b in zip(first, second, strict=True))
    if isinstance(first, dict):
        return bool(first) and first.keys() == second.keys() and all(_same(first[name], second[name], unordered) for name in first)
    if isinstance(first, int) and not isinstance(first, bool):
        return bool(first == second)
    raise TypeError(f"DA-Code's official script compares no {type(first).__name__}")


def _score(right: list[bool], rule: Any, number: int) -> float:
    name = rule[number] if isinstance(rule, list) else rule
    if name == "all":
        return float(all(right))
    if name in ("devide", "divide"):
        return sum(right) / len(right)
    raise ValueError(f"DA-Code's score rule {name!r} is not known; known are all and devide")


def _order(value: Any) -> tuple[bool, str, bool]:
    return (value is None, str(value), isinstance(value, int | float))


def _bare(value: Any) -> Any:
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _first(value: Any) -> bool:
    return bool(value[0] if isinstance(value, list) and value else value)
