"""The one cause of a wrong result: what a reviewer makes of an attempt that ended wrong."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from rubrics_gym.failures.categories import category_schema, chosen
from rubrics_gym.failures.detection import output_of
from rubrics_gym.failures.taxonomy import Taxonomy
from rubrics_gym.models.client import Client
from rubrics_gym.models.prompts import Prompt
from rubrics_gym.models.request import Message, Request
from rubrics_gym.models.structured import ask_structured
from rubrics_gym.records.failures import Cause, FailureEvent
from rubrics_gym.records.grades import Grade
from rubrics_gym.records.trajectory import CommandEvent, CommandKind, Event, FileEvent, FinalEvent, Route, StartEvent
from rubrics_gym.settings.study import ModelSettings

DELIVERABLE_CHARS = 2000
SCRIPT_CHARS = 20_000
FAILURES_SHOWN = 10


class Evidence(NamedTuple):
    """What a reviewer reads: the task, what was handed in, what the grader said, and what went wrong on the way."""

    start: StartEvent
    scripts: dict[str, str]  # path -> last text of a code file
    deliverable: str  # head of what was handed in; empty when nothing was
    grade: Grade
    failures: tuple[FailureEvent, ...]
    final: FinalEvent | None
    last_run: CommandEvent | None  # last executed code-running command


def evidence(trajectory: Iterable[Event], grade: Grade, deliverable: str, failures: Sequence[FailureEvent]) -> Evidence:
    """Gather the evidence of one attempt. `deliverable` is the text handed in (its head is kept). ValueError without a start event."""
    start: StartEvent | None = None
    final: FinalEvent | None = None
    last_run: CommandEvent | None = None
    scripts: dict[str, str] = {}
    for event in trajectory:
        if isinstance(event, StartEvent):
            start = event
        elif isinstance(event, FileEvent) and event.text is not None:
            scripts[event.path] = event.text
        elif isinstance(event, CommandEvent) and event.kind is CommandKind.CODE_RUN and event.route is Route.EXECUTED:
            last_run = event
        elif isinstance(event, FinalEvent):
            final = event
    if start is None:
        raise ValueError(f"{grade.benchmark}/{grade.task}: the trajectory has no start event: its file was cut or edited")
    return Evidence(start, scripts, deliverable[:DELIVERABLE_CHARS], grade, tuple(failures), final, last_run)


class Reviewer:
    """Names the cause of a wrong result, in the categories of a taxonomy."""

    def __init__(self, model: ModelSettings, prompt: Prompt, taxonomy: Taxonomy, seed: int):
        self._model = model
        self._prompt = prompt
        self._seed = seed
        self._system = prompt.render("system", categories=taxonomy.categories, runtime_types=taxonomy.runtime_types)
        self._schema = category_schema(taxonomy, reason={"type": "string"})

    def question(self, evidence: Evidence) -> str:
        """What the reviewer is shown of an attempt. ValueError when the attempt did not end wrong: it has no cause."""
        start, grade = evidence.start, evidence.grade
        if not grade.ended_wrong:
            raise ValueError(f"{start.unit}: did not end wrong (outcome {grade.outcome.value}), so there is no cause to name")
        return self._prompt.render(
            "user",
            statement=start.statement,
            deliverable_name=start.deliverable,
            scripts={path: text[:SCRIPT_CHARS] for path, text in sorted(evidence.scripts.items())},
            deliverable=evidence.deliverable,
            grade=grade,
            failures=evidence.failures[-FAILURES_SHOWN:],
            final=evidence.final,
            last_output=output_of(evidence.last_run)[-DELIVERABLE_CHARS:] if evidence.last_run else "",
        )

    def request(self, evidence: Evidence) -> Request:
        """What is asked about an attempt. ValueError when it did not end wrong."""
        return Request(
            purpose="attribute",
            model=self._model.model,
            system=self._system,
            messages=(Message(role="user", text=self.question(evidence)),),
            output_schema=self._schema,
            max_tokens=self._model.max_tokens,
            seed=self._seed,
            effort=self._model.effort,
        )

    def cause(self, evidence: Evidence, client: Client) -> Cause:
        """The one category that explains the wrong result. ValueError when the attempt did not end wrong."""
        start = evidence.start
        said = ask_structured(self.request(evidence), client)
        identity: dict[str, Any] = {"unit": start.unit, "benchmark": start.benchmark, "task": start.task, "request_key": said.key}
        if said.value is None:
            return Cause(**identity, category=None, abstained=said.abstained)
        return Cause(**identity, reason=said.value["reason"], **chosen(said.value))
