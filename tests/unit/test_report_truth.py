"""The truth table: what surfaced is read from the record alone, and every share has its denominator."""

from __future__ import annotations

from typing import Any

import pytest

from rubrics_gym.records.failures import Categorized, Cause, FailureEvent
from rubrics_gym.records.trajectory import CommandEvent, CommandKind, Event, FileEvent, FinalEvent, Route
from rubrics_gym.report.truth import Attempt, Finding, findings, planted_mix_rows, read_plan, truth_rows
from rubrics_gym.settings.study import Statistics

UNIT = "rollouts/pool/packaged/a/0"


def plant(label: str, signature: str = "", part: str = "model") -> dict[str, Any]:
    category, _, kind = label.partition(":")
    return {
        "label": label, "part": part, "expected_type": kind or None, "expected_category": category,
        "surfaces": "crash" if kind else "result", "signature": signature,
    }  # fmt: skip


def version(sha256: str, *plants: dict[str, Any]) -> dict[str, Any]:
    return {"turn": 0, "path": "final.py", "sha256": sha256, "plants": list(plants)}


def wrote(sha256: str, step: int) -> FileEvent:
    return FileEvent(step=step, path="final.py", sha256=sha256, bytes=1)


def ran(step: int, output: str = "", exit_code: int | None = 1, route: Route = Route.EXECUTED, **facts: Any) -> CommandEvent:
    return CommandEvent(
        step=step, index=0, text="python final.py", kind=CommandKind.CODE_RUN, route=route, exit_code=exit_code, output_tail=output, **facts
    )


def failure(step: int, failure_type: str) -> FailureEvent:
    return FailureEvent(
        event_id=f"e{step}", unit=UNIT, benchmark="packaged", task="a", attempt=0, step=step, index=0, command="python final.py", exit_code=1,
        timed_out=False, out_of_memory=False, output_tail="", failure_type=failure_type, evidence="",
    )  # fmt: skip


def attempt(plan: list[dict[str, Any]], events: list[Event], **found: Any) -> Attempt:
    return Attempt(UNIT, read_plan(plan), events, **found)


CRASH = plant("runtime:missing_package", "ModuleNotFoundError")


def test_a_planted_crash_that_showed_is_followed_to_its_type_and_category() -> None:
    right = Categorized(item_id="e2", category="runtime", runtime_type="missing_package")
    wrong = Categorized(item_id="e2", category="runtime", runtime_type="own_logic")
    for answer, categorised in ((right, True), (wrong, False)):
        (finding,) = findings(
            attempt(
                [version("v1", CRASH)], [wrote("v1", 1), ran(2, "ModuleNotFoundError: No module named 'x'")],
                failures=[failure(2, "missing_package")], categories={"e2": answer},
            )
        )  # fmt: skip
        assert finding == Finding(CRASH["label"], UNIT, True, True, True, categorised, "runtime:missing_package", finding.found_bin)


def test_a_detector_that_overlooks_it_does_not_hide_that_it_surfaced() -> None:
    (finding,) = findings(attempt([version("v1", CRASH)], [wrote("v1", 1), ran(2, "ModuleNotFoundError: x")]))
    assert (finding.surfaced, finding.detected, finding.typed) == (True, False, None)


@pytest.mark.parametrize(
    "command",
    [
        ran(2, "", exit_code=None, route=Route.PREDICTED),
        ran(2, "ModuleNotFoundError", exit_code=0),
        ran(2, "ValueError: of another kind"),
    ],
    ids=["not executed", "ended well", "another signature"],
)
def test_what_did_not_show_did_not_surface(command: CommandEvent) -> None:
    (finding,) = findings(attempt([version("v1", CRASH)], [wrote("v1", 1), command], failures=[failure(2, "missing_package")]))
    assert not finding.surfaced and not finding.detected


def test_a_crash_of_another_version_of_the_program_does_not_count() -> None:
    found = findings(attempt([version("v1", CRASH), version("v2")], [wrote("v2", 1), ran(2, "ModuleNotFoundError: x")]))
    assert [finding.surfaced for finding in found] == [False]


def test_a_file_written_by_the_command_that_runs_it_counts() -> None:
    (finding,) = findings(attempt([version("v1", CRASH)], [ran(2, "ModuleNotFoundError: x"), wrote("v1", 2)]))
    assert finding.surfaced


def test_a_time_limit_is_the_recorders_fact() -> None:
    plan = [version("v1", plant("runtime:time_limit"))]
    (stopped,) = findings(attempt(plan, [wrote("v1", 1), ran(2, exit_code=None, timed_out=True)], failures=[failure(2, "time_limit")]))
    (crashed,) = findings(attempt(plan, [wrote("v1", 1), ran(2, "ValueError")]))
    (hidden,) = findings(attempt([version("v1", CRASH)], [wrote("v1", 1), ran(2, "ModuleNotFoundError", exit_code=None, timed_out=True)]))
    assert stopped.surfaced and stopped.typed and not crashed.surfaced and not hidden.surfaced


