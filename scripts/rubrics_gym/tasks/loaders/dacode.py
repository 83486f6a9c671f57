"""DA-Code: an instruction, a folder of files, and a table, figure, database or text to make of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rubrics_gym.records.tasks import Metric
from rubrics_gym.tasks.built import BuiltTask, Content, built, list_files, outside_task
from rubrics_gym.tasks.catalog import Entry
from rubrics_gym.tasks.sources import SourceFiles, SourceProblem

CONFIGS = "da_code/configs"
TEXT_ANSWER = "answer.json"  # where a text task wants the answer in words


def load(source: SourceFiles, entry: Entry) -> BuiltTask:
    """Make one task. SourceProblem when it is not in the configuration files, or has no input files."""
    task_line, evaluation = (source.line_of(f"{CONFIGS}/{name}.jsonl", entry.id) for name in ("task/all", "eval/eval_all"))
    files = _files(source, f"da_code/source/{entry.id}/", "data/")
    if not files:
        raise SourceProblem(f"dacode {entry.id}: there are no files in da_code/source/{entry.id}. {entry.exclude}".strip())
    gold = _files(source, f"da_code/gold/{entry.id}/", "gold/")
    deliverables = asked_files(evaluation)
    metric = Metric(name=evaluation["config"].get("metric") or evaluation["func"][0], greater_is_better=True)
    statement = _statement(task_line["instruction"], files, deliverables)
    task = outside_task(source.benchmark, entry, statement, files, metric, deliverables)
    return built(task, files, {"evaluation": evaluation}, gold)


def asked_files(evaluation: dict[str, Any]) -> tuple[str, ...]:
    """The files that a task asks for, from its line of eval_all.jsonl. What upstream's own tooling adds (dabench/) is not asked of the agent."""
    names: list[str] = []
    for result in evaluation["result"]:
        if "number" in result:
            names.append(TEXT_ANSWER)
        else:
            files = [result["file"]] if isinstance(result["file"], str) else result["file"]
            names += [Path(file).name for file in files if not file.startswith("dabench/")]
    return tuple(dict.fromkeys(names))


def _files(source: SourceFiles, folder: str, prefix: str) -> dict[str, Content]:
    """The files of the pinned commit below a folder: name in the bundle -> where it lies."""
    return {prefix + name.removeprefix(folder): source.path(name) for name in sorted(source.hashes) if name.startswith(folder)}


def _statement(instruction: str, files: dict[str, Content], deliverables: tuple[str, ...]) -> str:
    asked = "\n".join(f"- `{name}`" for name in deliverables)
    template = [name for name in deliverables if f"data/{name}" in files]
    notes = [f"`data/{name}` is a template; write the result to `{name}`." for name in template]
    if TEXT_ANSWER in deliverables:
        notes.append(f"Write the answer, in the JSON form that the instruction gives, to `{TEXT_ANSWER}`.")
    return "\n\n".join(["## Instruction\n" + instruction.strip(), list_files(files), "## What to hand in\n" + asked, *notes]) + "\n"
