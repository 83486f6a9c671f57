"""Question tasks: a few statistics of one table, with closed-form answers as in InfiAgent-DABench."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rubrics_gym.tasks.conditions import in_words, select
from rubrics_gym.tasks.specs import Answer, QuestionSpec, TableSpec
from rubrics_gym.tasks.tables import field_lines

if TYPE_CHECKING:
    import pandas as pd

PHRASES = {
    "mean": "the mean of `{column}`",
    "median": "the median of `{column}`",
    "std": "the sample standard deviation (divisor n - 1) of `{column}`",
    "sum": "the sum of `{column}`",
    "count": "the number of rows",
    "missing_percent": "the percentage (0 to 100) of rows in which `{column}` is missing",
    "distinct": "the number of distinct values of `{column}`",
    "skewness": "the sample skewness (adjusted for bias, as pandas computes it) of `{column}`",
    "correlation": "the Pearson correlation coefficient between `{column}` and `{against}`",
    "slope": "the slope of the least-squares line that predicts `{column}` from `{against}`",
    "intercept": "the intercept of the least-squares line that predicts `{column}` from `{against}`",
    "top_group": "the value of `{against}` with the largest mean of `{column}`",
}
WHOLE_NUMBERS = ("count", "distinct")


class AmbiguousAnswer(ValueError):
    """An answer that two careful people could give differently: a tie, or a value on the edge of rounding."""


def solve(spec: QuestionSpec, frame: pd.DataFrame) -> dict[str, str]:
    """The true answers, name -> text, numbers rounded as the statement asks."""
    return {answer.name: _solve_one(answer, frame) for answer in spec.answers}


def statement(title: str, spec: QuestionSpec, table: TableSpec, rows: int) -> str:
    """The words that the agent sees."""
    file = f"data/{spec.table}.csv"
    asked = [f"{number}. `{answer.name}`: {_ask(answer)}." for number, answer in enumerate(spec.answers, 1)]
    formats = [f'@{answer.name}[value] where "value" is {_kind(answer)}' for answer in spec.answers]
    return "\n".join(
        [
            f"# {title}",
            "",
            "## Question",
            f"The file `{file}` holds a table. {table.about} Compute from it:",
            *asked,
            "",
            "## Constraints",
            "- A missing value in a column that a calculation uses leaves that row out of that calculation, and out of no other.",
            "- A row whose value in a condition is missing does not meet the condition.",
            "- Round only at the end.",
            "",
            "## Files",
            f"`{file}`: {rows:,} rows with the columns",
            *field_lines(table, list(table.fields)),
            "",
            "## Answer format",
            f"Write the {'answer' if len(spec.answers) == 1 else 'answers'} to `answer.txt`, one line each:",
            *formats,
            "",
            "An answer is right if it equals the true value exactly after rounding. All answers must be right.",
            "",
        ]
    )


def _ask(answer: Answer) -> str:
    phrase = PHRASES[answer.statistic].format(column=answer.column, against=answer.against)
    where = f", over the rows where {in_words(answer.where)}" if answer.where else ""
    rounded = f", rounded to {answer.decimals} decimal places" if answer.decimals is not None else ""
    return phrase + where + rounded


def _kind(answer: Answer) -> str:
    if answer.decimals is not None:
        return f"a number rounded to {answer.decimals} decimal places"
    if answer.statistic in WHOLE_NUMBERS:
        return "a whole number"
    return "the value exactly as it is written in the file"


def _solve_one(answer: Answer, frame: pd.DataFrame) -> str:
    rows = select(frame, answer.where)
    if answer.statistic == "top_group":
        means = rows.groupby(answer.against)[answer.column].mean().sort_values(ascending=False)
        if len(means) > 1 and means.iloc[0] - means.iloc[1] < 1e-6:
            raise AmbiguousAnswer(f"{answer.name}: {means.index[0]} and {means.index[1]} tie. Ask something else.")
        return str(means.index[0])
    value = _number(answer, rows)
    if answer.decimals is None:
        return str(int(value))
    scaled = abs(value) * 10**answer.decimals
    if abs(scaled - math.floor(scaled) - 0.5) < 1e-6:
        raise AmbiguousAnswer(f"{answer.name}: {value} lies on the edge of rounding to {answer.decimals} places. Ask for other places.")
    return f"{value:.{answer.decimals}f}"


def _number(answer: Answer, rows: pd.DataFrame) -> float:
    if answer.statistic == "count":
        return len(rows)
    if answer.statistic in ("correlation", "slope", "intercept"):
        both = rows[[answer.column, answer.against]].dropna().astype(float)
        y, x = both[answer.column], both[answer.against]
        if answer.statistic == "correlation":
            return float(y.corr(x))
        slope = float(y.cov(x) / x.var())
        return slope if answer.statistic == "slope" else float(y.mean() - slope * x.mean())
    cells = rows[answer.column]
    if answer.statistic == "missing_percent":
        return float(100 * cells.isna().mean())
    method = {"distinct": "nunique", "skewness": "skew"}.get(answer.statistic, answer.statistic)
    return float(getattr(cells, method)())
