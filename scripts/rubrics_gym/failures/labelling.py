"""Labelling by people who do not know what the models answered: sheets out, labels in.

A sheet asks three kinds of questions: into which bin a failed command falls, which bin caused a wrong result, and whether a step that a
rubric cites shows what the rubric says. Among the last, half of the steps are decoys from the same rollout: without them a person who always
says yes would agree with every miner. The key tells what each item is; it is not for the people who label.
"""

from __future__ import annotations

import csv
import random
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from rubrics_gym.failures.detection import output_of
from rubrics_gym.failures.taxonomy import Taxonomy
from rubrics_gym.records.base import Record, content_hash
from rubrics_gym.records.failures import FailureEvent
from rubrics_gym.records.files import whole_file
from rubrics_gym.records.rubrics import Rubric, Support
from rubrics_gym.records.trajectory import CommandEvent

COLUMNS = ("item", "question", "text", "answer", "remark")
TEXT_CHARS = 6000
YES, NO = "yes", "no"


class LabelError(ValueError):
    """A sheet of labels that cannot be read; the message names the file, the row and what to do."""


class Question(StrEnum):
    CATEGORY = "category"
    CAUSE = "cause"
    CITATION = "citation"


class Item(Record):
    """One row of a sheet. `about` is the id that the answers of models are found by: of an event, a unit, or `rubric:step`."""

    item: str
    question: Question
    about: str
    cluster: str  # benchmark/task
    text: str
    truth: str | None = None  # of a citation: whether the step is the cited one


class Labels(NamedTuple):
    """What one person answered: item -> answer. `empty` counts the rows without one."""

    person: str
    answers: dict[str, str]
    empty: int


def category_items(events: Iterable[FailureEvent]) -> list[Item]:
    """A question per failed command: the command and the end of its output, as the classifier reads them."""
    return [
        _item(
            Question.CATEGORY,
            event.event_id,
            f"{event.benchmark}/{event.task}",
            f"$ {event.command}\n{_facts(event)}\n{event.output_tail[-TEXT_CHARS:]}",
        )
        for event in events
    ]


def cause_items(asked: Iterable[tuple[str, str, str, str]]) -> list[Item]:
    """A question per attempt that ended wrong, from (unit, benchmark, task, what the reviewer was shown)."""
    return [_item(Question.CAUSE, unit, f"{benchmark}/{task}", text[:TEXT_CHARS]) for unit, benchmark, task, text in asked]


def citation_items(rubrics: Iterable[Rubric], steps: Mapping[tuple[str, str, int], Mapping[int, CommandEvent]], seed: int) -> list[Item]:
    """Two questions per rubric and rollout where both are to be had: a cited step, and one of the same rollout that is not cited.

    `steps` maps (benchmark, task, attempt) to the commands of a rollout by step.
    """
    items = []
    for rubric in rubrics:
        for support in rubric.support:
            commands = steps.get((support.benchmark, support.task, support.attempt), {})
            cited = [step for step in support.steps if step in commands]
            others = sorted(step for step in commands if step not in support.steps)
            if not cited or not others:
                continue
            decoy = random.Random(f"{seed}\n{rubric.id}\n{support.task}").choice(others)
            items += [_citation(rubric, support, commands[cited[0]], YES), _citation(rubric, support, commands[decoy], NO)]
    return items


def draw(items: Sequence[Item], per_question: int, seed: int) -> list[Item]:
    """A random sample of so many items of each question, in random order. The same seed and items give the same sheet."""
    dice = random.Random(seed)
    drawn: list[Item] = []
    for question in Question:
        of_question = sorted((item for item in items if item.question is question), key=lambda item: item.item)
        drawn += dice.sample(of_question, min(per_question, len(of_question)))
    dice.shuffle(drawn)
    return drawn


def write_sheet(path: str | Path, items: Iterable[Item]) -> None:
    """Write the rows that people fill: nothing in them tells what a model answered. A cell that a spreadsheet would run is quoted."""
    with whole_file(path) as temporary, open(temporary, "w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(COLUMNS)
        for item in items:
            text = item.text if not item.text.startswith(("=", "+", "-", "@")) else f"'{item.text}"
            rows.writerow([item.item, item.question.value, text, "", ""])


def guide(taxonomy: Taxonomy) -> str:
    """What people need to know to fill a sheet, in Markdown: the questions, and every bin with its definition and examples."""
    lines = [
        "# How to label",
        "",
        "Fill the column `answer`; leave it empty where nothing can be told. Judge every row by itself, and do not talk about rows before both of you are done.",
        "",
        "- `category`: into which bin does this failed command fall? Answer with the id of a bin.",
        "- `cause`: which one bin explains why the result is wrong? Answer with the id of a bin.",
        "- `citation`: does this step show what the note says? Answer `yes` or `no`.",
        "",
        "What programs and models wrote is to be judged, never followed.",
        "",
        f"# Bins ({taxonomy.version})",
    ]
    for name in taxonomy.bins:
        entry = taxonomy.entry(name)
        lines += ["", f"## `{name}`", "", f"{entry.title}. {entry.definition}", ""]
        lines += [f"- belongs: {text}" for text in entry.positive] + [f"- does not belong: {text}" for text in entry.negative]
    return "\n".join(lines) + "\n"


def read_labels(path: str | Path, key: Mapping[str, Item], taxonomy: Taxonomy) -> Labels:
    """The answers of one filled sheet. LabelError for a missing column, an item that the key does not have, an item twice, or an answer
    that the question does not have; an empty answer is no answer."""
    answers: dict[str, str] = {}
    empty = 0
    with open(path, encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file)
        lacking = {"item", "answer"} - set(reader.fieldnames or ())
        if lacking:
            raise LabelError(f"{path}: the column {sorted(lacking)[0]!r} is missing; a filled sheet keeps the columns {', '.join(COLUMNS)}")
        for row in reader:
            where = f"{path}, line {reader.line_num}"
            item = key.get(row["item"] or "")
            if item is None:
                raise LabelError(
                    f"{where}: there is no item {row['item']!r} on the sheet of this collection; draw the sheet again, or remove the row"
                )
            answer = (row["answer"] or "").strip()
            if item.item in answers:
                raise LabelError(f"{where}: the item {item.item} is there twice; keep one of the rows")
            if not answer:
                empty += 1
                continue
            allowed = (YES, NO) if item.question is Question.CITATION else taxonomy.bins
            if answer not in allowed:
                raise LabelError(
                    f"{where}: {answer!r} is no answer to a {item.question.value} question; expected one of {', '.join(allowed)}"
                )
            answers[item.item] = answer
    return Labels(Path(path).stem, answers, empty)


def _item(question: Question, about: str, cluster: str, text: str, truth: str | None = None) -> Item:
    return Item(item=content_hash([question.value, about])[:12], question=question, about=about, cluster=cluster, text=text, truth=truth)


def _citation(rubric: Rubric, support: Support, command: CommandEvent, truth: str) -> Item:
    text = f"Note: {rubric.title}\nPattern: {rubric.pattern}\n\nStep {command.step}:\n$ {command.text[:2000]}\n{output_of(command)[-3000:]}"
    about = f"{rubric.id}:{support.task}:{support.attempt}:{command.step}"
    return _item(Question.CITATION, about, f"{support.benchmark}/{support.task}", text, truth)


def _facts(event: FailureEvent) -> str:
    code = "not recorded" if event.exit_code is None else str(event.exit_code)
    return f"exit code {code}{'; stopped at the time limit' if event.timed_out else ''}{'; out of memory' if event.out_of_memory else ''}"
