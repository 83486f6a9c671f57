"""Contrasts between arms: one primary analysis, and beside it every other reading of the same data, each under its own name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from rubrics_gym.report.episodes import SCORE, Competition, Episode, Outcomes, matrix, one_split, outcomes
from rubrics_gym.report.writing import Row
from rubrics_gym.statistics.bootstrap import bca, fixed_t, studentised, within_bootstrap
from rubrics_gym.statistics.bounds import Bounds, contrast_bounds, paired_differences
from rubrics_gym.statistics.effects import mde
from rubrics_gym.statistics.intervals import Interval, cluster_bootstrap, paired_t
from rubrics_gym.statistics.mixed import logistic_mixed
from rubrics_gym.statistics.sensitivity import lost_outcomes, tipping_point
from rubrics_gym.statistics.sequential import boundaries
from rubrics_gym.statistics.tests import fixed_sequence, holm, non_inferiority, paired_t_test, sign_flip

FURTHER = {"bca": bca, "studentised": studentised}


@dataclass(frozen=True, slots=True)
class Options:
    """What a study says about its statistics."""

    confidence: float = 0.95
    draws: int = 4000
    seed: int = 0
    also: tuple[str, ...] = ()
    margin: float = 0.1
    looks: tuple[float, ...] = (1.0,)
    declared_order: bool = False  # whether the pairs were declared, so that their order may be a testing sequence


@dataclass(frozen=True, slots=True)
class Paired:
    """The outcomes of two arms over the same competitions, shapes (competitions, repeats), NaN where not known. `scale` turns an outcome
    into the table's unit (100: percentage points); `span` is the range that an outcome can have, None when there is none (a time)."""

    first: str
    second: str
    endpoint: str
    a: np.ndarray
    b: np.ndarray
    scale: float = 100.0
    span: tuple[float, float] | None = (0.0, 1.0)

    @property
    def differences(self) -> np.ndarray:
        """Of the known means of the competitions in which both arms have one."""
        every = paired_differences(self.a, self.b)
        known: np.ndarray = every[np.isfinite(every)]
        return known

    @property
    def left_out(self) -> int:
        """Competitions in which an arm has no known outcome: in the bounds, not in the estimate."""
        return len(self.a) - len(self.differences)

    @property
    def n(self) -> int:
        both = np.isfinite(paired_differences(self.a, self.b))
        return int(np.isfinite(self.a[both]).sum() + np.isfinite(self.b[both]).sum())

    @property
    def missing(self) -> int:
        return int(np.isnan(self.a).sum() + np.isnan(self.b).sum())

    @property
    def reach(self) -> tuple[float, float] | None:
        """The range that a difference can have; None when there is none."""
        return None if self.span is None else (self.span[0] - self.span[1], self.span[1] - self.span[0])

    def shown(self, value: float | None) -> float | None:
        """In the table's unit, within what a difference can be: a t interval may reach beyond."""
        if value is None:
            return None
        low, high = self.reach or (value, value)
        return self.scale * max(low, min(high, value))


def pair(
    first: str, second: str, endpoint: str, of_first: Outcomes, of_second: Outcomes, scale: float = 100.0, bounded: bool = True
) -> Paired:
    """Two arms over the competitions of either. Unequal repeats are each arm's own mean; a competition weighs the same whatever its repeats."""
    competitions: list[Competition] = sorted(of_first.keys() | of_second.keys())
    a, b = matrix(of_first, competitions), matrix(of_second, competitions)
    return Paired(first, second, endpoint, a, b, scale, (0.0, 1.0) if bounded else None)


def study_pairs(episodes: Iterable[Episode], pairs: Sequence[tuple[str, str]], endpoint: str) -> list[Paired]:
    """Every declared pair of arms of one split, by one endpoint."""
    values = outcomes(one_split(episodes), endpoint)
    return [pair(first, second, endpoint, values.get(first, {}), values.get(second, {})) for first, second in pairs]


