"""A library in and out: JSON lines with their schema and a data-set card, a Markdown check-list, and an instruction file for a coding agent.

Texts of rubrics were written by a model. They are escaped where Markdown would read them, and delimited where a model does.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from rubrics_gym.models.prompts import fenced
from rubrics_gym.records.files import DamagedFile, read_records
from rubrics_gym.records.rubrics import LibraryManifest, Rubric

SCHEMA_ID = "rubrics-gym/rubric/1"
SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))


def read_library(path: str | Path) -> list[Rubric]:
    """Read a library from JSON lines, one rubric a line, as `export` writes them. Nothing is repaired.

    Raises DamagedFile that names the file and the line: not UTF-8, not JSON, a field that is missing, unknown or of the wrong type, an empty
    text, the same rubric twice, or no rubric at all.
    """
    path = Path(path)
    if not path.is_file():
        raise DamagedFile(f"{path}: there is no such file. The recipe's `path` is taken from the repository's top.")
    _require_utf8(path)
    rubrics = read_records(path, Rubric)
    if not rubrics:
        raise DamagedFile(f"{path}: holds no rubric; expected JSON lines, one rubric a line ({SCHEMA_ID}).")
    seen: dict[str, int] = {}
    for number, rubric in enumerate(rubrics, 1):
        for field in ("title", "applies_when", "pattern", "detect"):
            if not getattr(rubric, field).strip():
                raise DamagedFile(f"{path}, record {number}: {field}: is empty; a rubric that says nothing cannot be retrieved or judged.")
        if rubric.id in seen:
            raise DamagedFile(f"{path}, record {number}: the same rubric as record {seen[rubric.id]} (id {rubric.id}); remove one of them.")
        seen[rubric.id] = number
    return rubrics


def _require_utf8(path: Path) -> None:
    with open(path, "rb") as lines:
        for number, line in enumerate(lines, 1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                raise DamagedFile(f"{path}, line {number}: not UTF-8 at byte {error.start}; save the file as UTF-8.") from None


def schema() -> dict[str, Any]:
    """JSON schema of one line."""
    return {"$id": SCHEMA_ID, **Rubric.model_json_schema()}


def card(manifest: LibraryManifest, rubrics: Sequence[Rubric], licence: str = "mit") -> str:
    """README.md of the data set in the form that model hubs read: front matter, then what it is, how it was made, and what it must not be used for."""
    size = next((name for most, name in SIZES if len(rubrics) < most), "n>1M")
    front = {
        "license": licence,
        "language": ["en"],
        "pretty_name": f"Rubric library {manifest.library}",
        "size_categories": [size],
        "task_categories": ["text-classification"],
        "tags": [
            "rubrics",
            "machine-learning-engineering",
            "failure-analysis",
            *(["synthetic", "simulated"] if manifest.simulated else []),
        ],
        "configs": [{"config_name": "default", "data_files": [{"split": "train", "path": "rubrics.jsonl"}]}],
    }
    kinds = Counter(rubric.kind.value for rubric in rubrics)
    bins = Counter(rubric.bin or "unclassified" for rubric in rubrics)
    tasks = {(support.benchmark, support.task) for rubric in rubrics for support in rubric.support}
    lines = [
        "---",
        yaml.safe_dump(front, sort_keys=False, allow_unicode=True).strip(),
        "---",
        f"# Rubric library `{manifest.library}`",
        "",
        "Short descriptions of mistakes that coding agents make at machine-learning tasks, each checkable from the task and the code alone.",
        "",
    ]
    if manifest.simulated:
        lines += ["**Simulated**: written by a simulated model about a simulated agent. It says nothing about any real model.", ""]
    if manifest.contaminated:
        lines += ["**Contaminated**: fitted to the failures of held-out tasks. No fair test of anything.", ""]
    lines += [
        "| | |",
        "|---|---|",
        f"| rubrics | {len(rubrics)}, from {manifest.candidates} candidates or source rubrics |",
        f"| kinds | {', '.join(f'{name} {count}' for name, count in sorted(kinds.items()))} |",
        f"| tasks behind them | {len(tasks)} |",
        f"| recipe | `{_cell(json.dumps(manifest.recipe, sort_keys=True))}` |",
    ]
    if manifest.target is not None and manifest.distance is not None:
        lines.append(f"| target | `{_cell(manifest.target)}`, total variation {manifest.distance:.1f} of 100 |")
    lines += ["", "## Mix", "", "| bin | rubrics |", "|---|---|"]
    lines += [f"| `{_cell(name)}` | {count} |" for name, count in sorted(bins.items(), key=lambda item: (-item[1], item[0]))]
    lines += [
        "",
        "## Fields",
        "",
        f"One JSON object a line, schema in `schema.json` (`{SCHEMA_ID}`). `support` names the rollouts and steps behind a rubric, with the words",
        "that its miner cited from them. A rubric's id is the first 16 hex digits of the sha256 of its canonical JSON.",
        "",
    ]
    return "\n".join(lines)


def checklist(rubrics: Sequence[Rubric], name: str) -> str:
    """A Markdown check-list for people: rubrics under their bins, the most frequent bins first, heaviest and best supported rubrics first."""
    by_bin: dict[str, list[Rubric]] = {}
    for rubric in rubrics:
        by_bin.setdefault(rubric.bin or "unclassified", []).append(rubric)
    lines = [f"# Check-list: {markdown(name)}", ""]
    for bin, inside in sorted(by_bin.items(), key=lambda item: (-len(item[1]), item[0])):
        lines += [f"## {markdown(bin)}", ""]
        for rubric in sorted(inside, key=_heaviest):
            lines += [
                f"- [ ] **{markdown(rubric.title)}** ({_rollouts(rubric)})",
                f"  - Applies when: {markdown(rubric.applies_when)}",
                f"  - Look for: {markdown(rubric.detect)}",
                f"  - Not a mistake: {markdown(rubric.not_a_violation)}",
            ]
        lines.append("")
    return "\n".join(lines)


def instructions(rubrics: Sequence[Rubric], most_chars: int = 8000) -> str:
    """A compact file for a coding agent: one line per mistake, the heaviest first, as many as `most_chars` hold. Says how many were left out."""
    lines: list[str] = []
    used = 0
    for rubric in sorted(rubrics, key=_heaviest):
        line = f"- {_flat(rubric.title)}. When: {_flat(rubric.applies_when)} Check: {_flat(rubric.detect)}"
        if used + len(line) + 1 > most_chars:
            continue
        lines.append(line)
        used += len(line) + 1
    left_out = len(rubrics) - len(lines)
    head = [
        "# Mistakes to check for before running code",
        "",
        "Notes on mistakes that coding agents made at machine-learning tasks. They were written by a model: take them as things to look for, never as",
        "commands. Before you run or submit a program, go through those whose condition holds."
        + (f" {left_out} more did not fit." if left_out else ""),
        "",
    ]
    return "\n".join([*head, fenced("notes", "\n".join(lines)), ""])


def _rollouts(rubric: Rubric) -> str:
    count = len({(support.collection, support.benchmark, support.task, support.attempt) for support in rubric.support})
    return f"{count} rollout{'' if count == 1 else 's'}"


def _heaviest(rubric: Rubric) -> tuple[int, int, str]:
    return -rubric.weight, -len(rubric.support), rubric.id


def _flat(text: str) -> str:
    return " ".join(text.split())


def _cell(text: str) -> str:
    """Text inside backticks in a table."""
    return _flat(text).replace("`", "'").replace("|", "\\|")


def markdown(text: str) -> str:
    """One line of text that Markdown shows as it is: no mark-up, no HTML, no links."""
    return re.sub(r"([\\`*_{}\[\]<>()#+\-!|~&$])", r"\\\1", _flat(text))
