"""Which task may be used for what. The task tables give every task one role, for every study: nothing can be mined in one and tested in another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rubrics_gym.records.tasks import Role
from rubrics_gym.tasks.catalog import benchmark_names, load_benchmark
from rubrics_gym.tasks.holdouts import load_rule

EVALUATED = (Role.HELD_OUT, Role.DEVELOPMENT)


class RoleConflict(ValueError):
    """A stage would read a task in a role that it may not read; the message names the key and the task."""


def registry(names: Sequence[str] | None = None) -> dict[tuple[str, str], Role]:
    """(benchmark, task) -> its one role, over the named task tables (default: all)."""
    return {(name, entry.id): entry.role for name in (names or benchmark_names()) for entry in load_benchmark(name).entries}


def same_task(name: str, task: str) -> set[tuple[str, str]]:
    """A task and those of other benchmarks that are known to be the same one: what has its id, or is an alias by the hold-out rule of its table."""
    same = {(other, task) for other in benchmark_names()}
    table = load_benchmark(name)
    if table.holdouts:
        rule = load_rule(table.holdouts)
        for held_out, aliases in rule.aliases.items():
            listed = {(alias.split("/")[0], alias.split("/")[1]) for alias in aliases if "/" in alias} | {(rule.held_out, held_out)}
            if (name, task) in listed:
                same |= listed
    return same


def check_collected(collection: str, role: Role) -> None:
    """Refuse a collection of held-out tasks. RoleConflict."""
    if role is Role.HELD_OUT:
        raise RoleConflict(f"`collections.{collection}.tasks.role` is held_out; held-out tasks are never mined.")


def check_mined(collection: str, role: Role) -> None:
    """Refuse to mine anything but training tasks. RoleConflict."""
    if role is not Role.TRAIN:
        raise RoleConflict(
            f"`collections.{collection}.tasks.role` is {role.value}, but a library is mined from `{collection}`; only tasks with the role train "
            "are mined."
        )


def check_evaluation(benchmark: str, tasks: Sequence[str], collections: Mapping[str, tuple[str, Sequence[str]]]) -> None:
    """Refuse to evaluate on tasks that are not held out (or for development), or that a collection has under any name. RoleConflict.

    `collections`: name -> (benchmark, tasks).
    """
    roles = registry([benchmark])
    for task in tasks:
        if roles.get((benchmark, task)) not in EVALUATED:
            raise RoleConflict(f"`evaluation.split` holds `{task}`, whose role is not held_out.")
    collected = {(name, task): collection for collection, (name, taken) in collections.items() for task in taken}
    for task in tasks:
        for same in sorted(same_task(benchmark, task) & collected.keys()):
            raise RoleConflict(
                f"`{same[0]}/{same[1]}` is in collection `{collected[same]}` and, as `{benchmark}/{task}`, in the evaluation."
            )
