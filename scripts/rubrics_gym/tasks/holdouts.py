"""The hold-out filter: which pool tasks may be used, decided by ids, aliases and words alone, and why the others may not."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Literal

import yaml
from pydantic import Field

from rubrics_gym.records.base import Record
from rubrics_gym.records.tasks import HoldoutVariant, Role
from rubrics_gym.tasks.catalog import Benchmark, CatalogError, Entry, load_benchmark

RESOURCES = Path(__file__).resolve().parents[3] / "resources" / "holdouts"

RuleName = Literal["same_name", "alias", "distinctive_word"]


class HoldoutRule(Record):
    """What counts as the same task; see resources/holdouts/mle-bench.yaml.

    `held_out` names the benchmark whose tasks are held against the pool. An alias is a pool task (`benchmark/task`) or a word of its name.
    """

    held_out: str
    min_letters: int
    common: tuple[str, ...]
    aliases: dict[str, tuple[str, ...]]
    variants: dict[HoldoutVariant, tuple[RuleName, ...]] = Field(min_length=1)


class Conflict(Record):
    """Why a task is removed: by which rule, by which name, alias or word, and which held-out task that is about."""

    rule: RuleName
    match: str
    held_out: str


class Decision(Record):
    """What the filter says about one task. A held-out task is no pool task: it is what the others are held against."""

    benchmark: str
    entry: Entry
    conflict: Conflict | None

    @property
    def kept(self) -> bool:
        return self.conflict is None

    def usable(self, prepared: tuple[str, ...] = ()) -> bool:
        """Whether it may be used: kept, can be run here, and asks for no work by hand or is named as prepared."""
        return self.kept and not self.entry.exclude and (not self.entry.by_hand or self.entry.id in prepared)


class NoTasks(ValueError):
    """A selection that is empty; the message names benchmark and role."""


@functools.cache
def load_rule(name: str) -> HoldoutRule:
    """Read resources/holdouts/NAME.yaml. CatalogError when an alias names a held-out task or a pool task that is in no table."""
    path = RESOURCES / f"{name}.yaml"
    if not path.is_file():
        known = ", ".join(sorted(other.stem for other in RESOURCES.glob("*.yaml")))
        raise CatalogError(f"{path} does not exist; hold-out rules are {known}")
    return HoldoutRule.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))


def rules_for(benchmark: Benchmark, evaluated: str = "") -> tuple[HoldoutRule, ...]:
    """The rules that a pool benchmark must pass: that of its own table, and that of the benchmark that is evaluated on, where it has one."""
    names = [benchmark.holdouts]
    if evaluated and load_benchmark(evaluated).holdouts not in names:
        names.append(load_benchmark(evaluated).holdouts)
    return tuple(load_rule(name) for name in names if name)


def decide(benchmark: Benchmark, rules: tuple[HoldoutRule, ...], variant: HoldoutVariant = HoldoutVariant.STRICT) -> list[Decision]:
    """One decision for every task of the table, in its order; the first rule that hits is named."""
    held = [_HeldOut(rule, load_benchmark(rule.held_out), variant) for rule in rules]
    decisions = []
    for entry in benchmark.entries:
        found = (held_out.conflict(benchmark, entry) for held_out in held)
        conflict = None if entry.role is Role.HELD_OUT else next((one for one in found if one), None)
        decisions.append(Decision(benchmark=benchmark.name, entry=entry, conflict=conflict))
    return decisions


def list_tasks(
    benchmark: str,
    role: Role,
    limit: int | None = None,
    variant: HoldoutVariant = HoldoutVariant.STRICT,
    evaluated: str = "",
    prepared: tuple[str, ...] = (),
) -> list[str]:
    """The ids of the tasks of one role that may be used, in the order of the task table; at most `limit`. NoTasks when there are none.

    A task that must be prepared by hand is one of them when `prepared` names it; one that cannot be run here never is. CatalogError when
    `prepared` names a task that the table does not have.
    """
    table = load_benchmark(benchmark)
    for task in prepared:
        table.entry(task)
    decisions = decide(table, rules_for(table, evaluated), variant)
    tasks = [decision.entry.id for decision in decisions if decision.entry.role == role and decision.usable(prepared)]
    if not tasks:
        raise NoTasks(f"benchmark {benchmark} has no task with the role {role} that passes the hold-out filter and can be run as it is")
    return tasks[:limit]


class _HeldOut:
    """The names, aliases and words of what is held out, under one variant of a rule."""

    def __init__(self, rule: HoldoutRule, held_out: Benchmark, variant: HoldoutVariant):
        if variant not in rule.variants:
            raise CatalogError(f"the hold-out rule against {rule.held_out} has no variant {variant!r}; it has {', '.join(rule.variants)}")
        self.benchmark = held_out.name
        entries = [entry for entry in held_out.entries if entry.role in (Role.HELD_OUT, Role.DEVELOPMENT)]
        self.used = rule.variants[variant]
        self.names = {name: entry.id for entry in entries for name in _names(entry)}
        self.aliases = {alias: task for task, others in rule.aliases.items() for alias in others}
        common = set(rule.common)
        self.words = {
            word: self.names[name] for name in self.names for word in words_of(name) if len(word) >= rule.min_letters and word not in common
        }

    def conflict(self, benchmark: Benchmark, entry: Entry) -> Conflict | None:
        task, words = f"{benchmark.name}/{entry.id}", _searched(benchmark, entry)
        hits: dict[RuleName, dict[str, str]] = {
            "same_name": {name: self.names[name] for name in _names(entry) & self.names.keys()},
            "alias": {alias: self.aliases[alias] for alias in ({task} | words) & self.aliases.keys()},
            "distinctive_word": {word: self.words[word] for word in words & self.words.keys()},
        }
        for rule in self.used:
            if hits[rule]:
                match = min(hits[rule])
                return Conflict(rule=rule, match=match, held_out=hits[rule][match])
        return None


def words_of(name: str) -> set[str]:
    """The runs of letters of a name, in lower case; a name written in camel case also falls apart at its capitals."""
    return {run.lower() for run in (*re.findall("[A-Za-z]+", name), *re.findall("[A-Z]?[a-z]+|[A-Z]+", name))}


def _names(entry: Entry) -> set[str]:
    return {name.lower().replace("_", "-") for name in (entry.id, *entry.tables)}


def _searched(benchmark: Benchmark, entry: Entry) -> set[str]:
    if benchmark.filter_on == "words":
        return set(entry.words)
    name = entry.title if benchmark.filter_on == "title" else entry.id
    return {word for text in (name, *entry.tables) for word in words_of(text)}
