"""The miner keeps what its citations support, counts what it rejects, and weighs by the published rules."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rubrics_gym.failures.types import load_rules
from rubrics_gym.libraries.mining import Miner
from rubrics_gym.libraries.traces import Trace, trace_of, trimmed
from rubrics_gym.models.client import Answer
from rubrics_gym.models.prompts import load_prompt
from rubrics_gym.models.request import Request, Response
from rubrics_gym.records.grades import Grade
from rubrics_gym.records.outcomes import Outcome
from rubrics_gym.records.trajectory import CommandEvent, CommandKind, FileEvent, Route, StartEvent
from rubrics_gym.settings.study import MinerName, ModelSettings

RESOURCES = Path(__file__).parents[2] / "resources"
RULES = load_rules(RESOURCES / "failure_types.yaml")
START = StartEvent(
    at="2026-01-01T00:00:00Z",
    unit="rollouts/pool/packaged/t/2",
    attempt=1,
    benchmark="packaged",
    task="t",
    statement="Predict the price.",
    deliverable="submission.csv",
    seed=1,
    model="m",
    arm="execute",
    limits={},
    protocol="1",
    code="c",
)


def command(step: int, **changes: Any) -> CommandEvent:
    fields: dict[str, Any] = dict(
        step=step, index=0, text=f"python v{step}.py", kind=CommandKind.CODE_RUN, route=Route.EXECUTED, exit_code=0
    )
    return CommandEvent(**(fields | changes))


EVENTS = [
    START,
    command(1, exit_code=1, output_head="Traceback (most recent call last):\nKeyError: 'price'\n"),
    command(2, route=Route.WITHHELD, exit_code=None, output_head="never shown"),
    command(3, output_head="score 0.7\n"),
    FileEvent(step=3, path="final.py", sha256="0", bytes=1, text="model.fit(X, y)\n"),
]


def grade(**changes: Any) -> Grade:
    fields = dict(benchmark="packaged", task="t", outcome=Outcome.VALID, metric="accuracy", greater_is_better=True, ended_wrong=True)
    return Grade(**(fields | changes))


def trace(limit: int = 10_000, **changes: Any) -> Trace:
    return trace_of("pool", EVENTS, grade(**changes), "id,price\n1,2\n", RULES, limit)


def candidate(**changes: Any) -> dict[str, Any]:
    texts = dict(
        title="Uses a key that is not there", applies_when="a", pattern="p", detect="d", not_a_violation="n", consequence="c", kind="crash"
    )
    return texts | dict(steps=[{"step": 1, "quote": "KeyError: 'price'"}], final_files=[]) | changes


class FixedAnswer:
    def __init__(self, candidates: Any):
        self.text = candidates if isinstance(candidates, str) else json.dumps({"rubrics": candidates})
        self.requests: list[Request] = []

    def ask(self, request: Request, occurrence: int = 0) -> Answer:
        self.requests.append(request)
        return Answer(Response(text=self.text), "key-1", 0, "live")


def weighted(most: int = 6, **changes: Any) -> Miner:
    return named(MinerName.WEIGHTED, most=most, **changes)


def named(name: MinerName, **changes: Any) -> Miner:
    return Miner(name, ModelSettings(model="miner-1"), load_prompt(str(RESOURCES / f"prompts/miners/{name}.yaml")), seed=1, **changes)


def mine(*candidates: dict[str, Any], read: Trace | None = None, per_rollout: int = 6) -> Any:
    return weighted(per_rollout).mine(read or trace(), FixedAnswer(list(candidates)))


def test_an_accepted_candidate_carries_its_evidence() -> None:
    (rubric,) = mine(candidate(final_files=[{"quote": "model.fit(X, y)"}])).rubrics
    (support,) = rubric.support
    assert (support.collection, support.task, support.attempt, support.steps, support.quotes) == (
        "pool",
        "t",
        2,
        (1,),
        ("KeyError: 'price'", "model.fit(X, y)"),
    )
    assert (rubric.error_weight, rubric.outcome_weight, rubric.miner, rubric.request_key) == (1, 1, "miner-1", "key-1")


def test_weights_count_error_steps_and_wrong_ends() -> None:
    both = candidate(steps=[{"step": 1, "quote": "Traceback"}, {"step": 1, "quote": "KeyError"}, {"step": 3, "quote": "score 0.7"}])
    (rubric,) = mine(both).rubrics
    assert (rubric.error_weight, rubric.outcome_weight) == (1, 0)
    (right,) = mine(candidate(final_files=[{"quote": "model.fit"}]), read=trace(ended_wrong=False)).rubrics
    assert right.outcome_weight == 0


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        (dict(title="  "), "empty_field"),
        (dict(steps=[]), "no_citation"),
        (dict(steps=[{"step": 7, "quote": "KeyError"}]), "step_unknown"),
        (dict(steps=[{"step": 2, "quote": "never shown"}]), "step_unknown"),  # it was not executed
        (dict(steps=[{"step": 3, "quote": "KeyError: 'price'"}]), "quote_not_found"),
        (dict(steps=[{"step": 1, "quote": "keyerror: 'price'"}]), "quote_not_found"),
        (dict(steps=[{"step": 1, "quote": ""}]), "quote_not_found"),
        (dict(final_files=[{"quote": "not in any file"}]), "quote_not_found"),
    ],
)
def test_citations_that_do_not_hold_are_rejected_with_their_reason(changes: dict[str, Any], reason: str) -> None:
    mining = mine(candidate(), candidate(**changes))
    assert (len(mining.rubrics), mining.rejected) == (1, {reason: 1})


def test_candidates_beyond_the_limit_are_counted() -> None:
    mining = mine(*[candidate()] * 5, per_rollout=2)
    assert (len(mining.rubrics), mining.rejected) == (2, {"over_limit": 3})


def test_one_bad_answer_costs_one_rollout_visibly() -> None:
    miner = weighted()
    mining = miner.mine(trace(), FixedAnswer("{}"))
    assert (mining.rubrics, mining.abstained) == ((), "schema_invalid")


def test_the_miner_reads_what_ran_whether_it_was_repaired_and_how_it_ended() -> None:
    client = FixedAnswer([])
    weighted().mine(trace(), client)
    text = client.requests[0].messages[0].text
    assert "step 1 (exit code 1; failed, a later run succeeded)" in text and "never shown" not in text
    assert "model.fit(X, y)" in text and "ended wrong" in text and "id,price" in text


@pytest.mark.parametrize("outcome", [Outcome.SANDBOX_DIED, Outcome.LOST_FINAL, Outcome.UNKNOWN])
def test_lost_rollouts_are_not_mined(outcome: Outcome) -> None:
    with pytest.raises(ValueError, match="may not be mined"):
        trace(outcome=outcome, ended_wrong=None)


def test_trimming_keeps_every_step_both_ends_and_says_what_was_cut() -> None:
    long = [
        START,
        *(command(step, exit_code=1, output_head=f"begin {step} " + "x" * 5000 + f" end {step}") for step in range(1, 6)),
        command(6, output_head="short"),
    ]
    whole = trace_of("pool", long, grade(), "", RULES, 1_000_000)
    cut = trimmed(whole, 3000)
    total = sum(len(step.command) + len(step.output) for step in cut.steps)
    assert (
        whole.cut_chars == 0
        and total <= 3000
        and cut.cut_chars == sum(len(step.command) + len(step.output) for step in whole.steps) - total
    )
    assert [step.number for step in cut.steps] == [1, 2, 3, 4, 5, 6] and cut.steps[5].output == "short"
    assert all(step.output.startswith(f"begin {step.number}") and step.output.endswith(f"end {step.number}") for step in cut.steps[:5])


def test_programs_are_cut_only_when_outputs_are_not_enough() -> None:
    events = [START, command(1, output_head="y" * 500), FileEvent(step=1, path="final.py", sha256="0", bytes=1, text="z" * 400)]
    assert trace_of("pool", events, grade(), "", RULES, 700).scripts["final.py"] == "z" * 400
    tiny = trace_of("pool", events, grade(), "", RULES, 200)
    assert len(tiny.scripts["final.py"]) < 400 and len(tiny.steps) == 1
