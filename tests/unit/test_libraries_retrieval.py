"""Retrieval: most similar first, slots by share, ties by id."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rubrics_gym.libraries.index import Index, build
from rubrics_gym.libraries.retrieval import Retriever, adjusted
from rubrics_gym.records.files import DamagedFile, write_json_lines
from rubrics_gym.records.rubrics import Rubric, RubricKind, Support
from rubrics_gym.settings.study import Retrieval, Split

SIMILARITY, SPLIT = Retrieval.SIMILARITY, Retrieval.CATEGORY_SPLIT


def rubric(number: int, category: str | None = "a") -> Rubric:
    return Rubric(
        title=f"t{number}",
        applies_when="a",
        pattern="p",
        detect="d",
        not_a_violation="n",
        consequence="c",
        kind=RubricKind.CRASH,
        category=category,
    )


def look_up(
    index: Index, statement: np.ndarray, code: np.ndarray, k: int, policy: Retrieval
) -> tuple[list[tuple[Rubric, float]], dict[str, int]]:
    return Retriever(index, k, policy).retrieve(statement, code)[:2]


def unit_rows(n: int, seed: int = 0) -> np.ndarray:
    vectors = np.random.default_rng(seed).normal(size=(n, 8))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def test_similarity_is_the_mean_of_both_cosines() -> None:
    vectors = unit_rows(50)
    statement, code = unit_rows(2, seed=1)
    hits, slots = look_up(Index([rubric(number) for number in range(50)], vectors), statement, code, 12, SIMILARITY)
    expected = sorted(((vectors @ statement + vectors @ code) / 2).tolist(), reverse=True)[:12]
    assert [similarity for _, similarity in hits] == pytest.approx(expected, abs=1e-6)
    assert slots == {"a": 12}


def test_equal_similarities_are_ordered_by_id_whatever_the_order_of_the_library() -> None:
    rubrics = [rubric(number) for number in range(20)]
    vectors = np.tile(unit_rows(1), (20, 1))
    for library in (rubrics, rubrics[::-1]):
        hits, _ = look_up(Index(library, vectors), vectors[0], vectors[0], 5, SIMILARITY)
        assert [one.id for one, _ in hits] == sorted(one.id for one in rubrics)[:5]


def test_category_split_takes_the_most_similar_of_each_bin() -> None:
    rubrics = [rubric(number, "ab"[number % 2]) for number in range(40)]
    vectors = unit_rows(40)
    query = unit_rows(1, seed=5)[0]
    hits, slots = look_up(Index(rubrics, vectors, {"a": 0.75, "b": 0.25}), query, query, 12, SPLIT)
    assert slots == {"a": 9, "b": 3}
    similarity = vectors @ query
    best_b = sorted((similarity[row] for row in range(40) if rubrics[row].category == "b"), reverse=True)[:3]
    assert sorted((value for one, value in hits if one.category == "b"), reverse=True) == pytest.approx(best_b, abs=1e-6)
    assert [value for _, value in hits] == sorted((value for _, value in hits), reverse=True)


def test_slots_that_a_bin_cannot_fill_are_handed_on() -> None:
    rubrics = [rubric(0, "rare"), *(rubric(number, "common") for number in range(1, 30)), rubric(99, None)]
    hits, slots = look_up(Index(rubrics, unit_rows(31), {"rare": 0.5, "common": 0.4, "absent": 0.1}), *unit_rows(2, seed=1), 12, SPLIT)
    assert slots == {"rare": 1, "common": 11} and len(hits) == 12


@settings(deadline=None, max_examples=40)
@given(st.lists(st.sampled_from(["a", "b", "c", None]), max_size=30), st.integers(0, 15), st.sampled_from([SIMILARITY, SPLIT]))
def test_as_many_as_asked_or_all_there_are(categories: list[str | None], k: int, policy: Retrieval) -> None:
    rubrics = [rubric(number, category) for number, category in enumerate(categories)]
    hits, slots = look_up(Index(rubrics, unit_rows(len(rubrics))), *unit_rows(2, seed=1), k, policy)
    assert len(hits) == sum(slots.values()) == min(k, len(rubrics))
    assert len({one.id for one, _ in hits}) == len(hits)


def test_own_mix_counts_rollouts_not_rubrics() -> None:
    support = Support(collection="c", benchmark="b", task="t", attempt=0, steps=(1,))
    merged = rubric(1, "a").model_copy(update={"support": (support,) * 5})
    assert Index([merged, rubric(2, "b"), rubric(3, None)], unit_rows(3)).shares == {"a": 5.0, "b": 1.0, "unclassified": 1.0}


def test_libraries_that_cannot_be_searched_are_refused() -> None:
    with pytest.raises(ValueError, match="2 rubrics but 1"):
        Index([rubric(1), rubric(2)], unit_rows(1))
    with pytest.raises(ValueError, match="twice"):
        Index([rubric(1), rubric(1)], unit_rows(2))
    broken = unit_rows(2)
    broken[1, 3] = np.nan
    with pytest.raises(ValueError, match=rubric(2).id):
        Index([rubric(1), rubric(2)], broken)


# ---------------------------------------------------------------- by kind and weight


def weighted(number: int, kind: RubricKind, weight: int) -> Rubric:
    return rubric(number).model_copy(update={"kind": kind, "error_weight": weight})


CRASH, WRONG, CAUSED = RubricKind.CRASH, RubricKind.WRONG_RESULT, RubricKind.CRASH_CAUSED_WRONG_RESULT


def kinds_of(hits: list[tuple[Rubric, float]]) -> Counter[RubricKind]:
    return Counter(one.kind for one, _ in hits)


def published_shape() -> list[Rubric]:
    """Most weight on crashes, as in the published weighted library: about ten, one and one by weight, all twelve by its square."""
    crash = [weighted(number, CRASH, 5) for number in range(40)]
    return [
        *crash,
        *(weighted(number, WRONG, 0 if number % 2 else 1) for number in range(100, 140)),
        *(weighted(number, CAUSED, 1) for number in range(200, 218)),
    ]


def test_kinds_share_by_weight_and_by_squared_weight() -> None:
    rubrics = published_shape()
    index = Index(rubrics, unit_rows(len(rubrics)))
    by_weight = Retriever(index, 12, Retrieval.KIND_WEIGHT).retrieve(*unit_rows(2, seed=1))
    assert kinds_of(by_weight.hits) == {CRASH: 10, WRONG: 1, CAUSED: 1}
    assert by_weight.quotas == pytest.approx(
        {"crash": 12 * 200 / 238, "wrong_result": 12 * 20 / 238, "crash_caused_wrong_result": 12 * 18 / 238}
    )
    squared = Retriever(index, 12, Retrieval.KIND_WEIGHT_SQUARED).retrieve(*unit_rows(2, seed=1))
    assert kinds_of(squared.hits) == {CRASH: 12}
    assert all(one.weight > 0 for one, _ in squared.hits)


def test_weight_is_a_small_bonus_inside_a_kind() -> None:
    rubrics = [weighted(1, CRASH, 0), weighted(2, CRASH, 100)]
    near, far = np.float32([1, 0]), np.float32([0.98, np.sqrt(1 - 0.98**2)])
    index = Index(rubrics, np.stack([near, far]))
    first = {
        bonus: Retriever(index, 1, Retrieval.KIND_WEIGHT, Split(weight_bonus=bonus)).retrieve(near, near).hits[0][0] for bonus in (0, 0.05)
    }
    assert first == {0: rubrics[0], 0.05: rubrics[1]}


def test_a_policy_by_weight_needs_weights() -> None:
    with pytest.raises(ValueError, match="none of 3 rubrics has a weight"):
        Retriever(Index([rubric(number) for number in range(3)], unit_rows(3)), 12, Retrieval.KIND_WEIGHT)


# ---------------------------------------------------------------- options of the split


def shelf(**bins: int) -> tuple[Index, list[Rubric]]:
    rubrics = [rubric(number, name) for number, name in enumerate(name for name, count in bins.items() for _ in range(count))]
    return Index(rubrics, unit_rows(len(rubrics)), {"common": 0.983, "rare": 0.017}), rubrics


def slots_over_calls(split: Split, calls: int, **bins: int) -> list[dict[str, int]]:
    retriever = Retriever(shelf(**bins)[0], 12, SPLIT, split, seed=3)
    queries = unit_rows(2 * calls, seed=9)
    return [retriever.retrieve(queries[2 * call], queries[2 * call + 1]).slots for call in range(calls)]


def test_a_small_share_never_appears_by_largest_remainder_and_does_when_carried_or_drawn() -> None:
    """0.2 of twelve slots: the published split gives it none, ever."""
    assert all("rare" not in slots for slots in slots_over_calls(Split(), 50, common=40, rare=5))
    carried = [slots.get("rare", 0) for slots in slots_over_calls(Split(rounding="carried"), 50, common=40, rare=5)]
    assert sum(carried) == 10 and max(carried) == 1  # every fifth call
    drawn = [slots.get("rare", 0) for slots in slots_over_calls(Split(rounding="randomised"), 400, common=40, rare=5)]
    assert max(drawn) == 1 and sum(drawn) / 400 == pytest.approx(0.204, abs=0.06)
    assert drawn == [slots.get("rare", 0) for slots in slots_over_calls(Split(rounding="randomised"), 400, common=40, rare=5)]


def test_protected_slots_floors_and_costs() -> None:
    assert slots_over_calls(Split(protected={"rare": 2}), 1, common=40, rare=5) == [{"common": 10, "rare": 2}]
    assert slots_over_calls(Split(protected={"rare": 2}), 1, common=40, rare=1) == [{"common": 11, "rare": 1}]
    assert slots_over_calls(Split(floors={"rare": 0.25}), 1, common=40, rare=5) == [{"common": 9, "rare": 3}]
    assert slots_over_calls(Split(costs={"rare": 10.0}), 1, common=40, rare=5) == [{"common": 10, "rare": 2}]
    with pytest.raises(ValueError, match="13 slots are protected"):
        Retriever(shelf(common=3)[0], 12, SPLIT, Split(protected={"rare": 13}))
    with pytest.raises(ValueError, match="more than the whole"):
        adjusted({"a": 1.0}, Split(floors={"a": 0.7, "b": 0.7}))


def test_raising_one_floor_can_raise_another() -> None:
    shares = adjusted({"a": 0.6, "b": 0.3, "c": 0.1}, Split(floors={"b": 0.29, "c": 0.4}))
    assert shares == pytest.approx({"a": 0.31, "b": 0.29, "c": 0.4})


def test_rubrics_under_the_similarity_floor_hand_their_slots_on_and_it_is_recorded() -> None:
    rubrics = [rubric(number, "a" if number < 6 else "b") for number in range(30)]
    vectors = np.zeros((30, 2), dtype=np.float32)
    vectors[:6, 1] = 1  # the whole bin `a` is orthogonal to the query
    vectors[6:, 0] = 1
    query = np.float32([1, 0])
    found = Retriever(Index(rubrics, vectors, {"a": 0.5, "b": 0.5}), 12, SPLIT, Split(similarity_floor=0.1)).retrieve(query, query)
    assert (found.slots, found.quotas, found.handed_on) == ({"b": 12}, {"a": 6.0, "b": 6.0}, 6)
    none = Retriever(Index(rubrics[:6], vectors[:6]), 12, SIMILARITY, Split(similarity_floor=0.1)).retrieve(query, query)
    assert none.hits == []


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.tuples(st.sampled_from(["a", "b", "c", None]), st.integers(0, 3)), max_size=30),
    st.integers(1, 15),
    st.sampled_from(list(Retrieval)),
    st.sampled_from(["largest_remainder", "carried", "randomised"]),
)
def test_every_policy_gives_as_many_as_asked_or_all_it_may_take(
    made: list[tuple[str | None, int]], k: int, policy: Retrieval, rounding: Any
) -> None:
    rubrics = [rubric(number, name).model_copy(update={"error_weight": weight}) for number, (name, weight) in enumerate(made)]
    if policy in (Retrieval.KIND_WEIGHT, Retrieval.KIND_WEIGHT_SQUARED) and rubrics and not any(one.weight for one in rubrics):
        return
    retriever = Retriever(Index(rubrics, unit_rows(len(rubrics))), k, policy, Split(rounding=rounding))
    takes = [one for one in rubrics if policy is not Retrieval.KIND_WEIGHT_SQUARED or one.weight]
    for call in range(3):
        found = retriever.retrieve(*unit_rows(2, seed=call))
        assert len(found.hits) == sum(found.slots.values()) == min(k, len(takes))
        assert len({one.id for one, _ in found.hits}) == len(found.hits)
        assert not rubrics or sum(found.quotas.values()) == pytest.approx(k)
        assert [value for _, value in found.hits] == sorted((value for _, value in found.hits), reverse=True)


def test_the_order_of_the_library_changes_nothing() -> None:
    rubrics = [rubric(number, "ab"[number % 2]).model_copy(update={"error_weight": number % 4}) for number in range(60)]
    vectors = np.repeat(unit_rows(20), 3, axis=0)  # ties in threes
    order = np.random.default_rng(1).permutation(60)
    for policy in Retrieval:
        there = Retriever(Index(rubrics, vectors), 12, policy).retrieve(*unit_rows(2, seed=4))
        back = Retriever(Index([rubrics[row] for row in order], vectors[order]), 12, policy).retrieve(*unit_rows(2, seed=4))
        assert there == back and len(there.hits) == 12


# ---------------------------------------------------------------- the mapped index, and bad input


def write_library(folder: Path, rubrics: list[Rubric], vectors: np.ndarray) -> tuple[Path, Path, Path]:
    paths = folder / "rubrics.jsonl", folder / "embeddings.npy", folder / "index.npy"
    write_json_lines(paths[0], rubrics)
    np.save(paths[1], vectors)
    build(paths[0], rubrics, vectors, paths[2])
    return paths


def test_a_mapped_index_gives_what_one_in_memory_gives(tmp_path: Path) -> None:
    rubrics = [
        rubric(number, "ab"[number % 2]).model_copy(update={"error_weight": number % 3, "title": f"ünïcode {number}"})
        for number in range(50)
    ]
    vectors = unit_rows(50)
    mapped = Index.open(*write_library(tmp_path, rubrics, vectors))
    assert isinstance(mapped.embeddings, np.memmap) and list(mapped.rubrics[3:5]) == rubrics[3:5]
    for policy in Retrieval:
        assert Retriever(mapped, 12, policy).retrieve(*unit_rows(2, seed=1)) == Retriever(Index(rubrics, vectors), 12, policy).retrieve(
            *unit_rows(2, seed=1)
        )


def test_files_that_do_not_belong_together_are_refused(tmp_path: Path) -> None:
    rubrics = [rubric(number) for number in range(4)]
    paths = write_library(tmp_path, rubrics, unit_rows(4))
    write_json_lines(paths[0], rubrics[:3])
    with pytest.raises(DamagedFile, match="embed the library again"):
        Index.open(*paths)


def test_an_empty_library_gives_nothing(tmp_path: Path) -> None:
    empty = np.empty((0, 8), dtype=np.float32)
    for index in (Index([], empty), Index.open(*write_library(tmp_path, [], empty))):
        for policy in Retrieval:
            assert Retriever(index, 12, policy).retrieve(*unit_rows(2)).hits == []


def test_a_query_that_is_not_finite_is_refused() -> None:
    index = Index([rubric(1)], unit_rows(1))
    with pytest.raises(ValueError, match="query's embedding is not finite"):
        Retriever(index, 12, SIMILARITY).retrieve(np.full(8, np.nan, dtype=np.float32), unit_rows(1)[0])
