"""The quota miner: shares become planned rubrics, bins fill or stop early, and a repetition adds to the support of what it repeats."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rubrics_gym.failures.taxonomy import load_taxonomy
from rubrics_gym.libraries.quota import Bin, QuotaMiner, plan, spread_over_tasks
from rubrics_gym.libraries.traces import Step, Trace
from rubrics_gym.models.client import Answer
from rubrics_gym.models.prompts import load_prompt
from rubrics_gym.models.request import Request, Response
from rubrics_gym.records.grades import Grade
from rubrics_gym.records.outcomes import Outcome
from rubrics_gym.records.rubrics import RubricKind
from rubrics_gym.settings.study import ModelSettings

RESOURCES = Path(__file__).parents[2] / "resources"
TAXONOMY = load_taxonomy(RESOURCES / "taxonomy.yaml")


def failure(task: str, attempt: int = 0, step: int | None = 1) -> Trace:
    grade = Grade(benchmark="b", task=task, outcome=Outcome.VALID, metric="accuracy", greater_is_better=True, ended_wrong=step is None)
    steps = () if step is None else (Step(step, f"python {task}.py", "KeyError", "exit code 1", True, True),)
    return Trace("pool", "b", task, attempt, f"Task {task}.", "answer.txt", steps, {"final.py": "x = 1"}, "", grade)


class Says:
    """Answers with titles, one list per request; keeps the requests. The last list is repeated."""

    def __init__(self, *titles: Sequence[str]):
        self._titles = list(titles)
        self.requests: list[Request] = []

    def ask(self, request: Request, occurrence: int = 0) -> Answer:
        self.requests.append(request)
        titles = self._titles[min(len(self.requests), len(self._titles)) - 1]
        fields = dict(applies_when="always", pattern="p", detect="d", not_a_violation="n", consequence="c")
        return Answer(Response(text=json.dumps({"rubrics": [{"title": title, **fields} for title in titles]})), "key", 0, "live")


def encode(texts: Sequence[str]) -> np.ndarray:
    """Texts with the same first letter say the same; others have nothing in common."""
    vectors = np.zeros((len(texts), 128), dtype=np.float32)
    for row, text in enumerate(texts):
        vectors[row, ord(text[0]) % 128] = 1
    return vectors


def miner(**changes: Any) -> QuotaMiner:
    settings: dict[str, Any] = dict(per_failure=3, batch=2, threshold=0.82) | changes
    return QuotaMiner(ModelSettings(model="m"), load_prompt(str(RESOURCES / "prompts/miners/quota.yaml")), 1, encode, **settings)


def bin_with(planned: int, *failures: Trace) -> Bin:
    return Bin("runtime:own_logic", *TAXONOMY.describe("runtime:own_logic"), share=0.5, planned=planned, failures=failures)


def test_a_bin_is_filled_to_its_plan_and_no_more_is_asked() -> None:
    client = Says(["a", "b", "c"], ["d", "e", "f"], ["g"])
    filled = miner().fill(bin_with(5, failure("t1"), failure("t2"), failure("t3")), client)
    assert [rubric.title for rubric in filled.rubrics] == ["a", "b", "c", "d", "e"]
    assert (filled.line.stopped, filled.line.asked, filled.line.written, filled.rejected) == ("filled", 2, 5, {"over_quota": 1})
    assert len(client.requests) == 2


def test_a_bin_stops_early_when_a_whole_batch_says_nothing_new() -> None:
    client = Says(["a"], ["b"], ["a again"], ["b again"], ["c, too late"])
    filled = miner().fill(bin_with(10, failure("t1"), failure("t2"), failure("t3"), failure("t4")), client)
    assert [rubric.title for rubric in filled.rubrics] == ["a", "b"]
    assert (filled.line.stopped, filled.line.asked, filled.line.planned, filled.line.candidates) == ("covered", 4, 10, 4)


def test_a_repetition_is_not_lost_but_adds_its_rollout() -> None:
    filled = miner(batch=3).fill(bin_with(4, failure("t1"), failure("t2"), failure("t3")), Says(["a"], ["a other words"], ["a yet others"]))
    (rubric,) = filled.rubrics
    assert [support.task for support in rubric.support] == ["t1", "t2", "t3"] and len(set(rubric.members)) >= 3
    assert filled.line.stopped == "covered"


def test_failures_are_asked_about_again_as_long_as_something_new_is_said() -> None:
    client = Says(*[[letter] for letter in "abcdef"])
    filled = miner(batch=1).fill(bin_with(6, failure("t1"), failure("t2")), client)
    assert len(filled.rubrics) == 6 and filled.line.asked == 6 and filled.line.failures == 2


def test_the_request_names_the_category_shows_the_failure_and_what_the_bin_has() -> None:
    client = Says(["a"], ["b"])
    miner().fill(bin_with(2, failure("t1"), failure("t2")), client)
    first, second = client.requests
    assert "Exception in the code's own logic" in first.system and "at most 3 rubrics" in first.system
    assert "python t1.py" in first.messages[0].text and "none" in first.messages[0].text.split("<titles>")[1]
    assert "python t2.py" in second.messages[0].text and "<titles>\na\n</titles>" in second.messages[0].text


def test_kinds_follow_from_what_is_read() -> None:
    crash = miner().fill(bin_with(1, failure("t1")), Says(["a"])).rubrics[0]
    wrong = miner().fill(bin_with(1, failure("t1", step=None)), Says(["a"])).rubrics[0]
    assert (crash.kind, crash.support[0].steps) == (RubricKind.CRASH, (1,))
    assert (wrong.kind, wrong.support[0].steps) == (RubricKind.WRONG_RESULT, ())


def test_bad_answers_and_empty_bins_end_a_bin_visibly() -> None:
    filled = miner().fill(bin_with(3, failure("t1")), Says([" "]))
    assert (filled.line.stopped, filled.rejected, filled.rubrics) == ("covered", {"empty_field": 1}, [])
    empty = miner().fill(bin_with(0), Says([]))
    assert (empty.line.stopped, empty.line.asked, empty.rubrics) == ("no_failures", 0, [])


def test_many_tasks_are_seen_before_one_is_seen_twice() -> None:
    order = spread_over_tasks([failure("a", 0), failure("a", 1), failure("a", 2), failure("b", 0), failure("c", 0), failure("c", 1)])
    assert [(one.task, one.attempt) for one in order] == [("a", 0), ("b", 0), ("c", 0), ("a", 1), ("c", 1), ("a", 2)]


counts = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(0, 50), min_size=1)


@settings(deadline=None, max_examples=50)
@given(counts, counts, st.integers(1, 300))
def test_planned_rubrics_sum_to_the_size_over_bins_with_failures(target: dict[str, int], failures: dict[str, int], size: int) -> None:
    planned = plan(target, failures, size)
    writable = {name for name, count in target.items() if count and failures.get(name)}
    assert planned.keys() == writable and sum(planned.values()) == (size if writable else 0)
    mass = sum(target[name] for name in writable)
    assert all(abs(count - size * target[name] / mass) < 1 for name, count in planned.items())


def test_every_bin_of_the_taxonomy_has_words_and_no_other_has() -> None:
    assert all(all(TAXONOMY.describe(name)) for name in TAXONOMY.bins)
    for name in ("runtime:none", "nothing", "output_format:time_limit"):
        with pytest.raises(ValueError, match="is no bin"):
            TAXONOMY.describe(name)
