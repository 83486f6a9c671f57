"""A cheap test before an expensive one: words of which a text must hold at least one for a regular expression to match in it.

Searching for a fixed word is some hundred times faster than trying an expression at every place of a text, and most outputs hold none of
an expression's words. The words are read from the expression itself, so they cannot drift from it.
"""

from __future__ import annotations

import re
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any, NamedTuple

SHORTEST = 3  # a shorter word is found nearly everywhere


class Sieve(NamedTuple):
    """A compiled expression and the words, in lower case, of which a text must hold one (none known: it must always be tried)."""

    pattern: re.Pattern[str]
    words: tuple[str, ...]

    def search(self, text: str, lowered: str) -> re.Match[str] | None:
        """Search `text`, of which `lowered` is the lower case."""
        if not self.words:
            return self.pattern.search(text)
        for word in self.words:  # a plain loop: this is the innermost one
            if word in lowered:
                return self.pattern.search(text)
        return None


def sieve(pattern: str) -> Sieve:
    """Compile an expression (`^` and `$` match at line ends). Raises re.error for one that is not valid."""
    compiled = re.compile(pattern, re.MULTILINE)
    words = _required(parser.parse(pattern, re.MULTILINE))
    return Sieve(compiled, tuple(sorted(words)) if words and all(len(word) >= SHORTEST and word.isascii() for word in words) else ())


def _required(sequence: Any) -> frozenset[str] | None:
    """The best set of words of which every match holds one: the set whose shortest word is longest."""
    candidates: list[frozenset[str]] = []
    run = ""
    for operation, argument in sequence:
        letter = _letter(operation, argument)
        if letter is not None:
            run += letter
            continue
        candidates.append(frozenset({run}))
        run = ""
        inner = _inside(operation, argument)
        if inner is not None:
            candidates.append(inner)
    candidates.append(frozenset({run}))
    best = max(candidates, key=lambda words: (min(map(len, words)), -len(words)))
    return best if min(map(len, best)) >= SHORTEST else None


def _letter(operation: Any, argument: Any) -> str | None:
    """The one character, in lower case, that an operation matches; None when it may match several."""
    if operation is codes.LITERAL:
        return chr(argument).lower()
    if operation is codes.IN and all(one is codes.LITERAL for one, _ in argument):
        letters = {chr(value).lower() for _, value in argument}
        return letters.pop() if len(letters) == 1 else None
    return None


def _inside(operation: Any, argument: Any) -> frozenset[str] | None:
    if operation is codes.SUBPATTERN:
        return _required(argument[-1])
    if operation is codes.BRANCH:
        branches = [_required(branch) for branch in argument[1]]
        return frozenset().union(*(words for words in branches if words)) if all(branches) else None
    if operation in (codes.MAX_REPEAT, codes.MIN_REPEAT) and argument[0] >= 1:
        return _required(argument[2])
    return None
