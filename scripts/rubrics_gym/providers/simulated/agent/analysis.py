"""Programs for tasks that ask for values or for a table made from the files, part by part."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rubrics_gym.providers.simulated.agent.dice import Dice
from rubrics_gym.providers.simulated.agent.goals import Condition, Measure, QuestionGoal, ResultGoal, Step, Table
from rubrics_gym.providers.simulated.agent.prediction import base_name, data_folder, repr_
from rubrics_gym.providers.simulated.agent.program import Part, Program


@dataclass(frozen=True)
class Names:
    """How one program calls its things."""

    frame: str
    others: tuple[str, ...]  # further tables, in order
    rows: str
    value: str  # prefix of the variables that hold values
    answers: str
    result: str
    data: str
    seed: int

    def frame_of(self, number: int) -> str:
        """Variable of the table with that number."""
        return self.frame if number == 0 else self.others[number - 1]


def draw_names(dice: Dice, tables: tuple[Table, ...]) -> Names:
    """One person's habits, kept for a whole program."""
    stems = [re.sub(r"\W", "_", base_name(table.path).rsplit(".", 1)[0]) for table in tables]
    frame = dice.pick("frame", ["df", "data", "table", stems[0] if stems and stems[0].isidentifier() else "frame"])
    return Names(
        frame=frame,
        others=tuple(stem if stem.isidentifier() and stem != frame else f"other_{number}" for number, stem in enumerate(stems[1:])),
        rows=dice.pick("rows", ["rows", "subset", "selected", "part"]),
        value=dice.pick("value", ["", "value_", "ans_", "v_"]),
        answers=dice.pick("answers", ["answers", "lines", "found"]),
        result=dice.pick("result", ["result", "out", "final", "summary"]),
        data=dice.pick("data", ['"data/', 'DATA / "', 'f"{DATA_DIR}/', '"./data/', '"/workspace/data/']),
        seed=dice.pick("seed", [0, 42, 7, 13, 2024, 1]),
    )


def _load(tables: tuple[Table, ...], names: Names, dice: Dice) -> Part:
    imports, text = data_folder(names.data)
    lines = [f'{names.frame_of(number)} = pd.read_csv({names.data}{base_name(table.path)}")' for number, table in enumerate(tables)]
    if dice.chance("shape", 0.5):
        lines.append(
            dice.pick("show", [f"print({names.frame}.shape)", f'print("rows", len({names.frame}))', f"print({names.frame}.dtypes)"])
        )
    return Part("load", text + "\n".join(lines), ("import pandas as pd", *imports))


def _clean(tables: tuple[Table, ...], names: Names, dice: Dice) -> Part:
    """Numbers that are written as text (thousands separators, percent signs) become numbers."""
    blocks = []
    for number, table in enumerate(tables):
        written = table.of_kind("number_text")
        if written:
            frame, column = names.frame_of(number), dice.pick("column", ["column", "col", "c"])
            listed = ", ".join(repr_(name) for name in written)
            blocks.append(
                f'for {column} in [{listed}]:\n    {frame}[{column}] = pd.to_numeric({frame}[{column}].astype("string").str.replace(r"[,%\\s]", "", regex=True))'
            )
    return Part("clean", "\n".join(blocks), ("import pandas as pd",) if blocks else ())


def condition_code(frame: str, conditions: tuple[Condition, ...]) -> str:
    """A row filter as pandas code."""
    tests = []
    for condition in conditions:
        cells = f"{frame}[{repr_(condition.column)}]"
        if condition.operator in {"isna", "notna"}:
            tests.append(f"{cells}.{condition.operator}()")
        elif condition.operator == "!=":
            tests.append(f"({cells} != {condition.value}) & {cells}.notna()")
        else:
            tests.append(f"({cells} {condition.operator} {condition.value})")
    return " & ".join(f"({test})" if "&" in test and len(tests) > 1 else test for test in tests)


def variable(measure: Measure, names: Names) -> str:
    """The variable that holds a measure."""
    return names.value + re.sub(r"\W", "_", measure.name)


