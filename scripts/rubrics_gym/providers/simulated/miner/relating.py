"""How near a lesson is to a category that is described in words: by the word stems that they share, rare ones counting more."""

from __future__ import annotations

import functools
import math
import re
from collections import Counter
from collections.abc import Sequence

from rubrics_gym.providers.simulated.miner.noticing import Noticed
from rubrics_gym.providers.simulated.miner.wording import TOPICS

STEM = 5


def nearest_first(category: str, lessons: Sequence[Noticed]) -> list[Noticed]:
    """Lessons by how near their topic is to the words of a category; equal ones in the order given."""
    words = stems(category)
    return sorted(lessons, key=lambda lesson: -nearness(words, lesson.topic))


def nearness(words: frozenset[str], topic: str) -> float:
    """Cosine of a category's word stems with a topic's, weighted by how few topics have them."""
    own, rarity = _topic_stems()[topic], _rarity()
    shared = sum(rarity.get(word, 0.0) ** 2 for word in words & own)
    lengths = [math.sqrt(sum(rarity.get(word, 0.0) ** 2 for word in side)) for side in (words, own)]
    return shared / (lengths[0] * lengths[1]) if all(lengths) else 0.0


def stems(text: str) -> frozenset[str]:
    """The beginnings of the longer words of a text."""
    return frozenset(word[:STEM] for word in re.findall(r"[a-z]{4,}", text.lower()))


@functools.cache
def _topic_stems() -> dict[str, frozenset[str]]:
    return {
        topic: stems(" ".join([*words.titles, *words.applies, *words.patterns, *words.detects, words.not_a_violation, words.consequence]))
        for topic, words in TOPICS.items()
    }


@functools.cache
def _rarity() -> dict[str, float]:
    counts = Counter(word for words in _topic_stems().values() for word in words)
    return {word: math.log(1 + len(TOPICS) / count) for word, count in counts.items()}
