"""Retrieval: most similar first, slots by share, ties by id."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubrics_gym.libraries.index import Index
from rubrics_gym.libraries.retrieval import Retriever
from rubrics_gym.records.rubrics import Rubric, RubricKind, Support
from rubrics_gym.settings.study import Retrieval

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