def measure_part(number: int, measure: Measure, names: Names, dice: Dice) -> Part:
    """Work out one value. The last line assigns its variable."""
    lines, imports = [], []
    frame = names.frame
    if measure.where:
        lines.append(f"{names.rows} = {frame}[{condition_code(frame, measure.where)}]")
        frame = names.rows
    column = repr_(measure.column or "")
    cells = f"{frame}[{column}]"
    other = repr_(measure.against or "")
    target = variable(measure, names)
    plain = {
        "mean": f"{cells}.mean()", "median": f"{cells}.median()", "std": f"{cells}.std(ddof=1)", "std_population": f"{cells}.std(ddof=0)", "var": f"{cells}.var()", "sum": f"{cells}.sum()",
        "min": f"{cells}.min()", "max": f"{cells}.max()", "count": f"len({frame})", "missing_percent": f"{cells}.isna().mean() * 100", "missing": f"int({cells}.isna().sum())",
        "distinct": f"{cells}.nunique()", "skewness": f"{cells}.skew()", "correlation": f"{cells}.corr({frame}[{other}])",
    }  # fmt: skip
    if measure.statistic in {"slope", "intercept"}:
        lines.append(f"pairs = {frame}[[{other}, {column}]].dropna()")
        lines.append(f"slope, intercept = np.polyfit(pairs[{other}], pairs[{column}], 1)")
        expression = measure.statistic
        imports.append("import numpy as np")
    elif measure.statistic == "skewness_biased":
        expression = f"stats.skew({cells}.dropna(), bias=True)"
        imports.append("from scipy import stats")
    elif measure.statistic == "top_group":
        extreme = "idxmin" if measure.lowest else "idxmax"
        means = dice.pick("means", ["means", "by_group", "averages"])
        lines.append(f"{means} = {frame}.groupby({other})[{column}].mean()")
        expression = f"{means}.{extreme}()"
    else:
        expression = plain[measure.statistic]
    if measure.decimals is not None:
        expression = (
            f"round(float({expression}), {measure.decimals})" if dice.chance("float", 0.5) else f"round({expression}, {measure.decimals})"
        )
    lines.append(f"{target} = {expression}")
    if dice.chance("print", 0.4):
        lines.append(f'print("{measure.name}:", {target})')
    return Part(f"value {number}", "\n".join(lines), tuple(imports))


def _write_answers(goal: QuestionGoal, names: Names, dice: Dice) -> Part:
    pairs = [(measure.name, variable(measure, names)) for measure in goal.measures]
    if dice.chance("dictionary", 0.5):
        listed = ",\n    ".join(f'"{name}": {value}' for name, value in pairs)
        text = (
            f"{names.answers} = {{\n    {listed},\n}}\n"
            + f'with open("{goal.deliverable}", "w") as handle:\n    for name, value in {names.answers}.items():\n        handle.write(f"@{{name}}[{{value}}]\\n")'
        )
        return Part("write", text)
    listed = ",\n    ".join(f'f"@{name}[{{{value}}}]"' for name, value in pairs)
    text = (
        f"{names.answers} = [\n    {listed},\n]\n"
        + f'Path("{goal.deliverable}").write_text("\\n".join({names.answers}) + "\\n")\nprint("\\n".join({names.answers}))'
    )
    return Part("write", text, ("from pathlib import Path",))


# ---------------------------------------------------------------- result files


