"""Every row that names an arm with a contaminated library carries the mark."""

from __future__ import annotations

from rubrics_gym.report.contamination import mark
from rubrics_gym.report.specs import SPECS

WITHOUT_A_FIGURE_OF_A_JUDGE = {"agreement", "confusion", "mix_distances", "requests"}  # two readers, two mixes, money


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


def test_every_table_that_names_a_judge_an_arm_or_a_library_has_the_mark() -> None:
    """A figure of a library that was fitted to held-out failures is no fair test, in whatever table it stands."""
    named = {"arm", "judge", "library", "first", "second"}
    lacking = [
        name for name, spec in SPECS.items() if named & {column.name for column in spec.columns} and spec.column("contaminated") is None
    ]
    assert set(lacking) == WITHOUT_A_FIGURE_OF_A_JUDGE
