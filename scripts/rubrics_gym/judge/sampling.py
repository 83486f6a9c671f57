"""Precision and recall from verdicts of which only some were verified by a real run, each with a known chance.

Where a verdict decides whether its command runs, the commands that ran are no fair sample: weighting each by one over its logged
probability makes them one (Horvitz and Thompson 1952; for verification bias Begg and Greenes 1983). A class of verdicts that never runs
cannot be weighted: what needs it is *not identified*, and printed as such.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import numpy as np

from rubrics_gym.judge.columns import NO_PREDICTION, predicted
from rubrics_gym.judge.measuring import TypeRecall
from rubrics_gym.judge.rates import Rate, as_rate, share
from rubrics_gym.records.base import Record
from rubrics_gym.records.rubrics import RubricKind
from rubrics_gym.records.shadows import ShadowRun, ShadowState
from rubrics_gym.statistics.intervals import NO_SPREAD, effective_weight, equal_clusters, jackknife_t, proportion

NEEDS: dict[str, tuple[bool, ...]] = {  # measure -> the verdicts (flagged) that must have had a chance to run
    "precision": (True,),
    "npv": (False,),
    "recall": (True, False),
    "specificity": (True, False),
    "prevalence": (True, False),
}


class SampledVerdict(Record):
    """One verdict, the chance that its command was run for real (given the verdict), and what came of it where it was.

    `failed` is None where it did not run, or where what came of it does not say how it would have ended (`unknown`): a run that was
    stopped at a smaller cap, or one that hung on a live background process.
    """

    unit: str
    benchmark: str
    task: str
    step: int
    index: int
    judge: str
    library: str | None
    flagged: bool | None
    probability: float
    ran: bool
    failed: bool | None
    failure_type: str | None = None  # of a command that failed
    unknown: str = ""


def shadowed(runs: Iterable[ShadowRun], kinds: Mapping[str, RubricKind]) -> list[SampledVerdict]:
    """The verdicts of shadow runs (judge.shadows), each with its logged chance; second runs of a command are left out.

    What a verdict predicts is its prediction of execution (judge.columns.predicted); its chance is that of what it said to the agent.
    """
    found = []
    for run in runs:
        if run.repeat:
            continue
        said = predicted(run.verdict, kinds)[0]
        ran = run.state is not ShadowState.NOT_SAMPLED
        found.append(
            SampledVerdict(
                unit=run.unit,
                benchmark=run.benchmark,
                task=run.task,
                step=run.step,
                index=run.index,
                judge=run.verdict.judge,
                library=run.verdict.library,
                flagged=None if said == NO_PREDICTION else bool(said),
                probability=run.probability,
                ran=ran,
                failed=run.failed if run.state is ShadowState.RAN else None,
                failure_type=run.failure_type if run.state is ShadowState.RAN else None,
                unknown=run.reason if run.state is ShadowState.UNKNOWN else "",
            )
        )
    return found


def outcome_flips(runs: Iterable[ShadowRun], confidence: float = 0.95) -> Rate:
    """Of the commands that were run twice from one snapshot, those that failed once and not the other time: the noise of the truth itself,
    which no judge can foresee."""
    ends: dict[tuple[str, int, int], dict[int, ShadowRun]] = {}
    for run in runs:
        if run.failed is not None:
            ends.setdefault((run.unit, run.step, run.index), {})[run.repeat] = run
    twice = [pair for pair in ends.values() if {0, 1} <= pair.keys()]
    names = {name: code for code, name in enumerate(sorted({(pair[0].benchmark, pair[0].task) for pair in twice}))}
    clusters = np.array([names[pair[0].benchmark, pair[0].task] for pair in twice], dtype=int)
    differ = np.array([pair[0].failed != pair[1].failed for pair in twice], dtype=bool)
    return share(clusters, differ, np.ones(len(twice), dtype=bool), confidence, "no command was run twice")


class Sampled(Record):
    """A judge's measures in one arm, from the commands that ran by chance."""

    judge: str
    library: str | None
    verdicts: int
    verified: int  # ran, and it is known how they ended
    unknown: int  # ran, and it is not
    flagged: int
    flagged_verified: int
    clean_verified: int
    effective: float  # equally weighted verdicts that the verified ones are worth
    precision: Rate
    npv: Rate
    recall: Rate
    specificity: Rate
    prevalence: Rate
    recall_stratified: Rate  # Begg and Greenes: P(failed | verdict) P(verdict), the verdicts' own shares known
    specificity_stratified: Rate


