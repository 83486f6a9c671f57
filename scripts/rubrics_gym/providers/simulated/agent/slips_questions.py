"""How programs that work out values go wrong."""

from __future__ import annotations

import re
from dataclasses import replace

from rubrics_gym.providers.simulated.agent.analysis import Names
from rubrics_gym.providers.simulated.agent.dice import Dice
from rubrics_gym.providers.simulated.agent.goals import QuestionGoal
from rubrics_gym.providers.simulated.agent.mistakes import Change, Mistake, alike, extend, swap
from rubrics_gym.providers.simulated.agent.program import Part
from rubrics_gym.providers.simulated.agent.slips_analysis import SHARED_MISTAKES, misspelt_column

MOST_VALUES = 4  # mistakes are written for the first so many values of a question


def _whole_table(part: Part, goal: QuestionGoal, n: Names, dice: Dice) -> Part | None:
    """The rows are selected, and then the whole table is used."""
    first, _, rest = part.text.partition("\n")
    changed = (
        rest.replace(f"{n.rows}[", f"{n.frame}[")
        .replace(f"len({n.rows})", f"len({n.frame})")
        .replace(f"{n.rows}.groupby", f"{n.frame}.groupby")
    )
    return replace(part, text=first + "\n" + changed) if first.startswith(f"{n.rows} = ") and changed != rest else None


def _half_the_condition(part: Part, goal: QuestionGoal, n: Names, dice: Dice) -> Part | None:
    return swap(part, r" & \([^&]*\)\]", "]")


def _turned_round(part: Part, goal: QuestionGoal, n: Names, dice: Dice) -> Part | None:
    """A comparison points the other way."""
    if match := re.search(r"(>=|<=|>|<) (?=[\d-])", part.text):
        other = {">=": "<=", ">": "<", "<=": ">=", "<": ">"}[match.group(1)]
        return swap(part, r"(>=|<=|>|<) (?=[\d-])", other + " ")
    return None


def _other_divisor(part: Part, goal: QuestionGoal, n: Names, dice: Dice) -> Part | None:
    return swap(part, r"\.std\(ddof=1\)", dice.pick("how", [".std(ddof=0)", ".to_numpy().std()"]))


def _over_filled_rows(part: Part, goal: QuestionGoal, n: Names, dice: Dice) -> Part | None:
    """The share is taken of the wrong number of rows."""
    return swap(part, r"(\w+)\[(\"[^\"]+\")\]\.isna\(\)\.mean\(\) \* 100", r"\1[\2].isna().sum() / \1[\2].count() * 100")


def _line_turned_round(part: Part, goal: QuestionGoal, n: Names, dice: Dice) -> Part | None:
    return swap(part, r"np\.polyfit\((.*?\]), (.*?\]), 1\)", r"np.polyfit(\2, \1, 1)")


def _sums_of_groups(part: Part, goal: QuestionGoal, n: Names, dice: Dice) -> Part | None:
    return swap(part, r"\]\.mean\(\)$", dice.pick("how", ["].sum()", "].count()", "].min()"]))


def _median_for_mean(part: Part, goal: QuestionGoal, n: Names, dice: Dice) -> Part | None:
    return swap(part, r"\.mean\(\)(?=[,)])", dice.pick("how", [".median()", ".max()"])) if "groupby" not in part.text else None


def _other_digits(part: Part, goal: QuestionGoal, n: Names, dice: Dice) -> Part | None:
    digits = dice.pick("digits", [0, 1])
    return swap(part, r"(round\(.*), \d+\)$", rf"\1, {digits})")


def _divided_by_zero(part: Part, goal: QuestionGoal, n: Names, dice: Dice) -> Part | None:
    return extend(part, f'spread = 0\nprint("ratio", len({n.frame}) / spread)')


def _name_of_another(part: Part, goal: QuestionGoal, n: Names, dice: Dice) -> Part | None:
    wrong = dice.pick("wrong", ["frame_all", "filtered", "sel", "grouped", "tmp"])
    return swap(part, rf"\b({re.escape(n.rows)}|{re.escape(n.frame)})\[", f"{wrong}[")


def _plain_words(part: Part, goal: QuestionGoal, n: Names, dice: Dice) -> Part | None:
    """The lines are written in another form than asked for."""
    form = dice.pick("form", ["{name}: {value}", "{name} = {value}", "@{name} {value}", "@{name}({value})"])
    if "handle.write" in part.text:
        return swap(part, r"handle\.write\(f\".*\"\)", f'handle.write(f"{form}\\\\\\\\n")')
    changed = re.sub(
        r'f"@(\w+)\[\{(\w+)\}\]"', lambda match: f'f"{form.format(name=match.group(1), value="{" + match.group(2) + "}")}"', part.text
    )
    return replace(part, text=changed) if changed != part.text else None


def _only_last(part: Part, goal: QuestionGoal, n: Names, dice: Dice) -> Part | None:
    """The file is opened anew for every line."""
    if len(goal.measures) < 2 or "handle.write" not in part.text:
        return None
    text = f'for name, value in {n.answers}.items():\n    with open("{goal.deliverable}", "w") as handle:\n        handle.write(f"@{{name}}[{{value}}]\\n")'
    return replace(part, text=part.text.split("with open")[0] + text)


def _named_otherwise(part: Part, goal: QuestionGoal, n: Names, dice: Dice) -> Part | None:
    name = dice.pick("name", [measure.name for measure in goal.measures])
    wrong = dice.pick("wrong", [name.upper(), name + "_value", name.replace("_", "")])
    if wrong == name:
        return None
    return swap(part, rf'(?<=["@]){name}(?=["\[])', wrong)


_VALUES = tuple(f"value {number}" for number in range(MOST_VALUES))


def _everywhere(kind: str, signature: str, failure_type: str | None, *changes: Change) -> tuple[Mistake, ...]:
    return tuple(mistake for part in _VALUES for mistake in alike(kind, part, signature, failure_type, *changes))


MISTAKES: tuple[Mistake, ...] = (
    *SHARED_MISTAKES,
    *_everywhere(
        "statistic_wrong_scope",
        "",
        None,
        _whole_table,
        _half_the_condition,
        _turned_round,
        _other_divisor,
        _over_filled_rows,
        _line_turned_round,
        _sums_of_groups,
        _median_for_mean,
    ),
    *_everywhere("spec_ignored", "", None, _other_digits),
    *_everywhere("runtime:own_logic", "KeyError", "own_logic", misspelt_column),
    *_everywhere("runtime:own_logic", "NameError", "own_logic", _name_of_another),
    *_everywhere("runtime:own_logic", "ZeroDivisionError", "own_logic", _divided_by_zero),
    *alike("output_format", "write", "", None, _plain_words, _named_otherwise),
    *alike("output_missing_or_overwritten", "write", "", None, _only_last),
)
