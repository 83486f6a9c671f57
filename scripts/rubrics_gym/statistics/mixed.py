"""A check on the primary analysis: a logistic model in which every competition has its own level and its own effect."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rubrics_gym.statistics.intervals import Interval

NODES = 21
SMALLEST, LARGEST = 0.02, 12.0  # standard deviations on the logit scale that are searched


@dataclass(frozen=True, slots=True)
class MixedModel:
    """A fitted logistic mixed model of two arms. `difference` is the marginal risk difference; `p` of the likelihood ratio test of no effect.

    `log_odds` is the effect on the logit scale; `sd_level` and `sd_effect` are the standard deviations over clusters on it.
    """

    difference: Interval
    log_odds: float | None
    sd_level: float | None
    sd_effect: float | None
    p: float | None


def logistic_mixed(first: ArrayLike, second: ArrayLike, confidence: float = 0.95) -> MixedModel:
    """Maximum likelihood of logit P = b0 + u_g +- (b1 + v_g) / 2 over clusters g, u and v normal and independent, from binary outcomes of
    shape (clusters, repeats), NaN where not known.

    The likelihood is integrated by Gauss-Hermite quadrature with 21 x 21 nodes; the interval of the marginal risk difference is the delta
    method's with the observed information. Not identified where an arm has no event or nothing but events.
    """
    from scipy.optimize import minimize
    from scipy.special import chdtrc

    won_a, tried_a = _counts(first)
    won_b, tried_b = _counts(second)
    groups, n = int(((tried_a + tried_b) > 0).sum()), int(tried_a.sum() + tried_b.sum())
    if groups < 3 or any(total in (0, tried) for total, tried in ((won_a.sum(), tried_a.sum()), (won_b.sum(), tried_b.sum()))):
        note = "not identified: an arm has no event or nothing else, or there are fewer than three clusters"
        return MixedModel(Interval(None, None, None, n, groups, "logistic_mixed", confidence, note), None, None, None, None)

    def deviance(parameters: np.ndarray) -> float:
        return -2 * log_likelihood(parameters, won_a, tried_a, won_b, tried_b)

    start = np.array([_logit((won_a.sum() + won_b.sum()) / (tried_a.sum() + tried_b.sum())), 0.1, 0.0, -1.0])
    limits = [(-30, 30), (-30, 30), *[(np.log(SMALLEST), np.log(LARGEST))] * 2]
    fit = minimize(deviance, start, method="L-BFGS-B", bounds=limits)
    null = minimize(
        lambda rest: deviance(np.array([rest[0], 0.0, *rest[1:]])), fit.x[[0, 2, 3]], method="L-BFGS-B", bounds=[limits[0], *limits[2:]]
    )
    _, b1, *spread = fit.x
    difference, error = marginal_difference(fit.x), _error(deviance, fit.x, limits)
    p = float(chdtrc(1, max(0.0, null.fun - fit.fun)))
    half = None if error is None else float(_z(confidence)) * error
    low, high = (None, None) if half is None else (difference - half, difference + half)
    note = "" if half is not None else "the information matrix is singular"
    interval = Interval(difference, low, high, n, groups, "logistic_mixed", confidence, note)
    return MixedModel(interval, float(b1), float(np.exp(spread[0])), float(np.exp(spread[1])), p)


def log_likelihood(parameters: ArrayLike, won_a: ArrayLike, tried_a: ArrayLike, won_b: ArrayLike, tried_b: ArrayLike) -> float:
    """Log-likelihood (without binomial coefficients) at (b0, b1, log sd of u, log sd of v), from counts per cluster, shapes (clusters,)."""
    b0, b1, log_level, log_effect = np.asarray(parameters, dtype=float)
    nodes, weights = _nodes()
    level = b0 + np.exp(log_level) * nodes[:, None]
    effect = (b1 + np.exp(log_effect) * nodes[None, :]) / 2
    log_terms = np.zeros((len(np.asarray(won_a)), len(nodes), len(nodes)))
    for sign, won, tried in ((1, won_a, tried_a), (-1, won_b, tried_b)):
        eta = level + sign * effect
        wins, tries = np.asarray(won, dtype=float)[:, None, None], np.asarray(tried, dtype=float)[:, None, None]
        log_terms += wins * eta - tries * np.logaddexp(0, eta)
    highest = log_terms.max(axis=(1, 2), keepdims=True)
    terms = np.exp(log_terms - highest) * (weights[:, None] * weights[None, :])
    return float((np.log(terms.sum(axis=(1, 2))) + highest[:, 0, 0]).sum())


def marginal_difference(parameters: ArrayLike) -> float:
    """P(first) - P(second) averaged over clusters, from (b0, b1, log sd of u, log sd of v)."""
    from scipy.special import expit

    b0, b1, log_level, log_effect = np.asarray(parameters, dtype=float)
    nodes, weights = _nodes()
    spread = float(np.sqrt(np.exp(2 * log_level) + np.exp(2 * log_effect) / 4))  # the sum of two independent normals is normal
    first, second = (float(weights @ expit(b0 + sign * b1 / 2 + spread * nodes)) for sign in (1, -1))
    return first - second


def _error(deviance: Callable[[np.ndarray], float], at: np.ndarray, limits: list[tuple[float, float]]) -> float | None:
    """Standard error of the marginal difference: delta method over the parameters that are not at a limit."""
    free = [place for place, (low, high) in enumerate(limits) if low + 1e-4 < at[place] < high - 1e-4]
    step = 1e-3

    def moved(*moves: tuple[int, float]) -> np.ndarray:
        other = at.copy()
        for place, by in moves:
            other[place] += by
        return other

    hessian = np.zeros((len(free), len(free)))
    for i, one in enumerate(free):
        for j, other in enumerate(free[: i + 1]):
            signs = [(s, t) for s in (1, -1) for t in (1, -1)]
            total = sum(s * t * deviance(moved((one, s * step), (other, t * step))) for s, t in signs)
            hessian[i, j] = hessian[j, i] = total / (4 * step**2)
    gradient = np.array([(marginal_difference(moved((p, step))) - marginal_difference(moved((p, -step)))) / (2 * step) for p in free])
    try:
        variance = float(gradient @ np.linalg.solve(hessian / 2, gradient))
    except np.linalg.LinAlgError:
        return None
    return float(np.sqrt(variance)) if variance > 0 and np.isfinite(variance) else None


def _nodes() -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights for the standard normal distribution."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    return nodes, weights / weights.sum()


def _counts(outcomes: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    values = np.asarray(outcomes, dtype=float)
    return np.nansum(values, axis=1), np.isfinite(values).sum(axis=1).astype(float)


def _logit(share: float) -> float:
    return float(np.log(share / (1 - share)))


def _z(confidence: float) -> float:
    from scipy.special import ndtri

    return float(ndtri(0.5 + confidence / 2))
