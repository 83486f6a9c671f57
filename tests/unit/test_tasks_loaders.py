"""Loaders on the benchmarks' own files (skipped without the corpus), and on made-up sources where the corpus has no data."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
import yaml
from tests.corpus import CORPUS, corpus_of, needs_corpus

from rubrics_gym.records.tasks import TaskKind
from rubrics_gym.tasks.built import BuiltTask, Content
from rubrics_gym.tasks.bundles import write_bundles
from rubrics_gym.tasks.catalog import Benchmark, CatalogError, Entry, benchmark_names, load_benchmark
from rubrics_gym.tasks.loaders import dacode, loader_of, mlagentbench, mlgym, openml, paperbench, rebench
from rubrics_gym.tasks.sources import SourceFiles, SourceProblem

ANNEAL = Entry(id="1882", kind=TaskKind.PREDICTION, role="train", title="anneal")


def content(member: Content) -> bytes:
    return member if isinstance(member, bytes) else member.read_bytes()


def rows(member: Content) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(content(member).decode())))


def grading(made: BuiltTask) -> dict:
    return json.loads(content(made.private["grading.json"]))


def source_of(tmp_path: Path, name: str, files: dict[str, str | bytes], **changes: object) -> tuple[Benchmark, SourceFiles]:
    """A made-up source, whose files need no hash."""
    for path, text in files.items():
        place = tmp_path / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text if isinstance(text, bytes) else text.encode())
    benchmark = load_benchmark(name).model_copy(update=changes)
    return benchmark, SourceFiles(benchmark, tmp_path, {path: "" for path in files})


def test_every_benchmark_with_a_source_has_a_loader() -> None:
    outside = [name for name in benchmark_names() if load_benchmark(name).source.repository or load_benchmark(name).source.client]
    assert len(outside) == 9
    assert all(callable(loader_of(name)) for name in outside)
    with pytest.raises(CatalogError, match="no loader for the benchmark dabstep"):
        loader_of("dabstep")


# ---------------------------------------------------------------- InfiAgent-DABench


@needs_corpus
def test_all_tasks_of_dabench_load() -> None:
    benchmark, source = corpus_of("dabench")
    load = loader_of("dabench")
    made = {entry.id: load(source, entry) for entry in benchmark.entries}
    assert len(made) == 257
    assert {len(task.public) for task in made.values()} == {2}  # task.json and the table
    answers = [json.loads(content(task.private["answers.json"])) for task in made.values()]
    assert sum(map(len, answers)) == 461
    repeated = [name for name, _ in json.loads(content(made["734"].private["answers.json"]))]
    assert len(repeated) > len(set(repeated))  # the label's own repetitions are kept for the grader
    for task in made.values():
        assert task.task.deliverable == "answer.txt" and "`answer.txt`" in task.task.statement
        assert all(f"`{file}`" in task.task.statement for file in task.task.files)
        assert not any(key in task.public for key in task.private)


@needs_corpus
def test_bundles_of_real_tasks_are_the_same_bytes_twice(tmp_path: Path) -> None:
    for name, task in (("dabench", "0"), ("dacode", "ml-competition-003"), ("openml", "1882")):
        benchmark, source = corpus_of(name)
        entry = ANNEAL if name == "openml" else benchmark.entry(task)
        for number in ("1", "2"):
            write_bundles(loader_of(name)(source, entry), tmp_path / f"{number}-public", tmp_path / f"{number}-private")
        assert (tmp_path / "1-public").read_bytes() == (tmp_path / "2-public").read_bytes()
        assert (tmp_path / "1-private").read_bytes() == (tmp_path / "2-private").read_bytes()


@needs_corpus
def test_a_table_that_was_changed_is_refused(tmp_path: Path) -> None:
    benchmark, source = corpus_of("dabench")
    for name in source.hashes:
        place = tmp_path / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes((source.folder / name).read_bytes() + (b"1\n" if name.endswith("insurance.csv") else b""))
    changed = SourceFiles(benchmark, tmp_path)
    about = next(entry for entry in benchmark.entries if entry.title == "insurance.csv")
    with pytest.raises(SourceProblem, match=r"insurance\.csv' is not the file of commit d02d18a64da2"):
        loader_of("dabench")(changed, about)
    assert loader_of("dabench")(changed, benchmark.entries[0])


def test_a_question_without_a_label_is_a_problem_of_the_source(tmp_path: Path) -> None:
    top = "examples/DA-Agent/data"
    question = {"id": 0, "question": "q", "constraints": "", "format": "@a[b]", "file_name": "test_ave.csv"}
    benchmark, source = source_of(
        tmp_path, "dabench", {f"{top}/da-dev-questions.jsonl": json.dumps(question), f"{top}/da-dev-labels.jsonl": ""}
    )
    with pytest.raises(SourceProblem, match=r"da-dev-labels\.jsonl' has no line with the id '0'"):
        loader_of("dabench")(source, benchmark.entry("0"))


def test_a_question_about_another_table_is_refused(tmp_path: Path) -> None:
    top = "examples/DA-Agent/data"
    question = {"id": 0, "question": "q", "constraints": "", "format": "@a[b]", "file_name": "../../../../etc/passwd"}
    lines = {
        f"{top}/da-dev-questions.jsonl": json.dumps(question),
        f"{top}/da-dev-labels.jsonl": '{"id": 0, "common_answers": [["a", "1"]]}',
    }
    benchmark, source = source_of(tmp_path, "dabench", lines)
    with pytest.raises(SourceProblem, match=r"the question is about '\.\./\.\./"):
        loader_of("dabench")(source, benchmark.entry("0"))


# ---------------------------------------------------------------- DA-Code


@needs_corpus
def test_every_task_of_dacode_that_has_files_in_the_corpus_loads() -> None:
    benchmark, source = corpus_of("dacode")
    there = sorted(path.name for path in (CORPUS / "DA-Code" / "da_code" / "source").iterdir())
    assert len(there) == 16
    for task in there:
        made = dacode.load(source, benchmark.entry(task))
        evaluation = grading(made)["evaluation"]
        assert evaluation["id"] == task and made.task.deliverables == dacode.asked_files(evaluation)
        assert all(name.startswith("data/") for name in made.task.files)
        assert not any("gold" in name for name in made.public)
        assert all(f"`{name}`" in made.task.statement for name in (*made.task.files, *made.task.deliverables))


@pytest.mark.parametrize(
    ("result", "asked"),
    [
        ([{"file": "result.csv"}], ("result.csv",)),
        ([{"file": ["a.csv"]}, {"file": ["sub/b.csv"]}], ("a.csv", "b.csv")),
        ([{"multi": True, "file": ["result.png", "dabench/plot.json", "dabench/result.npy"]}], ("result.png",)),
        ([{"number": [{"highest country": ["X"]}]}], ("answer.json",)),
    ],
)
def test_what_dacode_asks_for(result: list[dict], asked: tuple[str, ...]) -> None:
    assert dacode.asked_files({"result": result}) == asked


@needs_corpus
def test_a_task_of_dacode_that_ships_no_files_says_so() -> None:
    benchmark, source = corpus_of("dacode")
    with pytest.raises(SourceProblem, match="no files in da_code/source/dm-csv-002"):
        dacode.load(source, benchmark.entry("dm-csv-002"))


# ---------------------------------------------------------------- DSBench


@needs_corpus
def test_the_published_scores_of_dsbench_are_those_of_its_own_files() -> None:
    benchmark, _ = corpus_of("dsbench")
    stored = CORPUS / "DSBench" / "data_modeling" / "save_performance"
    assert len(benchmark.entries) == 74
    for entry in benchmark.entries:
        scores = {model: float((stored / model / entry.id / "result.txt").read_text()) for model in ("baseline", "GT")}
        assert entry.facts == {"baseline": scores["baseline"], "reference": scores["GT"]}


def test_the_directions_of_dsbench() -> None:
    from rubrics_gym.tasks.loaders.dsbench import better_is_greater

    directions = [better_is_greater(entry) for entry in load_benchmark("dsbench").entries]
    assert (sum(directions), len(directions)) == (41, 74)


DSBENCH = {
    "data_modeling/data/task/titanic.txt": "Predict who survives.",
    "data_modeling/data/data_resplit/titanic/train.csv": "id,x,y\n1,2,0\n",
    "data_modeling/data/data_resplit/titanic/test.csv": "id,x\n2,3\n",
    "data_modeling/data/data_resplit/titanic/gender_submission.csv": "id,y\n2,0\n",
    "data_modeling/data/answers/titanic/test_answer.csv": "id,y\n2,1\n",
    "data_modeling/evaluation/titanic_eval.py": "print()",
}


def test_a_prepared_competition_of_dsbench(tmp_path: Path) -> None:
    benchmark, source = source_of(tmp_path, "dsbench", DSBENCH)
    made = loader_of("dsbench")(source, benchmark.entry("titanic"))
    assert made.task.files == ("data/gender_submission.csv", "data/test.csv", "data/train.csv")
    assert grading(made)["columns"] == ["id", "y"] and made.task.metric.greater_is_better
    assert content(made.private["answers.csv"]) == b"id,y\n2,1\n" and "evaluate.py" in made.private


@pytest.mark.parametrize(
    "lost", ["data_resplit/titanic/test.csv", "data_resplit/titanic/gender_submission.csv", "answers/titanic/test_answer.csv"]
)
def test_an_incomplete_competition_of_dsbench_is_refused_with_what_to_do(tmp_path: Path, lost: str) -> None:
    benchmark, source = source_of(tmp_path, "dsbench", {name: text for name, text in DSBENCH.items() if not name.endswith(lost)})
    with pytest.raises(SourceProblem, match=r"data\.zip"):
        loader_of("dsbench")(source, benchmark.entry("titanic"))


# ---------------------------------------------------------------- MLGym


@needs_corpus
def test_the_task_files_of_mlgym() -> None:
    benchmark, source = corpus_of("mlgym")
    distinct = [entry for entry in benchmark.entries if not entry.exclude]
    assert (len(benchmark.entries), len(distinct)) == (19, 14)
    found = {entry.id: mlgym.read_task_files(source, entry) for entry in distinct}
    assert {name for name, files in found.items() if not files.metric.greater_is_better} == {
        "3SATTime",
        "regressionKaggleHousePrice",
        "languageModelingFineWeb",
    }
    assert found["naturalLanguageInferenceMNLI"].home == "data/bertMNLI"
    for entry in benchmark.entries:
        if "its data set configuration" in entry.exclude:
            with pytest.raises(SourceProblem, match="is missing"):
                mlgym.read_task_files(source, entry)


@needs_corpus
def test_house_prices_are_split_as_upstream_splits_them() -> None:
    from sklearn.model_selection import train_test_split

    benchmark, source = corpus_of("mlgym")
    files, gold = mlgym.split_data(source, benchmark.entry("regressionKaggleHousePrice"), [])
    whole = list(csv.DictReader(io.StringIO(source.text(mlgym.HOUSE_PRICES))))
    rest, test = train_test_split([row["Id"] for row in whole], test_size=0.2, random_state=42)
    train, validation = train_test_split(rest, test_size=0.125, random_state=42)
    assert [row["Id"] for row in rows(files["data/test.csv"])] == test == [row["Id"] for row in rows(gold["gold/answer.csv"])]
    assert [row["Id"] for row in rows(files["data/train.csv"])] == train
    assert [row["Id"] for row in rows(files["data/validation.csv"])] == validation
    assert "SalePrice" not in rows(files["data/test.csv"])[0]
    price = {row["Id"]: row["SalePrice"] for row in whole}
    assert all(price[row["Id"]] == row["SalePrice"] for row in rows(gold["gold/answer.csv"]))


@needs_corpus
def test_the_answers_of_titanic_are_not_in_what_the_agent_gets() -> None:
    benchmark, source = corpus_of("mlgym")
    entry = benchmark.entry("titanic")
    files, gold = mlgym.split_data(source, entry, mlgym.read_task_files(source, entry).datasets)
    assert sorted(files) == ["data/test.csv", "data/train.csv"] and sorted(gold) == ["gold/ground_truth.csv"]


GAME = {
    "configs/tasks/blotto.yaml": yaml.safe_dump(
        {
            "description": "Play.",
            "task_entrypoint": "PythonSubmissionTasks",
            "training_timeout": 60,
            "starter_code": ["data/blotto/strategy.py", "data/blotto/evaluate.py", "data/blotto/target.py"],
            "baseline_scores": [{"Score": 0.1}],
            "evaluation_paths": ["evaluate.py"],
        }
    ),
    "data/blotto/strategy.py": "def row_strategy(history): return 0",
    "data/blotto/target.py": "def target(history): return 1",
    "data/blotto/evaluate.py": "print('{}')",
}


def test_a_game_of_mlgym_keeps_its_own_copy_of_the_evaluation(tmp_path: Path) -> None:
    benchmark, source = source_of(tmp_path, "mlgym", GAME)
    made = mlgym.load(source, benchmark.entry("blotto"))
    assert made.task.deliverables == ("strategy.py",)
    assert {"evaluation/evaluate.py", "evaluation/target.py"} <= made.private.keys()
    assert grading(made)["entrypoint"] == "PythonSubmissionTasks" and grading(made)["timeout_s"] == 60


# ---------------------------------------------------------------- MLAgentBench


@needs_corpus
def test_the_task_files_of_mlagentbench() -> None:
    benchmark, source = corpus_of("mlagentbench")
    assert {path.name for path in (source.folder / mlagentbench.ROOT).iterdir() if path.is_dir()} == {
        entry.id for entry in benchmark.entries
    }
    problems = {entry.id: mlagentbench.research_problem(source, entry) for entry in benchmark.entries}
    assert all(len(words) > 100 for words in problems.values())
    assert "Do not change: `./train.csv`, `./test.csv`." in problems["house-price"]


def mlagentbench_files(**more: str) -> dict[str, str]:
    top = "MLAgentBench/benchmarks/house-price"
    files = {"env/train.py": "pass", "env/train.csv": "a\n1\n", "scripts/eval.py": "pass", "scripts/research_problem.txt": "Improve."}
    return {f"{top}/{name}": text for name, text in {**files, **more}.items()}


def test_a_prepared_task_of_mlagentbench_keeps_answers_and_evaluation_apart(tmp_path: Path) -> None:
    given = mlagentbench_files(**{"scripts/prepare.py": "pass", "scripts/prepared": "", "scripts/answer.csv": "y\n1\n"})
    benchmark, source = source_of(tmp_path, "mlagentbench", given)
    made = mlagentbench.load(source, benchmark.entry("house-price"))
    assert made.task.files == ("data/train.csv", "data/train.py") and made.task.metric.greater_is_better is False
    assert {"scripts/answer.csv", "scripts/eval.py", "env/train.py"} <= made.private.keys()


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"scripts/prepare.py": "pass"}, "were not prepared"),
        ({"env/answer.csv": "y\n1\n"}, "holds answers and lies in env"),
    ],
)
def test_an_unprepared_or_leaking_task_of_mlagentbench_is_refused(tmp_path: Path, more: dict[str, str], says: str) -> None:
    benchmark, source = source_of(tmp_path, "mlagentbench", mlagentbench_files(**more))
    with pytest.raises(SourceProblem, match=says):
        mlagentbench.load(source, benchmark.entry("house-price"))


# ---------------------------------------------------------------- RE-Bench

KERNEL = "ai_rd_triton_cumsum"
FAMILY = {
    f"{KERNEL}/manifest.yaml": "version: 0.2.5\ntasks: {main: {resources: {cpus: 13, memory_gb: 100}, scoring: {instructions: Scored by time.}}}",
    f"{KERNEL}/{KERNEL}.py": 'import os\nos.abort()\nWORDS = """\n    Make it\n      fast.\n    """\nclass TaskFamily:\n    @staticmethod\n    def get_instructions(t):\n        return WORDS\n',
    f"{KERNEL}/assets/start.py": "pass",
    f"{KERNEL}/assets/solution.zip": b"PK",
    f"{KERNEL}/assets/score.py": "pass",
}


def test_a_family_is_read_and_never_run(tmp_path: Path) -> None:
    benchmark, source = source_of(tmp_path, "rebench", FAMILY)
    made = rebench.load(source, benchmark.entry(KERNEL))
    assert made.task.files == ("data/start.py",)  # no solution, no scorer
    assert made.task.statement.startswith("Make it\n  fast.\n\nScored by time.")
    assert grading(made)["aggregate"] == "min" and grading(made)["resources"]["cpus"] == 13


@pytest.mark.parametrize(
    "program",
    ['return f"do {t}"', "return t['words']", "return open('x').read()"],
)
def test_instructions_that_would_have_to_be_run_are_refused(program: str) -> None:
    with pytest.raises(SourceProblem, match="does not return a plain text"):
        rebench.instructions(f"class TaskFamily:\n    def get_instructions(t):\n        {program}\n", KERNEL)


def test_instructions_may_be_dedented_and_named() -> None:
    program = 'import textwrap\nX = textwrap.dedent("""\n  a\n  b\n""")\nclass TaskFamily:\n    def get_instructions(t):\n        return X.strip()\n'
    assert rebench.instructions(program, KERNEL) == "a\nb"


@needs_corpus
def test_the_made_up_manifest_is_one_of_the_task_standard() -> None:
    import jsonschema

    schema = json.loads((CORPUS / "RE-Bench" / "schemas" / "task-family-manifest.json").read_text())
    jsonschema.validate(yaml.safe_load(FAMILY[f"{KERNEL}/manifest.yaml"]) | {"version": "0.2.5"}, schema)


# ---------------------------------------------------------------- OpenML


@needs_corpus
def test_an_openml_task_cuts_the_labels_of_its_test_rows() -> None:
    _, source = corpus_of("openml")
    made = openml.load(source, ANNEAL)
    train, test, answers, sample = (
        rows(member)
        for member in (
            made.public["data/train.csv"],
            made.public["data/test.csv"],
            made.private["answers.csv"],
            made.public["data/sample_submission.csv"],
        )
    )
    assert (len(train), len(test)) == (808, 90) and len({row["row_id"] for row in (*train, *test)}) == 898
    assert "class" in train[0] and "class" not in test[0]
    assert [row["row_id"] for row in test] == [row["row_id"] for row in answers] == [row["row_id"] for row in sample]
    assert set(grading(made)["classes"]) == {"1", "2", "3", "5", "U"} and grading(made)["folds"] == 100
    assert len({row["class"] for row in sample}) == 1
    # independently: the first fold of the first repeat, read line by line
    lines = source.text("tasks/1882/datasplits.arff").splitlines()
    assert {row["row_id"] for row in test} == {line.split(",")[1] for line in lines if line.startswith("TEST,") and line.endswith(",0,0")}


def test_a_missing_number_of_a_parquet_data_set_is_an_empty_cell(tmp_path: Path) -> None:
    place = tmp_path / "datasets" / "7" / "dataset_7.pq"
    place.parent.mkdir(parents=True)
    pyarrow.parquet.write_table(pyarrow.table({"a": [1.5, float("nan"), None]}), place)
    assert openml._rows(SourceFiles(load_benchmark("openml"), tmp_path, {}), "7", 1) == [["1.5"], [""], [""]]


@needs_corpus
def test_an_openml_task_on_another_data_set_is_refused() -> None:
    _, source = corpus_of("openml")
    with pytest.raises(SourceProblem, match="about the data set 'anneal', the task table says 'kr-vs-kp'"):
        openml.load(source, ANNEAL.model_copy(update={"title": "kr-vs-kp"}))
    with pytest.raises(SourceProblem, match=r"datasets/1/description\.xml' is missing"):
        openml.load(source, ANNEAL.model_copy(update={"id": "1"}))


@needs_corpus
@pytest.mark.parametrize(
    ("path", "old", "new", "says"),
    [
        ("tasks/1882/task.xml", "<oml:target_feature>class<", "<oml:target_feature>klass<", "contradict each other"),
        ("tasks/1882/datasplits.arff", "TEST,", "TRAIN,", "is no split of 898 rows"),
        ("tasks/1882/datasplits.arff", "TRAIN,16,0,0", "TRAIN,9999,0,0", "is no split of 898 rows"),
        ("datasets/2/features.xml", "<oml:index>0<", "<oml:index>zero<", "contradict each other"),
        ("datasets/2/dataset.arff", "@data", "@dat", "is not valid ARFF"),
    ],
)
def test_openml_objects_that_contradict_each_other_are_refused(tmp_path: Path, path: str, old: str, new: str, says: str) -> None:
    _, source = corpus_of("openml")
    files = {name: source.read(name) for name in [*source.below("tasks/1882/"), *source.below("datasets/2/")]}
    assert old.encode() in files[path]
    _, changed = source_of(tmp_path, "openml", files | {path: files[path].replace(old.encode(), new.encode())})
    with pytest.raises(SourceProblem, match=says):
        openml.load(changed, ANNEAL)


def test_a_document_with_entities_is_refused(tmp_path: Path) -> None:
    bomb = '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "ha">]><x>&a;</x>'
    _, source = source_of(tmp_path, "openml", {"tasks/3/task.xml": bomb})
    with pytest.raises(SourceProblem, match="declares a document type"):
        openml.load(source, load_benchmark("openml").entry("3"))


# ---------------------------------------------------------------- MLE-bench

COMPETITION = "spaceship-titanic"
PRIVATE = "PassengerId,Transported\n1,True\n"


def competition(**changes: str) -> dict[str, str]:
    top, data = f"mlebench/competitions/{COMPETITION}", f"data/{COMPETITION}/prepared"
    files = {
        f"{top}/config.yaml": "id: spaceship-titanic\ngrader: {name: accuracy}",
        f"{top}/description.md": "Predict who is transported.",
        f"{top}/checksums.yaml": yaml.safe_dump(
            {"private": {"test.csv": hashlib.md5(PRIVATE.encode()).hexdigest()}, "public": {}, "zip": "x"}
        ),
        f"{top}/leaderboard.csv": "score\n0.9\n0.5\n",
        f"{data}/public/train.csv": "a\n",
        f"{data}/private/test.csv": PRIVATE,
    }
    return {name: text for name, text in {**files, **{f"{data}/{name}": text for name, text in changes.items()}}.items() if text}


def test_a_prepared_competition(tmp_path: Path) -> None:
    benchmark, source = source_of(tmp_path, "mlebench", competition())
    made = loader_of("mlebench")(source, benchmark.entry(COMPETITION))
    assert made.task.files == ("data/train.csv",) and made.task.metric.greater_is_better
    assert grading(made)["answers"] == "test.csv" and content(made.private["private/test.csv"]) == PRIVATE.encode()


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"private/test.csv": PRIVATE + "2,True\n"}, "not what upstream prepared"),
        ({"private/test.csv": "", "private/other.csv": "x\n"}, r"test\.csv is missing"),
        ({"private/test.csv": ""}, "missing or empty"),
    ],
)
def test_a_competition_that_is_not_what_upstream_prepared_is_refused(tmp_path: Path, changes: dict[str, str], says: str) -> None:
    benchmark, source = source_of(tmp_path, "mlebench", competition(**changes))
    with pytest.raises(SourceProblem, match=says):
        loader_of("mlebench")(source, benchmark.entry(COMPETITION))


def test_the_splits_of_mlebench() -> None:
    splits = load_benchmark("mlebench").splits
    assert {name: len(tasks) for name, tasks in splits.items()} == {"lite": 22, "medium": 38, "high": 15, "full": 75, "dev": 7}
    assert {*splits["lite"], *splits["medium"], *splits["high"]} == set(splits["full"])


# ---------------------------------------------------------------- PaperBench


@needs_corpus
def test_papers_in_the_corpus_load_and_their_rubrics_are_private() -> None:
    benchmark, source = corpus_of("paperbench")
    there = [entry for entry in benchmark.entries if f"{paperbench.ROOT}/{entry.id}/rubric.json" in source.hashes]
    leaves = {entry.id: grading(paperbench.load(source, entry))["leaves"] for entry in there}
    assert len(leaves) == 6 and leaves["stochastic-interpolants"] == 69
    assert all("rubric.json" not in " ".join(paperbench.load(source, entry).public) for entry in there)


NODE = {"id": "x", "requirements": "r", "weight": 1, "sub_tasks": [], "task_category": "Code Execution"}


@pytest.mark.parametrize(
    "change",
    [
        {"weight": -1},
        {"task_category": None},
        {"task_category": "Other"},
        {"sub_tasks": [NODE]},
        {"sub_tasks": [NODE | {"weight": -2}], "task_category": None},
    ],
)
def test_a_rubric_that_breaks_a_rule_is_refused(change: dict) -> None:
    assert paperbench.check_tree(NODE, "paper") == 1
    with pytest.raises(SourceProblem, match="paperbench paper"):
        paperbench.check_tree(NODE | change, "paper")


def test_a_rubric_that_is_too_deep_is_refused() -> None:
    node = NODE
    for _ in range(100):
        node = NODE | {"sub_tasks": [node], "task_category": None}
    with pytest.raises(SourceProblem, match="no tree of requirements"):
        paperbench.check_tree(node, "paper")
