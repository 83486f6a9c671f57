"""What the published study prints about its libraries, recomputed by this project's matching, distances and allocation."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from rubrics_gym.libraries.published import Line, Published, Standing, heldout_counts, recompute, whole_counts

PUBLISHED = Published(Path(__file__).parents[2] / "resources" / "published")


@pytest.fixture(scope="module")
def lines() -> list[Line]:
    return recompute(PUBLISHED)


def test_no_figure_differs(lines: list[Line]) -> None:
    assert [line for line in lines if line.standing is Standing.DIFFERENT] == []


def test_what_is_equal_what_is_bounded_and_what_stays_open(lines: list[Line]) -> None:
    standing = Counter(line.standing for line in lines)
    assert standing[Standing.EQUAL] >= 35 and standing[Standing.WITHIN] == 1 and standing[Standing.OTHER_RULE] == 1
    assert {line.about for line in lines if line.standing is Standing.OPEN} == {
        "filtered_oracle_trace", "filtered_pool", "filtered_pool_trace", "category split",
    }  # fmt: skip


def test_the_held_out_columns_have_one_reconstruction() -> None:
    ((trace, complete),) = heldout_counts(PUBLISHED)
    assert trace == {
        "runtime:time_limit": 72, "runtime:own_logic": 20, "runtime:missing_package": 12, "missing_values_unchecked": 9, "runtime:api_changed": 8,
        "runtime:file_not_found": 1, "output_missing_or_overwritten": 2, "parameter_without_validation": 1, "fabricated_or_partial_data": 1,
        "runtime:disk_full": 2,
    }  # fmt: skip
    assert {name: count - trace.get(name, 0) for name, count in complete.items() if count != trace.get(name, 0)} == {
        "not_validated_against_baseline": 15, "output_format": 3, "wrong_metric": 1,
    }  # fmt: skip


def test_ten_distances_can_be_computed_and_agree(lines: list[Line]) -> None:
    distances = [line for line in lines if line.about == "distances"]
    assert len(distances) == 10 and all(line.standing is Standing.EQUAL for line in distances)


def test_a_wrong_figure_is_seen() -> None:
    wrong = Published(Path(__file__).parents[2] / "resources" / "published")
    wrong.distances["heldout_trace", "heldout_complete"] = 14.0
    wrong.libraries["filtered_oracle_trace"]["rubrics"] = "178"
    broken = {(line.about, line.figure) for line in recompute(wrong) if line.standing is Standing.DIFFERENT}
    assert ("distances", "heldout_trace to heldout_complete") in broken
    assert ("filtered_oracle_trace", "rubrics, floor_then_round") in broken


def test_counts_whose_share_prints_as_published() -> None:
    assert whole_counts({"a": 56.2, "b": 0.8}, 128) == {"a": [72], "b": [1]}
    assert whole_counts({"a": 0.1}, 3550) == {"a": [2, 3, 4, 5]}
