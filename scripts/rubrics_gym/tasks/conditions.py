"""Row conditions: applied to a table, and said in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rubrics_gym.tasks.specs import Cell, Condition

if TYPE_CHECKING:
    import pandas as pd

WORDS = {
    "==": "is {value}",
    "!=": "is not {value}",
    ">": "is greater than {value}",
    ">=": "is at least {value}",
    "<": "is less than {value}",
    "<=": "is at most {value}",
}


def select(frame: pd.DataFrame, conditions: tuple[Condition, ...]) -> pd.DataFrame:
    """The rows that meet all conditions. A missing value meets none of them."""
    import pandas as pd

    keep = pd.Series(True, index=frame.index)
    for column, operator, value in conditions:
        cells = frame[column]
        compared = {
            "==": cells.eq,
            "!=": cells.ne,
            ">": cells.gt,
            ">=": cells.ge,
            "<": cells.lt,
            "<=": cells.le,
        }[operator](value)
        keep &= compared.fillna(False).astype(bool) & cells.notna()
    return frame[keep]


def in_words(conditions: tuple[Condition, ...]) -> str:
    """For example: `continent` is "Africa" and `year` is at least 1987."""
    return " and ".join(f"`{column}` {WORDS[operator].format(value=quoted(value))}" for column, operator, value in conditions)


def quoted(value: Cell) -> str:
    """Text in double quotes, numbers bare."""
    return f'"{value}"' if isinstance(value, str) else str(value)
