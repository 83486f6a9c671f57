"""Medals of MLE-bench: cut-offs from Kaggle's private leaderboards, by the rule of upstream's `Grader.rank_score` (mlebench/grade_helpers.py).

    python -m rubrics_gym.grading.leaderboards CHECKOUT

writes resources/grading/mlebench_thresholds.csv from the leaderboards of a checkout of github.com/openai/mle-bench with its Git LFS files. The
leaderboards themselves are not shipped; the table says by which file (sha256) each row was made.
"""

from __future__ import annotations

import csv
import functools
import hashlib
import math
import statistics
import sys
from pathlib import Path

from rubrics_gym.records.base import Record
from rubrics_gym.records.files import whole_file

RESOURCES = Path(__file__).resolve().parents[3] / "resources" / "grading"
TABLE = RESOURCES / "mlebench_thresholds.csv"
_POINTER = b"version https://git-lfs"


class LeaderboardProblem(ValueError):
    """A leaderboard or a row of the table that cannot be used; the message says which and what to do."""


class Cutoffs(Record):
    """Scores at which a medal is won, and the median, among `teams` teams."""

    teams: int
    lower_is_better: bool
    gold: float
    silver: float
    bronze: float
    median: float

    def medal(self, score: float) -> str | None:
        """The best medal that a score wins; reaching the cut-off is enough."""
        for name in ("gold", "silver", "bronze"):
            cutoff = getattr(self, name)
            if score <= cutoff if self.lower_is_better else score >= cutoff:
                return name
        return None

    def above_median(self, score: float) -> bool:
        """Strictly better than the median."""
        return score < self.median if self.lower_is_better else score > self.median


def medal_positions(teams: int) -> tuple[int, int, int]:
    """Positions, from 1, of the last gold, silver and bronze team among `teams` teams (kaggle.com/progression, as upstream reads it)."""
    if teams < 1:
        raise ValueError("a leaderboard without teams has no medals")
    gold = max(1, int(teams * 0.1)) if teams < 100 else 10 if teams < 250 else 10 + int(teams * 0.002)
    if teams < 250:
        return gold, max(1, int(teams * 0.2)), max(1, int(teams * 0.4))
    return (gold, 50, 100) if teams < 1000 else (gold, int(teams * 0.05), int(teams * 0.1))


def cutoffs(scores: list[float]) -> Cutoffs:
    """Cut-offs from the scores of a leaderboard, best team first. Lower is better when the first score is below the last.

    Teams without a score (NaN) count as teams, and not for the median. ValueError when a cut-off falls on one.
    """
    positions = medal_positions(len(scores))
    gold, silver, bronze = (scores[position - 1] for position in positions)
    if any(math.isnan(score) for score in (gold, silver, bronze, scores[0], scores[-1])):
        raise ValueError("a cut-off falls on a team without a score")
    median = statistics.median([score for score in scores if not math.isnan(score)])
    return Cutoffs(teams=len(scores), lower_is_better=scores[0] < scores[-1], gold=gold, silver=silver, bronze=bronze, median=median)


def read_leaderboard(path: str | Path) -> tuple[list[float], str]:
    """The scores of a leaderboard.csv in its order, and the sha256 of the file. LeaderboardProblem when it is a Git LFS pointer or not a table."""
    content = Path(path).read_bytes()
    if content.startswith(_POINTER):
        raise LeaderboardProblem(f"{path} is a Git LFS pointer, not a leaderboard. Run `git lfs pull` in the checkout.")
    try:
        rows = list(csv.DictReader(content.decode("utf-8-sig").splitlines()))
        scores = [float(row["score"]) if row["score"] else math.nan for row in rows]
    except (UnicodeDecodeError, KeyError, TypeError, ValueError, csv.Error) as error:
        raise LeaderboardProblem(f"{path} has no column `score` of numbers ({error}). Take the file from the pinned checkout.") from None
    if not scores:
        raise LeaderboardProblem(f"{path} lists no team. Take the file from the pinned checkout.")
    return scores, hashlib.sha256(content).hexdigest()


@functools.cache
def _table() -> dict[str, dict[str, str]]:
    with open(TABLE, encoding="utf-8", newline="") as lines:
        return {row["competition"]: row for row in csv.DictReader(lines)}


def load_cutoffs(competition: str) -> Cutoffs:
    """The cut-offs of one competition from the shipped table. LeaderboardProblem when it has none."""
    row = _table().get(competition)
    if row is None:
        raise LeaderboardProblem(f"{TABLE} has no row for {competition!r}; it lists the competitions of the pinned upstream commit")
    if not row["gold"]:
        raise LeaderboardProblem(f"{TABLE} has no cut-offs for {competition!r}: {row['note']}")
    return Cutoffs(
        teams=int(row["teams"]),
        lower_is_better=row["lower_is_better"] == "true",
        **{name: float(row[name]) for name in ("gold", "silver", "bronze", "median")},
    )


def leaderboard_sha256(competition: str) -> str:
    """The sha256 of the leaderboard that upstream's commit names for a competition. KeyError when the table does not list it."""
    return _table()[competition]["leaderboard_sha256"]


def write_cutoffs(checkout: Path) -> int:
    """Write the table from a checkout, one row per competition; returns the number of rows with cut-offs."""
    rows = []
    for folder in sorted((checkout / "mlebench" / "competitions").iterdir()):
        board = folder / "leaderboard.csv"
        if board.is_file():
            rows.append(_row(folder.name, board))
    with whole_file(TABLE) as temporary, open(temporary, "w", encoding="utf-8", newline="") as lines:
        writer = csv.DictWriter(lines, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return sum(bool(row["gold"]) for row in rows)


def _row(competition: str, board: Path) -> dict[str, str]:
    named = {"competition": competition}
    try:
        scores, digest = read_leaderboard(board)
    except LeaderboardProblem:
        content = board.read_bytes()
        if not content.startswith(_POINTER):
            raise
        oid = next(line.removeprefix("oid sha256:") for line in content.decode().splitlines() if line.startswith("oid sha256:"))
        empty = dict.fromkeys(("teams", "lower_is_better", "gold", "silver", "bronze", "median"), "")
        return {**named, **empty, "leaderboard_sha256": oid, "note": "its leaderboard was not at hand when the table was made"}
    found = cutoffs(scores)
    numbers = {name: repr(getattr(found, name)) for name in ("gold", "silver", "bronze", "median")}
    direction = "true" if found.lower_is_better else "false"
    return {**named, "teams": str(found.teams), "lower_is_better": direction, **numbers, "leaderboard_sha256": digest, "note": ""}


if __name__ == "__main__":
    print(f"{write_cutoffs(Path(sys.argv[1]))} competitions have cut-offs in {TABLE}")
