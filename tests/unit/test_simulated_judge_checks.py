"""What the simulated judge sees in a program by reading it."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest
from tests.judge_cases import PROMPT, SOUND, STATEMENT, action

from rubrics_gym.judge.prompting import judge_request
from rubrics_gym.providers.simulated.judge import environment, observe
from rubrics_gym.providers.simulated.judge.case import Case
from rubrics_gym.providers.simulated.judge.mistakes import Mistake
from rubrics_gym.providers.simulated.judge.reading import read
from rubrics_gym.providers.simulated.judge.task import complaints
from rubrics_gym.records.verdicts import JudgedAction
from rubrics_gym.settings.study import ModelSettings

PANDAS = "import pandas as pd\ntrain = pd.read_csv('data/train.csv')\ntest = pd.read_csv('data/test.csv')\n"
MODEL = PANDAS + "from sklearn.linear_model import LogisticRegression\nmodel = LogisticRegression()\n"
QUESTION = """Compute the mean of `price` over the rows where `city` is "Rome", rounded to 2 decimal places. Write it to `answer.txt`:
@mean_price[value]
"""


def case(judged: JudgedAction) -> Case:
    return Case(read(judge_request(judged, [], PROMPT, ModelSettings(model="m"), 1)))


def present(judged: JudgedAction) -> set[Mistake]:
    return {mistake for mistake, observation in observe(case(judged)).items() if observation.present}


@pytest.mark.parametrize(
    ("program", "mistake"),
    [
        ("import catboost\n", Mistake.MISSING_PACKAGE),
        (PANDAS + "train = train.append(test)\n", Mistake.REMOVED_API),
        ("import numpy as np\nx = np.float(3)\n", Mistake.REMOVED_API),
        ("from sklearn.preprocessing import OneHotEncoder\nOneHotEncoder(sparse=False)\n", Mistake.REMOVED_API),
        (PANDAS + "train['price'].fillna(method='ffill')\n", Mistake.REMOVED_API),
        ("import pandas as pd\npd.read_csv('train.csv')\n", Mistake.NO_SUCH_FILE),
        ("import pandas as pd\nfrom pathlib import Path\npd.read_csv(Path('data') / 'extra.csv')\n", Mistake.NO_SUCH_FILE),
        (PANDAS + "train.to_csv('out/train.csv')\n", Mistake.NO_FOLDER),
        ("from sklearn.datasets import fetch_openml\nfetch_openml('adult')\n", Mistake.NO_NETWORK),
        ("print(undefined_thing)\n", Mistake.NO_SUCH_NAME),
        ("print('a'\n", Mistake.BROKEN_SYNTAX),
        (PANDAS + "print(train['Price'].mean())\n", Mistake.UNKNOWN_COLUMN),
        (PANDAS + "print(train[['nights', 'cost']])\n", Mistake.UNKNOWN_COLUMN),
        (MODEL + "model.fit(train[['nights', 'price']], train['stay'])\n", Mistake.MISSING_INTO_MODEL),
        (MODEL + "model.fit(train.drop(columns=['stay', 'price']), train['stay'])\n", Mistake.TEXT_INTO_MODEL),
        (PANDAS + "print(train.mean())\n", Mistake.TEXT_INTO_STATISTIC),
        (PANDAS + "text = [c for c in train if train[c].dtype == object]\n", Mistake.OBJECT_DTYPE),
        (MODEL + "model.fit(train[['nights']], train['stay'])\nmodel.predict(test[['nights', 'guest']])\n", Mistake.UNLIKE_FEATURES),
        (MODEL + "model.fit(train['nights'], train['stay'])\n", Mistake.ONE_DIMENSION),
        (PANDAS + "from sklearn.model_selection import train_test_split\na, b = train_test_split(train, test)\n", Mistake.WRONG_UNPACKING),
        ("x = [1]\nprint('n = ' + len(x))\n", Mistake.TEXT_PLUS_NUMBER),
        (MODEL + "model.fit(train[['nights']], train['stay'])\nmodel.predict(test.dropna()[['nights']])\n", Mistake.ROWS_DROPPED),
        (
            MODEL + "model.fit(train[['nights']], train['stay'])\nt = test.sort_values('price')\nmodel.predict(t[['nights']])\n",
            Mistake.ROWS_REORDERED,
        ),
        (PANDAS + "train['price'].astype(int)\n", Mistake.BAD_CONVERSION),
        (PANDAS + "train['price'].fillna(0, inplace=True)\n", Mistake.CHAINED_ASSIGNMENT),
        (MODEL + "for i in range(20000):\n    model.fit(train[['nights']], train['stay'])\n", Mistake.TOO_SLOW),
        ("total = 0\nfor i in range(60000):\n    for j in range(60000):\n        total += i * j\n", Mistake.TOO_SLOW),
        ("import time\ntime.sleep(60)\n", Mistake.TOO_SLOW),
        ("import numpy as np\nx = np.zeros((100000, 100000))\n", Mistake.TOO_BIG),
        (MODEL + "model.fit(train[['nights']], train['stay'])\nprint(model.predict(test[['nights']]))\n", Mistake.NEVER_WRITTEN),
        (SOUND.replace("submission.csv", "predictions.csv"), Mistake.WRONG_PLACE),
        (SOUND.replace('"stay": model', '"target": model'), Mistake.WRONG_COLUMNS),
        (SOUND.replace(", index=False", ""), Mistake.INDEX_WRITTEN),
        (SOUND.replace("model.predict_proba(test[features])[:, 1]", "model.predict(test[features])"), Mistake.LABELS_FOR_SCORES),
        (SOUND.replace("print(cross_val_score", "# print(cross_val_score"), Mistake.NOT_VALIDATED),
        (SOUND.replace("neg_log_loss", "accuracy"), Mistake.WRONG_METRIC),
        ("try:\n    import json\nexcept:\n    pass\n", Mistake.HIDDEN_FAILURE),
        ("import numpy as np\ntry:\n    x = 1\nexcept OSError:\n    x = np.random.rand(3)\n", Mistake.MADE_UP),
    ],
)
def test_a_mistake_is_seen(program: str, mistake: Mistake) -> None:
    assert mistake in present(action(program))


@pytest.mark.parametrize(
    ("program", "mistake"),
    [
        (PANDAS + "print(train['price'].mean())\nopen('answer.txt', 'w').write('@mean_price[%.2f]')\n", Mistake.WRONG_SCOPE),
        (PANDAS + "print(train[train['city'] == 'Rome']['price'].mean())\n", Mistake.NEVER_WRITTEN),
        (PANDAS + "m = train[train['city'] == 'Rome']['price'].median()\n", Mistake.WRONG_STATISTIC),
        (PANDAS + "m = train[train['city'] == 'Rome']['price'].mean()\nopen('answer.txt', 'w').write(f'{m:.2f}')\n", Mistake.ANSWER_FORMAT),
        (
            PANDAS + "m = train[train['city'] == 'Rome']['price'].mean()\nopen('answer.txt', 'w').write(f'@mean_price[{m}]')\n",
            Mistake.NOT_ROUNDED,
        ),
    ],
)
def test_a_mistake_in_an_answer_is_seen(program: str, mistake: Mistake) -> None:
    assert mistake in present(action(program, statement=QUESTION))


@pytest.mark.parametrize(
    "program",
    [
        SOUND,
        SOUND.replace("SimpleImputer(), LogisticRegression()", "LogisticRegression()").replace('["nights", "price"]', '["nights"]'),
        SOUND.replace('out.to_csv("submission.csv"', 'OUT = "/workspace/submission.csv"\nout.to_csv(OUT'),
    ],
)
def test_a_sound_program_is_left_alone(program: str) -> None:
    assert present(action(program)) == set()
    assert list(complaints(case(action(program)))) == []


@pytest.mark.parametrize(
    "program",
    [
        PANDAS + "train['size'] = train['nights'] * 2\nprint(train['size'])\n",
        PANDAS + "train = train.dropna(subset=['price'])\nprint(train['price'].astype(int))\n",
        PANDAS + "def features(t):\n    return t[['nights', 'price']].fillna(0)\n"
        "from sklearn.svm import SVC\nSVC().fit(features(train), train['stay'])\n",
        "import pandas as pd\ndef load(name):\n    return pd.read_csv(f'data/{name}.csv')\nload('train')\n",
        "try:\n    import xgboost\nexcept ImportError:\n    xgboost = None\n",
        "rows = []\nrows.append(1)\n",
        MODEL + "X = pd.get_dummies(train.drop(columns=['stay'])).fillna(0)\nmodel.fit(X, train['stay'])\n",
        "from sklearn.ensemble import HistGradientBoostingClassifier\n"
        + PANDAS
        + "HistGradientBoostingClassifier().fit(train[['nights', 'price']], train['stay'])\n",
    ],
)
def test_a_look_alike_is_left_alone(program: str) -> None:
    looked = action(program, command="python look.py", programs={"look.py": program})
    assert present(looked) == set()


def test_code_inside_the_command_is_read() -> None:
    assert Mistake.MISSING_PACKAGE in present(action(command="python -c 'import catboost'", programs={}))
    heredoc = "cat > final.py <<'EOF'\nimport catboost\nEOF\npython final.py"
    assert Mistake.MISSING_PACKAGE in present(action(command=heredoc, programs={}))
    assert Mistake.MISSING_PACKAGE in present(action(command="python - <<'X'\nimport catboost\nX\n", programs={}))


def test_a_program_that_the_command_does_not_run_is_not_judged() -> None:
    both = {"final.py": "import catboost\n", "look.py": "print(1)\n"}
    assert present(action(command="python look.py", programs=both)) == set()
    imported = {"final.py": "import catboost\n", "look.py": "import final\n"}
    assert Mistake.MISSING_PACKAGE in present(action(command="python look.py", programs=imported))


def test_a_script_that_does_not_exist_is_seen() -> None:
    assert Mistake.NO_SUCH_FILE in present(action(command="python nowhere.py", programs={}))


def test_without_the_world_nothing_is_said_about_it() -> None:
    program = {"look.py": "import catboost\nopen('nowhere.csv')\nx = [0] * 10**12\n"}
    unseen = dict.fromkeys(("packages", "python", "limits", "files", "data_profile"))
    blind = action(command="python look.py", programs=program, **unseen)
    assert present(blind) == set()


def test_an_older_library_still_has_what_newer_ones_dropped() -> None:
    old = action(PANDAS + "train = train.append(test)\n", packages={"pandas": "1.5.3"})
    assert Mistake.REMOVED_API not in present(old)


@pytest.mark.filterwarnings("ignore")
def test_the_table_of_removed_names_agrees_with_the_installed_libraries() -> None:
    """Each name listed as gone is really gone from what is installed here, where that is new enough."""
    checked = 0
    for module, name, version in environment._GONE_NAMES:
        library = importlib.import_module(module.partition(".")[0])
        if environment._number(library.__version__) >= environment._number(version):
            checked += 1
            try:
                holder = importlib.import_module(module)
            except ImportError:
                continue
            try:
                kept = name in vars(holder) or hasattr(holder, name)
            except Exception:
                kept = False
            assert not kept, f"{module}.{name} is still there"
    assert checked > 10


@pytest.mark.parametrize("missing", ["statement", "command", "programs"])
def test_the_task_criterion_needs_no_rubric(missing: str) -> None:
    assert list(complaints(case(action("print(1)\n"))))
    bare = action("print(1)\n", **{missing: {} if missing == "programs" else ""})
    if missing != "command":  # a command that names no program may run the one shown
        assert list(complaints(case(bare))) == []


def test_complaints_of_the_task_criterion() -> None:
    assert any("does not parse" in complaint for complaint in complaints(case(action("print('a'"))))
    assert any("submission.csv" in complaint for complaint in complaints(case(action(SOUND.replace("submission.csv", "x.csv")))))
    assert any(
        "guest" in complaint for complaint in complaints(case(action(SOUND.replace('"guest"', '"id"').replace('["id"]', ".iloc[:, 0]"))))
    )
    unlisted = SOUND.replace("data/train.csv", "input/prices.csv")
    assert any("prices.csv" in complaint for complaint in complaints(case(action(unlisted))))


@pytest.mark.isolation
def test_it_knows_nothing_of_the_project() -> None:
    """Only models, records and settings are imported: no taxonomy, no library, no prompt, no other simulated model."""
    package = Path(environment.__file__).parent
    for path in package.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("rubrics_gym"):
                assert (node.module or "").startswith(
                    (
                        "rubrics_gym.models.request",
                        "rubrics_gym.records.base",
                        "rubrics_gym.settings",
                        "rubrics_gym.providers.simulated.judge",
                    )
                ), f"{path.name} imports {node.module}"
    assert STATEMENT
