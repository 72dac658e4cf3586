"""Inside a clique: how a given mass is shared among its arms.

The problem. A clique holds the mass ``q``; its arms have cumulative losses ``L``. Among all ways to share
``q``, with at least ``gamma`` for each arm, which one is best for Algorithm 1 of [EK21]?

    minimise  L·p + (1 / (eta sqrt(q))) sum_i p_i log(p_i / q)   over  sum p = q, p_i >= gamma

The answer is a softmax with a floor. With the sharpness ``s = eta sqrt(q)`` the conditional probabilities
``y = p / q`` are

    y_i = max(floor, exp(log_top - s (L_i - min L))),     floor = gamma / q,

where ``log_top``, the log-probability of the clique's best arm, makes them sum to one. Arms that would fall
below the floor are *pinned* to it and the rest is shared again; the free set only shrinks, and the best arm
stays free, so the passes end.

What the rest of the step needs to know about a clique are five numbers of ``y``, its :class:`Moments`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from allworlds.kernels.exponential import exp
from allworlds.kernels.jit import lean_jit

FARTHEST = 708.0
"""``exp(-708)`` is about the smallest double with all its digits: an arm farther away weighs nothing."""


class Moments(NamedTuple):
    """A clique's conditional distribution ``y`` in five numbers; ``t_i = s (L_i - min L)``."""

    log_top: float
    """``log y`` of the best arm."""
    entropy: float
    """``-sum y log y`` over all arms, in nats."""
    free: float
    """Probability of the arms above the floor; 1 without a floor."""
    mean: float
    """Mean of ``t`` over the free arms."""
    variance: float
    """Variance of ``t`` over the free arms; without pins the variance of ``log y``."""


def conditional(losses: NDArray[np.float64], sharpness: float, floor: float = 0.0) -> NDArray[np.float64]:
    """Share one unit of mass among the arms of a clique.

    >>> conditional(np.array([0.0, np.log(3.0)]), sharpness=1.0)
    array([0.75, 0.25])
    >>> conditional(np.array([0.0, 50.0, 90.0]), sharpness=1.0, floor=0.1)
    array([0.8, 0.1, 0.1])
    """
    lowest = float(losses.min())
    at = moments(losses, lowest, sharpness, floor)
    return np.array([probability(loss - lowest, at.log_top, sharpness, floor) for loss in losses])


# --- kernels --------------------------------------------------------------------------------------------


@lean_jit
def moments(losses: NDArray[np.float64], lowest: float, sharpness: float, floor: float) -> Moments:
    """The five numbers of ``y`` in one pass over the arms, or a few when some are pinned."""
    total, first, second = 0.0, 0.0, 0.0
    for i in range(losses.size):
        t = sharpness * (losses[i] - lowest)
        if t < FARTHEST:
            w = exp(-t)
            total += w
            first += w * t
            second += w * t * t
    mean = first / total
    variance = max(0.0, second / total - mean * mean)
    log_top = -math.log(total)
    if floor > 0.0 and log_top - sharpness * (greatest(losses) - lowest) < math.log(floor):
        return _pinned_moments(losses, lowest, sharpness, floor, log_top)
    return Moments(log_top, mean - log_top, 1.0, mean, variance)


@lean_jit
def _pinned_moments(
    losses: NDArray[np.float64], lowest: float, sharpness: float, floor: float, log_top: float
) -> Moments:
    """Pin what falls below the floor, share the rest again, until nothing new falls."""
    log_floor = math.log(floor)
    n_arms = losses.size
    n_pinned = -1
    total, first, second, free = 1.0, 0.0, 0.0, 1.0
    for _ in range(n_arms):
        total, first, second, pinned = _weigh(losses, lowest, sharpness, log_top - log_floor)
        if pinned == n_pinned:
            break
        n_pinned = pinned
        free = max(1.0 - pinned * floor, (n_arms - pinned) * floor)  # the maximum only undoes rounding
        log_top = math.log(free / total)
    mean = first / total
    variance = max(0.0, second / total - mean * mean)
    entropy = -free * (log_top - mean) - n_pinned * floor * log_floor
    return Moments(log_top, entropy, free, mean, variance)


@lean_jit
def _weigh(
    losses: NDArray[np.float64], lowest: float, sharpness: float, cutoff: float
) -> tuple[float, float, float, int]:
    """Sums of ``w, w t, w t^2`` for ``w = exp(-t)`` over arms with ``t <= cutoff``; and how many lie beyond."""
    total, first, second = 0.0, 0.0, 0.0
    beyond = 0
    for i in range(losses.size):
        t = sharpness * (losses[i] - lowest)
        if t > cutoff and t > 0.0:
            beyond += 1
        elif t < FARTHEST:
            w = exp(-t)
            total += w
            first += w * t
            second += w * t * t
    return total, first, second, beyond


@lean_jit
def least(values: NDArray[np.float64]) -> float:
    """The smallest of some numbers."""
    found = values[0]
    for i in range(1, values.size):
        found = min(found, values[i])
    return float(found)


@lean_jit
def greatest(values: NDArray[np.float64]) -> float:
    """The largest of some numbers."""
    found = values[0]
    for i in range(1, values.size):
        found = max(found, values[i])
    return float(found)


@lean_jit
def probability(at: float, log_top: float, sharpness: float, floor: float) -> float:
    """Conditional probability of an arm whose loss lies ``at`` above the clique's lowest."""
    t = sharpness * at
    if t >= FARTHEST:
        return floor
    return max(floor, exp(log_top - t))