def step_part(number: int, step: Step, goal: ResultGoal, names: Names, dice: Dice) -> Part:
    """One step: takes the table so far (the variable `result`) to the next."""
    r = names.result
    imports: tuple[str, ...] = ()
    if step.kind == "filter":
        text = f"{r} = {r}[{condition_code(r, step.where)}]"
    elif step.kind == "drop_missing":
        text = f"{r} = {r}.dropna(subset=[{', '.join(map(repr_, step.columns))}])"
    elif step.kind == "join":
        paths = [base_name(table.path) for table in goal.tables]
        other = names.frame_of(paths.index(base_name(step.table or "")))
        keys = ", ".join(map(repr_, step.columns))
        text = f'{r} = {r}.merge({other}, on={keys if len(step.columns) == 1 else f"[{keys}]"}, how="inner")'
    elif step.kind == "derive":
        right = f"{r}[{step.right}]" if (step.right or "").startswith('"') else step.right
        text = f"{r}[{repr_(step.new or '')}] = {r}[{repr_(step.columns[0])}] {step.operator} {right}"
        text = (
            f"{r} = {r}.copy()\n{text}"
            if dice.chance("copy", 0.5)
            else f"{r} = {r}.assign(**{{{repr_(step.new or '')}: {r}[{repr_(step.columns[0])}] {step.operator} {right}}})"
        )
    elif step.kind == "date_part":
        text = f"{r} = {r}.assign(**{{{repr_(step.new or '')}: pd.to_datetime({r}[{repr_(step.columns[0])}]).dt.{step.operator}}})"
        imports = ("import pandas as pd",)
    elif step.kind == "aggregate":
        keys = ", ".join(map(repr_, step.columns))
        made = ",\n    ".join(
            f"**{{{repr_(new)}: ({repr_(source or step.columns[0])}, {repr_('size' if statistic == 'count' and source is None else statistic)})}}"
            for new, statistic, source in step.measures
        )
        if all(new.isidentifier() for new, _, _ in step.measures):
            made = ",\n    ".join(
                f"{new}=({repr_(source or step.columns[0])}, {repr_('size' if statistic == 'count' and source is None else statistic)})"
                for new, statistic, source in step.measures
            )
        text = f"{r} = {r}.groupby([{keys}], as_index=False).agg(\n    {made},\n)"
    elif step.kind == "pivot":
        index, columns, values = step.columns
        text = f"{r} = {r}.pivot(index={repr_(index)}, columns={repr_(columns)}, values={repr_(values)}).reset_index()\n{r}.columns = [str(c) for c in {r}.columns]"
    elif step.kind == "sort":
        ascending = ", ".join(str(not flag) for flag in step.descending)
        text = f'{r} = {r}.sort_values([{", ".join(map(repr_, step.columns))}], ascending=[{ascending}], kind="stable")'
    else:
        text = f"{r} = {r}.head({step.rows})"
    return Part(f"step {number}", text, imports)


def _start(names: Names) -> Part:
    return Part("start", f"{names.result} = {names.frame}.copy()")


def _write_result(goal: ResultGoal, names: Names, dice: Dice) -> Part:
    r = names.result
    columns = ", ".join(map(repr_, goal.columns))
    lines = [f"{r} = {r}[[{columns}]]"]
    if goal.decimals is not None:
        lines[0] += f".round({goal.decimals})"
    lines.append(f'{r}.to_csv("{goal.deliverable}", index=False)')
    lines.append(dice.pick("last", [f"print({r}.head())", f'print("wrote", len({r}), "rows")', f"print({r}.to_string(max_rows=10))"]))
    return Part("write", "\n".join(lines))


# ---------------------------------------------------------------- programs


def compose_part(goal: QuestionGoal | ResultGoal, name: str, names: Names, dice: Dice) -> Part:
    """One part, written properly."""
    dice = dice.at(name)
    if name == "load":
        return _load(goal.tables, names, dice)
    if name == "clean":
        return _clean(goal.tables, names, dice)
    if isinstance(goal, QuestionGoal):
        return (
            _write_answers(goal, names, dice)
            if name == "write"
            else measure_part(int(name.split()[1]), goal.measures[int(name.split()[1])], names, dice)
        )
    if name == "start":
        return _start(names)
    return (
        _write_result(goal, names, dice)
        if name == "write"
        else step_part(int(name.split()[1]), goal.steps[int(name.split()[1])], goal, names, dice)
    )


def part_names(goal: QuestionGoal | ResultGoal) -> tuple[str, ...]:
    """The parts of a program in order: one per value or per step between reading and writing."""
    if isinstance(goal, QuestionGoal):
        return ("load", "clean", *(f"value {number}" for number in range(len(goal.measures))), "write")
    return ("load", "clean", "start", *(f"step {number}" for number in range(len(goal.steps))), "write")


def compose(goal: QuestionGoal | ResultGoal, names: Names, dice: Dice) -> Program:
    """A whole program, written properly."""
    opening = dice.pick(
        "opening",
        [
            "",
            f"Write {goal.deliverable}.",
            "Answer the questions about the table." if isinstance(goal, QuestionGoal) else "Build the requested table.",
            "",
        ],
    )
    parts = tuple(compose_part(goal, name, names, dice) for name in part_names(goal))
    return Program("final.py", parts, in_main=dice.chance("main", 0.3), opening=opening)