def contrasts(
    episodes: Iterable[Episode],
    pairs: Sequence[tuple[str, str]],
    study: str,
    simulated: bool,
    options: Options = Options(),
    endpoints: Sequence[str] = ("valid", "above_median", SCORE),
) -> list[Row]:
    """One row per endpoint and pair of arms (of one split), in the order given. Table `contrasts`, in percentage points.

    Paired by competition with all repeats kept together. A competition in which an arm has no known outcome gives no difference:
    it is counted in `missing` and in the bounds, and left out of the estimate.
    """
    episodes = one_split(episodes)
    split = episodes[0].split if episodes else ""
    rows = []
    for endpoint in endpoints:
        rows += contrast_rows(study_pairs(episodes, pairs, endpoint), study, simulated, split, options)
    return rows


def contrast_rows(family: Sequence[Paired], study: str, simulated: bool, split: str, options: Options) -> list[Row]:
    """One row per pair of one family: p values are adjusted within it."""
    rows = [_contrast_row(one, study, simulated, split, options) for one in family]
    p_values = [row["p"] for row in rows]
    in_order = fixed_sequence(p_values) if options.declared_order else [None] * len(rows)
    for row, adjusted, sequential in zip(rows, holm(p_values), in_order, strict=True):
        row["p_holm"], row["p_sequence"] = adjusted, sequential
    return rows


def _contrast_row(one: Paired, study: str, simulated: bool, split: str, options: Options) -> Row:
    differences, confidence = one.differences, options.confidence
    interval = paired_t(differences, confidence, one.n, one.reach)
    companion = cluster_bootstrap(differences, confidence, options.draws, options.seed, one.n)
    test = sign_flip(differences, options.draws, options.seed)
    bounds = contrast_bounds(one.a, one.b) if one.span is not None else Bounds(interval.estimate, None, None, one.n, one.missing)
    effect = mde(differences, confidence=confidence).effect
    return {
        "first": one.first,
        "second": one.second,
        "endpoint": one.endpoint,
        "estimate": one.shown(interval.estimate),
        "low": one.shown(interval.low),
        "high": one.shown(interval.high),
        "bootstrap_low": one.shown(companion.low),
        "bootstrap_high": one.shown(companion.high),
        "p": test.p,
        "p_holm": None,
        "p_sequence": None,
        "test": test.kind,
        "p_t": paired_t_test(differences).p,
        "detectable": None if effect is None else one.scale * effect,
        "bound_low": one.shown(bounds.low),
        "bound_high": one.shown(bounds.high),
        "missing": one.missing,
        "n": one.n,
        "clusters": interval.clusters,
        "interval_kind": interval.kind,
        "note": "; ".join(filter(None, [interval.note, _rule(one)])),
        "study": study,
        "simulated": simulated,
        "split": split,
    }


def _rule(one: Paired) -> str:
    """What was done about missing and unequal cells, in words; nothing is dropped in silence."""
    said = [f"{one.left_out} competitions without outcome in one arm" if one.left_out else ""]
    cells = np.concatenate([np.isfinite(one.a).sum(axis=1), np.isfinite(one.b).sum(axis=1)])
    unequal = len(set(cells[cells > 0])) > 1
    said.append("unequal repeats: every competition weighs the same" if unequal else "")
    said.append("lost ones have no bounds: the endpoint has none" if one.missing and one.span is None else "")
    return "; ".join(filter(None, said))


# ---------------------------------------------------------------- every other reading


def analyses(
    episodes: Iterable[Episode], pairs: Sequence[tuple[str, str]], study: str, simulated: bool, options: Options = Options()
) -> list[Row]:
    """One row per pair and reading of its validity. Table `contrast_analyses`, in percentage points."""
    episodes = one_split(episodes)
    split = episodes[0].split if episodes else ""
    rows = []
    for one in study_pairs(episodes, pairs, "valid"):
        for name, question, interval, p, says in _readings(one, options):
            rows.append(
                {
                    "first": one.first,
                    "second": one.second,
                    "analysis": name,
                    "question": question,
                    "estimate": one.shown(interval.estimate),
                    "low": one.shown(interval.low),
                    "high": one.shown(interval.high),
                    "p": p,
                    "says": says,
                    "n": interval.n,
                    "clusters": interval.clusters,
                    "interval_kind": interval.kind,
                    "note": interval.note,
                    "study": study,
                    "simulated": simulated,
                    "split": split,
                }
            )
    return rows


