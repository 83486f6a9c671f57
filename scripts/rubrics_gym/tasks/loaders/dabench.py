"""InfiAgent-DABench: one question about one table, with closed answers of the form @name[value]."""

from __future__ import annotations

from typing import Any

from rubrics_gym.records.tasks import Metric
from rubrics_gym.tasks.built import BuiltTask, built, json_bytes, outside_task
from rubrics_gym.tasks.catalog import Entry
from rubrics_gym.tasks.sources import SourceFiles, SourceProblem

DATA = "examples/DA-Agent/data"
TOLERANCE = 1e-6  # of eval_closed_form.py


def load(source: SourceFiles, entry: Entry) -> BuiltTask:
    """Make one task. SourceProblem when the question, its label or its table is not what it should be."""
    question = source.line_of(f"{DATA}/da-dev-questions.jsonl", entry.id)
    answers = source.line_of(f"{DATA}/da-dev-labels.jsonl", entry.id)["common_answers"]
    if question["file_name"] != entry.title:
        raise SourceProblem(f"dabench {entry.id}: the question is about {question['file_name']!r}, the task table says {entry.title!r}")
    if not all(isinstance(part, str) for answer in answers for part in answer) or any(len(answer) != 2 for answer in answers):
        raise SourceProblem(f"dabench {entry.id}: the label holds something else than [name, value] texts")
    table = f"data/{entry.title}"
    files = {table: source.path(f"{DATA}/da-dev-tables/{entry.title}")}
    task = outside_task(
        source.benchmark, entry, _statement(question, table), files, Metric(name="all_answers_right", greater_is_better=True)
    )
    return built(task, files, {"tolerance": TOLERANCE}, {"answers.json": json_bytes(answers)})


def _statement(question: dict[str, Any], table: str) -> str:
    return "\n".join(
        [
            "## Question",
            question["question"].strip(),
            "",
            "## Constraints",
            question["constraints"].strip() or "None.",
            "",
            "## Files",
            f"- `{table}`",
            "",
            "## Answer format",
            "Write the answers to `answer.txt`, one line each, in this form:",
            question["format"].strip(),
            "",
            "All answers must be right.",
            "",
        ]
    )
