"""How the submission of a predicting program goes wrong: its shape, its order, or that it is not written at all."""

from __future__ import annotations

from rubrics_gym.providers.simulated.agent.dice import Dice
from rubrics_gym.providers.simulated.agent.goals import PredictionGoal
from rubrics_gym.providers.simulated.agent.mistakes import Mistake, alike, extend, swap
from rubrics_gym.providers.simulated.agent.prediction import Names, repr_
from rubrics_gym.providers.simulated.agent.program import Part

Goal = PredictionGoal
_SAVE = r"^(\w+)\.to_csv\(\"[\w.]+\", index=False\)$"


def _plain(part: Part, goal: Goal, n: Names, columns: str, options: str = "index=False", last: bool = False) -> Part:
    """A writing part of the shape `pd.DataFrame({...}).to_csv(...)`."""
    text = f'{n.out} = pd.DataFrame({{{columns}}})\n{n.out}.to_csv("{goal.deliverable}", {options})'
    return Part(part.name, text + (f"\nprint({n.out}.head(3))" if last else ""), ("import pandas as pd",))


def _ids(goal: Goal, n: Names) -> str:
    return "".join(f"{repr_(name)}: {n.test}[{repr_(name)}], " for name in goal.ids)


# ---------------------------------------------------------------- shape


def _other_column(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    if goal.output == "probabilities":
        return None
    name = dice.pick(
        "name", [name for name in ("prediction", "predicted", "target", "label", "y_pred", "score", "value") if name != goal.outputs[0]]
    )
    return _plain(part, goal, n, f'{_ids(goal, n)}"{name}": {n.pred}', last=dice.chance("last", 0.5))


def _no_ids(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    if goal.output == "probabilities" or not goal.ids:
        return None
    return _plain(part, goal, n, f"{repr_(goal.outputs[0])}: {n.pred}", last=dice.chance("last", 0.5))


def _index_written(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    return swap(part, r", index=False\)", ")")


def _no_header(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    return swap(part, r", index=False\)", ", index=False, header=False)")


def _other_separator(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    return swap(part, r", index=False\)", f', index=False, sep="{dice.pick("sep", [";", "|"])}")')


def _rows_of_train(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    if goal.output != "number" and goal.output != "label":
        return None
    rows = dice.pick("rows", [100, 50, 20])
    return swap(part, _SAVE, rf'\1 = \1.head({rows})\n\1.to_csv("{goal.deliverable}", index=False)')


def _words_for_numbers(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    """Numbers are made pretty for people."""
    if goal.output not in {"number", "probability"}:
        return None
    form = dice.pick("form", ["{:.1%}", "~{:.2f}", "{:.2f} (est.)"])
    return extend(part, f'{n.pred} = ["{form}".format(value) for value in {n.pred}]', first=True)


def _codes_for_labels(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    if goal.output != "label":
        return None
    prefix = dice.pick("prefix", ["class_", "label=", "grade "])
    return extend(part, f'{n.pred} = ["{prefix}" + str(value) for value in {n.pred}]', first=True)


def _fresh_ids(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    if len(goal.ids) != 1 or goal.output == "probabilities":
        return None
    start = dice.pick("start", [0, 1, 1000])
    return _plain(part, goal, n, f"{repr_(goal.ids[0])}: range({start}, {start} + len({n.pred})), {repr_(goal.outputs[0])}: {n.pred}")


# ---------------------------------------------------------------- order


def _sorted_between(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    numeric = [column.name for column in goal.features if column.kind == "number"]
    if not numeric:
        return None
    name = repr_(dice.pick("column", numeric))
    return extend(part, f"{n.X_test} = {n.X_test}.sort_values({name})", first=True)


def _shuffled_between(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    return extend(part, f"{n.X_test} = {n.X_test}.sample(frac=1.0, random_state={n.seed})", first=True)


# ---------------------------------------------------------------- not written


def _elsewhere(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    folder = dice.pick("folder", ["output", "outputs", "results", "submissions"])
    return swap(
        part, _SAVE, rf'os.makedirs("{folder}", exist_ok=True)\n\1.to_csv("{folder}/{goal.deliverable}", index=False)', ["import os"]
    )


def _other_file(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    stem = goal.deliverable.rsplit(".", 1)[0]
    name = dice.pick(
        "name", [f"{stem}s.csv", f"my_{stem}.csv", "predictions.csv", f"{stem}_v1.csv", f"final_{stem}.csv", "test_predictions.csv"]
    )
    return swap(part, _SAVE, rf'\1.to_csv("{name}", index=False)')


def _in_a_function(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    name = dice.pick("name", ["save", "write_submission", "export", "make_submission", "save_predictions"])
    body = "\n".join("    " + line for line in part.text.split("\n"))
    return Part(part.name, f"def {name}():\n{body}", part.imports)


def _only_shown(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    rows = dice.pick("rows", [5, 10, 20])
    return swap(part, _SAVE, rf"print(\1.head({rows}).to_string(index=False))")


def _only_when_lengths_agree(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    """The check before saving compares with the wrong table."""
    wrong = dice.pick("wrong", [n.train, n.X, n.y])
    return swap(part, _SAVE, rf'if len(\1) == len({wrong}):\n    \1.to_csv("{goal.deliverable}", index=False)')


OUTPUT_MISTAKES: tuple[Mistake, ...] = (
    *alike(
        "output_format",
        "write",
        "",
        None,
        _other_column,
        _no_ids,
        _index_written,
        _no_header,
        _other_separator,
        _rows_of_train,
        _words_for_numbers,
        _codes_for_labels,
    ),
    *alike("spec_ignored", "write", "", None, _fresh_ids),
    *alike("misaligned_order", "predict", "", None, _sorted_between, _shuffled_between),
    *alike(
        "output_missing_or_overwritten", "write", "", None, _elsewhere, _other_file, _in_a_function, _only_shown, _only_when_lengths_agree
    ),
)
