"""Merging is exact in the declared order and loses no frequency."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rubrics_gym.libraries import merging
from rubrics_gym.libraries.calibration import calibration, write_calibration
from rubrics_gym.libraries.merging import groups, merge, tfidf_vectors
from rubrics_gym.libraries.vectors import exact_cosine
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


# ---------------------------------------------------------------- other ways, and exactness


def test_dropping_keeps_the_first_as_it_is_but_forgets_no_rollout() -> None:
    rubrics = [rubric(number) for number in range(1, 4)]
    vectors = np.array([[1, 0], [1, 0], [0, 1]], dtype=np.float32)
    first, other = merge(rubrics, vectors, Merge(threshold=0.9, rounds=1, keep="first"))
    assert (first.title, first.error_weight, len(first.support), first.members) == ("t1", 1, 2, (rubrics[0].id, rubrics[1].id))
    assert other == rubrics[2]


def test_word_vectors_find_reworded_order_and_leave_other_words_alone() -> None:
    texts = ["reads a file that is missing", "a missing file that is read, reads", "fits a model on scaled columns"]
    rubrics = [rubric(number, title=text, applies_when=text, pattern=text, detect=text) for number, text in enumerate(texts)]
    merged = merge(rubrics, tfidf_vectors(rubrics), Merge(threshold=0.5, rounds=1, by="tfidf", keep="first"))
    assert [one.title for one in merged] == [texts[0], texts[2]]
    assert merge([], tfidf_vectors([]), Merge(by="tfidf")) == []


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 40), st.integers(0, 3), st.sampled_from([1, 3, 64]), st.floats(0.3, 1.0))
def test_any_block_size_gives_the_same_groups_also_with_ties(n: int, seed: int, block: int, threshold: float) -> None:
    """Rows are drawn from a few directions, so equal and nearly equal cosines abound."""
    rng = np.random.default_rng(seed)
    pool = near_directions(6, 4, seed)
    vectors = pool[rng.integers(0, 6, n)] if n else np.empty((0, 16), dtype=np.float32)
    with pytest.MonkeyPatch.context() as patched:
        expected = groups(vectors, threshold, 2, n)
        patched.setattr(merging, "BLOCK", block)
        patched.setattr(merging, "TILE", 2)
        assert groups(vectors, threshold, 2, n) == expected
    assert sorted(row for group in expected for row in group) == list(range(n))


def test_a_cosine_at_the_threshold_joins_whatever_single_precision_says() -> None:
    """Two equal rows have cosine one only up to rounding; with a threshold of exactly their cosine they join."""
    row = near_directions(1, 1, seed=7)[0]
    threshold = exact_cosine(row, row)
    assert groups(np.stack([row, row]), threshold, 1, 2) == [[0, 1]]


@settings(deadline=None, max_examples=30)
@given(st.integers(2, 60), st.integers(0, 5), st.sampled_from([0.6, 0.82, 0.95]))
def test_shuffling_the_input_changes_groups_only_by_their_order(n: int, seed: int, threshold: float) -> None:
    """What is declared to depend on the order is which candidate heads a group; the sums do not."""
    vectors = near_directions(n, 5, seed)
    rubrics = [rubric(number) for number in range(n)]
    order = np.random.default_rng(seed).permutation(n)
    merged = merge(rubrics, vectors, Merge(threshold=threshold))
    shuffled = merge([rubrics[row] for row in order], vectors[order], Merge(threshold=threshold))
    for one in (merged, shuffled):
        assert sum(joined.weight for joined in one) == sum(rubric.weight for rubric in rubrics)
        assert sorted(member for joined in one for member in (joined.members or (joined.id,))) == sorted(one.id for one in rubrics)


def test_calibration_counts_pairs_joins_and_shows_the_pairs_around_each_threshold(tmp_path: Path) -> None:
    vectors = near_directions(40, 6, seed=3)
    rubrics = [rubric(number, kind=list(RubricKind)[number % 2]) for number in range(40)]
    lines = calibration(rubrics, vectors, 1, (0.5, 0.8, 0.99))
    cosines = np.triu(vectors @ vectors.T, 1)[np.triu_indices(40, 1)]
    for line in lines:
        assert line.pairs == int((cosines >= line.threshold).sum())
        assert line.rubrics == len(groups(vectors, line.threshold, 1, 40))
    first, second = np.triu_indices(40, 1)
    across = (cosines >= 0.8) & (first % 2 != second % 2)
    assert lines[1].pairs_across_kinds == int(across.sum())
    assert lines[1].above is not None and float(lines[1].above.split(":")[0]) >= 0.8 > float(str(lines[1].below).split(":")[0])
    assert [line.rubrics for line in lines] == sorted(line.rubrics for line in lines)
    write_calibration(tmp_path / "table.csv", lines)
    assert len((tmp_path / "table.csv").read_text().splitlines()) == 4
    assert calibration([], np.empty((0, 4), dtype=np.float32), 1, (0.5,))[0].rubrics == 0
