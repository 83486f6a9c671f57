"""Results per arm and contrasts between arms, from the grades of the planned episodes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rubrics_gym.records.files import read_json
from rubrics_gym.records.grades import Grade
from rubrics_gym.records.outcomes import POLICY, Outcome
from rubrics_gym.report.writing import Row
from rubrics_gym.statistics.bounds import contrast_bounds, paired_differences, rate_bounds
from rubrics_gym.statistics.effects import mde
from rubrics_gym.statistics.intervals import cluster_bootstrap, paired_t, proportion
from rubrics_gym.statistics.tests import holm, sign_flip

ENDPOINTS = ("valid", "medal", "above_median")


@dataclass(frozen=True, slots=True)
class Episode:
    """One planned episode of the evaluation. `grade` is None when it was not run."""

    split: str
    arm: str
    repeat: int
    benchmark: str
    task: str
    grade: Grade | None

    @property
    def known(self) -> bool:
        """Whether the outcome is the agent's doing: an infrastructure loss is not known, and not zero."""
        return self.grade is not None and POLICY[self.grade.outcome].agents_doing

    def value(self, endpoint: str) -> float:
        """1 or 0 by the endpoint, NaN when the outcome is not known."""
        if self.grade is None or not self.known:
            return float("nan")
        if endpoint == "valid":
            return float(self.grade.outcome is Outcome.VALID)
        if endpoint == "medal":
            return float(self.grade.medal is not None)
        if endpoint == "above_median":
            return float(self.grade.above_median is True)
        raise ValueError(f"unknown endpoint {endpoint!r}; expected one of {', '.join(ENDPOINTS)}")


def read_episode(path: str | Path) -> Episode:
    """The episode of a grade file `…/episodes/{split}/{arm}/{repeat}/{benchmark}/{task}/grade.json`."""
    parts = Path(path).parts
    if len(parts) < 7 or parts[-7] != "episodes":
        raise ValueError(f"{path}: expected …/episodes/SPLIT/ARM/REPEAT/BENCHMARK/TASK/grade.json")
    split, arm, repeat, benchmark, task = parts[-6:-1]
    return Episode(split, arm, int(repeat), benchmark, task, Grade.model_validate(read_json(path)))


def results_per_arm(episodes: Iterable[Episode], study: str, simulated: bool, confidence: float = 0.95) -> list[Row]:
    """One row per (split, arm), in the order of first appearance. Table `arms`.

    Validity is over the known outcomes, its interval clustered by competition; the bounds are over the planned ones.
    """
    groups: dict[tuple[str, str], list[Episode]] = {}
    for episode in episodes:
        groups.setdefault((episode.split, episode.arm), []).append(episode)
    return [_arm_row(split, arm, members, study, simulated, confidence) for (split, arm), members in groups.items()]


def _arm_row(split: str, arm: str, episodes: list[Episode], study: str, simulated: bool, confidence: float) -> Row:
    known = [episode for episode in episodes if episode.known]
    lost = sum(episode.grade is not None and not episode.known for episode in episodes)
    won = {endpoint: sum(int(episode.value(endpoint)) for episode in known) for endpoint in ENDPOINTS}
    competitions = sorted({(episode.benchmark, episode.task) for episode in known})
    of = {name: [e for e in known if (e.benchmark, e.task) == name] for name in competitions}
    validity = proportion(
        [sum(e.value("valid") for e in of[name]) for name in competitions], [len(of[name]) for name in competitions], confidence
    )
    bounds = rate_bounds(won["valid"], len(known), len(episodes) - len(known))
    return {
        "arm": arm,
        "planned": len(episodes),
        "finished": len(known),
        "lost": lost,
        "not_run": len(episodes) - len(known) - lost,
        "valid": won["valid"],
        "medals": won["medal"],
        "above_median": won["above_median"],
        "valid_by_repeat": _by_repeat(episodes),
        "validity": validity.estimate,
        "validity_low": validity.low,
        "validity_high": validity.high,
        "bound_low": bounds.low,
        "bound_high": bounds.high,
        "n": validity.n,
        "clusters": validity.clusters,
        "interval_kind": validity.kind,
        "note": validity.note,
        "study": study,
        "simulated": simulated,
        "split": split,
    }


