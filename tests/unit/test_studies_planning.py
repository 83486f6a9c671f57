"""What a plan says: what the store serves is free, the rest is extrapolated from what is on record, with a range that holds."""

from __future__ import annotations

import dataclasses
from contextlib import suppress
from datetime import date
from pathlib import Path

import numpy as np
import pytest
from tests.workflow.conftest import TOP

from rubrics_gym.harness.episode import PROTOCOL
from rubrics_gym.models.prices import load_prices
from rubrics_gym.models.request import Usage
from rubrics_gym.settings.loading import load_study, read_file
from rubrics_gym.settings.slices import SLICES
from rubrics_gym.settings.study import RoleName
from rubrics_gym.store.attempts import AttemptStore
from rubrics_gym.store.ledger import LedgerLine, State
from rubrics_gym.store.serving import work_key
from rubrics_gym.store.stops import StudyRecord
from rubrics_gym.studies.estimates import Expectation, Limit, Span, UnitUse, estimate, load_expectations, predicted_sum, use_of_unit
from rubrics_gym.studies.planning import PlannedJob, Plans, plan_text

PRICES = load_prices(TOP / "resources" / "prices.yaml")
EXPECTATIONS = load_expectations(TOP / "resources" / "expectations.yaml")
TODAY = date(2026, 11, 30)
MODEL = "claude-haiku-4-5"
DEFAULT = read_file(TOP / "config" / "config.yaml")
WILDCARDS = {"collection": "pool", "benchmark": "packaged", "task": "a-task", "attempt": "0"}


def test_the_range_of_a_predicted_sum_holds_the_sum_as_often_as_it_says() -> None:
    draws = np.random.default_rng(7)
    inside = 0
    for _ in range(1500):
        past, future = draws.normal(10, 3, 8), draws.normal(10, 3, 20).sum()
        span = predicted_sum(list(past), 20)
        inside += span.low <= future <= span.high
    assert 0.93 < inside / 1500 < 0.97


def test_equal_units_on_record_are_extrapolated_without_a_range() -> None:
    use = UnitUse(requests=4, input_tokens=1000, output_tokens=100, microdollars=1500)
    found = estimate(10, [use] * 6, EXPECTATIONS["agent"], MODEL, TODAY, PRICES, Limit(3.0))
    assert (found.requests.typical, found.dollars.typical) == (40, pytest.approx(0.015))
    assert found.requests.low == found.requests.high
    assert found.basis == "6 on record"


def test_without_a_record_the_expectation_is_priced_and_the_limits_bound_it() -> None:
    one = Expectation(
        requests=Span(low=1, typical=10, high=1000),
        input_tokens=Span(low=1, typical=1000, high=1000),
        output_tokens=Span(low=0, typical=0, high=0),
    )
    found = estimate(2, [], one, MODEL, TODAY, PRICES, Limit(dollars=0.05, requests=100))
    assert found.requests == Span(low=2, typical=20, high=200)
    assert found.dollars.typical == pytest.approx(0.02)  # 20,000 tokens at $1 per million
    assert found.dollars.high == pytest.approx(0.1)  # two units of at most $0.05
    assert found.basis == "expectation"


@pytest.fixture
def job(tmp_path: Path) -> PlannedJob:
    for name in ("public", "prompt", "feedback"):
        (tmp_path / name).write_text(name)
    return PlannedJob("collect_rollout", WILDCARDS, {name: str(tmp_path / name) for name in ("public", "prompt", "feedback")}, ())


def plans(store: Path) -> Plans:
    return Plans(load_study(DEFAULT, "config"), store, PRICES, TODAY, EXPECTATIONS)


