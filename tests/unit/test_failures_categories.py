"""Categories, causes and distributions: what is asked, what becomes of the answer, what is counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rubrics_gym.failures.categories import Classifier
from rubrics_gym.failures.causes import Reviewer, evidence
from rubrics_gym.failures.distributions import distribution, shares, unsplit
from rubrics_gym.failures.taxonomy import load_taxonomy
from rubrics_gym.models.client import Answer
from rubrics_gym.models.prompts import load_prompt
from rubrics_gym.models.request import ProviderError, Request, Response
from rubrics_gym.records.failures import Categorized, Cause, FailureEvent
from rubrics_gym.records.grades import Grade
from rubrics_gym.records.outcomes import Outcome
from rubrics_gym.records.rubrics import Rubric, RubricKind
from rubrics_gym.records.trajectory import FileEvent, StartEvent
from rubrics_gym.settings.study import ModelSettings

RESOURCES = Path(__file__).parents[2] / "resources"
TAXONOMY = load_taxonomy(RESOURCES / "taxonomy.yaml")
MODEL = ModelSettings(model="reader-1")


class FixedAnswer:
    """Stands in for a client: one answer for everything, and the requests that were made."""

    def __init__(self, value: Any):
        self.text = value if isinstance(value, str) else json.dumps(value)
        self.requests: list[Request] = []

    def ask(self, request: Request, occurrence: int = 0) -> Answer:
        self.requests.append(request)
        return Answer(Response(text=self.text), "key-1", 0, "live")


def answer(category: str, **changes: Any) -> dict[str, Any]:
    return dict(category=category, runtime_type=None, confidence=0.9, abstain=False) | changes


def event(number: int = 0, task: str = "t", failure_type: str = "missing_package") -> FailureEvent:
    return FailureEvent(
        event_id=f"e{number}",
        unit="u",
        benchmark="packaged",
        task=task,
        attempt=0,
        step=1,
        index=0,
        command="python final.py",
        exit_code=1,
        timed_out=False,
        out_of_memory=False,
        output_tail="No module named 'lightgbm'",
        failure_type=failure_type,
        evidence="",
    )


def classifier() -> Classifier:
    return Classifier(MODEL, load_prompt(str(RESOURCES / "prompts/classifier.yaml")), TAXONOMY, seed=1)


RUBRIC = Rubric(
    title="No check",
    applies_when="a",
    pattern="p",
    detect="d",
    not_a_violation="n",
    consequence="c",
    kind=RubricKind.WRONG_RESULT,
    category="other",
)


def test_taxonomy_has_the_published_size_and_stable_bins() -> None:
    assert (len(TAXONOMY.categories), len(TAXONOMY.runtime_types)) == (22, 11)
    assert "runtime:time_limit" in TAXONOMY.bins and "runtime" not in TAXONOMY.bins and len(TAXONOMY.bins) == 21 + 11


def test_a_failed_command_keeps_the_type_of_the_expressions_inside_runtime() -> None:
    categorized = classifier().event(event(), FixedAnswer(answer("runtime", runtime_type="time_limit")))
    assert (categorized.category, categorized.runtime_type, categorized.request_key) == ("runtime", "missing_package", "key-1")
    assert classifier().event(event(), FixedAnswer(answer("other", runtime_type="time_limit"))).runtime_type is None


def test_the_request_lists_every_definition_and_nothing_that_tells_the_answer() -> None:
    client = FixedAnswer(answer("other"))
    classifier().event(event(), client)
    classifier().rubric(RUBRIC.model_copy(update={"category": "wrong_metric", "runtime_type": None}), client)
    failed, rubric = client.requests
    assert all(category.definition in failed.system for category in TAXONOMY.categories)
    assert "lightgbm" in failed.messages[0].text and "missing_package" not in failed.messages[0].text
    assert "wrong_metric" not in rubric.messages[0].text and "No check" in rubric.messages[0].text


def test_a_rubric_takes_the_type_that_the_classifier_gives() -> None:
    assert classifier().rubric(RUBRIC, FixedAnswer(answer("runtime", runtime_type="time_limit"))).runtime_type == "time_limit"


@pytest.mark.parametrize(
    ("value", "why"),
    [(answer("other", abstain=True), "undecided"), ("no json", "schema_invalid"), (answer("not_a_category"), "schema_invalid")],
)
def test_what_is_no_category_is_an_abstention(value: Any, why: str) -> None:
    categorized = classifier().event(event(), FixedAnswer(value))
    assert (categorized.category, categorized.runtime_type, categorized.abstained) == (None, None, why)


class Refusing:
    """Stands in for a client whose provider fails every request in one way."""

    def __init__(self, kind: str):
        self.kind = kind

    def ask(self, request: Request, occurrence: int = 0) -> Answer:
        raise ProviderError(self.kind, "no")


@pytest.mark.parametrize("kind", ["refused", "context_length"])
def test_a_request_that_the_provider_declines_costs_its_item_and_no_more(kind: str) -> None:
    categorized = classifier().event(event(), Refusing(kind))
    assert (categorized.category, categorized.request_key, categorized.abstained) == (None, None, kind)
    cause = reviewer().cause(case(grade()), Refusing(kind))
    assert (cause.category, cause.request_key, cause.abstained) == (None, None, kind)


@pytest.mark.parametrize("kind", ["auth", "quota", "budget", "server"])
def test_a_failure_that_is_not_about_the_item_ends_the_job(kind: str) -> None:
    with pytest.raises(ProviderError, match=kind):
        classifier().event(event(), Refusing(kind))


def grade(**changes: Any) -> Grade:
    fields = dict(benchmark="packaged", task="t", outcome=Outcome.VALID, metric="accuracy", greater_is_better=True, ended_wrong=True)
    return Grade(**(fields | changes))


def case(graded: Grade) -> Any:
    start = StartEvent(
        at="2026-01-01T00:00:00Z",
        unit="rollouts/pool/packaged/t/0",
        attempt=1,
        benchmark="packaged",
        task="t",
        statement="Predict it.",
        deliverable="submission.csv",
        seed=1,
        model="m",
        arm="execute",
        limits={},
        protocol="1",
        code="c",
    )
    files = [
        FileEvent(step=number, path="final.py", sha256="0", bytes=1, text=text)
        for number, text in enumerate(("first version", "last version"))
    ]
    return evidence([start, *files], graded, "id,y\n1,0\n", [event()])


def reviewer() -> Reviewer:
    return Reviewer(MODEL, load_prompt(str(RESOURCES / "prompts/reviewer.yaml")), TAXONOMY, seed=1)


def test_a_cause_is_named_from_what_was_left_at_the_end() -> None:
    client = FixedAnswer(answer("output_format", reason="columns differ"))
    cause = reviewer().cause(case(grade()), client)
    assert (cause.category, cause.reason, cause.unit) == ("output_format", "columns differ", "rollouts/pool/packaged/t/0")
    shown = client.requests[0].messages[0].text
    assert "last version" in shown and "first version" not in shown and "id,y" in shown


@pytest.mark.parametrize("ended_wrong", [False, None])
def test_what_did_not_end_wrong_has_no_cause(ended_wrong: bool | None) -> None:
    with pytest.raises(ValueError, match="no cause"):
        reviewer().cause(case(grade(ended_wrong=ended_wrong)), FixedAnswer(answer("other", reason="")))


def categorized(number: int, category: str | None, kind: str | None = None) -> Categorized:
    return Categorized(item_id=f"e{number}", category=category, runtime_type=kind)


def counted(target: Any) -> Any:
    events = [event(0, "a"), event(1, "a"), event(2, "b"), event(3, "b")]
    categories = [
        categorized(0, "runtime", "time_limit"),
        categorized(1, "runtime", "time_limit"),
        categorized(2, "other"),
        categorized(3, None),
    ]
    causes = [
        Cause(unit="u", benchmark="packaged", task="c", category="output_format"),
        Cause(unit="v", benchmark="packaged", task="c", category=None),
    ]
    return distribution(("pool",), target, "reader", "taxonomy/1", events, categories, causes, simulated=True)


def test_a_distribution_counts_on_split_bins_and_names_what_it_is_of() -> None:
    trace, complete = counted("trace"), counted("complete")
    assert trace.id == "pool|trace|reader|taxonomy/1"
    assert shares(trace) == {"runtime:time_limit": pytest.approx(2 / 3), "other": pytest.approx(1 / 3)}
    assert (trace.n_events, trace.n_causes, trace.n_unclassified, trace.n_tasks) == (4, 0, 1, 2)
    assert (complete.n_causes, complete.n_unclassified, complete.n_tasks) == (2, 2, 3)
    assert sum(share.count for share in complete.shares) + complete.n_unclassified == complete.n_events + complete.n_causes


def test_an_event_without_an_answer_is_an_error() -> None:
    with pytest.raises(ValueError, match="e1"):
        distribution(("pool",), "trace", "r", "t", [event(0), event(1)], [categorized(0, "other")], [], simulated=True)


def test_an_empty_distribution_has_no_shares() -> None:
    empty = distribution(("pool",), "complete", "r", "t", [], [], [], simulated=True)
    assert (empty.shares, empty.n_events) == ((), 0)


def test_unsplit_joins_the_types() -> None:
    assert unsplit({"runtime:a": 1.0, "runtime:b": 2.0, "other": 3.0}) == {"runtime": 3.0, "other": 3.0}