def weighted(verdicts: Iterable[SampledVerdict], confidence: float = 0.95) -> Sampled:
    """Weighted measures of the verdicts of one judge, competitions as clusters. Raises ValueError for a probability outside [0, 1], a command
    that ran with probability 0, or no verdict at all."""
    rows = [row for row in verdicts]
    if not rows:
        raise ValueError("no verdicts to weigh")
    for row in rows:
        if not 0 <= row.probability <= 1 or (row.ran and row.probability == 0):
            raise ValueError(
                f"{row.unit}, step {row.step}, command {row.index}: ran={row.ran} with probability {row.probability}; the logged chance lies in "
                "(0, 1] for what ran"
            )
    said = [row for row in rows if row.flagged is not None]
    names = {name: code for code, name in enumerate(sorted({(row.benchmark, row.task) for row in said}))}
    clusters = np.array([names[row.benchmark, row.task] for row in said], dtype=int)
    flagged = np.array([bool(row.flagged) for row in said], dtype=bool)
    verified = np.array([row.ran and row.failed is not None for row in said], dtype=bool)
    failed = np.array([bool(row.failed) for row in said], dtype=bool)
    chance = np.array([row.probability for row in said], dtype=float)
    weights = np.where(verified, 1 / np.where(chance > 0, chance, 1), 0.0)
    never = {verdict: _why_never(flagged == verdict, chance, verified, "flagged" if verdict else "clean") for verdict in (True, False)}

    def rate(name: str, hit: np.ndarray, of: np.ndarray) -> Rate:
        blocked = _blocked(name, never)
        if blocked:
            return _not_identified(blocked, len(names))
        return _weighted_share(clusters, hit, of & verified, weights, confidence, len(names))

    def stratified(name: str, statistic: Callable[[np.ndarray], float | None]) -> Rate:
        blocked = _blocked(name, never)
        return _not_identified(blocked, len(names)) if blocked else jackknifed_share(clusters, statistic, int(verified.sum()), confidence)

    begg = _BeggGreenes(flagged, failed, verified, weights)
    return Sampled(
        judge=rows[0].judge,
        library=rows[0].library,
        verdicts=len(said),
        verified=int(verified.sum()),
        unknown=sum(row.ran and row.failed is None for row in said),
        flagged=int(flagged.sum()),
        flagged_verified=int((flagged & verified).sum()),
        clean_verified=int((~flagged & verified).sum()),
        effective=effective_weight(weights),
        precision=rate("precision", failed, flagged),
        npv=rate("npv", ~failed, ~flagged),
        recall=rate("recall", flagged, failed),
        specificity=rate("specificity", ~flagged, ~failed),
        prevalence=rate("prevalence", failed, np.ones(len(said), dtype=bool)),
        recall_stratified=stratified("recall", begg.recall),
        specificity_stratified=stratified("specificity", begg.specificity),
    )


def weighted_recall_by_type(verdicts: Iterable[SampledVerdict], confidence: float = 0.95) -> list[TypeRecall]:
    """Weighted recall of every type of failure that was verified, by name: time-outs apart from crashes. Raises as `weighted`."""
    rows = list(verdicts)
    found = []
    for name in sorted({row.failure_type for row in rows if row.failed and row.failure_type}):
        of_type = [row if row.failed is None else row.model_copy(update={"failed": row.failure_type == name}) for row in rows]
        recall = weighted(of_type, confidence).recall
        found.append(TypeRecall(judge=rows[0].judge, library=rows[0].library, failure_type=name, recall=recall))
    return found


