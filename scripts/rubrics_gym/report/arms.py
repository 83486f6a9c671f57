"""Results per arm from the grades of the planned episodes, their rates over declared denominators, and arms ranked among each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from rubrics_gym.report.episodes import ENDPOINTS, Competition, Episode, matrix, one_split, outcomes
from rubrics_gym.report.writing import Row
from rubrics_gym.statistics.bounds import paired_differences, rate_bounds
from rubrics_gym.statistics.intervals import clopper_pearson, intra_class_correlation, proportion, wilson
from rubrics_gym.statistics.noise import run_spread
from rubrics_gym.statistics.ranking import selection_gain, shrink

ALL, GRADED_EVERYWHERE = "all", "graded_in_every_arm"


def results_per_arm(
    episodes: Iterable[Episode], study: str, simulated: bool, confidence: float = 0.95, unreachable: Sequence[str] = ()
) -> list[Row]:
    """One row per (split, arm), in the order of first appearance. Table `arms`.

    Validity is over the known outcomes, its interval clustered by competition; the bounds are over the planned ones. `unreachable` are the
    tasks on which nothing can be valid: they stay in the denominators and leave the best possible result.
    """
    groups: dict[tuple[str, str], list[Episode]] = {}
    for episode in episodes:
        groups.setdefault((episode.split, episode.arm), []).append(episode)
    return [_arm_row(split, arm, members, study, simulated, confidence, unreachable) for (split, arm), members in groups.items()]


def _arm_row(
    split: str, arm: str, episodes: list[Episode], study: str, simulated: bool, confidence: float, unreachable: Sequence[str]
) -> Row:
    known = [episode for episode in episodes if episode.known]
    lost = sum(episode.grade is not None and not episode.known for episode in episodes)
    won = {endpoint: sum(int(episode.value(endpoint)) for episode in known) for endpoint in ENDPOINTS}
    validity = proportion(*_by_competition(known, "valid"), confidence)
    bounds = rate_bounds(won["valid"], len(known), len(episodes) - len(known))
    best = sum(episode.task not in unreachable for episode in episodes)
    return {
        "arm": arm,
        "planned": len(episodes),
        "finished": len(known),
        "lost": lost,
        "not_run": len(episodes) - len(known) - lost,
        "valid": won["valid"],
        "medals": won["medal"],
        "above_median": won["above_median"],
        "by_run": _by_run(episodes),
        "best_possible": best,
        "at_best": won["valid"] == best,
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


def _by_run(episodes: list[Episode]) -> str:
    """Valid / medals / above median of each run in order, and the mean valid, e.g. "7/2/2, 15/1/3, 9/2/2 (10.3)"; a star marks a run with
    missing outcomes, "–*" one of which nothing is known."""
    repeats = sorted({episode.repeat for episode in episodes})
    runs = [[episode for episode in episodes if episode.repeat == repeat] for repeat in repeats]
    known = [[episode for episode in run if episode.known] for run in runs]
    counts = [[sum(int(episode.value(endpoint)) for episode in run) for endpoint in ENDPOINTS] if run else None for run in known]
    marks = ["" if len(seen) == len(run) else "*" for seen, run in zip(known, runs, strict=True)]
    shown = ", ".join(("/".join(map(str, count)) if count else "–") + mark for count, mark in zip(counts, marks, strict=True))
    valid = [count[0] for count in counts if count]
    return f"{shown} ({np.mean(valid):.1f})" if valid else f"{shown} (–)"


def _by_competition(episodes: Iterable[Episode], endpoint: str) -> tuple[list[float], list[int]]:
    """Successes and known outcomes of each competition, by name."""
    values: dict[Competition, list[float]] = {}
    for episode in episodes:
        if episode.known:
            values.setdefault(episode.competition, []).append(episode.value(endpoint))
    names = sorted(values)
    return [sum(values[name]) for name in names], [len(values[name]) for name in names]


def arm_rates(
    episodes: Iterable[Episode], study: str, simulated: bool, confidence: float = 0.95, subsets: Mapping[str, Sequence[str]] | None = None
) -> list[Row]:
    """One row per denominator, arm and endpoint. Table `arm_rates`.

    Denominators: all planned; competitions with a known outcome of every planned episode in every arm; and the declared ones, each a list
    of tasks that are left out. Beside the clustered interval stand Wilson's and Clopper and Pearson's of the effective number of observations: the last
    is the one to read where there are no or few successes.
    """
    planned = one_split(episodes)
    unknown = {episode.competition for episode in planned if not episode.known}
    tasks = {episode.competition for episode in planned}
    kept = {ALL: tasks, GRADED_EVERYWHERE: tasks - unknown}
    kept |= {name: {one for one in tasks if one[1] not in left_out} for name, left_out in (subsets or {}).items()}
    arms = list(dict.fromkeys(episode.arm for episode in planned))
    rows = []
    for subset, competitions in kept.items():
        for arm in arms:
            members = [episode for episode in planned if episode.arm == arm and episode.competition in competitions]
            rows += [_rate_row(subset, arm, endpoint, members, study, simulated, confidence) for endpoint in ENDPOINTS]
    return rows


def _rate_row(subset: str, arm: str, endpoint: str, episodes: list[Episode], study: str, simulated: bool, confidence: float) -> Row:
    won, known = _by_competition(episodes, endpoint)
    rate, bounds = proportion(won, known, confidence), rate_bounds(int(sum(won)), sum(known), len(episodes) - sum(known))
    icc = intra_class_correlation(won, known)
    correlation = 1.0 if icc is None else icc
    single, exact = (method(int(sum(won)), sum(known), confidence, len(known), correlation) for method in (wilson, clopper_pearson))
    return {
        "denominator": subset,
        "arm": arm,
        "endpoint": endpoint,
        "successes": int(sum(won)),
        "known": sum(known),
        "planned": len(episodes),
        "rate": rate.estimate,
        "rate_low": rate.low,
        "rate_high": rate.high,
        "wilson_low": single.low,
        "wilson_high": single.high,
        "exact_low": exact.low,
        "exact_high": exact.high,
        "icc": icc,
        "bound_low": bounds.low,
        "bound_high": bounds.high,
        "n": rate.n,
        "clusters": rate.clusters,
        "interval_kind": rate.kind,
        "note": rate.note,
        "study": study,
        "simulated": simulated,
        "split": episodes[0].split if episodes else "",
    }


def ranking(
    episodes: Iterable[Episode], arms: Sequence[str], study: str, simulated: bool, confidence: float = 0.95, seed: int = 0
) -> list[Row]:
    """Arms among each other, the highest shrunken validity first: what is left of a lead when chance is allowed for. Table `ranking`.

    Over the competitions in which every one of these arms has a known outcome. `by_chance` is the expected lead of the best of as many equal
    arms, from the run-to-run spread, in percentage points.
    """
    values = outcomes(one_split(episodes), "valid")
    arms = [arm for arm in arms if arm in values]
    competitions = sorted({name for arm in arms for name in values[arm]})
    tables = [matrix(values[arm], competitions) for arm in arms]
    if not arms:
        return []
    means = np.column_stack([paired_differences(table, np.zeros((len(competitions), 1))) for table in tables])
    complete = np.isfinite(means).all(axis=1)
    spread = run_spread(np.nansum(table, axis=0) for table in tables if not np.isnan(table).any())
    planned = len(competitions)
    lead = None
    if spread.sd is not None:
        repeats = np.mean([table.shape[1] for table in tables])
        lead = 100 * selection_gain(len(arms), spread.sd / planned / float(np.sqrt(repeats)))
    left_out = int((~complete).sum())
    rows = []
    for arm, table, found in zip(arms, tables, shrink(means[complete], confidence, seed=seed), strict=True):
        rows.append(
            {
                "arm": arm,
                "validity": found.mean if found.clusters else None,
                "shrunken": found.shrunken,
                "shrunken_low": found.low,
                "shrunken_high": found.high,
                "best": found.best,
                "by_chance": lead,
                "n": int(np.isfinite(table[complete]).sum()),
                "clusters": found.clusters,
                "interval_kind": found.kind,
                "note": "; ".join(filter(None, [found.note, f"{left_out} competitions without outcome in an arm" if left_out else ""])),
                "study": study,
                "simulated": simulated,
            }
        )
    return sorted(rows, key=lambda row: -(row["shrunken"] if row["shrunken"] is not None else row["validity"] or 0.0))
