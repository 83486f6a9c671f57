"""What a study's arms differ in, one change at a time; how far identical runs are apart; and what the next study could show."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rubrics_gym.report.contrasts import pair
from rubrics_gym.report.episodes import SCORE, Competition, Episode, endpoint_values, matrix, one_split, outcomes
from rubrics_gym.report.flattening import leaves
from rubrics_gym.report.judges import noise_cells
from rubrics_gym.report.writing import Row
from rubrics_gym.settings.study import Arm
from rubrics_gym.statistics.effects import design, power_of
from rubrics_gym.statistics.intervals import Interval, paired_t, proportion
from rubrics_gym.statistics.noise import NoiseShare, Spread, noise_shares, run_spread, squares_of

EFFECTS = (0.05, 0.10, 0.15, 0.20, 0.30)
REPEATS = (1, 2, 3, 4, 8)
PUBLISHED_SD, PUBLISHED_TASKS, PUBLISHED_RUNS = 1.35, 22, 18  # nine pairs of identical runs over 22 competitions


def changes(before: Mapping[str, Any] | None, arm: Mapping[str, Any]) -> list[str]:
    """What differs between the settings of two arms, one sentence per key that was changed; the first arm differs in nothing."""
    if before is None:
        return []
    old, new = leaves(before), leaves(arm)
    return [
        f"{key}: {_said(old.get(key))} → {_said(new.get(key))}" for key in sorted(old.keys() | new.keys()) if old.get(key) != new.get(key)
    ]


def _said(value: Any) -> str:
    if value is None:
        return "none"
    return ", ".join(map(str, value)) or "nothing" if isinstance(value, list | tuple) else str(value)


def ladder(
    episodes: Iterable[Episode],
    arms: Mapping[str, Arm],
    sizes: Mapping[str, int],
    study: str,
    simulated: bool,
    confidence: float = 0.95,
) -> list[Row]:
    """One row per arm in the order of the evaluation: what it changes of the row before, what its judge reads, and what came of it.

    Table `ladder`. `sizes` are the rubrics of each library. A harness ablation, a grid of libraries and retrieval, a sweep of the number of
    rubrics or of the size of a library are all read from it. The difference to the row before is paired by competition.
    """
    episodes = one_split(episodes)
    values = outcomes(episodes, "valid")
    rows: list[Row] = []
    before: str | None = None
    for name, arm in arms.items():
        competitions = sorted(values.get(name, {}))
        table = matrix(values.get(name, {}), competitions)
        known = np.isfinite(table).sum(axis=1)
        seen = known > 0
        rate = proportion(np.nansum(table, axis=1)[seen], known[seen], confidence)
        one = pair(name, before, "valid", values.get(name, {}), values.get(before, {})) if before is not None else None
        step = paired_t([] if one is None else one.differences, confidence, 0 if one is None else one.n, None if one is None else one.reach)
        if one is None:
            step = replace(step, note="the first row")
        judge = arm.judge
        library = judge.library if judge else None
        rows.append(
            {
                "arm": name,
                "change": "; ".join(changes(arms[before].model_dump(mode="json") if before else None, arm.model_dump(mode="json"))),
                "library": library or "",
                "rubrics": sizes.get(library) if library else None,
                "retrieval": judge.retrieval.value if judge and library else "",
                "k": (judge.k if library else 0) if judge else None,
                "validity": rate.estimate,
                "validity_low": rate.low,
                "validity_high": rate.high,
                **_step_cells(step),
                "n": rate.n,
                "clusters": rate.clusters,
                "interval_kind": rate.kind,
                "note": "; ".join(filter(None, [rate.note, f"step: {step.note}" if step.note and before is not None else ""])),
                "study": study,
                "simulated": simulated,
            }
        )
        before = name
    return rows


def _step_cells(step: Interval) -> Row:
    ends = {"step": step.estimate, "step_low": step.low, "step_high": step.high}
    points: Row = {name: None if value is None else 100 * max(-1.0, min(1.0, value)) for name, value in ends.items()}
    return points | {"step_n": step.n, "step_clusters": step.clusters, "step_interval": step.kind, "step_note": step.note}


def run_totals(episodes: Iterable[Episode]) -> dict[str, list[float]]:
    """Arm -> valid submissions of each of its runs that has all its outcomes."""
    values = outcomes(one_split(episodes), "valid")
    tables = {arm: matrix(of_arm, sorted(of_arm)) for arm, of_arm in values.items()}
    return {arm: [float(run.sum()) for run in table.T if np.isfinite(run).all()] for arm, table in tables.items()}


EVERY_ARM = "every arm"


def noise_rows(
    episodes: Iterable[Episode],
    again: Iterable[Episode],
    judged: Collection[str],
    study: str,
    simulated: bool,
    confidence: float = 0.95,
) -> list[Row]:
    """Run-to-run standard deviation of valid submissions, pooled over arms and for each; then whose doing it is. Table `noise`.

    `again` are the episodes as their repeated final runs ended them, `judged` the arms with a judge.
    """
    episodes, again = one_split(episodes), list(again)
    totals = run_totals(episodes)
    rows = [_noise_row(EVERY_ARM, list(totals.values()), study, simulated, confidence)]
    rows += [_noise_row(arm, [runs], study, simulated, confidence) for arm, runs in totals.items()]
    for endpoint, quantity in (("valid", "validity of one episode"), (SCORE, "normalised score of one episode")):
        for of, found in _episode_noise(episodes, again, judged, endpoint, confidence).items():
            rows += [noise_cells(one, of, quantity) | {"study": study, "simulated": simulated} for one in found]
    return rows


def _episode_noise(
    episodes: Sequence[Episode], again: Sequence[Episode], judged: Collection[str], endpoint: str, confidence: float
) -> dict[str, list[NoiseShare]]:
    """Arm -> shares of the noise of one outcome; arms in which nothing was repeated are in `every arm` alone.

    Outcomes that are not known are left out of their group of identical runs.
    """
    values = endpoint_values([*episodes, *again], endpoint)
    full: dict[str, dict[Competition, list[float]]] = {}
    finals: dict[str, dict[Competition, dict[int, list[float]]]] = {}
    for place, episode in enumerate([*episodes, *again]):
        if not np.isfinite(values[place]):
            continue
        finals.setdefault(episode.arm, {}).setdefault(episode.competition, {}).setdefault(episode.repeat, []).append(values[place])
        if place < len(episodes):
            full.setdefault(episode.arm, {}).setdefault(episode.competition, []).append(values[place])

    def shares(arms: Sequence[str]) -> list[NoiseShare]:
        names = {name for arm in arms for name in full.get(arm, {})}
        repeats = {name: [full[arm][name] for arm in arms if name in full.get(arm, {})] for name in names}
        made_again = {name: [runs for arm in arms for runs in finals.get(arm, {}).get(name, {}).values()] for name in names}
        has_judge = any(arm in judged for arm in arms)
        found = noise_shares(
            squares_of(repeats), {"harness": squares_of(made_again)}, "agent and judge" if has_judge else "agent", confidence
        )
        judge = NoiseShare("judge", None, None, None, None, None, None, 0, 0, JUDGE_ELSEWHERE)
        return [found[0], *([judge] if has_judge else []), *found[1:]]

    every = list(dict.fromkeys(episode.arm for episode in episodes))
    apart = [arm for arm in every if any(len(runs) > 1 for runs in full.get(arm, {}).values()) or any(one.arm == arm for one in again)]
    return {EVERY_ARM: shares(every)} | {arm: shares([arm]) for arm in apart}


JUDGE_ELSEWHERE = "not identified: another verdict makes another episode, so the judge's part of an outcome cannot be had by judging again; its part of the flags is in judge_noise"


def _noise_row(arm: str, groups: Sequence[Sequence[float]], study: str, simulated: bool, confidence: float) -> Row:
    found = run_spread(groups, confidence)
    return {
        "source": "full repeats",
        "of": arm,
        "quantity": "valid submissions of one run",
        "sd": found.sd,
        "sd_low": found.low,
        "sd_high": found.high,
        "share": None,
        "share_low": None,
        "share_high": None,
        "n": found.n,
        "clusters": found.groups,
        "interval_kind": found.kind,
        "note": found.note,
        "study": study,
        "simulated": simulated,
    }


def planner(episodes: Iterable[Episode], study: str, simulated: bool, confidence: float = 0.95) -> list[Row]:
    """What a comparison of two arms over the same tasks could show, by repeats. Table `planner`.

    With the run-to-run spread of this study where it has one, else with the published one, scaled to as many tasks (independent tasks:
    a standard deviation of a count grows with the root of their number).
    """
    episodes = one_split(episodes)
    tasks = len({episode.competition for episode in episodes})
    own = run_spread(run_totals(episodes).values(), confidence)
    known = own.sd is not None and own.sd > 0
    spread = own if known else _scaled(tasks)
    return (
        plan_rows(tasks, spread, "this study" if known else "published runs, scaled", study, simulated and known, confidence)
        if tasks > 1
        else []
    )


def _scaled(tasks: int) -> Spread:
    scale = (tasks / PUBLISHED_TASKS) ** 0.5
    return Spread(PUBLISHED_SD * scale, None, None, None, PUBLISHED_RUNS // 2, PUBLISHED_RUNS // 2, PUBLISHED_RUNS, 0.95)


def plan_rows(
    tasks: int, spread: Spread, source: str, study: str, simulated: bool, confidence: float = 0.95, repeats: Sequence[int] = REPEATS
) -> list[Row]:
    """One row per number of repeats: detectable difference (with that of the ends of the spread's interval) and power, all in points."""
    assert spread.sd is not None
    rows = []
    for count in repeats:
        plan = design(tasks, count, spread.sd, confidence=confidence)
        ends = [
            None if end is None else 100 * design(tasks, count, end, confidence=confidence).detectable for end in (spread.low, spread.high)
        ]
        rows.append(
            {
                "tasks": tasks,
                "repeats": count,
                "run_sd": spread.sd,
                "source": source,
                "detectable": 100 * plan.detectable,
                "detectable_low": ends[0],
                "detectable_high": ends[1],
                **{f"power_{round(100 * effect)}": power_of(plan, effect) for effect in EFFECTS},
                "n": spread.n,
                "clusters": tasks,
                "interval_kind": "noncentral_t",
                "note": "" if spread.low is not None else "the spread has no interval here",
                "study": study,
                "simulated": simulated,
            }
        )
    return rows
