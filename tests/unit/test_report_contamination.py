"""Every row that names an arm with a contaminated library carries the mark."""

from __future__ import annotations

from rubrics_gym.report.contamination import mark


def test_arms_and_both_sides_of_contrasts_are_marked() -> None:
    rows = [
        {"arm": "oracle"},
        {"arm": "matched"},
        {"first": "matched", "second": "oracle"},
        {"first": "oracle", "second": "a"},
        {"first": "a", "second": "b"},
    ]
    assert [row["contaminated"] for row in mark(rows, ("oracle",))] == [True, False, True, True, False]
    assert all("contaminated" not in row for row in rows)
