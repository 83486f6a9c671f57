"""Result-file tasks: a pipeline over the given files that ends in result.csv, as in the wrangling tasks of DA-Code."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, assert_never

from rubrics_gym.tasks.conditions import in_words, select
from rubrics_gym.tasks.specs import (
    Aggregate,
    DatePart,
    Derive,
    DropMissing,
    Filter,
    Head,
    Join,
    Pivot,
    ResultFileSpec,
    Sort,
    Step,
    TableSpec,
)
from rubrics_gym.tasks.tables import field_lines

if TYPE_CHECKING:
    import pandas as pd

FUNCTIONS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}
OPERATORS = {"+": "plus", "-": "minus", "*": "times", "/": "divided by"}


def solve(spec: ResultFileSpec, frames: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """The true result: the steps in turn, then the columns, then rounding."""
    frame = frames[spec.tables[0]]
    for step in spec.steps:
        frame = _apply(step, frame, frames)
    return frame[list(spec.columns)].round(spec.decimals).reset_index(drop=True)


def statement(title: str, spec: ResultFileSpec, tables: dict[str, TableSpec], rows: dict[str, int]) -> str:
    """The words that the agent sees."""
    steps = [f"Start from `data/{spec.tables[0]}.csv`.", *(_say(step) for step in spec.steps)]
    steps.append(f"Keep the columns {', '.join(f'`{column}`' for column in spec.columns)}, in this order.")
    order = "The rows may be in any order." if spec.key else "The order of the rows counts."
    files: list[str] = []
    for table in spec.tables:
        files += [f"`data/{table}.csv`: {tables[table].about} {rows[table]:,} rows with the columns"]
        files += field_lines(tables[table], list(tables[table].fields))
    return "\n".join(
        [
            f"# {title}",
            "",
            "## Task",
            f"{spec.goal} Write the result to `result.csv`.",
            "",
            "## Steps",
            *(f"{number}. {words}" for number, words in enumerate(steps, 1)),
            "",
            "## Files",
            *files,
            "",
            "## Result format",
            "`result.csv` is a CSV file with a header line and exactly these columns:",
            ",".join(spec.columns),
            "",
            f"Round numbers that are not whole to {spec.decimals} decimal places, at the end only. Do not write an index column. {order}",
            "",
            "## Evaluation",
            "Each column is compared with the true one. The result is right if all columns are.",
            "",
        ]
    )


def _apply(step: Step, frame: pd.DataFrame, frames: dict[str, pd.DataFrame]) -> pd.DataFrame:
    import pandas as pd

    match step:
        case Filter():
            return select(frame, step.where)
        case DropMissing():
            return frame.dropna(subset=list(step.columns))
        case Join():
            return frame.merge(frames[step.table], on=step.by, how="inner", validate="many_to_one")
        case Derive():
            right = frame[step.right] if isinstance(step.right, str) else step.right
            return frame.assign(**{step.column: FUNCTIONS[step.operator](frame[step.left], right)})
        case DatePart():
            dates = pd.to_datetime(frame[step.of], format="mixed")
            return frame.assign(**{step.column: dates.dt.year if step.part == "year" else dates.dt.month})
        case Aggregate():
            groups = frame.groupby(list(step.by))
            columns = {
                name: groups.size() if source is None else groups[source].agg(statistic)
                for name, (statistic, source) in step.columns.items()
            }
            return pd.DataFrame(columns).reset_index()
        case Pivot():
            return frame.pivot(index=step.index, columns=step.columns, values=step.values).reset_index()
        case Sort():
            return frame.sort_values([name for name, _ in step.by], ascending=[order == "ascending" for _, order in step.by], kind="stable")
        case Head():
            return frame.head(step.rows)
    assert_never(step)


def _say(step: Step) -> str:
    match step:
        case Filter():
            return f"Keep only the rows where {in_words(step.where)}."
        case DropMissing():
            return f"Leave out the rows where {' or '.join(f'`{column}`' for column in step.columns)} is missing."
        case Join():
            return f"Join with `data/{step.table}.csv` on `{step.by}`, keeping only rows with a match in both (inner join)."
        case Derive():
            right = f"`{step.right}`" if isinstance(step.right, str) else f"{step.right:g}"
            return f"Add the column `{step.column}`: `{step.left}` {OPERATORS[step.operator]} {right}."
        case DatePart():
            return f"Add the column `{step.column}`: the {step.part} of `{step.of}`, as a whole number."
        case Aggregate():
            made = [
                f"`{name}` is the number of rows" if source is None else f"`{name}` is the {statistic} of `{source}`"
                for name, (statistic, source) in step.columns.items()
            ]
            return f"Group by {' and '.join(f'`{column}`' for column in step.by)}, one row for each group: {', '.join(made)}."
        case Pivot():
            return f"Reshape to one row for each `{step.index}` and one column for each value of `{step.columns}`, filled with `{step.values}`."
        case Sort():
            return f"Sort by {', then by '.join(f'`{name}` ({order})' for name, order in step.by)}."
        case Head():
            return f"Keep the first {step.rows} rows."
    assert_never(step)