Reading = tuple[str, str, Interval, float | None, str]
SAMPLE, FIXED = "competitions like these", "these competitions"


def _readings(one: Paired, options: Options) -> list[Reading]:
    differences, confidence, draws, seed = one.differences, options.confidence, options.draws, options.seed
    t = paired_t(differences, confidence, one.n, one.reach)
    found: list[Reading] = [("paired_t", SAMPLE, t, paired_t_test(differences).p, "primary")]
    found.append(
        ("cluster_bootstrap", SAMPLE, cluster_bootstrap(differences, confidence, draws, seed, one.n), None, "the published method")
    )
    found += [(name, SAMPLE, FURTHER[name](differences, confidence, draws, seed, one.n), None, "on request") for name in options.also]
    found.append(("fixed_t", FIXED, fixed_t(one.a, one.b, confidence), None, "only the repeats are chance"))
    found.append(("fixed_bootstrap", FIXED, within_bootstrap(one.a, one.b, confidence, draws, seed), None, "only the repeats are chance"))
    model = logistic_mixed(one.a, one.b, confidence)
    found.append(("logistic_mixed", SAMPLE, model.difference, model.p, "a check: level and effect vary over competitions"))
    found.append(_non_inferiority(one, t, options))
    found += _interim(one, t, options)
    if one.missing and one.a.size and one.b.size:  # an arm without a single planned episode has lost none
        found += _lost(one, options)
    return found


def _non_inferiority(one: Paired, t: Interval, options: Options) -> Reading:
    found = non_inferiority(one.differences, options.margin, options.confidence)
    not_identified = f"not identified: {'zero variance' if one.differences.size > 1 else 'fewer than two competitions'}"
    says = {True: "shown", False: "not shown, which is not the same as inferior", None: not_identified}[found.shown]
    question = f"not worse by {100 * options.margin:g} pp or more"
    return "non_inferiority", question, t, found.p, says


def _interim(one: Paired, t: Interval, options: Options) -> list[Reading]:
    """The boundary of the present look, where looks before the end were declared or the run has not all its outcomes."""
    planned = one.a.size + one.b.size
    information = (planned - one.missing) / planned if planned else 0.0
    before = [look for look in options.looks if look < information]
    if not information or (information == 1 and len(options.looks) <= 1):
        return []
    look = boundaries([*before, information], 1 - options.confidence)[-1]
    p = paired_t_test(one.differences).p
    crossed = p is not None and p <= look.nominal
    says = f"{'crossed' if crossed else 'not crossed'}: a p of at most {look.nominal:.4f} is needed ({look.spent:.4f} of the error spent)"
    return [("interim_look", f"look with {100 * information:.0f}% of the planned outcomes", t, p, says)]


def _lost(one: Paired, options: Options) -> list[Reading]:
    """The readings of lost outcomes, and how many would have to be valid."""
    found = lost_outcomes(one.a, one.b, options.confidence)
    tip = tipping_point(one.a, one.b, options.confidence)
    counted = f"{found.lost_first} lost in {one.first}, {found.lost_second} in {one.second}"
    arm = one.first if tip.arm == "first" else one.second
    if tip.needed is None:
        words = f"no filling of the {tip.lost} lost in {arm} brings the interval to 0"
    elif tip.needed == 0:
        words = "the interval holds 0 even with all lost ones taken as failures"
    else:
        words = f"{tip.needed} of {tip.lost} lost in {arm} valid bring the interval to 0 ({tip.search} search)"
    return [
        ("lost_as_failures", SAMPLE, found.as_failures, None, f"the published reading; {counted}"),
        ("lost_against", SAMPLE, found.against, None, "all against the first arm"),
        ("lost_in_favour", SAMPLE, found.in_favour, None, "all in favour of the first arm"),
        ("adverse_endpoint", SAMPLE, found.adverse, None, "the end that is nearer to no effect"),
        ("imbens_manski", SAMPLE, found.identified, None, "the effect, whatever the lost ones were"),
        ("tipping_point", SAMPLE, found.as_failures, None, words),
    ]
