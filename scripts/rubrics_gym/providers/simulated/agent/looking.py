"""Looking at the files before writing, and at the output after running."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping

from rubrics_gym.providers.simulated.agent.dice import Dice
from rubrics_gym.providers.simulated.agent.goals import Goal, PredictionGoal, QuestionGoal, Table
from rubrics_gym.providers.simulated.agent.understanding import read_table

_NOTE = re.compile(r"^\[(?:exit code|stopped after|The command).*$", flags=re.MULTILINE)


def look_command(paths: tuple[str, ...]) -> str:
    """One command that shows the first lines of some files; with one file `head` prints no name."""
    return "head -n 20 " + " ".join(paths) if len(paths) == 1 else "head -n 8 " + " ".join(paths)


def gaps_command(path: str) -> str:
    """One command that shows lines with an empty cell."""
    return f"grep -m 8 -E '(^|,)(,|$)' {path}"


def read_heads(paths: tuple[str, ...], output: str) -> dict[str, str]:
    """What `head` printed for each of the paths."""
    text = _NOTE.sub("", output)
    if len(paths) == 1:
        return {paths[0]: text}
    pieces = re.split(r"^==> (\S+) <==$", text, flags=re.MULTILINE)
    return {path: lines.strip("\n") for path, lines in zip(pieces[1::2], pieces[2::2], strict=False) if path in paths}


def tables_seen(heads: Mapping[str, str], gaps: Mapping[str, str]) -> dict[str, Table]:
    """Tables from their first lines and from the lines with empty cells."""
    return {
        path: read_table(path, head.strip("\n") + "\n" + _NOTE.sub("", gaps.get(path, ""))) for path, head in heads.items() if "," in head
    }


def quick_look(path: str, dice: Dice) -> tuple[str, ...]:
    """A short program that is run once and thrown away."""
    name = dice.pick("name", ["df", "d", "frame", "t"])
    body = dice.pick(
        "body",
        [
            f"print({name}.describe().T)",
            f"print({name}.isna().sum())\nprint({name}.dtypes)",
            f"print({name}.nunique())",
            f"{name}.info()",
            f"print({name}.shape)\nprint({name}.isna().mean().round(3))",
        ],
    )
    code = f'import pandas as pd\n\n{name} = pd.read_csv("{path}")\n{body}\n'
    if dice.chance("script", 0.3):
        file = dice.pick("file", ["look.py", "eda.py", "explore.py"])
        return (f"cat > {file} <<'EOF'\n{code}EOF", f"python {file}")
    return (f"python - <<'EOF'\n{code}EOF",)


def check_commands(goal: Goal) -> tuple[str, ...]:
    """Commands that show what a run has written."""
    if isinstance(goal, QuestionGoal):
        return (f"cat {goal.deliverable}",)
    if isinstance(goal, PredictionGoal):
        return (f"head -n 5 {goal.deliverable}", f"wc -l {goal.deliverable} {goal.sample}")
    return (f"head -n 5 {goal.deliverable}",)


def complaints(goal: Goal, outputs: tuple[str, ...], sample: Table | None) -> tuple[str, ...]:
    """Parts that must be at fault, judging from what the check commands printed; empty when it looks right."""
    text = _NOTE.sub("", outputs[0]).strip("\n")
    if re.search(r"No such file|cannot open", text):
        return ("write",)
    if isinstance(goal, QuestionGoal):
        found = dict(re.findall(r"^@(\w+)\[(.*)\]$", text, flags=re.MULTILINE))
        wrong = [f"value {number}" for number, measure in enumerate(goal.measures) if found.get(measure.name, "") == "nan"]
        return ("write",) if set(found) != {measure.name for measure in goal.measures} else tuple(wrong)
    rows = list(csv.reader(text.splitlines()))
    header = rows[0] if rows else []
    if not isinstance(goal, PredictionGoal):
        return () if header == list(goal.columns) else ("write",)
    if sample is not None and header != [column.name for column in sample.columns]:
        return ("write",)
    counts = re.findall(r"^\s*(\d+) (?!total)\S+", outputs[1], flags=re.MULTILINE) if len(outputs) > 1 else []
    if len(counts) > 1 and counts[0] != counts[1]:
        return ("load", "write")
    values = [row[-1] for row in rows[1:]]
    if goal.output in {"number", "probability"} and any(not re.fullmatch(r"-?\d+(\.\d+)?(e-?\d+)?", value) for value in values):
        return ("write", "predict")
    return ()
