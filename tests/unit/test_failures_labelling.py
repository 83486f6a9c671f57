"""Sheets out, labels in, and how far those who sorted agree."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from rubrics_gym.failures.labelling import (
    LabelError,
    Question,
    category_items,
    cause_items,
    citation_items,
    draw,
    guide,
    read_labels,
    write_sheet,
)
from rubrics_gym.failures.readers import ABSTAINED, answers_of_models, answers_of_people, pairs
from rubrics_gym.failures.taxonomy import load_taxonomy
from rubrics_gym.records.failures import Categorized, Cause, FailureEvent
from rubrics_gym.records.rubrics import Rubric, RubricKind, Support
from rubrics_gym.records.trajectory import CommandEvent, CommandKind, Route
from rubrics_gym.report.readers import agreement_rows, confusion_rows, corrected_rows
from rubrics_gym.settings.rules import CompareReaders
from rubrics_gym.settings.study import Statistics

TAXONOMY = load_taxonomy(Path(__file__).parents[2] / "resources/taxonomy.yaml")
SETTINGS = CompareReaders(
    study="s", seed=1, statistics=Statistics(draws=200), classifier="first-1", second="second-1", reviewer="reviewer-1", miner="miner-1",
    collections=("pool",), sheets={}, simulated=True,
)  # fmt: skip


def event(number: int, **changes: Any) -> FailureEvent:
    fields: dict[str, Any] = dict(
        event_id=f"e{number}", unit=f"rollouts/pool/packaged/task-{number % 4}/0", benchmark="packaged", task=f"task-{number % 4}", attempt=0,
        step=number, index=0, command="python a.py", exit_code=1, timed_out=False, out_of_memory=False, output_tail=f"KeyError: {number}",
        failure_type="own_logic", evidence="KeyError",
    )  # fmt: skip
    return FailureEvent(**(fields | changes))


def step(number: int) -> CommandEvent:
    return CommandEvent(
        step=number, index=0, text=f"python step{number}.py", kind=CommandKind.CODE_RUN, route=Route.EXECUTED, output_tail="done"
    )


RUBRIC = Rubric(
    title="A title", applies_when="always", pattern="p", detect="d", not_a_violation="n", consequence="c", kind=RubricKind.CRASH,
    support=(Support(collection="pool", benchmark="packaged", task="task-1", attempt=0, steps=(2,)),),
)  # fmt: skip
EVENTS = [event(number) for number in range(12)]


def items() -> list[Any]:
    asked = [(f"u{number}", "packaged", f"task-{number}", "The task and the programs") for number in range(3)]
    steps = {("packaged", "task-1", 0): {number: step(number) for number in range(1, 5)}}
    return category_items(EVENTS) + cause_items(asked) + citation_items([RUBRIC], steps, seed=1)


def filled(path: Path, answers: dict[str, str], columns: tuple[str, ...] = ("item", "answer")) -> Path:
    with open(path, "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(columns)
        rows.writerows(answers.items())
    return path


def test_a_sheet_is_drawn_by_question_and_is_blind(tmp_path: Path) -> None:
    drawn = draw(items(), per_question=5, seed=3)
    assert [sum(item.question is question for item in drawn) for question in Question] == [5, 3, 2]
    assert drawn == draw(list(reversed(items())), per_question=5, seed=3)
    write_sheet(tmp_path / "sheet.csv", drawn)
    text = (tmp_path / "sheet.csv").read_text()
    assert "own_logic" not in text and "rollouts/pool" not in text
    with open(tmp_path / "sheet.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["item"] for row in rows] == [item.item for item in drawn] and {row["answer"] for row in rows} == {""}


def test_half_of_the_cited_steps_are_decoys() -> None:
    cited, decoy = (item for item in items() if item.question is Question.CITATION)
    assert (cited.truth, decoy.truth) == ("yes", "no")
    assert "step2.py" in cited.text and "step2.py" not in decoy.text


def test_the_guide_explains_every_bin() -> None:
    text = guide(TAXONOMY)
    assert all(f"## `{name}`" in text for name in TAXONOMY.bins)


def test_filled_sheets_are_read_and_bad_ones_named(tmp_path: Path) -> None:
    key = {item.item: item for item in items()}
    category, cause, citation = (next(item for item in key.values() if item.question is question) for question in Question)
    path = filled(tmp_path / "alice.csv", {category.item: " runtime:own_logic ", cause.item: "output_format", citation.item: ""})
    labels = read_labels(path, key, TAXONOMY)
    assert (labels.person, labels.empty) == ("alice", 1)
    assert labels.answers == {category.item: "runtime:own_logic", cause.item: "output_format"}
    for answers, says in (
        ({"nothing": "other"}, "there is no item 'nothing'"),
        ({category.item: "sloppy"}, "'sloppy' is no answer to a category question"),
        ({citation.item: "other"}, "expected one of yes, no"),
    ):
        with pytest.raises(LabelError, match=says):
            read_labels(filled(tmp_path / "bob.csv", answers), key, TAXONOMY)
    with pytest.raises(LabelError, match="column 'answer' is missing"):
        read_labels(filled(tmp_path / "bob.csv", {"a": "b"}, columns=("item", "label")), key, TAXONOMY)
    doubled = filled(tmp_path / "bob.csv", {category.item: "other"})
    doubled.write_text(doubled.read_text() + f"{category.item},other\n")
    with pytest.raises(LabelError, match="twice"):
        read_labels(doubled, key, TAXONOMY)


def sorted_by(*categories: str | None) -> dict[str, Categorized]:
    return {
        f"e{number}": Categorized(item_id=f"e{number}", category=categories[number % len(categories)], runtime_type=None)
        for number in range(len(EVENTS))
    }


def test_readers_are_compared_where_both_answered(tmp_path: Path) -> None:
    key = {item.item: item for item in items()}
    first, second = sorted_by("output_format", "other"), sorted_by("output_format", None)
    causes = [Cause(unit="u0", benchmark="packaged", task="task-0", category="output_format")]
    models = answers_of_models(SETTINGS, EVENTS, first, second, causes, key.values())
    assert [reader.reader for reader in models] == ["first-1", "second-1", "reviewer-1", "miner-1"]
    assert models[1].of["e1"] == ABSTAINED
    answers = {item.item: "output_format" for item in key.values() if item.question is not Question.CITATION}
    answers |= {item.item: "yes" for item in key.values() if item.question is Question.CITATION}
    people = answers_of_people([read_labels(filled(tmp_path / "alice.csv", answers), key, TAXONOMY)], key)
    found = {(pair.first.reader, pair.second.reader): pair for pair in pairs([*models, *people])}
    assert (len(found["first-1", "second-1"].things), found["first-1", "second-1"].left_out) == (6, 6)
    assert len(found["alice", "reviewer-1"].things) == 1 and len(found["alice", "miner-1"].things) == 2
    rows = {(row["first"], row["second"]): row for row in agreement_rows([*models, *people], SETTINGS)}
    assert rows["alice", "first-1"]["observed"] == 0.5 and rows["alice", "first-1"]["kappa"] == 0
    assert rows["alice", "miner-1"]["observed"] == 0.5  # who says yes to everything agrees by chance alone
    assert rows["alice", "miner-1"]["kappa"] == 0
    table = [row for row in confusion_rows([*models, *people], SETTINGS) if row["second"] == "first-1"]
    assert {(row["first_answer"], row["second_answer"], row["count"]) for row in table} == {
        ("output_format", "output_format", 6),
        ("output_format", "other", 6),
    }


def test_a_mix_is_corrected_by_people_first_and_by_the_second_classifier_else(tmp_path: Path) -> None:
    key = {item.item: item for item in category_items(EVENTS)}
    models = answers_of_models(SETTINGS, EVENTS, sorted_by("output_format", "other"), sorted_by("output_format"), [], [])
    rows = corrected_rows(models, SETTINGS, TAXONOMY.bins)
    assert {row["reference"] for row in rows} == {"second-1"} and all("errs too" in row["note"] for row in rows)
    people = answers_of_people([read_labels(filled(tmp_path / "alice.csv", {item: "output_format" for item in key}), key, TAXONOMY)], key)
    rows = {row["bin"]: row for row in corrected_rows([*models, *people], SETTINGS, TAXONOMY.bins)}
    assert rows["output_format"]["reference"] == "alice" and rows["output_format"]["corrected_share"] > 0.9 > rows["output_format"]["share"]
    assert sum(row["corrected_share"] for row in rows.values()) == pytest.approx(1)
    assert corrected_rows(models[:1], SETTINGS, TAXONOMY.bins) == []
