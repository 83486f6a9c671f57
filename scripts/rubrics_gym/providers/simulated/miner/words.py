"""What a topic of the simulated miner is made of."""

from __future__ import annotations

from typing import NamedTuple


class Words(NamedTuple):
    """Ways to word one topic. `{of}` is a detail of the rollout, e.g. the library's name, and `{detail}` the same in parentheses."""

    titles: tuple[str, ...]
    applies: tuple[str, ...]
    patterns: tuple[str, ...]
    detects: tuple[str, ...]
    not_a_violation: str
    consequence: str