def test_two_mistakes_show_one_after_the_other() -> None:
    other = plant("runtime:missing_package", "ModuleNotFoundError", part="read")
    plan = [version("v1", CRASH, other), version("v2", other)]
    events = [wrote("v1", 1), ran(2, "ModuleNotFoundError"), wrote("v2", 3), ran(4, "ModuleNotFoundError")]
    assert [finding.surfaced for finding in findings(attempt(plan, events))] == [True, True]


FINISHED = FinalEvent(exit_code=0, timed_out=False, cap_s=9, duration_s=1, deliverable_present=True)


def cause(category: str | None) -> Cause:
    return Cause(unit=UNIT, benchmark="packaged", task="a", category=category)


@pytest.mark.parametrize(
    ("ended_wrong", "named", "expected"),
    [
        (True, cause("output_format"), Finding("output_format", UNIT, True, True, None, True, "output_format", "output_format")),
        (True, cause("wrong_metric"), Finding("output_format", UNIT, True, True, None, False, "output_format", "wrong_metric")),
        (True, cause(None), Finding("output_format", UNIT, True, False, None, None, "output_format", None)),
        (True, None, Finding("output_format", UNIT, True, False, None, None, "output_format", None)),
        (False, None, Finding("output_format", UNIT, False)),
        (None, None, Finding("output_format", UNIT, False)),
    ],
)
def test_a_planted_wrong_result_surfaces_in_the_grade(ended_wrong: bool | None, named: Cause | None, expected: Finding) -> None:
    plan = [version("v1", plant("output_format"))]
    assert findings(attempt(plan, [wrote("v1", 1), FINISHED], cause=named, ended_wrong=ended_wrong)) == [expected]


def test_of_two_wrong_results_nobody_can_say_which_it_was() -> None:
    plan = [version("v1", plant("output_format"), plant("wrong_metric"))]
    assert [finding.surfaced for finding in findings(attempt(plan, [wrote("v1", 1), FINISHED], ended_wrong=True))] == [False, False]


def test_a_mistake_that_was_repaired_did_not_make_the_result_wrong() -> None:
    plan = [version("v1", plant("output_format")), version("v2")]
    (finding,) = findings(attempt(plan, [wrote("v1", 1), wrote("v2", 2), FINISHED], ended_wrong=True))
    assert not finding.surfaced


def test_shares_have_their_own_denominators() -> None:
    kind = "runtime:own_logic"
    found = [
        Finding(kind, f"u{number}", True, number > 0, (number > 1) if number else None, True if number else None) for number in range(5)
    ]
    found.append(Finding(kind, "u9", False))
    row, total = truth_rows(found, "example", simulated=True)
    assert (row["planted"], row["surfaced"], row["n"], row["clusters"]) == (6, 5, 5, 5)
    assert (row["detected_share"], row["typed_share"], row["typed_n"], row["categorised_share"]) == (0.8, 0.75, 4, 1.0)
    assert total == row | {"kind": "total"}
    (nothing,) = truth_rows([], "example", simulated=True)
    assert nothing["detected_share"] is None and nothing["n"] == 0


def test_planted_and_recovered_mix_are_of_the_mistakes_that_surfaced() -> None:
    def found(task: int, planted: str, sorted_as: str | None) -> Finding:
        return Finding("kind", f"rollouts/pool/packaged/task-{task}/0", True, sorted_as is not None, None, None, planted, sorted_as)

    exact = [found(task, kind, kind) for task in range(6) for kind in ("a", "b")]
    rows = planted_mix_rows(
        [*exact, Finding("kind", "rollouts/pool/packaged/task-0/0", False, planted_bin="c")], "s", True, Statistics(), seed=1
    )
    assert [(row["bin"], row["planted"], row["recovered"], row["distance"], row["clusters"]) for row in rows] == [
        ("a", 6, 6, 0.0, 6),
        ("b", 6, 6, 0.0, 6),
    ]
    wrong = [found(task, "a", "b" if task % 2 else None) for task in range(6)]
    rows = planted_mix_rows([*exact, *wrong], "s", True, Statistics(), seed=1)
    shares = {row["bin"]: (row["planted_share"], row["recovered_share"]) for row in rows}
    assert shares == {"a": (pytest.approx(12 / 18), pytest.approx(6 / 15)), "b": (pytest.approx(6 / 18), pytest.approx(9 / 15))}
    assert rows[0]["distance"] == pytest.approx(100 * (12 / 18 - 6 / 15))
    assert rows[0]["distance_low"] <= rows[0]["distance"] <= rows[0]["distance_high"]
    assert planted_mix_rows([], "s", True, Statistics(), seed=1) == []
