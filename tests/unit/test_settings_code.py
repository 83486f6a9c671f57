"""Fingerprints change with the code and with nothing else."""

import json
import subprocess
from pathlib import Path

import pytest

from rubrics_gym.settings import code

SOURCE = '''
"""Module."""
import math

def area(radius: float) -> float:
    """Of a circle."""
    # a comment
    return math.pi * radius ** 2
'''


@pytest.mark.parametrize(
    "same",
    [
        SOURCE.replace("# a comment", "# another one"),
        SOURCE.replace('"""Of a circle."""', '"""Of a disc, in squared units."""'),
        SOURCE.replace("radius ** 2", "(radius\n        ** 2)"),
        "\n\n" + SOURCE,
    ],
)
def test_comments_docstrings_and_layout_do_not_count(same: str) -> None:
    assert same != SOURCE
    assert code.fingerprint(same) == code.fingerprint(SOURCE)


@pytest.mark.parametrize(
    "other",
    [
        SOURCE.replace("** 2", "** 3"),
        SOURCE.replace("radius: float", "radius: int"),
        SOURCE.replace("math.pi", "math.tau"),
        SOURCE.replace("def area", "async def area"),
        SOURCE + "\nx = 1\n",
    ],
)
def test_logic_counts(other: str) -> None:
    assert code.fingerprint(other) != code.fingerprint(SOURCE)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    room = tmp_path / "rubrics_gym"
    for folder in (room, room / "upper", room / "lower"):
        folder.mkdir()
        (folder / "__init__.py").write_text("")
    (tmp_path / "work.py").write_text("from rubrics_gym.upper import first\ndef go():\n    from rubrics_gym.lower import late\n")
    (room / "upper" / "first.py").write_text("from . import second\n")
    (room / "upper" / "second.py").write_text("from .third import value\n")
    (room / "upper" / "third.py").write_text("value = 1\n")
    (room / "lower" / "late.py").write_text("late = 1\n")
    (room / "lower" / "unused.py").write_text("unused = 1\n")
    return tmp_path


def test_reach_follows_every_form_of_import(tree: Path) -> None:
    assert set(code.reach(tree / "work.py", scripts=tree)) == {
        "work",
        "rubrics_gym",
        "rubrics_gym.upper",
        "rubrics_gym.upper.first",
        "rubrics_gym.upper.second",
        "rubrics_gym.upper.third",
        "rubrics_gym.lower",
        "rubrics_gym.lower.late",
    }


def test_reach_leaves_out_rooms_and_adds_modules_opened_by_name(tree: Path) -> None:
    found = code.reach(tree / "work.py", also=["rubrics_gym.lower.unused"], without=["rubrics_gym.upper"], scripts=tree)
    assert set(found) == {"work", "rubrics_gym", "rubrics_gym.lower", "rubrics_gym.lower.late", "rubrics_gym.lower.unused"}


def test_live_transports_are_not_code() -> None:
    script = Path(code.SCRIPTS / "rubrics_gym" / "providers" / "opening.py")
    assert not any(module in code.reach(script, also=code.TRANSPORTS) for module in code.TRANSPORTS)


@pytest.mark.parametrize(
    ("rule", "role"),
    [
        ("collect_rollout", "agent"),
        ("replay_judge", "judge"),
        ("mine_candidates", "miner"),
        ("categorize_failures", "classifier"),
        ("attribute_causes", "reviewer"),
        ("mine_lessons", "miner"),
        ("review_lessons", "reviewer"),
    ],
)
def test_every_module_of_a_simulated_model_is_in_the_fingerprints_of_the_rules_that_ask_it(rule: str, role: str) -> None:
    model = f"{code.PACKAGE}.providers.simulated.{role}"
    folder = code.SCRIPTS / Path(*model.split("."))
    modules = {model} | {f"{model}.{path.stem}" for path in folder.glob("*.py") if path.stem != "__init__"}
    assert modules <= json.loads(code.code_of(rule, also=(model,))).keys()


def test_a_commit_is_marked_where_tracked_files_differ_from_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert code.commit() == ""  # no checkout
    (tmp_path / "frozen").mkdir()
    for name in ("a.py", "frozen/lock.json"):
        (tmp_path / name).write_text("1\n")
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    for arguments in (("init", "-q"), ("add", "."), (*who, "commit", "-qm", "one")):
        subprocess.run(["git", *arguments], check=True)
    clean = code.commit()
    assert len(clean) == 12
    (tmp_path / "frozen" / "lock.json").unlink()
    assert (code.commit(), code.commit(but="frozen")) == (f"{clean}-dirty", clean)
    (tmp_path / "a.py").write_text("2\n")
    assert code.commit(but=tmp_path / "frozen") == f"{clean}-dirty"