def test_an_attempt_of_the_same_key_is_served_and_one_of_another_prompt_is_not(
    tmp_path: Path, job: PlannedJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(TOP)
    study = load_study(read_file("config/config.yaml"), "config")
    key = work_key(SLICES["collect_rollout"](study, WILDCARDS), {name: str(path) for name, path in job.inputs.items()}, PROTOCOL)
    with AttemptStore(tmp_path / "store").begin("rollouts/pool/packaged/a-task/0", key) as attempt:
        attempt.complete()
    (line,) = plans(tmp_path / "store").lines([job], tmp_path / "none")
    assert (line.served, line.estimates) == (1, {})
    Path(job.inputs["prompt"]).write_text("another prompt")
    (line,) = plans(tmp_path / "store").lines([job], tmp_path / "none")
    assert line.served == 0
    assert set(line.estimates) == {"agent"}


def test_a_slot_that_is_not_attempted_again_asks_nobody_whatever_became_of_its_attempt(tmp_path: Path, job: PlannedJob) -> None:
    study = load_study({**DEFAULT, "budget": {"replay_attempts": "never"}}, "config")
    with suppress(KeyboardInterrupt), AttemptStore(tmp_path / "store", study.name).begin("rollouts/pool/packaged/a-task/0", "a" * 64):
        raise KeyboardInterrupt
    changed = dataclasses.replace(job, inputs={**job.inputs, "public": str(tmp_path / "changed")})
    never, default = (Plans(one, tmp_path / "store", PRICES, TODAY, EXPECTATIONS) for one in (study, load_study(DEFAULT, "config")))
    assert (never.lines([changed], tmp_path)[0].served, default.lines([changed], tmp_path)[0].served) == (1, 0)


def test_an_input_that_is_still_to_be_made_is_never_taken_for_the_stored_one(tmp_path: Path, job: PlannedJob) -> None:
    maker = PlannedJob("prepare_task", {}, {}, (str(job.inputs["public"]),))
    lines = plans(tmp_path / "store").lines([maker, job], tmp_path / "none")
    assert [line.served for line in lines] == [0, 0]


def test_hours_come_from_measured_jobs_and_are_unknown_without_one(tmp_path: Path, job: PlannedJob) -> None:
    folder = tmp_path / "benchmarks" / "collect_rollout" / "pool"
    folder.mkdir(parents=True)
    (folder / "0.tsv").write_text("s\th:m:s\n1800.0\t0:30:00\n")
    (line,) = plans(tmp_path / "store").lines([job], tmp_path / "benchmarks")
    assert line.hours == pytest.approx(0.5)
    (line,) = plans(tmp_path / "store").lines([job], tmp_path / "none")
    assert line.hours is None
    assert "unmeasured" in plan_text("default", [line])


def test_nothing_to_do_is_said_so() -> None:
    assert "nothing would run" in plan_text("default", [])


def test_a_plan_of_a_study_that_stands_still_says_that_it_must_be_resumed_first(tmp_path: Path) -> None:
    stop = StudyRecord(tmp_path, "default").stop("asked for")
    assert "default stands still" in plan_text("default", [], stop) and "make resume" in plan_text("default", [], stop)


def test_all_tokens_of_a_prompt_count_also_those_kept_for_an_hour() -> None:
    usage = Usage(input_tokens=1, cache_read_tokens=2, cache_write_tokens=4, cache_write_1h_tokens=8)
    line = LedgerLine(
        record="a-1", key="a", unit="u", occurrence=0, purpose="mine", model=MODEL, state=State.RETURNED, at="", max_cost_microdollars=1,
        usage=usage.model_dump(),
    )  # fmt: skip
    found = use_of_unit([line], MODEL, TODAY, PRICES)
    assert found is not None and found.input_tokens == 15


def planned_dollars(tmp_path: Path, job: PlannedJob, role: RoleName) -> float:
    """The most that a plan says that one job of the live study may cost, each answer as dear as can be."""
    dear = Span(low=1e9, typical=1e9, high=1e9)
    expectations = dict.fromkeys(EXPECTATIONS, Expectation(requests=dear, input_tokens=dear, output_tokens=dear))
    config = read_file(TOP / "config" / "studies" / "live.yaml")
    config["arms"]["task_only"]["limits_factor"] = 2.0
    study = load_study(config, "live")
    (line,) = Plans(study, tmp_path / "store", PRICES, TODAY, expectations).lines([job], tmp_path / "none")
    return line.estimates[role].dollars.high


def test_an_episode_may_cost_what_its_arm_may(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(TOP)
    wildcards = {"split": "quick", "arm": "task_only", "repeat": "0", "benchmark": "packaged", "task": "a-task"}
    job = PlannedJob("run_episode", wildcards, {}, ())
    assert planned_dollars(tmp_path, job, "agent") == pytest.approx(2 * 3.0)
    assert planned_dollars(tmp_path, job, "judge") == pytest.approx(20)


def test_the_allowance_of_a_replayed_judge_is_of_each_episode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(TOP)
    wildcards = {"judge": "task_only", "library_name": "no_library", "split": "quick"}
    assert planned_dollars(tmp_path, PlannedJob("replay_judge", wildcards, {}, (), attempts_read=4), "judge") == pytest.approx(4 * 20)
