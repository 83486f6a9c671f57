"""Medals by MLE-bench's rule: positions, cut-offs, the shipped table, and files that are not leaderboards."""

import json
import math

import pytest
from tests.corpus import CORPUS, needs_corpus

from rubrics_gym.grading.leaderboards import (
    Cutoffs,
    LeaderboardProblem,
    cutoffs,
    leaderboard_sha256,
    load_cutoffs,
    medal_positions,
    read_leaderboard,
    write_cutoffs,
)

BOARDS = sorted(CORPUS.glob("mle-bench/mlebench/competitions/*/leaderboard.csv"))


@pytest.mark.parametrize(
    ("teams", "positions"),
    [
        (1, (1, 1, 1)),
        (9, (1, 1, 3)),
        (99, (9, 19, 39)),
        (100, (10, 20, 40)),
        (249, (10, 49, 99)),
        (250, (10, 50, 100)),
        (999, (11, 50, 100)),
        (1000, (12, 50, 100)),
        (4539, (19, 226, 453)),
    ],
)
def test_positions(teams, positions):
    assert medal_positions(teams) == positions


def test_no_team_no_medal():
    with pytest.raises(ValueError, match="without teams"):
        medal_positions(0)


def test_cutoffs_of_a_small_board_and_direction():
    up = cutoffs([10.0 - place for place in range(10)])
    assert (up.gold, up.silver, up.bronze, up.median, up.lower_is_better) == (10.0, 9.0, 7.0, 5.5, False)
    assert [up.medal(score) for score in (10.0, 9.99, 8.0, 6.99)] == ["gold", "silver", "bronze", None]
    assert up.above_median(5.51) and not up.above_median(5.5)
    down = cutoffs([float(place) for place in range(10)])
    assert down.lower_is_better and down.medal(0.0) == "gold" and down.medal(3.0) == "bronze" and not down.above_median(4.5)


def test_a_team_without_a_score_counts_as_a_team_and_not_for_the_median():
    found = cutoffs([5.0, 4.0, math.nan, 3.0, 1.0])
    assert found.teams == 5 and found.median == 3.5
    with pytest.raises(ValueError, match="without a score"):
        cutoffs([math.nan, 4.0, 3.0])


def test_a_pointer_is_no_leaderboard(tmp_path):
    board = tmp_path / "leaderboard.csv"
    board.write_text(f"version https://git-lfs.github.com/spec/v1\noid sha256:{'a' * 64}\nsize 5\n")
    with pytest.raises(LeaderboardProblem, match=r"leaderboard\.csv is a Git LFS pointer.*git lfs pull"):
        read_leaderboard(board)


@pytest.mark.parametrize("text", ["teamId\n5\n", "score\nhigh\n", "score\n", ""])
def test_a_file_without_scores_is_no_leaderboard(tmp_path, text):
    (tmp_path / "leaderboard.csv").write_text(text)
    with pytest.raises(LeaderboardProblem, match="pinned checkout"):
        read_leaderboard(tmp_path / "leaderboard.csv")


def test_the_table_is_written_from_a_checkout_with_a_note_for_what_is_a_pointer(tmp_path, monkeypatch):
    monkeypatch.setattr("rubrics_gym.grading.leaderboards.TABLE", tmp_path / "table.csv")
    for name, text in {
        "here": "score\n3\n2\n1\n",
        "away": f"version https://git-lfs.github.com/spec/v1\noid sha256:{'b' * 64}\nsize 5\n",
    }.items():
        folder = tmp_path / "mlebench" / "competitions" / name
        folder.mkdir(parents=True)
        (folder / "leaderboard.csv").write_text(text)
    assert write_cutoffs(tmp_path) == 1
    lines = (tmp_path / "table.csv").read_text().splitlines()
    assert lines[1].startswith("away,,,,,,,bbbb") and lines[2].startswith("here,3,false,3.0,3.0,3.0,2.0,")


def test_a_competition_without_a_known_leaderboard_says_so():
    with pytest.raises(LeaderboardProblem, match="not at hand"):
        load_cutoffs("ventilator-pressure-prediction")
    with pytest.raises(LeaderboardProblem, match="no row"):
        load_cutoffs("titanic")


@needs_corpus
def test_the_shipped_table_is_what_the_leaderboards_give():
    published = json.loads((CORPUS / "mle-bench-tables" / "thresholds.json").read_text())
    for board in BOARDS:
        name = board.parent.name
        scores, digest = read_leaderboard(board)
        found, known = cutoffs(scores), published[name]
        assert found == load_cutoffs(name) and digest == leaderboard_sha256(name)
        assert found == Cutoffs(
            teams=known["n_teams"],
            lower_is_better=known["is_lower_better"],
            **{key: known[f"{key}_threshold"] for key in ("gold", "silver", "bronze", "median")},
        )
    assert len(BOARDS) == 25
