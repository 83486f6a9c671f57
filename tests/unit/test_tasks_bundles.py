"""Bundles: the same bytes every time, nothing of the answers in the public one, statements that name all an agent needs."""

import csv
import functools
import io
import json
import re

import pytest

from rubrics_gym.records.archives import UnsafeArchive, read_archive, write_archive
from rubrics_gym.records.tasks import TaskKind
from rubrics_gym.tasks.bundles import build_task, make_task
from rubrics_gym.tasks.catalog import load_benchmark, load_spec
from rubrics_gym.tasks.metrics import METRICS, metric
from rubrics_gym.tasks.unpacking import unpack_public

ENTRIES = load_benchmark("packaged").entries
PREDICTIONS = [entry.id for entry in ENTRIES if entry.kind is TaskKind.PREDICTION]
build = functools.cache(functools.partial(make_task, "packaged"))


def table(content):
    return list(csv.DictReader(io.StringIO(content.decode())))


@pytest.mark.parametrize("task", ["gapminder-africa", "donations-and-crime", "default-card-holders"])
def test_two_builds_give_the_same_bytes(tmp_path, task):
    for name in ("one", "two"):
        build_task("packaged", task, tmp_path / f"{name}-public.tar.gz", tmp_path / f"{name}-private.tar.gz")
    for kind in ("public", "private"):
        assert (tmp_path / f"one-{kind}.tar.gz").read_bytes() == (tmp_path / f"two-{kind}.tar.gz").read_bytes()


def test_the_public_bundle_unpacks_to_the_data_alone(tmp_path):
    built = build_task("packaged", "penguins-body-mass", tmp_path / "public.tar.gz", tmp_path / "private.tar.gz")
    task = unpack_public(tmp_path / "public.tar.gz", tmp_path / "work")
    assert task == built and task.deliverable == "submission.csv"
    assert sorted(str(path.relative_to(tmp_path / "work")) for path in (tmp_path / "work").rglob("*.*")) == sorted(task.files)


def test_a_bundle_with_a_file_that_the_task_does_not_name_is_refused(tmp_path):
    build_task("packaged", "penguins-body-mass", tmp_path / "public.tar.gz", tmp_path / "private.tar.gz")
    members = read_archive(tmp_path / "public.tar.gz")
    write_archive(tmp_path / "more.tar.gz", {**members, "data/answers.csv": b"id\n"})
    with pytest.raises(UnsafeArchive, match=r"differ in 1, such as 'data/answers\.csv'"):
        unpack_public(tmp_path / "more.tar.gz", tmp_path / "work")
    with pytest.raises(UnsafeArchive, match="not a public bundle"):
        unpack_public(tmp_path / "private.tar.gz", tmp_path / "work")
    write_archive(tmp_path / "other.tar.gz", {"task.json": b"{}"})
    with pytest.raises(UnsafeArchive, match="is no task"):
        unpack_public(tmp_path / "other.tar.gz", tmp_path / "work")


@pytest.mark.parametrize("task", PREDICTIONS)
def test_test_labels_are_in_the_private_bundle_alone(task):
    built, spec = build(task), load_spec("packaged", task)
    train, test = table(built.public["data/train.csv"]), table(built.public["data/test.csv"])
    sample, answers = table(built.public["data/sample_submission.csv"]), table(built.private["answers.csv"])
    ids = {
        name: [row[spec.id] for row in rows] for name, rows in (("train", train), ("test", test), ("sample", sample), ("answers", answers))
    }
    assert spec.target in train[0] and spec.target not in test[0]
    assert list(train[0]) == [spec.id, *list(test[0])[1:], spec.target]
    assert ids["test"] == ids["sample"] == ids["answers"]
    assert sorted(map(int, ids["train"] + ids["test"])) == list(range(1, len(train) + len(test) + 1))
    assert len({row[spec.target] for row in sample}) == 1
    assert 0.25 < len(test) / (len(train) + len(test)) < 0.35
    assert not built.public.keys() & built.private.keys()


