"""Which competitions a rate of MLE-bench is over: declared in resources/grading/mlebench_denominators.yaml, with a reason for each that is left out."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path

import yaml

from rubrics_gym.records.base import Record
from rubrics_gym.tasks.catalog import load_benchmark

BENCHMARK = "mlebench"
FILE = Path(__file__).resolve().parents[3] / "resources" / "grading" / "mlebench_denominators.yaml"


class Denominator(Record):
    """A set of competitions; `tasks` is the split without those that are left out, in its order."""

    name: str
    about: str
    split: str
    tasks: tuple[str, ...]
    without: dict[str, str]


@functools.cache
def load_denominators() -> Mapping[str, Denominator]:
    """Every declared denominator. ValueError when one leaves out a competition that is not in its split, or gives no reason."""
    found = {}
    for name, declared in yaml.safe_load(FILE.read_text(encoding="utf-8")).items():
        split, without = load_benchmark(BENCHMARK).split(declared["split"]), declared["without"]
        strange = [task for task, reason in without.items() if task not in split or not reason]
        if strange:
            raise ValueError(f"{FILE}: {name} leaves out {strange[0]!r}, which is not in the split {declared['split']!r} or has no reason")
        tasks = tuple(task for task in split if task not in without)
        found[name] = Denominator(name=name, about=declared["about"], split=declared["split"], tasks=tasks, without=without)
    return found
