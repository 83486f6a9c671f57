"""The budget filter on published figures and by its properties; the two null libraries."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubrics_gym.libraries.matching import EmptyMatch, budget, match, mix, within
from rubrics_gym.libraries.nulls import sample, scrambled
from rubrics_gym.records.failures import Distribution, Share
from rubrics_gym.records.rubrics import Rubric, RubricKind
from rubrics_gym.statistics.distances import total_variation

COMPLETE = dict(
    time_limit=72,
    own_logic=20,
    missing_package=12,
    missing_values=9,
    api_changed=8,
    disk_full=2,
    output_missing=2,
    file_not_found=1,
    parameter=1,
    fabricated=1,
    no_baseline=15,
    output_format=3,
    wrong_metric=1,
)
BINS = [*COMPLETE]


def rubric(number: int, category: str | None) -> Rubric:
    return Rubric(
        title=f"title {number}",
        applies_when="some words here",
        pattern="p q",
        detect="d",
        not_a_violation="n",
        consequence="c",
        kind=RubricKind.CRASH,
        category=category,
    )


def target(**counts: int) -> Distribution:
    total = sum(counts.values())
    fields: dict[str, Any] = dict(
        id="pool|complete|r|t", collections=("pool",), target="complete", classifier="r", taxonomy_version="t", simulated=True
    )
    fields |= dict(n_events=total, n_causes=0, n_unclassified=0, n_tasks=1)
    return Distribution(**fields, shares=tuple(Share(bin=name, count=count, share=count / total) for name, count in counts.items()))


def test_published_library_of_186_budget_by_budget() -> None:
    """93 time-limit rubrics limit the total; no rubric is about a full disk."""
    available = dict.fromkeys(COMPLETE, 500) | {"time_limit": 93, "disk_full": 0}
    budgets = budget(available, COMPLETE)
    assert (budgets.total, budgets.binding, sum(budgets.of.values())) == (187, "time_limit", 186)
    assert budgets.of == dict(
        time_limit=93,
        own_logic=26,
        missing_package=15,
        missing_values=12,
        api_changed=10,
        file_not_found=1,
        output_format=4,
        no_baseline=19,
        wrong_metric=1,
        output_missing=3,
        parameter=1,
        fabricated=1,
    )
    assert total_variation(budgets.of, COMPLETE) == pytest.approx(2.1, abs=0.005)


def test_published_binding_cell_of_the_first_round_pool() -> None:
    """35 rubrics about changed interfaces, 53 of 704 failures: a total of 464."""
    assert budget({"api": 35, "rest": 10_000}, {"api": 53, "rest": 651}).total == 464


@given(st.dictionaries(st.sampled_from(BINS), st.integers(0, 60)), st.dictionaries(st.sampled_from(BINS), st.integers(0, 200)))
def test_a_budget_never_exceeds_supply_and_nearly_fills_its_binding_bin(available: dict[str, int], wanted: dict[str, int]) -> None:
    if not any(available.get(name) and count for name, count in wanted.items()):
        with pytest.raises(EmptyMatch):
            budget(available, wanted)
        return
    budgets = budget(available, wanted)
    assert all(0 <= count <= available[name] for name, count in budgets.of.items())
    assert available[budgets.binding] - budgets.of[budgets.binding] <= 1
    assert abs(sum(budgets.of.values()) - budgets.total) <= len(budgets.of) / 2
    assert 0 <= budgets.dropped_mass < 1


def test_a_match_keeps_writing_order_and_keeps_to_its_budgets() -> None:
    rubrics = [rubric(number, "ab"[number % 2]) for number in range(20)] + [rubric(99, None)]
    first = match(rubrics, target(a=1, b=3, c=4))
    assert first.rubrics == [one for one in rubrics if one in first.rubrics]
    assert mix(first.rubrics) == {"a": 3, "b": 10}
    assert (first.binding_bin, first.dropped_mass, first.total) == ("b", 0.5, 13)
    assert within(first.rubrics, {line.bin: line.budget for line in first.budget}) == first.rubrics
    assert match(rubrics, target(a=1, b=3)).distance < match(rubrics, target(a=1, b=3)).distance_before
    assert [(line.bin, line.available, line.budget, line.kept) for line in first.budget] == [("b", 10, 10, 10), ("a", 10, 3, 3)]


def test_nothing_in_common_is_an_error_that_names_both_sides() -> None:
    with pytest.raises(EmptyMatch, match=r"zeta.*alpha"):
        match([rubric(1, "alpha")], target(zeta=4))


def test_scrambling_keeps_words_lengths_and_everything_but_the_texts() -> None:
    rubrics = [rubric(number, "a") for number in range(30)]
    changed = scrambled(rubrics, seed=3)
    fields = ("title", "applies_when", "pattern", "detect", "not_a_violation", "consequence")
    words = [Counter(word for one in library for field in fields for word in getattr(one, field).split()) for library in (rubrics, changed)]
    assert words[0] == words[1]
    assert all(
        len(getattr(old, field).split()) == len(getattr(new, field).split())
        for old, new in zip(rubrics, changed, strict=True)
        for field in fields
    )
    assert sum(old.title == new.title for old, new in zip(rubrics, changed, strict=True)) < 5
    assert [(one.category, one.kind, one.support) for one in rubrics] == [(one.category, one.kind, one.support) for one in changed]
    assert changed == scrambled(rubrics, seed=3) != scrambled(rubrics, seed=4)


def test_a_sample_is_of_the_size_asked_in_writing_order() -> None:
    rubrics = [rubric(number, "a") for number in range(30)]
    drawn = sample(rubrics, 10, seed=1)
    assert len(drawn) == 10 and drawn == [one for one in rubrics if one in drawn]
    assert drawn == sample(rubrics, 10, seed=1) != sample(rubrics, 10, seed=2)
    with pytest.raises(ValueError, match="31"):
        sample(rubrics, 31, seed=1)
