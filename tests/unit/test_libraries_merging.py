"""Merging is exact in the declared order and loses no frequency."""

from __future__ import annotations

import numpy as np
import pytest

from rubrics_gym.libraries import merging
from rubrics_gym.libraries.merging import groups, merge
from rubrics_gym.records.rubrics import Rubric, RubricKind, Support
from rubrics_gym.settings.study import Merge


def near_directions(n: int, centres: int, seed: int, spread: float = 0.25) -> np.ndarray:
    dice = np.random.default_rng(seed)
    around = dice.normal(size=(centres, 16))
    vectors = around[dice.integers(centres, size=n)] + spread * dice.normal(size=(n, 16))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def one_by_one(vectors: np.ndarray, threshold: float) -> list[list[int]]:
    """The declared rule, written out: join the most similar earlier head, if similar enough."""
    heads: dict[int, list[int]] = {}
    for row, vector in enumerate(vectors):
        closest = max(heads, key=lambda head: float(vectors[head] @ vector), default=None)
        if closest is not None and float(vectors[closest] @ vector) >= threshold:
            heads[closest].append(row)
        else:
            heads[row] = [row]
    return list(heads.values())


def rubric(number: int, **changes: object) -> Rubric:
    support = Support(collection="pool", benchmark="b", task=f"t{number}", attempt=0, steps=(number,))
    one = Rubric(
        title=f"t{number}",
        applies_when="a",
        pattern="p",
        detect="d",
        not_a_violation="n",
        consequence="c",
        kind=RubricKind.CRASH,
        support=(support,),
        error_weight=number,
    )
    return one.model_copy(update=changes)


@pytest.mark.parametrize("block", [1, 7, 1024])
def test_blocks_give_what_comparing_one_by_one_gives(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merging, "BLOCK", block)
    monkeypatch.setattr(merging, "TILE", 5)
    vectors = near_directions(300, 12, seed=1)
    assert groups(vectors, 0.82, 1, 300) == one_by_one(vectors, 0.82)


def test_weights_are_conserved_and_every_member_is_known() -> None:
    rubrics = [rubric(number, outcome_weight=number % 2) for number in range(120)]
    merged = merge(rubrics, near_directions(120, 8, seed=2), Merge(threshold=0.82, rounds=2))
    assert 1 < len(merged) < 120
    assert sum(one.weight for one in merged) == sum(one.weight for one in rubrics)
    assert sorted(support.task for one in merged for support in one.support) == sorted(
        support.task for one in rubrics for support in one.support
    )
    assert sorted(member for one in merged for member in (one.members or (one.id,))) == sorted(one.id for one in rubrics)
    assert [one.title for one in merged] == [rubrics[group[0]].title for group in groups(near_directions(120, 8, seed=2), 0.82, 2, 120)]


def test_merging_what_was_merged_keeps_the_first_candidates_as_members() -> None:
    first = rubric(1, members=("x", "y"))
    (joined,) = merge([first, rubric(2)], np.ones((2, 4), dtype=np.float32) / 2, Merge(threshold=0.9, rounds=1))
    assert joined.members == ("x", "y", rubric(2).id)


def test_a_further_round_compares_groups_by_their_means() -> None:
    """Two heads under the threshold, whose groups' means are above it."""
    angles = np.radians([0, 36, 20, 17])
    vectors = np.column_stack([np.cos(angles), np.sin(angles)]).astype(np.float32)
    assert groups(vectors, np.cos(np.radians(34)), 1, 4) == [[0, 3], [1, 2]]
    assert groups(vectors, np.cos(np.radians(34)), 2, 4) == [[0, 1, 2, 3]]


@pytest.mark.parametrize("n", [0, 1])
def test_few_candidates(n: int) -> None:
    rubrics = [rubric(number) for number in range(n)]
    assert merge(rubrics, np.ones((n, 4), dtype=np.float32), Merge()) == rubrics


def test_vectors_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="expected 2"):
        merge([rubric(1), rubric(2)], np.ones((1, 4), dtype=np.float32), Merge())
    with pytest.raises(ValueError, match="finite"):
        merge([rubric(1)], np.full((1, 4), np.nan, dtype=np.float32), Merge())
