"""Mistakes that a person makes while writing: drawn by kind, put into one part of a program as plain code."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from rubrics_gym.providers.simulated.agent.dice import Dice
from rubrics_gym.providers.simulated.agent.goals import Goal, PredictionGoal, QuestionGoal
from rubrics_gym.providers.simulated.agent.program import Part, Program

# Shares in percent of all failures (failed commands and causes of wrong results) in the published study, for kinds that can be planted:
# its collection pool and its MLE-bench runs. The pool's share of missing outputs is not printed there; it is 48% of the causes, which are 31% of all.
POOL_MIX = {
    "runtime:own_logic": 23.7,
    "runtime:missing_package": 15.4,
    "output_missing_or_overwritten": 14.9,
    "missing_values_unchecked": 12.5,
    "runtime:time_limit": 11.3,
    "runtime:api_changed": 4.8,
    "output_format": 4.5,
    "altered_before_split": 3.0,
    "not_validated_against_baseline": 1.6,
    "misaligned_order": 1.0,
    "spec_ignored": 0.9,
    "parsing_corrupted": 0.9,
    "runtime:file_not_found": 0.6,
    "statistic_wrong_scope": 0.5,
    "runtime:out_of_memory": 0.3,
}
COMPETITION_MIX = {
    "runtime:time_limit": 49.0,
    "runtime:own_logic": 13.6,
    "not_validated_against_baseline": 10.2,
    "runtime:missing_package": 8.2,
    "missing_values_unchecked": 6.1,
    "runtime:api_changed": 5.4,
    "output_format": 2.0,
    "runtime:file_not_found": 0.7,
    "wrong_metric": 0.7,
}

# What the plan calls each kind. Nothing but the plan reads it.
LABELS = {kind: kind for kind in sorted({*POOL_MIX, *COMPETITION_MIX})}

Change = Callable[[Part, Any, Any, Dice], Part | None]


@dataclass(frozen=True)
class Mistake:
    """One way to get a part wrong. `change` returns the spoilt part, or None where it does not fit.

    `signature` is what shows in the output when it surfaces: the exception's name for a crash, empty for a wrong result.
    """

    kind: str
    part: str
    signature: str
    change: Change
    failure_type: str | None = None  # of the crash; None for a wrong result

    @property
    def surfaces(self) -> str:
        return "crash" if self.failure_type else "result"


@dataclass(frozen=True)
class Planted:
    """A mistake in force."""

    mistake: Mistake

    def entry(self) -> dict[str, Any]:
        """One line of the plan."""
        kind = self.mistake.kind
        return {
            "label": LABELS[kind],
            "part": self.mistake.part,
            "expected_type": self.mistake.failure_type,
            "expected_category": kind.partition(":")[0],
            "surfaces": self.mistake.surfaces,
            "signature": self.mistake.signature,
        }


# ---------------------------------------------------------------- building blocks of changes


def swap(
    part: Part, pattern: str, replacement: str | Callable[[re.Match[str]], str], imports: Iterable[str] = (), drop: str | None = None
) -> Part | None:
    """Replace the first match of a regular expression; None when there is none. `drop` removes imports that match it."""
    text, count = re.subn(pattern, replacement, part.text, count=1, flags=re.MULTILINE)
    if not count:
        return None
    kept = tuple(line for line in part.imports if not (drop and re.search(drop, line)))
    return replace(part, text=text, imports=(*kept, *imports))


def extend(part: Part, text: str, imports: Iterable[str] = (), first: bool = False) -> Part:
    """Put lines after (or before) a part's text."""
    lines = [text, part.text] if first else [part.text, text]
    return replace(part, text="\n".join(line for line in lines if line), imports=(*part.imports, *imports))


def alike(kind: str, part: str, signature: str, failure_type: str | None, *changes: Change) -> tuple[Mistake, ...]:
    """Mistakes that differ in their shape alone."""
    return tuple(Mistake(kind, part, signature, change, failure_type) for change in changes)


# ---------------------------------------------------------------- drawing


def catalogue(goal: Goal) -> tuple[Mistake, ...]:
    """Every mistake that can be made in programs for this kind of goal."""
    # the catalogues import this module; imported by name they would be no part of a rule's fingerprint
    if isinstance(goal, PredictionGoal):
        from rubrics_gym.providers.simulated.agent.slips_prediction import MISTAKES
    elif isinstance(goal, QuestionGoal):
        from rubrics_gym.providers.simulated.agent.slips_questions import MISTAKES
    else:
        from rubrics_gym.providers.simulated.agent.slips_results import MISTAKES
    return MISTAKES


def spoil(program: Program, kind: str | None, part: str | None, goal: Goal, names: Any, dice: Dice) -> tuple[Program, Planted] | None:
    """Make one mistake of a kind (None: any that the part allows) in the program; None when no shape of it fits."""
    fitting = [mistake for mistake in catalogue(goal) if (kind is None or mistake.kind == kind) and (part is None or mistake.part == part)]
    for number, mistake in enumerate(dice.shuffled("shape", fitting)):
        if mistake.part not in program.names:
            continue
        old = program.part(mistake.part)
        new = mistake.change(old, goal, names, dice.at("constants", number))
        if new is not None and new != old:
            return program.with_part(new), Planted(mistake)
    return None


def plant(program: Program, mix: dict[str, float], mean: float, goal: Goal, names: Any, dice: Dice) -> tuple[Program, tuple[Planted, ...]]:
    """Make a Poisson number of mistakes, kinds in proportion to the mix. A kind that does not fit the program is drawn again."""
    planted: list[Planted] = []
    for number in range(dice.poisson("count", mean)):
        open_kinds = {kind: weight for kind, weight in mix.items() if weight > 0}
        while open_kinds:
            kind = dice.at(number, len(open_kinds)).weighted("kind", open_kinds)
            taken = {item.mistake.part for item in planted}
            done = spoil(program, kind, None, goal, names, dice.at(number, kind))
            if done is None or done[1].mistake.part in taken:
                del open_kinds[kind]
                continue
            program = done[0]
            planted.append(done[1])
            break
    return program, tuple(planted)
