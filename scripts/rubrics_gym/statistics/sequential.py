"""Looking before the end: how much of the error each look may spend, and how far a result must be from 0 to stop on it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

Spending = Literal["obrien_fleming", "pocock"]


@dataclass(frozen=True, slots=True)
class Look:
    """One look. `spent` is the two-sided error spent up to and with it, `boundary` the |z| from which it stops, `nominal` its two-sided p."""

    information: float
    spent: float
    boundary: float
    nominal: float


def spent(information: float, alpha: float = 0.05, spending: Spending = "obrien_fleming") -> float:
    """Two-sided error that may be spent when a share `information` of the planned outcomes is in (Lan and DeMets 1983).

    Half of it on each side: O'Brien and Fleming's form 2 - 2 Phi(z_{1 - a / 2} / sqrt(t)) with a = alpha / 2 twice; Pocock's form
    alpha ln(1 + (e - 1) t).
    """
    from scipy.special import ndtr, ndtri

    if not 0 < information <= 1:
        raise ValueError(f"information is the share of the planned outcomes that is in, above 0 and at most 1; got {information}")
    if spending == "pocock":
        return alpha * math.log1p((math.e - 1) * information)
    return 4 - 4 * float(ndtr(float(ndtri(1 - alpha / 4)) / math.sqrt(information)))


def boundaries(informations: Sequence[float], alpha: float = 0.05, spending: Spending = "obrien_fleming") -> list[Look]:
    """The looks at increasing shares of information, each with its boundary, so that under no effect the chance to stop wrongly at or
    before look i is what may be spent by then.

    The density of the running sum among the trials that went on is carried from look to look on a grid (Armitage, McPherson and Rowe 1969).
    """
    from scipy.special import ndtr

    times = list(informations)
    if any(later <= earlier for earlier, later in itertools.pairwise(times)):
        raise ValueError(f"looks are at increasing shares of information, got {times}")
    looks: list[Look] = []
    grid, density = np.zeros(1), np.ones(1)  # of the sum S(t) = z sqrt(t) among the trials that went on; at first it is 0 for sure
    for time, before in zip(times, [0.0, *times], strict=False):
        step = math.sqrt(time - before)
        extra = spent(time, alpha, spending) - (looks[-1].spent if looks else 0.0)
        boundary = _boundary(grid, density, time, step, extra)
        grid, density = _carried(grid, density, boundary * math.sqrt(time), step)
        looks.append(Look(time, spent(time, alpha, spending), boundary, 2 * float(ndtr(-boundary))))
    return looks


def _boundary(grid: np.ndarray, density: np.ndarray, time: float, step: float, extra: float) -> float:
    """The |z| that the sum crosses at this look with probability `extra`, by bisection."""
    from scipy.special import ndtr

    low, high = 0.0, 12.0
    for _ in range(60):
        middle = (low + high) / 2
        crossing = 2 * float(_integral(density * ndtr((grid - middle * math.sqrt(time)) / step), grid))
        low, high = (middle, high) if crossing > extra else (low, middle)
    return (low + high) / 2


def _carried(grid: np.ndarray, density: np.ndarray, limit: float, step: float) -> tuple[np.ndarray, np.ndarray]:
    """The density of the sum after a normal step, within the limits in which the trial goes on."""
    points = np.linspace(-limit, limit, 1001)
    kernel = np.exp(-(((points[:, None] - grid) / step) ** 2) / 2) / (step * math.sqrt(2 * math.pi))
    return points, _integral(kernel * density, grid)


def _integral(values: np.ndarray, grid: np.ndarray) -> np.ndarray:
    """Simpson's rule over the last axis; a single point carries all its mass."""
    from scipy.integrate import simpson

    return np.asarray(values[..., 0] if len(grid) == 1 else simpson(values, x=grid, axis=-1))
