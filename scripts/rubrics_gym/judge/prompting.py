"""What the judge is asked: one command, what may be known about it, and the retrieved rubrics as numbered text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rubrics_gym.models.prompts import Prompt
from rubrics_gym.models.request import Message, Request
from rubrics_gym.records.rubrics import Rubric
from rubrics_gym.records.verdicts import JudgedAction, RealRun
from rubrics_gym.settings.study import ModelSettings

_OPINION: dict[str, Any] = {"applicable": {"type": "boolean"}, "violated": {"type": "boolean"}, "reason": {"type": "string"}}


def _closed(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


TASK_ONLY_SCHEMA: dict[str, Any] = _closed({"task_criterion": _closed(_OPINION)})
SCHEMA: dict[str, Any] = _closed(
    {
        "task_criterion": _closed(_OPINION),
        "rubrics": {"type": "array", "items": _closed({"number": {"type": "integer"}, **_OPINION})},
    }
)


def judge_request(action: JudgedAction, rubrics: Sequence[Rubric], prompt: Prompt, model: ModelSettings, seed: int) -> Request:
    """The request for one verdict. Without rubrics it asks for the task criterion alone."""
    user = prompt.render(
        "user",
        statement=action.statement,
        python=action.python,
        packages=_packages(action.packages),
        limits=_lines(action.limits, "{}: {}"),
        files=_lines(action.files, "{} ({} bytes)"),
        time_left_s=action.time_left_s,
        steps_left=action.steps_left,
        data_profile=action.data_profile,
        last_real_run=None if action.last_real_run is None else _real_run(action.last_real_run),
        command=action.command,
        changes=action.changes,
        programs=[f"{' '.join(path.split())}\n{text}" for path, text in sorted(action.programs.items())],
        rubrics=[rubric_text(rubric) for rubric in rubrics],
    )
    return Request(
        purpose="judge",
        model=model.model,
        system=prompt.render("system", rubrics=bool(rubrics)),
        messages=(Message(role="user", text=user),),
        output_schema=SCHEMA if rubrics else TASK_ONLY_SCHEMA,
        max_tokens=model.max_tokens,
        seed=seed,
        effort=model.effort,
    )


def rubric_text(rubric: Rubric) -> str:
    """The words of a rubric that the judge reads: no id, category, kind or weight, which would tell what a null library must not tell."""
    return "\n".join(
        (
            rubric.title,
            f"Applies when: {rubric.applies_when}",
            f"Pattern: {rubric.pattern}",
            f"Detect: {rubric.detect}",
            f"Not a violation: {rubric.not_a_violation}",
            f"Consequence: {rubric.consequence}",
        )
    )


def _packages(packages: dict[str, str] | None) -> str:
    return "\n".join(f"{name}=={version}" if version else name for name, version in sorted((packages or {}).items()))


def _lines(values: dict[str, Any] | None, form: str) -> str:
    return "\n".join(form.format(name, value) for name, value in sorted((values or {}).items()))


def _real_run(run: RealRun) -> str:
    end = "stopped at the time limit" if run.timed_out else f"exit code {'unknown' if run.exit_code is None else run.exit_code}"
    return f"$ {run.command}\n{run.output_tail}\n[{end}]"
