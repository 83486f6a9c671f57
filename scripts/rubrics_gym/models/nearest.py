"""What a replay says about a request that is not on record: the recorded one that is nearest to it, and how the two differ."""

from __future__ import annotations

import difflib
from collections import Counter
from typing import Any

from rubrics_gym.store.ledger import LedgerLine
from rubrics_gym.store.requests import Records

_LINES_SHOWN = 40
_CHARS_SHOWN = 300  # of a line


def explain_miss(records: Records, body: dict[str, Any], occurrence: int) -> tuple[str, str]:
    """One paragraph, and a unified diff from the nearest recorded request of the unit to the one that was asked (empty when there is none)."""
    head = f"{records.unit}: mode replay sends nothing, and this request (occurrence {occurrence}) is not on record."
    asked = as_lines(body)
    words = Counter(asked)
    best: tuple[float, LedgerLine, list[str]] | None = None
    for line, request in records.asked():
        lines = as_lines(request)
        likeness = _likeness(words, Counter(lines))
        if best is None or likeness > best[0]:
            best = (likeness, line, lines)
    if best is None:
        advice = "check that RUBRICS_STORE names the store that was recorded, or set requests.mode to reuse"
        return f"{head} No answer of this unit is on record: {advice}.", ""
    likeness, nearest, lines = best
    if lines == asked:
        return (
            f"{head} The same request is on record as occurrence {nearest.occurrence} ({nearest.record}): it was asked fewer times than now.",
            "",
        )
    diff = list(difflib.unified_diff(lines, asked, f"recorded {nearest.record}", "asked now", lineterm="", n=1))
    shown = [line[:_CHARS_SHOWN] for line in diff[:_LINES_SHOWN]]
    if len(diff) > _LINES_SHOWN:
        shown.append(f"… {len(diff) - _LINES_SHOWN} more lines")
    return f"{head} The nearest one is record {nearest.record}; {likeness:.0%} of their lines are equal:", "\n".join(shown)


def as_lines(value: Any, path: str = "") -> list[str]:
    """A JSON value as lines for people: one per leaf with its path; a text of many lines has one line for each."""
    if isinstance(value, dict):
        return [line for name in sorted(value) for line in as_lines(value[name], f"{path}.{name}" if path else name)]
    if isinstance(value, list) and value:
        return [line for number, item in enumerate(value) for line in as_lines(item, f"{path}[{number}]")]
    if isinstance(value, str) and "\n" in value:
        return [f"{path}:", *(f"  | {line}" for line in value.split("\n"))]
    return [f"{path}: {value!r}"]


def _likeness(one: Counter[str], other: Counter[str]) -> float:
    """Lines in common over lines in either, with their multiplicities."""
    either = sum((one | other).values())
    return sum((one & other).values()) / either if either else 1.0