@pytest.mark.parametrize("task", ["default-card-holders", "seattle-weather-kind", "caravan-policy"])
def test_classes_keep_their_shares(task):
    built, spec = build(task), load_spec("packaged", task)
    train, answers = table(built.public["data/train.csv"]), table(built.private["answers.csv"])
    for value in {row[spec.target] for row in train}:
        shares = [sum(row[spec.target] == value for row in rows) / len(rows) for rows in (train, answers)]
        assert shares[0] == pytest.approx(shares[1], abs=0.005)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.id)
def test_the_statement_names_files_columns_and_deliverable(entry):
    built = build(entry.id)
    statement = built.task.statement
    assert all(f"`{file}`" in statement for file in built.task.files)
    assert f"`{built.task.deliverable}`" in statement
    for file in built.task.files:
        if file != "data/sample_submission.csv":
            columns = csv.reader(io.StringIO(built.public[file].decode())).__next__()
            assert all(f"`{column}`" in statement for column in columns), file


@pytest.mark.parametrize("task", PREDICTIONS)
def test_the_statement_names_metric_direction_and_format(task):
    built, spec = build(task), load_spec("packaged", task)
    words, greater, _ = METRICS[spec.metric]
    assert f"evaluated by **{words}**" in built.task.statement
    assert f"; {'higher' if greater else 'lower'} is better." in built.task.statement
    example = re.search(r"```\n(.*?)\n```", built.task.statement, re.DOTALL).group(1)
    assert built.public["data/sample_submission.csv"].decode().startswith(example)
    assert built.task.metric == metric(spec.metric)


@pytest.mark.parametrize("task", [entry.id for entry in ENTRIES if entry.kind is TaskKind.QUESTION])
def test_every_sub_answer_is_asked_and_none_is_told(task):
    built = build(task)
    answers = json.loads(built.private["answers.json"])
    asked = re.findall(r'^@(\w+)\[value\] where "value" is', built.task.statement, re.MULTILINE)
    assert asked == [answer.name for answer in load_spec("packaged", task).answers]
    assert set(asked) == set(answers)
    decimals = [value for value in answers.values() if "." in value]
    assert not any(value in built.task.statement for value in decimals)


def test_an_answer_can_be_found_from_the_public_file_alone_but_not_without_care():
    rows = table(build("grunfeld-firms").public["data/grunfeld.csv"])
    answers = json.loads(build("grunfeld-firms").private["answers.json"])
    late = [row["value"] for row in rows if int(row["year"]) >= 1945]
    careful = [float(cell.replace(",", "")) for cell in late]
    careless = [float(cell) for cell in late if "," not in cell]  # what is left when text is coerced to missing
    assert f"{sum(careful) / len(careful):.2f}" == answers["mean_value"] != f"{sum(careless) / len(careless):.2f}"


def test_missing_cells_count_in_the_share_but_not_in_the_mean():
    rows = table(build("co2-mauna-loa").public["data/co2.csv"])
    answers = json.loads(build("co2-mauna-loa").private["answers.json"])
    empty = sum(row["co2"] == "" for row in rows)
    assert answers["missing_share"] == f"{100 * empty / len(rows):.2f}" and empty > 0
    year = [float(row["co2"]) for row in rows if row["date"].startswith("1990") and row["co2"]]
    assert answers["mean_1990"] == f"{sum(year) / len(year):.2f}"


def test_a_join_is_what_an_independent_program_gives():
    built = build("continents-life-expectancy")
    continent = {row["country"]: row["continent"] for row in table(built.public["data/countries.csv"])}
    years, people = {}, {}
    for row in table(built.public["data/measurements.csv"]):
        key = continent[row["country"]], row["year"]
        if int(row["year"]) >= 1987:
            years[key] = years.get(key, 0) + float(row["lifeExp"]) * int(row["pop"])
            people[key] = people.get(key, 0) + int(row["pop"])
    expected = [[*key, str(people[key]), years[key] / people[key]] for key in sorted(people)]
    result = [list(row.values()) for row in table(built.private["answers.csv"])]
    assert [row[:3] for row in result] == [row[:3] for row in expected]
    assert [float(row[3]) for row in result] == pytest.approx([row[3] for row in expected], abs=0.005001)
