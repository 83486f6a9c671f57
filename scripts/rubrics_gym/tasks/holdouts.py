"""The hold-out filter: which pool tasks are used, decided by names alone, and why the others are not."""

from __future__ import annotations

import functools
import re
from pathlib import Path

import yaml

from rubrics_gym.records.base import Record
from rubrics_gym.records.tasks import Role
from rubrics_gym.tasks.catalog import Benchmark, Entry, load_benchmark

RESOURCES = Path(__file__).resolve().parents[3] / "resources" / "holdouts"


class HoldoutRule(Record):
    """What counts as the same name; see resources/holdouts/packaged.yaml."""

    min_letters: int
    common: tuple[str, ...]
    aliases: dict[str, tuple[str, ...]]


class Decision(Record):
    """What the filter says about one task. `rule` and `word` say why it is removed; both empty when it is kept."""

    benchmark: str
    task: str
    kind: str
    role: str
    title: str
    kept: bool
    rule: str = ""  # same_name, alias or distinctive_word
    word: str = ""


class NoTasks(ValueError):
    """A selection that is empty; the message names benchmark and role."""


@functools.cache
def load_rule(name: str) -> HoldoutRule:
    """Read resources/holdouts/NAME.yaml."""
    return HoldoutRule.model_validate(yaml.safe_load((RESOURCES / f"{name}.yaml").read_text(encoding="utf-8")))


def decide(benchmark: Benchmark, rule: HoldoutRule) -> list[Decision]:
    """One decision for every task of the table, in its order. Held-out tasks are kept: they are what the others are held against."""
    held_out = [entry for entry in benchmark.entries if entry.role is Role.HELD_OUT]
    names = {name for entry in held_out for name in _names(entry)}
    aliases = {alias for others in rule.aliases.values() for alias in others}
    words = {word for name in names for word in _words(name) if len(word) >= rule.min_letters} - set(rule.common)
    decisions = []
    for entry in benchmark.entries:
        why, word = ("", "") if entry.role is Role.HELD_OUT else _conflict(entry, names, aliases, words)
        decisions.append(
            Decision(
                benchmark=benchmark.name,
                task=entry.id,
                kind=entry.kind,
                role=entry.role,
                title=entry.title,
                kept=not why,
                rule=why,
                word=word,
            )
        )
    return decisions


def list_tasks(benchmark: str, role: Role, limit: int | None = None) -> list[str]:
    """The ids of the tasks of one role that pass the filter, in the order of the task table; at most `limit`. NoTasks when there are none."""
    decisions = decide(load_benchmark(benchmark), load_rule(benchmark))
    tasks = [decision.task for decision in decisions if decision.kept and decision.role == role]
    if not tasks:
        raise NoTasks(f"benchmark {benchmark} has no task with the role {role} that passes the hold-out filter")
    return tasks[:limit]


def _names(entry: Entry) -> set[str]:
    return {_normal(name) for name in (entry.id, *entry.tables)}


def _normal(name: str) -> str:
    return name.lower().replace("_", "-")


def _words(name: str) -> set[str]:
    return set(re.findall("[a-z]+[0-9]*", name.lower()))


def _conflict(entry: Entry, names: set[str], aliases: set[str], words: set[str]) -> tuple[str, str]:
    own_words = {word for name in _names(entry) for word in _words(name)}
    for rule, hits in (
        ("same_name", _names(entry) & names),
        ("alias", own_words & aliases),
        ("distinctive_word", own_words & words),
    ):
        if hits:
            return rule, min(hits)
    return "", ""
