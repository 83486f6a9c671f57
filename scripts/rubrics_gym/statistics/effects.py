"""What a design can see: the smallest effect that it would detect."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rubrics_gym.statistics.intervals import all_equal


@dataclass(frozen=True, slots=True)
class DetectableEffect:
    """The smallest true mean difference that a paired t test of `clusters` detects with probability `power`; None: not identified."""

    effect: float | None
    clusters: int
    power: float
    confidence: float


def mde(differences: ArrayLike, power: float = 0.8, confidence: float = 0.95) -> DetectableEffect:
    """Minimum detectable effect of a two-sided paired t test, from the spread of the differences, shape (clusters,), in their unit.

    Solves P(T > t_crit) = power for the non-centrality of T, a non-central t with clusters - 1 degrees of freedom; the chance of
    a significant result on the wrong side is left out (below 1e-5 at 80% power).
    """
    from scipy.special import nctdtrinc, stdtrit

    values = np.asarray(differences, dtype=float)
    groups = len(values)
    if groups < 2 or all_equal(values):
        return DetectableEffect(None, groups, power, confidence)
    critical = float(stdtrit(groups - 1, 0.5 + confidence / 2))
    noncentrality = float(nctdtrinc(groups - 1, 1 - power, critical))
    return DetectableEffect(noncentrality * float(values.std(ddof=1)) / float(np.sqrt(groups)), groups, power, confidence)


@dataclass(frozen=True, slots=True)
class Design:
    """What a planned comparison of two arms can show. Effects and standard errors are shares (0.1 = 10 percentage points)."""

    tasks: int
    repeats: int
    run_sd: float  # of the number of valid tasks in one run over all of them
    effect_sd: float  # of the true effect over tasks, a share
    standard_error: float  # of the estimated difference
    detectable: float  # smallest true difference found with probability `power`
    power: float
    confidence: float


def design(tasks: int, repeats: int, run_sd: float, effect_sd: float = 0.0, power: float = 0.8, confidence: float = 0.95) -> Design:
    """The standard error and the detectable difference of two arms over the same `tasks`, each run `repeats` times.

    Var = 2 run_sd^2 / (repeats tasks^2) + effect_sd^2 / tasks; the test is a paired t with tasks - 1 degrees of freedom. `run_sd` is the
    run-to-run standard deviation in valid tasks, as two identical runs show it (statistics.noise.run_spread).
    """
    from scipy.special import nctdtrinc, stdtrit

    if tasks < 2 or repeats < 1 or run_sd < 0 or effect_sd < 0 or run_sd + effect_sd == 0:
        raise ValueError(f"a design has at least 2 tasks, 1 repeat and some noise; got {tasks} tasks, {repeats} repeats, run SD {run_sd}")
    error = float(np.sqrt(2 * run_sd**2 / (repeats * tasks**2) + effect_sd**2 / tasks))
    critical = float(stdtrit(tasks - 1, 0.5 + confidence / 2))
    detectable = float(nctdtrinc(tasks - 1, 1 - power, critical)) * error
    return Design(tasks, repeats, run_sd, effect_sd, error, detectable, power, confidence)


def power_of(plan: Design, effect: float) -> float:
    """Chance that the two-sided paired t test of a design is significant when the true difference is `effect` (a share)."""
    from scipy.special import nctdtr, stdtrit

    freedom, shift = plan.tasks - 1, abs(effect) / plan.standard_error
    critical = float(stdtrit(freedom, 0.5 + plan.confidence / 2))
    return float(1 - nctdtr(freedom, shift, critical) + nctdtr(freedom, shift, -critical))
