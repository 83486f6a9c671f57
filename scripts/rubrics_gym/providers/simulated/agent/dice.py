"""Draws that depend on a key and nothing else, so that a decision can be replayed in any process."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")


class Dice:
    """A family of independent draws. Each draw is named; the same key and name give the same value."""

    def __init__(self, *key: object):
        self._key = key

    def at(self, *more: object) -> Dice:
        """The family of draws for one place, e.g. one program or one part of it."""
        return Dice(*self._key, *more)

    def rng(self, name: str) -> random.Random:
        """A generator of its own for one name. Seeded through sha256: `hash()` differs between processes."""
        text = "\x1f".join(str(item) for item in (*self._key, name))
        return random.Random(hashlib.sha256(text.encode()).digest())

    def pick(self, name: str, options: Sequence[T]) -> T:
        """One of the options, each as likely."""
        return self.rng(name).choice(list(options))

    def shuffled(self, name: str, options: Sequence[T]) -> list[T]:
        """The options in a random order."""
        items = list(options)
        self.rng(name).shuffle(items)
        return items

    def chance(self, name: str, probability: float) -> bool:
        """True with the given probability."""
        return self.rng(name).random() < probability

    def weighted(self, name: str, weights: Mapping[str, float]) -> str:
        """A key, drawn in proportion to its weight; the keys are taken in sorted order."""
        keys = sorted(weights)
        return self.rng(name).choices(keys, [weights[key] for key in keys])[0]

    def poisson(self, name: str, mean: float) -> int:
        """A Poisson count: exponential waiting times that fit into one unit."""
        rng, count, clock = self.rng(name), 0, 0.0
        if mean <= 0:
            return 0
        while True:
            clock += rng.expovariate(mean)
            if clock > 1:
                return count
            count += 1