def _by_repeat(episodes: list[Episode]) -> str:
    """Valid submissions of each repeat and their mean, e.g. "7, 15, 9 (10.3)"; a star marks a repeat with missing outcomes."""
    repeats = sorted({episode.repeat for episode in episodes})
    runs = [[episode for episode in episodes if episode.repeat == repeat] for repeat in repeats]
    counts = [sum(int(episode.value("valid")) for episode in run if episode.known) for run in runs]
    marks = ["" if all(episode.known for episode in run) else "*" for run in runs]
    return ", ".join(f"{count}{mark}" for count, mark in zip(counts, marks, strict=True)) + f" ({np.mean(counts):.1f})"


def contrasts(
    episodes: Iterable[Episode],
    pairs: Sequence[tuple[str, str]],
    study: str,
    simulated: bool,
    confidence: float = 0.95,
    draws: int = 4000,
    seed: int = 0,
    endpoints: Sequence[str] = ("valid", "above_median"),
) -> list[Row]:
    """One row per endpoint and pair of arms (of one split), in the order given. Table `contrasts`, in percentage points.

    Paired by competition with all repeats kept together. A competition in which an arm has no known outcome gives no difference:
    it is counted in `missing` and in the bounds, and left out of the estimate.
    """
    episodes = list(episodes)
    splits = sorted({episode.split for episode in episodes})
    if len(splits) > 1:
        raise ValueError(f"contrasts: episodes of more than one split ({', '.join(splits)}); call once per split")
    rows = []
    for endpoint in endpoints:
        family = [_contrast_row(episodes, first, second, endpoint, study, simulated, confidence, draws, seed) for first, second in pairs]
        for row, adjusted in zip(family, holm([row["p"] for row in family]), strict=True):
            row["p_holm"] = adjusted
        rows += family
    return rows


def _contrast_row(
    episodes: list[Episode], first: str, second: str, endpoint: str, study: str, simulated: bool, confidence: float, draws: int, seed: int
) -> Row:
    a, b = (_outcomes(episodes, arm, endpoint) for arm in (first, second))
    competitions = sorted(a.keys() | b.keys())
    first_outcomes, second_outcomes = (_matrix(arm, competitions) for arm in (a, b))
    differences = paired_differences(first_outcomes, second_outcomes)
    paired = np.isfinite(differences)
    n = int(np.isfinite(first_outcomes[paired]).sum() + np.isfinite(second_outcomes[paired]).sum())
    differences = differences[paired]
    interval = paired_t(differences, confidence, n)
    companion = cluster_bootstrap(differences, confidence, draws, seed, n)
    test = sign_flip(differences, draws, seed)
    bounds = contrast_bounds(first_outcomes, second_outcomes)
    left_out = int((~paired).sum())
    return {
        "first": first,
        "second": second,
        "endpoint": endpoint,
        "estimate": _points(interval.estimate),
        "low": _points(interval.low),
        "high": _points(interval.high),
        "bootstrap_low": _points(companion.low),
        "bootstrap_high": _points(companion.high),
        "p": test.p,
        "p_holm": None,
        "test": test.kind,
        "detectable": None if (effect := mde(differences, confidence=confidence).effect) is None else 100 * effect,
        "bound_low": _points(bounds.low),
        "bound_high": _points(bounds.high),
        "missing": bounds.missing,
        "n": n,
        "clusters": interval.clusters,
        "interval_kind": interval.kind,
        "note": "; ".join(filter(None, [interval.note, f"{left_out} competitions without outcome in one arm" if left_out else ""])),
        "study": study,
        "simulated": simulated,
        "split": episodes[0].split if episodes else "",
    }


def _outcomes(episodes: list[Episode], arm: str, endpoint: str) -> dict[tuple[str, str], dict[int, float]]:
    """competition -> repeat -> outcome (NaN: not known) of one arm."""
    found: dict[tuple[str, str], dict[int, float]] = {}
    for episode in episodes:
        if episode.arm == arm:
            found.setdefault((episode.benchmark, episode.task), {})[episode.repeat] = episode.value(endpoint)
    return found


def _matrix(outcomes: dict[tuple[str, str], dict[int, float]], competitions: list[tuple[str, str]]) -> np.ndarray:
    """Shape (competitions, repeats of this arm); NaN where nothing is known or planned."""
    repeats = sorted({repeat for by_repeat in outcomes.values() for repeat in by_repeat})
    rows = [[outcomes.get(name, {}).get(repeat, float("nan")) for repeat in repeats] for name in competitions]
    return np.array(rows, dtype=float).reshape(len(competitions), len(repeats))


def _points(share: float | None) -> float | None:
    """Percentage points, within what a difference of two rates can be: a t interval may reach beyond."""
    return None if share is None else 100 * max(-1.0, min(1.0, share))
