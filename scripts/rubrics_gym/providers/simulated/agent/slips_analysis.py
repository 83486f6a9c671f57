"""How programs that work out values or build a table go wrong, in the parts that both share. Each shape was seen to fail."""

from __future__ import annotations

import re

from rubrics_gym.providers.simulated.agent.analysis import Names
from rubrics_gym.providers.simulated.agent.dice import Dice
from rubrics_gym.providers.simulated.agent.goals import QuestionGoal, ResultGoal
from rubrics_gym.providers.simulated.agent.mistakes import Mistake, alike, extend, swap
from rubrics_gym.providers.simulated.agent.prediction import base_name, repr_
from rubrics_gym.providers.simulated.agent.program import Part

Goal = QuestionGoal | ResultGoal


def _numbers(goal: Goal) -> list[str]:
    return list(goal.tables[0].of_kind("number"))


def _words(goal: Goal) -> list[str]:
    return list(goal.tables[0].of_kind("category"))


# ---------------------------------------------------------------- packages that are not there


def _polars(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    return swap(part, r"pd\.read_csv\((.*)\)$", r"pl.read_csv(\1).to_pandas()", ["import polars as pl"])


def _unidecode(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    return extend(
        part,
        f"{n.frame} = {n.frame}.rename(columns={{c: unidecode(c).strip() for c in {n.frame}.columns}})",
        ["from unidecode import unidecode"],
    )


def _janitor(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    return extend(part, f"{n.frame} = {n.frame}.remove_empty()", ["import janitor"])


def _profile(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    shapes = [
        (
            f'print(tabulate({n.frame}.head(), headers="keys", tablefmt="{dice.pick("style", ["github", "simple", "psql", "plain"])}"))',
            "from tabulate import tabulate",
        ),
        (
            f'overview = PrettyTable(["column", "type"])\nfor name in {n.frame}.columns:\n    overview.add_row([name, str({n.frame}[name].dtype)])\nprint(overview)',
            "from prettytable import PrettyTable",
        ),
        (f'print(humanize.intcomma(len({n.frame})), "rows")', "import humanize"),
    ]
    text, line = dice.pick("shape", shapes)
    return extend(part, text, [line])


def _plotted(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    numbers = _numbers(goal)
    if not numbers:
        return None
    name = repr_(dice.pick("column", numbers))
    shapes = [
        (
            f'{n.frame}[{name}].plot.hist(bins={dice.pick("bins", [20, 30, 40])})\nplt.savefig("overview.png")',
            "import matplotlib.pyplot as plt",
        ),
        (f"sns.histplot(x={n.frame}[{name}])", "import seaborn as sns"),
    ]
    text, line = dice.pick("shape", shapes)
    return extend(part, text, [line])


def _duckdb(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    path = goal.tables[0].path
    return extend(part, f"print(duckdb.sql(\"select count(*) from '{path}'\"))", ["import duckdb"])


def _statistics_package(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    numbers = _numbers(goal)
    if not numbers:
        return None
    name = repr_(dice.pick("column", numbers))
    shapes = [
        (f"print(pg.normality({n.frame}[{name}]))", "import pingouin as pg"),
        (f"print(sm.stats.stattools.jarque_bera({n.frame}[{name}].dropna()))", "import statsmodels.api as sm"),
    ]
    text, line = dice.pick("shape", shapes)
    return extend(part, text, [line])


# ---------------------------------------------------------------- library API changed


def _applymap(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    v = dice.pick("v", ["v", "x", "cell"])
    return extend(part, f"{n.frame} = {n.frame}.applymap(lambda {v}: {v}.strip() if isinstance({v}, str) else {v})")


def _iteritems(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    inner = dice.pick("inner", ["isna().sum()", "nunique()", "dtypes"])
    return extend(part, f"for name, entry in {n.frame}.{inner}.iteritems():\n    print(name, entry)")


def _np_object(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    return extend(
        part, f"text_columns = {n.frame}.select_dtypes(include=[np.object]).columns\nprint(list(text_columns))", ["import numpy as np"]
    )


def _old_reader_option(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    option = dice.pick(
        "option", ["error_bad_lines=False", "squeeze=True", "infer_datetime_format=True" if False else "warn_bad_lines=False"]
    )
    return swap(part, r"(read_csv\([^()]*)\)$", rf"\1, {option})")


def _append(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    size = dice.pick("size", [1, 3, 5])
    return extend(part, f"edges = {n.frame}.head({size}).append({n.frame}.tail({size}))\nprint(edges)")


def _ffill(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    words = _words(goal)
    if not words:
        return None
    return extend(
        part,
        f'{n.frame}[{repr_(dice.pick("column", words))}] = {n.frame}[{repr_(words[0])}].fillna(method="{dice.pick("method", ["ffill", "pad"])}")',
    )


# ---------------------------------------------------------------- paths


def _wrong_folder(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    folder = dice.pick("folder", ["../data", "input", "dataset", "/data", "files", "data/raw", "workspace/data"])
    name = base_name(dice.pick("path", [table.path for table in goal.tables]))
    return swap(part, rf"read_csv\([^()]*{re.escape(name)}\"\)", f'read_csv("{folder}/{name}")')


def _wrong_name(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    name = base_name(dice.pick("path", [table.path for table in goal.tables]))
    stem = name.rsplit(".", 1)[0]
    new = dice.pick("name", [f"{stem}.tsv", f"{stem}_data.csv", f"{stem}_clean.csv", f"{stem}s_all.csv", f"{stem}.xlsx.csv"])
    return swap(part, re.escape(name), new)


# ---------------------------------------------------------------- own logic


def misspelt_column(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    """A quoted column of the part is written in another way."""
    names = [column.name for table in goal.tables for column in table.columns]
    used = [name for name in names if f"[{repr_(name)}]" in part.text]
    if not used:
        return None
    name = dice.pick("column", used)
    variants = [
        v for v in (name.upper(), name.title(), name + "s", name.replace("_", " "), name.replace(" ", "_"), name.lower()) if v not in names
    ]
    return swap(part, re.escape(f"[{repr_(name)}]"), f"[{repr_(dice.pick('variant', variants)) if variants else repr_(name + '_')}]")


def _text_as_number(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    words = _words(goal)
    if not words:
        return None
    name = repr_(dice.pick("column", words))
    call = dice.pick(
        "call", [f"{n.frame}[{name}].astype(float)", f"{n.frame}[{name}].mean()", f"{n.frame}[{name}] * 1.0", f"{n.frame}[{name}] > 0"]
    )
    return extend(part, f"level = {call}\nprint(level)")


def _separators_left(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    """Numbers that are written as text are cast as they are."""
    return swap(part, r"pd\.to_numeric\((.*)\.astype\(\"string\"\).*$", dice.pick("cast", [r"\1.astype(float)", r"pd.to_numeric(\1)"]))


def _nothing_returned(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    call = dice.pick(
        "call", ["drop_duplicates(inplace=True)", "reset_index(drop=True, inplace=True)", "rename(columns=str.strip, inplace=True)"]
    )
    return extend(part, f"{n.frame} = {n.frame}.{call}\nprint({n.frame}.columns.tolist())")


def _position_beyond(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    position = len(goal.tables[0].columns) + dice.pick("over", [0, 1, 2])
    return extend(part, f"print({n.frame}.iloc[:, {position}].head())")


def _local_before_set(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    counter, function = dice.pick("names", [("skipped", "count_gaps"), ("checked", "check_columns"), ("total", "count_cells")])
    text = f'{counter} = 0\n\n\ndef {function}(frame):\n    for name in frame.columns:\n        {counter} += int(frame[name].isna().sum())\n    return {counter}\n\n\nprint("empty cells:", {function}({n.frame}))'
    return extend(part, text)


def _text_plus_number(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    return extend(part, f'print("{dice.pick("words", ["rows: ", "number of rows: ", "loaded rows = "])}" + len({n.frame}))')


def _integers_of_gaps(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    gaps = [column.name for column in goal.tables[0].columns if column.missing and column.kind == "number"]
    return (
        extend(part, f"{n.frame}[{repr_(dice.pick('column', gaps))}] = {n.frame}[{repr_(dice.pick('column', gaps))}].astype(int)")
        if gaps
        else None
    )


# ---------------------------------------------------------------- missing values, memory, time


def _gaps_are_zero(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    if not goal.tables[0].has_missing:
        return None
    return extend(
        part,
        f"{n.frame} = {n.frame}.fillna({dice.pick('value', ['0', '-1', '0.0'])})"
        if dice.chance("all", 0.5)
        else f"{n.frame} = {n.frame}.fillna({n.frame}.median(numeric_only=True))",
    )


def _rows_with_gaps_dropped(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    return (
        extend(part, f"{n.frame} = {n.frame}.dropna()" + dice.pick("reset", ["", ".reset_index(drop=True)"]))
        if goal.tables[0].has_missing
        else None
    )


def _extremes_out(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    numbers = _numbers(goal)
    if not numbers:
        return None
    name = repr_(dice.pick("column", numbers))
    low, high = dice.pick("limits", [(0.05, 0.95), (0.02, 0.98), (0.1, 0.9)])
    return extend(
        part,
        f"# extreme values are probably errors\nlow, high = {n.frame}[{name}].quantile([{low}, {high}])\n{n.frame} = {n.frame}[{n.frame}[{name}].between(low, high)]",
    )


def _all_pairs(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    copies = dice.pick("copies", [20_000, 30_000, 50_000])
    return extend(
        part,
        f'# every row against every row, to look for repeats\ncodes = np.arange(len({n.frame}) * {copies}, dtype=float)\nsame = np.equal.outer(codes, codes)\nprint("repeats:", int(same.sum()) - len(codes))',
        ["import numpy as np"],
    )


def _bootstrap_at_once(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    draws = dice.pick("draws", [500_000_000, 800_000_000])
    return extend(
        part,
        f"# bootstrap the rows to see how stable the numbers are\npicks = np.random.default_rng({n.seed}).integers(0, len({n.frame}), size=({draws}, len({n.frame})))\nprint(picks.shape)",
        ["import numpy as np"],
    )


def _row_loops(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    rounds = dice.pick("rounds", [2_000, 3_000, 4_000])
    text = f"""# look for rows that say the same
repeats = 0
for _ in range({rounds}):
    for i, first in {n.frame}.iterrows():
        for j, second in {n.frame}.head(200).iterrows():
            if i < j and first.equals(second):
                repeats += 1
print("repeated rows:", repeats)"""
    return extend(part, text)


def _many_resamples(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    numbers = _numbers(goal)
    if not numbers:
        return None
    name = repr_(dice.pick("column", numbers))
    draws = dice.pick("draws", [1_000_000, 2_000_000, 3_000_000])
    text = f'# how stable is the mean?\nmeans = [{n.frame}[{name}].sample(frac=1.0, replace=True, random_state=i).mean() for i in range({draws})]\nprint("standard error", pd.Series(means).std())'
    return extend(part, text)


def _permutations(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    numbers = _numbers(goal)
    if len(numbers) < 2:
        return None
    first, second = dice.rng("pair").sample(numbers, 2)
    draws = dice.pick("draws", [500_000, 1_000_000])
    text = f"""# permutation test of the relation, to be sure
observed = {n.frame}[{repr_(first)}].corr({n.frame}[{repr_(second)}])
beyond = 0
for i in range({draws}):
    mixed = {n.frame}[{repr_(second)}].sample(frac=1.0, random_state=i).reset_index(drop=True)
    beyond += abs({n.frame}[{repr_(first)}].reset_index(drop=True).corr(mixed)) >= abs(observed)
print("p", beyond / {draws})"""
    return extend(part, text)


# ---------------------------------------------------------------- output


def _save_call(goal: Goal) -> str:
    return re.escape(f'"{goal.deliverable}"')


def _elsewhere(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    folder = dice.pick("folder", ["output", "outputs", "results", "out"])
    changed = swap(part, _save_call(goal), f'"{folder}/{goal.deliverable}"')
    return None if changed is None else extend(changed, f'os.makedirs("{folder}", exist_ok=True)', ["import os"], first=True)


def _other_file(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    stem, end = goal.deliverable.rsplit(".", 1)
    return swap(
        part,
        _save_call(goal),
        '"'
        + dice.pick(
            "name",
            [f"{stem}s.{end}", f"my_{stem}.{end}", f"{stem}_final.{end}", f"output.{end}", f"{stem}.{'md' if end == 'txt' else 'tsv'}"],
        )
        + '"',
    )


def _in_a_function(part: Part, goal: Goal, n: Names, dice: Dice) -> Part | None:
    name = dice.pick("name", ["save", "write_out", "export", "report", "finish"])
    body = "\n".join("    " + line if line else line for line in part.text.split("\n"))
    return Part(part.name, f"def {name}():\n{body}", part.imports)


SHARED_MISTAKES: tuple[Mistake, ...] = (
    *alike(
        "runtime:missing_package",
        "load",
        "ModuleNotFoundError",
        "missing_package",
        _polars,
        _unidecode,
        _janitor,
        _profile,
        _plotted,
        _duckdb,
        _statistics_package,
    ),
    *alike("runtime:api_changed", "load", "AttributeError", "api_changed", _applymap, _iteritems, _np_object, _append),
    *alike("runtime:api_changed", "load", "TypeError", "api_changed", _old_reader_option, _ffill),
    *alike("runtime:file_not_found", "load", "FileNotFoundError", "file_not_found", _wrong_folder, _wrong_name),
    *alike("runtime:own_logic", "load", "AttributeError", "own_logic", _nothing_returned),
    *alike("runtime:own_logic", "load", "", "own_logic", _text_as_number),
    *alike("runtime:own_logic", "load", "IndexError", "own_logic", _position_beyond),
    *alike("runtime:own_logic", "load", "UnboundLocalError", "own_logic", _local_before_set),
    *alike("runtime:own_logic", "load", "TypeError", "own_logic", _text_plus_number),
    *alike("runtime:own_logic", "clean", "ValueError", "own_logic", _separators_left),
    *alike("missing_values_unchecked", "clean", "IntCastingNaNError", "own_logic", _integers_of_gaps),
    *alike("missing_values_unchecked", "clean", "", None, _gaps_are_zero, _rows_with_gaps_dropped),
    *alike("altered_before_split", "clean", "", None, _extremes_out),
    *alike("runtime:out_of_memory", "clean", "MemoryError", "out_of_memory", _all_pairs, _bootstrap_at_once),
    *alike("runtime:time_limit", "clean", "", "time_limit", _row_loops, _many_resamples, _permutations),
    *alike("output_missing_or_overwritten", "write", "", None, _elsewhere, _other_file, _in_a_function),
)
