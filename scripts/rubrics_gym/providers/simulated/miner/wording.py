"""How the simulated miner words its rubrics: several ways to say each thing, chosen by the dice of the request."""

from __future__ import annotations

import random

from rubrics_gym.providers.simulated.miner.topics_crashes import CRASHES
from rubrics_gym.providers.simulated.miner.topics_methods import METHODS
from rubrics_gym.providers.simulated.miner.topics_results import RESULTS

TOPICS = CRASHES | RESULTS | METHODS


def worded(topic: str, detail: str, dice: random.Random) -> dict[str, str]:
    """The texts of one rubric."""
    words = TOPICS[topic]
    suffix = f" ({detail})" if detail else ""
    return {
        "title": dice.choice(words.titles).replace("{detail}", suffix),
        "applies_when": dice.choice(words.applies),
        "pattern": dice.choice(words.patterns),
        "detect": dice.choice(words.detects),
        "not_a_violation": words.not_a_violation,
        "consequence": words.consequence,
    }


def other_wordings(topic: str, detail: str, dice: random.Random) -> list[dict[str, str]]:
    """One rubric for each title that the topic has, in an order of chance."""
    words = TOPICS[topic]
    suffix = f" ({detail})" if detail else ""
    titles = dice.sample(words.titles, len(words.titles))
    return [{**worded(topic, detail, dice), "title": title.replace("{detail}", suffix)} for title in titles]
