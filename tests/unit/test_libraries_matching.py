"""The budget filter on published figures and by its properties; the two null libraries."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rubrics_gym.libraries.matching import EmptyMatch, Match, budget, match, mix, within
from rubrics_gym.libraries.nulls import sample, scrambled
from rubrics_gym.libraries.verifying import search_total, verify
from rubrics_gym.records.failures import Categorized, Cause, Distribution, FailureEvent, Share
from rubrics_gym.records.rubrics import LibraryManifest, Rubric, RubricKind, Support
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
    return Distribution(
        **fields, shares=tuple(Share(bin=name, count=count, commands=count, share=count / total) for name, count in counts.items())
    )


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


@settings(deadline=None, max_examples=60)
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


# ---------------------------------------------------------------- wordings, orders, supply, and the independent check


@settings(deadline=None, max_examples=60)
@given(
    st.dictionaries(st.sampled_from(BINS), st.integers(0, 40), min_size=1),
    st.dictionaries(st.sampled_from(BINS), st.integers(0, 40), min_size=1),
)
def test_the_published_wording_gives_the_largest_total_that_can_be_filled(available: dict[str, int], wanted: dict[str, int]) -> None:
    if not any(available.get(name) and count for name, count in wanted.items()):
        with pytest.raises(EmptyMatch):
            budget(available, wanted, "largest_that_fills")
        return
    found = budget(available, wanted, "largest_that_fills")
    mass = sum(wanted[name] for name in found.of)

    def fills(total: int) -> bool:
        return all((2 * total * wanted[name] + mass) // (2 * mass) <= available[name] for name in found.of)

    assert fills(found.total) and not fills(found.total + 1)
    assert budget(available, wanted).total <= found.total
    for rule in ("floor_then_round", "largest_that_fills"):
        shares = {name: count for name, count in wanted.items() if available.get(name) and count}
        assert search_total(Counter(available), shares, rule) == budget(available, wanted, rule).total  # tried out, not solved for


def stocked(number: int = 60) -> list[Rubric]:
    """Rubrics of four bins in a mixed order, with weights and tasks."""
    bins = ["time_limit", "own_logic", "output_format", "own_logic", "time_limit", "parameter"]
    return [
        rubric(place, bins[place * 7 % 6]).model_copy(
            update={
                "error_weight": place % 5,
                "support": (Support(collection="pool", benchmark="b", task=f"t{place % 9}", attempt=0, steps=(1,)),),
            }
        )
        for place in range(number)
    ]


def test_orders_change_which_rubrics_are_kept_and_never_how_many_of_each_bin() -> None:
    rubrics, wanted = stocked(), target(time_limit=5, own_logic=3, output_format=4)
    matches = {order: match(rubrics, wanted, order=order, seed=3) for order in ("writing", "weight", "shuffled")}
    assert len({str(sorted(mix(one.rubrics).items())) for one in matches.values()}) == 1
    places = {one.id: place for place, one in enumerate(rubrics)}
    for one in matches.values():
        assert [places[kept.id] for kept in one.rubrics] == sorted(places[kept.id] for kept in one.rubrics)
    assert sum(one.weight for one in matches["weight"].rubrics) > sum(one.weight for one in matches["writing"].rubrics)
    assert matches["shuffled"].rubrics == match(rubrics, wanted, order="shuffled", seed=3).rubrics
    assert matches["shuffled"].rubrics != match(rubrics, wanted, order="shuffled", seed=4).rubrics


def test_the_spread_over_orders_says_what_the_order_decides() -> None:
    rubrics, wanted = stocked(), target(time_limit=5, own_logic=3, output_format=4)
    found = match(rubrics, wanted)
    spread = found.order_spread
    assert spread.shuffles == 100 and 0 < spread.shared < 1
    assert spread.weight[0] <= sum(one.weight for one in match(rubrics, wanted, order="shuffled").rubrics) <= spread.weight[1]
    scarce = {line.bin for line in found.budget if line.budget == line.available}
    assert spread.always >= sum(line.available for line in found.budget if line.bin in scarce) > 0


def test_supply_says_how_large_every_bin_would_allow_the_library_to_be() -> None:
    rubrics, wanted = stocked(), target(time_limit=5, own_logic=3, output_format=4, disk_full=2)
    found = match(rubrics, wanted)
    have = mix(rubrics)
    first, *_, last = found.supply
    assert first.bin == found.binding_bin and first.allows is not None and int(first.allows) == found.total
    assert (last.bin, last.allows, last.available) == ("disk_full", None, 0)
    for line in found.supply[:-1]:
        assert line.allows == pytest.approx(have[line.bin] * 12 / {"time_limit": 5, "own_logic": 3, "output_format": 4}[line.bin])
        assert line.kept_out == have[line.bin] - mix(found.rubrics)[line.bin]
    assert sum(line.share for line in found.supply) == pytest.approx(1)


def raw(wanted: Distribution) -> tuple[list[FailureEvent], list[Categorized], list[Cause]]:
    """The raw records that a mix was counted from: every other failure an event, the rest causes; and one that nobody could sort."""
    events, categories, causes = [], [], []
    names = [share.bin for share in wanted.shares for _ in range(share.count)]
    for number, name in enumerate([*names, None]):
        category, _, kind = (name or "").partition(":")
        where = dict(unit=f"u{number}", benchmark="b", task=f"t{number % 4}")
        if number % 2:
            events.append(
                FailureEvent(
                    event_id=str(number), attempt=0, step=1, index=0, command="c", exit_code=1, timed_out=False, out_of_memory=False, output_tail="",
                    failure_type="own_logic", evidence="", **where,
                )
            )  # fmt: skip
            categories.append(Categorized(item_id=str(number), category=category or None, runtime_type=kind or None))
        else:
            causes.append(Cause(category=category or None, runtime_type=kind or None, **where))
    return events, categories, causes


def manifest(found: Match, **changes: Any) -> LibraryManifest:
    facts = {name: value for name, value in found._asdict().items() if name != "rubrics"}
    recipe = {"recipe": "match", "total": "floor_then_round"}
    return LibraryManifest(library="m", recipe=recipe, candidates=60, rubrics=len(found.rubrics), **(facts | changes))


@pytest.mark.parametrize("total", ["floor_then_round", "largest_that_fills"])
def test_an_honest_match_passes_the_independent_check(total: Any) -> None:
    rubrics, wanted = stocked(), target(time_limit=5, own_logic=3, output_format=4, disk_full=2)
    found = match(rubrics, wanted, total)
    record = manifest(found).model_copy(update={"recipe": {"recipe": "match", "total": total}})
    checks = verify(rubrics, found.rubrics, record, *raw(wanted))
    assert [check.name for check in checks if not check.holds] == [] and len(checks) == 7


@pytest.mark.parametrize(
    ("tamper", "broken"),
    [
        (lambda source, kept: kept[::-1], "in writing order, none twice"),
        (lambda source, kept: [*kept, kept[-1]], "in writing order, none twice"),
        (lambda source, kept: kept[:-1], "every bin holds its budget"),
        (lambda source, kept: [kept[0].model_copy(update={"title": "another"}), *kept[1:]], "every rubric is of the source"),
        (lambda source, kept: list(source), "the distance to the target"),
    ],
)
def test_what_was_tampered_with_fails_it(tamper: Any, broken: str) -> None:
    rubrics, wanted = stocked(), target(time_limit=5, own_logic=3, output_format=4)
    found = match(rubrics, wanted)
    checks = verify(rubrics, tamper(rubrics, found.rubrics), manifest(found), *raw(wanted))
    assert broken in {check.name for check in checks if not check.holds}


def test_a_manifest_that_lies_fails_it() -> None:
    rubrics, wanted = stocked(), target(time_limit=5, own_logic=3, output_format=4, disk_full=2)
    found = match(rubrics, wanted)
    for changes, broken in (
        ({"total": found.total + 1}, "the total"),
        ({"dropped_mass": 0.0}, "the dropped share of the target"),
        ({"distance": 0.0}, "the distance to the target"),
    ):
        checks = verify(rubrics, found.rubrics, manifest(found, **changes), *raw(wanted))
        assert broken in {check.name for check in checks if not check.holds}


def test_the_independent_check_shares_no_code_with_the_match() -> None:
    import ast

    from rubrics_gym.libraries import verifying

    tree = ast.parse(Path(verifying.__file__).read_text())
    imported = {
        node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("rubrics_gym")
    }
    assert imported and all(module.startswith("rubrics_gym.records") for module in imported)


def test_a_library_of_one_category_and_an_empty_one() -> None:
    one = [rubric(number, "own_logic") for number in range(5)]
    found = match(one, target(own_logic=2, disk_full=2))
    assert (len(found.rubrics), found.dropped_mass, found.distance) == (5, 0.5, 50.0)
    with pytest.raises(EmptyMatch, match="empty library"):
        match([], target(own_logic=2))
    with pytest.raises(EmptyMatch):
        match([rubric(1, None)], target(own_logic=2))


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.sampled_from([*BINS[:5], None]), min_size=1, max_size=40),
    st.dictionaries(st.sampled_from(BINS[:6]), st.integers(1, 30), min_size=1),
    st.sampled_from(["floor_then_round", "largest_that_fills"]),
    st.sampled_from(["writing", "weight", "shuffled"]),
)
def test_no_match_exceeds_supply_reorders_or_changes_when_its_budgets_are_applied_again(
    bins: list[str | None], wanted: dict[str, int], total: Any, order: Any
) -> None:
    rubrics = [rubric(number, name) for number, name in enumerate(bins)]
    if not set(bins) & wanted.keys():
        return
    found = match(rubrics, target(**wanted), total, order, seed=1)
    supply, kept = mix(rubrics), mix(found.rubrics)
    assert all(count <= supply[name] for name, count in kept.items())
    assert kept == {line.bin: line.budget for line in found.budget if line.budget}
    places = [rubrics.index(one) for one in found.rubrics]
    assert places == sorted(set(places))
    assert within(found.rubrics, {line.bin: line.budget for line in found.budget}) == found.rubrics
