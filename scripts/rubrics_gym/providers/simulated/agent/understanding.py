"""From the words of a task and the first rows of its files to a goal."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping

from rubrics_gym.providers.simulated.agent.goals import (
    Column,
    Condition,
    Goal,
    Measure,
    PredictionGoal,
    QuestionGoal,
    ResultGoal,
    Step,
    Table,
)

_TICKED = r"`([^`]+)`"


class NotUnderstood(ValueError):
    """The text does not say what is to be made."""


def named_files(statement: str, listing: str) -> tuple[str, ...]:
    """Paths of the data files (`data/...csv`) in the order in which the statement, then the listing, names them."""
    found = re.findall(r"(?:/workspace/)?(data/[\w.+-]+\.\w+)", statement)
    found += [f"data/{name}" for name in re.findall(r"(?<![\w/.])(?:data/|\./)?([\w.+-]+\.csv)\b", listing)]
    return tuple(sorted(dict.fromkeys(found), key=lambda path: "train" not in path))  # what is learnt from comes first


# ---------------------------------------------------------------- tables


def read_table(path: str, text: str) -> Table:
    """A table from the first lines that a command printed; lines that do not fit the header are passed over."""
    lines = [line for line in text.splitlines() if line and not line.startswith("[")]
    if not lines:
        return Table(path, ())
    header, *rows = list(csv.reader(lines))
    whole = [row for row in rows if len(row) == len(header)]
    return Table(path, tuple(_column(name, [row[number] for row in whole]) for number, name in enumerate(header)))


def _column(name: str, cells: list[str]) -> Column:
    filled = [cell for cell in cells if cell != ""]
    return Column(name, _kind_of(filled), missing=len(filled) < len(cells))


def _kind_of(cells: list[str]) -> str:
    if all(_is_number(cell) for cell in cells):
        return "number"
    if all(re.fullmatch(r"-?[\d,.]+\s*%?", cell) for cell in cells):
        return "number_text"
    if all(re.match(r"\d{4}[-/]\d{1,2}[-/]\d{1,2}", cell) or re.fullmatch(r"[A-Z][a-z]{2} \d{1,2},? \d{4}", cell) for cell in cells):
        return "date"
    return "category"


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


# ---------------------------------------------------------------- conditions, values, steps

_OPERATORS = (
    ("is greater than", ">"),
    ("is more than", ">"),
    ("is at least", ">="),
    ("is less than", "<"),
    ("is at most", "<="),
    ("is not", "!="),
    ("is", "=="),
)


def conditions(text: str) -> tuple[Condition, ...]:
    """Read `column` is at least 3 and `other` is "value"."""
    found = []
    words = "|".join(phrase for phrase, _ in _OPERATORS)
    for column, phrase, quoted, number in re.findall(_TICKED + rf' ({words}) (?:"([^"]*)"|(-?[\d.]*\d))', text):
        value = number or '"' + quoted.replace("\\", "\\\\") + '"'
        found.append(Condition(column, dict(_OPERATORS)[phrase], value))
    return tuple(found)


_STATISTICS: tuple[tuple[str, str], ...] = (
    (r"with the (?:largest|highest|greatest) mean of", "top_group"),
    (r"with the (?:smallest|lowest) mean of", "bottom_group"),
    (r"percentage .*missing|share .*missing", "missing_percent"),
    (r"number of missing", "missing"),
    (r"number of (?:distinct|different|unique)", "distinct"),
    (r"number of rows", "count"),
    (r"population standard deviation", "std_population"),
    (r"standard deviation", "std"),
    (r"skewness", "skewness"),
    (r"correlation", "correlation"),
    (r"slope", "slope"),
    (r"intercept", "intercept"),
    (r"median", "median"),
    (r"variance", "var"),
    (r"\bmean\b|average", "mean"),
    (r"\bsum\b|\btotal\b", "sum"),
    (r"minimum|smallest|lowest", "min"),
    (r"maximum|largest|highest", "max"),
)


def measure(line: str) -> Measure | None:
    """Read one line that asks for a value; None when it does not."""
    found = re.match(r"\s*(?:\d+[.)]|[-*])\s*`@?(\w+)(?:\[[^`]*)?`: (.*)", line)
    if not found:
        return None
    name, words = found.groups()
    asked, _, where = words.partition(", over the rows where ")
    statistic = next((statistic for pattern, statistic in _STATISTICS if re.search(pattern, asked)), None)
    if statistic is None:
        return None
    columns = re.findall(_TICKED, asked)
    decimals = re.search(r"rounded to (\d+) decimal", words)
    group = statistic in {"top_group", "bottom_group"}
    against = columns[0] if group else columns[1] if len(columns) > 1 else None
    return Measure(
        name=name,
        statistic="top_group" if group else statistic,
        column=(columns[1] if group else columns[0]) if columns else None,
        against=against,
        where=conditions(where),
        decimals=int(decimals.group(1)) if decimals else None,
        lowest=statistic == "bottom_group",
    )


_ARITHMETIC = {"plus": "+", "minus": "-", "times": "*", "divided by": "/"}
_AGGREGATES = {
    "mean": "mean",
    "median": "median",
    "sum": "sum",
    "min": "min",
    "minimum": "min",
    "max": "max",
    "maximum": "max",
    "count": "count",
}


def step(words: str) -> Step | None:
    """Read one step of a pipeline; None for a line that is none."""
    ticked = re.findall(_TICKED, words)
    if words.startswith("Keep only the rows where"):
        return Step("filter", where=conditions(words))
    if words.startswith("Leave out the rows where"):
        return Step("drop_missing", columns=tuple(ticked))
    if words.startswith("Join with"):
        return Step("join", table=ticked[0], columns=tuple(ticked[1:]))
    if made := re.match(r"Add the column `([^`]+)`: the (year|month) of `([^`]+)`", words):
        return Step("date_part", columns=(made.group(3),), new=made.group(1), operator=made.group(2))
    if made := re.match(r"Add the column `([^`]+)`: `([^`]+)` (plus|minus|times|divided by) (?:`([^`]+)`|(-?[\d.]*\d))", words):
        right = made.group(5) or '"' + made.group(4) + '"'
        return Step("derive", columns=(made.group(2),), new=made.group(1), operator=_ARITHMETIC[made.group(3)], right=right)
    if words.startswith("Group by"):
        keys, _, columns = words.partition(":")
        made_of = re.findall(r"`([^`]+)` is the (?:number of rows|(\w+) of `([^`]+)`)", columns)
        measures = tuple((new, _AGGREGATES.get(statistic, statistic) or "count", source or None) for new, statistic, source in made_of)
        return Step("aggregate", columns=tuple(re.findall(_TICKED, keys)), measures=measures)
    if words.startswith("Reshape"):
        return Step("pivot", columns=tuple(ticked[:3]))
    if words.startswith("Sort by"):
        return Step(
            "sort", columns=tuple(ticked), descending=tuple(word == "descending" for word in re.findall(r"(ascending|descending)", words))
        )
    if made := re.match(r"Keep the first (\d+) rows", words):
        return Step("head", rows=int(made.group(1)))
    return None


# ---------------------------------------------------------------- goals

_METRICS: tuple[tuple[str, str], ...] = (
    (r"root mean squared log|rmsle", "rmsle"),
    (r"root mean squared error|rmse", "rmse"),
    (r"mean absolute percentage|mape", "mape"),
    (r"mean absolute error|\bmae\b", "mae"),
    (r"mean squared error", "mse"),
    (r"quadratic weighted kappa|quadratic kappa", "qwk"),
    (r"roc[ _]auc|area under the (?:roc|receiver)", "roc_auc"),
    (r"average precision", "average_precision"),
    (r"log[ _-]?loss|cross[ -]entropy", "log_loss"),
    (r"brier", "brier"),
    (r"balanced accuracy", "balanced_accuracy"),
    (r"accuracy", "accuracy"),
    (r"macro.{0,12}f1|f1.{0,12}macro", "f1_macro"),
    (r"\bf1\b", "f1"),
    (r"matthews", "mcc"),
    (r"\br2\b|r²|coefficient of determination", "r2"),
)


def is_competition(statement: str) -> bool:
    """The text speaks of a competition or its medals."""
    return bool(re.search(r"\b(competition|medals?|leaderboard)\b", statement, flags=re.IGNORECASE))


def understand(statement: str, deliverable: str, tables: Mapping[str, Table]) -> Goal:
    """What the statement asks for. `tables` are the files that were looked at. NotUnderstood when it stays unclear."""
    if deliverable.startswith("answer"):
        return _question(statement, deliverable, tables)
    if re.search(r"predict", statement, flags=re.IGNORECASE) and any("train" in path for path in tables):
        return _prediction(statement, deliverable, tables)
    return _result(statement, deliverable, tables)


def _question(statement: str, deliverable: str, tables: Mapping[str, Table]) -> QuestionGoal:
    asked = set(re.findall(r"@(\w+)\[", statement))  # other lists (of columns) have the same look
    measures = tuple(found for line in statement.splitlines() if (found := measure(line)) and found.name in asked)
    if not measures or not tables:
        raise NotUnderstood("no value is asked for")
    return QuestionGoal(tuple(tables.values()), deliverable, measures, is_competition(statement))


def _result(statement: str, deliverable: str, tables: Mapping[str, Table]) -> ResultGoal:
    lines = [found.group(1) for line in statement.splitlines() if (found := re.match(r"\s*\d+\. (.*)", line))]
    steps = tuple(read for line in lines if (read := step(line)))
    start = next((str(found.group(1)) for line in lines if (found := re.match(r"Start from `(?:/workspace/)?(data/[^`]+)`", line))), "")
    kept = next((tuple(re.findall(_TICKED, line)) for line in lines if line.startswith("Keep the columns")), ())
    decimals = re.search(r"to (\d+) decimal places", statement)
    if not steps or not kept or start not in tables:
        raise NotUnderstood("no steps are given")
    ordered = (tables[start], *(table for path, table in tables.items() if path != start))
    return ResultGoal(ordered, deliverable, steps, kept, int(decimals.group(1)) if decimals else None, is_competition(statement))


def _prediction(statement: str, deliverable: str, tables: Mapping[str, Table]) -> PredictionGoal:
    def file(word: str) -> str:
        found = [path for path in tables if word in path.rsplit("/", 1)[-1].lower()]
        if not found:
            raise NotUnderstood(f"there is no file of the kind {word}")
        return found[0]

    train, test, sample = tables[file("train")], file("test"), tables[file("sample")]
    asked = re.search(r"predict(?: the)? `([^`]+)`", statement)
    known = [column.name for column in train.columns]
    submitted = tuple(column.name for column in sample.columns)
    in_test = {column.name for column in tables[test].columns}
    target = asked.group(1) if asked else next((name for name in known if name not in in_test), "")
    if not target or target not in known:
        raise NotUnderstood("the target is not named")
    ids = tuple(name for name in submitted if name in in_test)
    outputs = tuple(name for name in submitted if name not in ids)
    words = " ".join(re.findall(r"evaluated by \*{0,2}([^*\n]+)", statement)) or statement
    metric = next((name for pattern, name in _METRICS if re.search(pattern, words, flags=re.IGNORECASE)), "")
    if re.search(r"prediction is a probability|is the probability", statement):
        output = "probability" if len(outputs) == 1 else "probabilities"
    elif re.search(r"one of the (?:labels|classes|whole numbers)", statement):
        output = "label"
    else:
        output = "number"
    positive = re.search(r"probability that `[^`]+` is (\"[^\"]+\"|\d+)", statement)
    rows = re.search(r"train\.csv`: ([\d,]+) rows", statement)
    return PredictionGoal(
        train=train,
        test=test,
        sample=sample.path,
        deliverable=deliverable,
        target=target,
        ids=ids,
        outputs=outputs,
        output=output,
        metric=metric or ("rmse" if output == "number" else "accuracy"),
        positive=positive.group(1) if positive else None,
        rows=int(rows.group(1).replace(",", "")) if rows else 0,
        competition=is_competition(statement),
    )
