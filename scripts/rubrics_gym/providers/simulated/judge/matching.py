"""Which rubric brings which mistake to mind: nearness of meaning between whole sentences, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

Vectors = npt.NDArray[np.float32]
Encode = Callable[[list[str]], Vectors]


class Memory:
    """The mistakes that are known, and what of them a rubric brings to mind.

    Sentence vectors leak: a heap of words from data science lies near every sentence about data science, whatever their order. So
    the mean of the known mistakes is taken off every vector first (what all of them share says nothing; Mu and Viswanath 2018), a
    rubric's title and its pattern are compared apart and both must come near, and a rubric is about the one mistake nearest to it.
    """

    def __init__(self, mistakes: Sequence[str], encode: Encode):
        """`encode` turns n texts into unit vectors of shape (n, dimensions)."""
        self._mistakes = list(mistakes)
        self._encode = encode
        self._recalled: dict[str, tuple[int, float]] = {}

    def recall(self, rubric: str) -> tuple[int, float]:
        """The position of the mistake nearest to a rubric, and how near: the mean centred cosine, in [-1, 1].

        A rubric's text is encoded once in a process: rubrics recur from request to request.
        """
        if rubric not in self._recalled:
            nearness = (self._centred(self._vectors(title_and_pattern(rubric))) @ self._known.T).mean(axis=0)
            best = int(nearness.argmax())
            self._recalled[rubric] = best, float(nearness[best])
        return self._recalled[rubric]

    @cached_property
    def _plain(self) -> Vectors:
        return self._vectors(self._mistakes)

    @cached_property
    def _known(self) -> Vectors:
        return self._centred(self._plain)

    def _centred(self, vectors: Vectors) -> Vectors:
        moved = vectors - self._plain.mean(axis=0)
        lengths = np.linalg.norm(moved, axis=1, keepdims=True)
        unit: Vectors = moved / np.maximum(lengths, 1e-9)
        return unit

    def _vectors(self, texts: Sequence[str]) -> Vectors:
        """One text at a time: in a batch the last bits of a vector depend on its neighbours, and an answer must not."""
        return np.concatenate([self._encode([text]) for text in texts])


def title_and_pattern(rubric: str) -> tuple[str, str]:
    """The two parts of a rubric that say what the mistake is: its first line, and the line that begins with `Pattern`.

    A rubric without a pattern is its title twice.
    """
    lines = [line.strip() for line in rubric.splitlines() if line.strip()] or [""]
    patterns = [line.partition(":")[2].strip() for line in lines[1:] if re.match(r"pattern:", line, re.IGNORECASE)]
    return lines[0], patterns[0] if patterns and patterns[0] else lines[0]
