"""Rates of failures and distances between mixes, as tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rubrics_gym.failures.distributions import distribution
from rubrics_gym.failures.taxonomy import load_taxonomy
from rubrics_gym.records.failures import Categorized, Cause, Distribution, FailureEvent, ObservedCommand
from rubrics_gym.report.failures import failure_rate_rows, mix_distance_rows
from rubrics_gym.settings.study import Statistics

TAXONOMY = load_taxonomy(Path(__file__).parents[2] / "resources/taxonomy.yaml")


def command(number: int, **changes: Any) -> ObservedCommand:
    fields: dict[str, Any] = dict(
        unit="u", benchmark="b", task=f"t{number % 3}", step=number, index=0, kind="code_run", failed=False, error_step=False, masked=False
    )
    return ObservedCommand(**(fields | changes))


def test_every_rule_has_a_row_and_installs_have_their_own() -> None:
    commands = [command(number, failed=number < 3, error_step=number < 4, masked=number == 5) for number in range(9)]
    commands.append(command(9, kind="install", failed=True, error_step=True))
    rows = {row["predicate"]: row for row in failure_rate_rows({"pool": commands}, "s", True)}
    assert {name: (row["counted"], row["commands"], row["clusters"]) for name, row in rows.items()} == {
        "failed_command": (3, 9, 3),
        "failed_command, masked ones too": (4, 9, 3),
        "error_step": (4, 9, 3),
        "failed install": (1, 1, 1),
    }
    (empty, *_) = failure_rate_rows({"pool": []}, "s", True)
    assert (empty["share"], empty["commands"], empty["note"]) == (None, 0, "nothing observed")


def event(number: int) -> FailureEvent:
    return FailureEvent(
        event_id=f"e{number}", unit=f"u{number}", benchmark="b", task=f"t{number % 4}", attempt=0, step=number, index=0, command="c", exit_code=1,
        timed_out=False, out_of_memory=False, output_tail="", failure_type="own_logic", evidence="",
    )  # fmt: skip


def mix(categories: list[tuple[str, str | None, float]], **more: Any) -> Distribution:
    events = [event(number) for number in range(len(categories))]
    answers = [
        Categorized(item_id=f"e{number}", category=category, runtime_type=kind, confidence=sure)
        for number, (category, kind, sure) in enumerate(categories)
    ]
    return distribution(("pool",), "trace", "c", TAXONOMY.version, events, answers, [], simulated=True, **more)


def test_distances_on_split_bins_on_22_and_on_21_categories() -> None:
    first = mix([("runtime", "time_limit", 1.0), ("runtime", "own_logic", 1.0), ("modelling_choice", None, 1.0), ("other", None, 1.0)] * 2)
    second = mix([("runtime", "own_logic", 1.0), ("runtime", "own_logic", 1.0), ("other", None, 1.0), ("other", None, 1.0)] * 2)
    rows = {row["view"]: row for row in mix_distance_rows({"a": first, "b": second}, TAXONOMY, Statistics(draws=200), seed=1)}
    assert (rows["split"]["distance"], rows["22"]["distance"]) == (pytest.approx(50), pytest.approx(25))
    assert rows["21"]["distance"] == pytest.approx(100 * (2 / 3 - 1 / 2))
    assert all(row["noise_floor"] > 0 and row["distribution"].startswith("pool|trace|c|taxonomy/2 ~ ") for row in rows.values())
    assert mix_distance_rows({"a": first}, TAXONOMY, Statistics(), seed=1) == []


def test_answers_below_the_wanted_confidence_are_unclassified_and_the_id_says_so() -> None:
    sure = mix([("other", None, 0.9), ("other", None, 0.4)], min_confidence=0.5)
    assert (sure.n_unclassified, sure.shares[0].count, sure.id) == (1, 1, "pool|trace|c@0.5|taxonomy/2")
    assert [task.counts for task in sure.tasks] == [{"other": 1}, {}]


def test_an_attempt_with_two_causes_is_an_error() -> None:
    cause = Cause(unit="u", benchmark="b", task="t", category="other")
    with pytest.raises(ValueError, match="u has more than one cause"):
        distribution(("pool",), "complete", "c", "t", [], [], [cause, cause], simulated=True)
