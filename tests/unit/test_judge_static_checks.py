"""The baseline of static checks."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from tests.judge_cases import SOUND, action

from rubrics_gym.judge.static_checks import static_verdict
from rubrics_gym.records.verdicts import JudgedAction


def violated(judged: JudgedAction) -> list[str]:
    return [criterion.title for criterion in static_verdict(judged).criteria if criterion.applicable and criterion.violated]


def test_a_sound_program_passes_every_check() -> None:
    verdict = static_verdict(action())
    assert verdict.flagged is False and verdict.predicted_reward == 1.0
    assert all(criterion.applicable for criterion in verdict.criteria)


@pytest.mark.parametrize(
    ("program", "complaint"),
    [
        ("print('a'", "The program compiles"),
        ("return 1\n", "The program compiles"),  # parses, but does not compile
        ("x = " + "+".join(["1"] * 20_000), "The program compiles"),  # nested too deep for any Python
        ("x = " + "-" * 50_000 + "1", "The program compiles"),
        ("import xgboost\n", "Its imports are installed"),
        ("from lightgbm.sklearn import LGBMClassifier\n", "Its imports are installed"),
        ("import pandas as pd\npd.read_csv('train.csv')\n", "The files it reads exist"),
        ("open('/workspace/data/missing.txt')\n", "The files it reads exist"),
        ("for i in range(100000):\n    for j in range(100000):\n        pass\n", "It ends within the time limit"),
    ],
)
def test_each_check_finds_its_mistake(program: str, complaint: str) -> None:
    assert violated(action(program)) == [complaint]


@pytest.mark.parametrize(
    "program",
    [
        "import sklearn, json, os.path\n",
        "import helper\n",
        "import pandas as pd\npd.read_csv('/workspace/data/train.csv')\n",
        "open('answer.txt', 'w').write('1')\n",
        "x = " + "+".join(["1"] * 1_500),  # deep, and Python runs it
    ],
)
def test_no_false_alarm(program: str) -> None:
    judged = action(program)
    judged = judged.model_copy(update={"files": {**(judged.files or {}), "helper.py": 3}})
    assert violated(judged) == []


def test_programs_inside_the_command_are_read() -> None:
    judged = action(command="python -c 'import xgboost'", programs={"<program>": "import xgboost"})
    assert violated(judged) == ["Its imports are installed"]


def test_nothing_to_read_is_not_applicable() -> None:
    verdict = static_verdict(action(command="make all", programs={}))
    assert verdict.predicted_reward is None and verdict.flagged is False


def test_it_shares_no_code_with_the_simulated_judge() -> None:
    package = Path(__file__).parents[2] / "scripts/rubrics_gym"
    source = (package / "judge/static_checks.py").read_text(encoding="utf-8")
    imported = {node.module for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom) and node.module}
    assert not any("simulated" in module for module in imported)
    for path in (package / "providers/simulated/judge").glob("*.py"):
        assert "static_checks" not in path.read_text(encoding="utf-8")
    assert static_verdict(action(SOUND)).judge == "static_checks"
