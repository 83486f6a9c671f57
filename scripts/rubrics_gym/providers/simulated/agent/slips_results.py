"""How programs that build a table go wrong."""

from __future__ import annotations

from rubrics_gym.providers.simulated.agent.analysis import Names
from rubrics_gym.providers.simulated.agent.dice import Dice
from rubrics_gym.providers.simulated.agent.goals import ResultGoal
from rubrics_gym.providers.simulated.agent.mistakes import Change, Mistake, alike, swap
from rubrics_gym.providers.simulated.agent.prediction import repr_
from rubrics_gym.providers.simulated.agent.program import Part
from rubrics_gym.providers.simulated.agent.slips_analysis import SHARED_MISTAKES, misspelt_column

MOST_STEPS = 6  # mistakes are written for the first so many steps of a pipeline


def _turned_round(part: Part, goal: ResultGoal, n: Names, dice: Dice) -> Part | None:
    """A comparison points the other way."""
    return swap(part, r" (>|<)(=?) ", lambda match: f" {'<' if match.group(1) == '>' else '>'}{match.group(2)} ")


def _outer_join(part: Part, goal: ResultGoal, n: Names, dice: Dice) -> Part | None:
    return swap(part, r'how="inner"', dice.pick("how", ['how="outer"', 'how="left"', 'how="right"']))


def _other_aggregate(part: Part, goal: ResultGoal, n: Names, dice: Dice) -> Part | None:
    return swap(part, r'"(mean|sum|max)"\)', dice.pick("how", ['"first")', '"median")', '"last")']))


def _other_direction(part: Part, goal: ResultGoal, n: Names, dice: Dice) -> Part | None:
    return swap(part, r", ascending=\[.*?\]", "") if "False" in part.text else swap(part, r"ascending=\[True", "ascending=[False")


def _unknown_column(part: Part, goal: ResultGoal, n: Names, dice: Dice) -> Part | None:
    """A column of the result is asked for under another name."""
    name = dice.pick("column", goal.columns)
    return swap(part, rf"(?<=[\[ ]){repr_(name)}(?=[,\]])", repr_(dice.pick("wrong", [name + "_value", name.upper() + "_", "the_" + name])))


def _nothing_sorted(part: Part, goal: ResultGoal, n: Names, dice: Dice) -> Part | None:
    return swap(part, r"^(\w+) = (\w+\.sort_values\(.*)\)$", r"\1 = \2, inplace=True)\nprint(\1.shape)")


def _wrong_operand(part: Part, goal: ResultGoal, n: Names, dice: Dice) -> Part | None:
    return swap(part, r"\] ([*/+-]) (\w+)\[\"[^\"]+\"\]", rf'] \1 "{dice.pick("word", ["total", "count", "base"])}"')


def _index_written(part: Part, goal: ResultGoal, n: Names, dice: Dice) -> Part | None:
    return swap(part, r", index=False\)", ")")


def _renamed(part: Part, goal: ResultGoal, n: Names, dice: Dice) -> Part | None:
    new = dice.pick("how", ["str.title", "str.upper", 'lambda c: c.replace("_", " ")', 'lambda c: "col_" + c'])
    return swap(part, r"^(\w+)\.to_csv", rf"\1 = \1.rename(columns={new})\n\1.to_csv")


def _no_header(part: Part, goal: ResultGoal, n: Names, dice: Dice) -> Part | None:
    return swap(part, r", index=False\)", f", index=False, {dice.pick('option', ['header=False', 'sep=chr(59)', 'sep=chr(9)'])})")


def _coarse(part: Part, goal: ResultGoal, n: Names, dice: Dice) -> Part | None:
    return swap(part, r"\.round\(\d+\)", dice.pick("digits", [".round(0)", ".round(1)"])) if (goal.decimals or 0) > 1 else None


def _only_shown(part: Part, goal: ResultGoal, n: Names, dice: Dice) -> Part | None:
    return swap(part, r"^(\w+)\.to_csv\(.*\)$", rf"print(\1.head({dice.pick('rows', [10, 20, 50])}))")


_STEPS = tuple(f"step {number}" for number in range(MOST_STEPS))


def _everywhere(kind: str, signature: str, failure_type: str | None, *changes: Change) -> tuple[Mistake, ...]:
    return tuple(mistake for part in _STEPS for mistake in alike(kind, part, signature, failure_type, *changes))


MISTAKES: tuple[Mistake, ...] = (
    *SHARED_MISTAKES,
    *_everywhere("statistic_wrong_scope", "", None, _turned_round, _outer_join, _other_aggregate),
    *_everywhere("misaligned_order", "", None, _other_direction),
    *_everywhere("runtime:own_logic", "KeyError", "own_logic", misspelt_column),
    *_everywhere("runtime:own_logic", "AttributeError", "own_logic", _nothing_sorted),
    *_everywhere("runtime:own_logic", "TypeError", "own_logic", _wrong_operand),
    *alike("runtime:own_logic", "write", "KeyError", "own_logic", _unknown_column),
    *alike("output_format", "write", "", None, _index_written, _renamed, _no_header),
    *alike("spec_ignored", "write", "", None, _coarse),
    *alike("output_missing_or_overwritten", "write", "", None, _only_shown),
)