def _why_never(of: np.ndarray, chance: np.ndarray, verified: np.ndarray, name: str) -> str:
    """Why verdicts of one class say nothing about what would have come of them; empty where they do, or where there are none."""
    if (chance[of] == 0).any():
        return f"{name} verdicts were never run: their chance was 0"
    return f"none of the {of.sum()} {name} verdicts was verified" if of.any() and not verified[of].any() else ""


def why_not_all(verdicts: Iterable[SampledVerdict]) -> str:
    """Why the verified verdicts do not stand for all that were given, abstentions among them; empty where they do."""
    rows = list(verdicts)
    said = [("abstaining" if row.flagged is None else "flagged" if row.flagged else "clean") for row in rows]
    names = np.array(said)
    chance = np.array([row.probability for row in rows], dtype=float)
    verified = np.array([row.ran and row.failed is not None for row in rows], dtype=bool)
    return "; ".join(filter(None, (_why_never(names == name, chance, verified, name) for name in dict.fromkeys(said))))


def _blocked(name: str, never: Mapping[bool, str]) -> str:
    """Why a measure is not identified; empty where it is."""
    return "; ".join(never[verdict] for verdict in NEEDS[name] if never[verdict])


def _not_identified(why: str, clusters: int) -> Rate:
    return Rate(estimate=None, low=None, high=None, n=0, clusters=clusters, interval="weighted_ratio_t", note=f"not identified: {why}")


def _weighted_share(clusters: np.ndarray, hit: np.ndarray, of: np.ndarray, weights: np.ndarray, confidence: float, groups: int) -> Rate:
    """A share of weighted sums over clusters, with the guard of a proportion against false certainty."""
    hits, total = (np.bincount(clusters[chosen], weights=weights[chosen], minlength=groups) for chosen in (of & hit, of))
    found = as_rate(proportion(hits, total, confidence, n=int(of.sum())), "nothing of the kind was verified")
    return found.model_copy(update={"interval": f"weighted_{found.interval}"})


class _BeggGreenes:
    """Recall and specificity from P(failed | verdict) of the verified and the verdicts' own counts, over chosen commands."""

    def __init__(self, flagged: np.ndarray, failed: np.ndarray, verified: np.ndarray, weights: np.ndarray):
        self.flagged, self.failed, self.verified, self.weights = flagged, failed, verified, weights

    def recall(self, chosen: np.ndarray) -> float | None:
        return self._share(chosen, self.failed, self.flagged)

    def specificity(self, chosen: np.ndarray) -> float | None:
        return self._share(chosen, ~self.failed, ~self.flagged)

    def _share(self, chosen: np.ndarray, outcome: np.ndarray, verdict: np.ndarray) -> float | None:
        mass = []
        for side in (verdict, ~verdict):
            seen = chosen & side & self.verified
            count, weight = (chosen & side).sum(), self.weights[seen].sum()
            if count and not weight:
                return None
            mass.append(float(count * (self.weights[seen & outcome].sum() / weight)) if count else 0.0)
        return mass[0] / sum(mass) if sum(mass) else None


def jackknifed_share(clusters: np.ndarray, statistic: Callable[[np.ndarray], float | None], n: int, confidence: float) -> Rate:
    """A share of chosen commands (boolean, shape (commands,)) with an interval by leaving out one competition at a time. Where no competition
    moves it, the interval is that of equal clusters."""
    whole, without = statistic(np.ones(len(clusters), dtype=bool)), [statistic(clusters != name) for name in np.unique(clusters)]
    found = jackknife_t(whole, without, confidence, n, within=(0.0, 1.0))
    if found.estimate is not None and found.note == NO_SPREAD:
        found = equal_clusters(min(1.0, max(0.0, found.estimate)), n, found.clusters, confidence)
    return as_rate(found, "nothing of the kind was verified")
