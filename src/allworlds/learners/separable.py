"""The step of a leader with a separable regulariser: one number makes all probabilities sum to what they should.

The problem. ``p = argmin L·p + sum_i r(p_i)`` over ``sum_i p_i = m`` (one, or what uniform exploration leaves). At
the optimum one multiplier serves all arms: ``s(p_i) = L_i - lambda`` with the falling function ``s = -r'``. The
regularisers of this package have

    s(p) = A p^-u + B p^-v + G log(1 - p):

Tsallis entropies of indices ``1 - u`` and ``1 - v``, the log barrier (``u = 1``), and the entropy of ``1 - p``.

The method. With ``z = min L - lambda`` the total mass ``F(z)`` falls. Newton's method solves ``F(z)^-u = m^-u``. With
one power the left side is a power mean of the ``L_i - lambda``, so it is concave and increasing: from anywhere one
step leads to the left of the root, and from there every step goes up and none passes it. With two terms it is nearly
so; a bracket ``s(m) <= z <= s(m / N)``, halved where Newton leaves it, makes sure.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from allworlds.kernels.jit import lean_jit

TOLERANCE = 1e-14
"""The total mass is this close, relatively, to what it should be before the last division makes it that."""
MAX_STEPS = 200
"""Newton takes three to six; the rest is for halving the bracket, which never needs so many."""
LITTLE = 1e-8
"""After a Newton step of this relative size only rounding is left: the error is squared."""
RAREST = 1e-300
"""A probability below this is taken for this where the search for the next one starts."""


class Regulariser(NamedTuple):
    """``s(p) = weight p^-power + second p^-second_power + upper log(1 - p)``; of the last two at most one is not 0."""

    weight: float
    power: float
    second: float
    second_power: float
    upper: float


def best_index(n_arms: int, independence: float) -> float:
    """The index ``a`` in [1/2, 1) that minimises ``alpha (N / alpha)^(1 - a) / (a (1 - a))``.

    That is the square of the regret, up to constants, of a leader with Tsallis entropy of index ``a`` on a graph with
    independence number ``alpha`` [Eldowa et al. 2023; Ito, Tsuchiya and Honda 2024]. With ``c = log(N / alpha)`` the
    derivative vanishes where ``c a^2 + (2 - c) a = 1``.

    >>> best_index(10, 10), round(best_index(1000, 1), 3)
    (0.5, 0.876)
    """
    spare = math.log(max(1.0, n_arms / independence))
    return 0.5 * (1.0 + spare / (math.sqrt(spare * spare + 4.0) + 2.0))


# --- kernels --------------------------------------------------------------------------------------------


@lean_jit
def separable_step(
    losses: NDArray[np.float64], r: Regulariser, mass: float, start: float, out: NDArray[np.float64]
) -> float:
    """Write the ``p`` with ``s(p_i) = L_i - min L + z`` and ``sum p = mass`` to ``out``; return ``z``.

    ``start`` and what is in ``out``, any positive numbers, are where the search starts.
    """
    n = losses.size
    if n == 1:
        out[0] = mass
        return start
    lowest, highest = losses[0], losses[0]
    for i in range(1, n):
        lowest, highest = min(lowest, losses[i]), max(highest, losses[i])
    low = slope(r, mass) if r.upper == 0.0 or mass < 1.0 else _lowest_distance(r, highest - lowest)
    high = slope(r, mass / n)
    z, total = min(max(start, low), high), mass
    for _ in range(MAX_STEPS):
        # the mass at z, and how fast it falls
        total, fall = 0.0, 0.0
        for i in range(n):
            out[i], change = share(losses[i] - lowest + z, r, out[i])
            total += out[i]
            fall += change
        if abs(total - mass) <= TOLERANCE * mass:
            break
        if total > mass:
            low = z
        else:
            high = z
        # Newton's step on the power of the mass, or half the bracket
        step = total / (r.power * fall) * (math.pow(total / mass, r.power) - 1.0)
        if abs(step) <= 1e-16 * (abs(z) + r.weight):
            break  # as near as doubles go
        z += step
        if not low <= z <= high:
            z = 0.5 * (low + high)
    for i in range(n):
        out[i] *= mass / total
    return z


@lean_jit
def slope(r: Regulariser, p: float) -> float:
    """``s(p)``."""
    value = r.weight * math.pow(p, -r.power)
    if r.second > 0.0:
        value += r.second * math.pow(p, -r.second_power)
    if r.upper > 0.0:
        value += r.upper * math.log1p(-p)
    return value


@lean_jit
def _lowest_distance(r: Regulariser, spread: float) -> float:
    """A ``z`` at which the best arm and the worst, ``spread`` above it, together have at least the mass one.

    Below 1/2, ``s(p) >= A p^-u - G log 2``. So wherever ``z <= s(1/2)`` the worst arm has at least the ``rare`` below,
    and at ``s(1 - rare)`` the best arm has the rest.
    """
    room = spread + slope(r, 0.5) + r.upper * math.log(2.0)
    rare = min(0.5, math.pow(room / r.weight, -1.0 / r.power))
    return r.weight * math.pow(1.0 - rare, -r.power) + r.upper * math.log(rare)


@lean_jit
def share(x: float, r: Regulariser, guess: float) -> tuple[float, float]:
    """The ``p`` with ``s(p) = x``, and ``-dp/dx``; ``guess`` is where the search starts."""
    if r.second > 0.0:
        return _share_of_two_powers(x, r, guess)
    if r.upper > 0.0:
        return _share_below_one(x, r, guess)
    p = math.pow(x / r.weight, -1.0 / r.power)
    return p, p / (r.power * x)


@lean_jit
def _share_of_two_powers(x: float, r: Regulariser, guess: float) -> tuple[float, float]:
    """The root of ``log(A e^(u t) + B e^(v t)) = log x`` in ``t = -log p``.

    The left side is convex and its slope is between ``u`` and ``v``: one Newton step leads to the right of the root,
    and from there none passes it.
    """
    goal = math.log(x)
    t = -math.log(max(guess, RAREST))
    rising = 1.0
    for _ in range(MAX_STEPS):
        first, second = r.weight * math.exp(r.power * t), r.second * math.exp(r.second_power * t)
        rising = r.power * first + r.second_power * second
        step = (goal - math.log(first + second)) * (first + second) / rising
        t += step
        if abs(step) <= LITTLE:
            break
    p = math.exp(-t)
    return p, p / rising


@lean_jit
def _share_below_one(x: float, r: Regulariser, guess: float) -> tuple[float, float]:
    """The root of ``A (1 + e^t)^u - G log(1 + e^-t) = x`` in ``t = log((1 - p) / p)``: ``1 - p`` keeps its digits.

    The left side rises, like ``G t`` on the far left and like ``e^(u t)`` on the far right, where the search starts
    from the root of the first term alone: it is to the left, and near.
    """
    start = math.pow(x / r.weight, -1.0 / r.power) if x > 2.0 * r.weight else max(guess, 1e-3)
    t = math.log((1.0 - start) / start) if start < 1.0 else -40.0
    low, high, rising = -math.inf, math.inf, 1.0
    p, rest = 0.5, 0.5
    for _ in range(MAX_STEPS):
        grown = math.exp(t)
        p, rest = 1.0 / (1.0 + grown), grown / (1.0 + grown)
        first = r.weight * math.pow(p, -r.power)
        rising = r.power * first * rest + r.upper * p
        gap = x - first - r.upper * (math.log(rest) if grown > 1.0 else t - math.log1p(grown))
        low, high = (t, high) if gap > 0.0 else (low, t)
        step = min(gap / rising, 20.0)
        if not low <= t + step <= high:
            step = 0.5 * (low + high) - t
        t += step
        if abs(step) <= LITTLE:
            break
    grown = math.exp(t)
    return 1.0 / (1.0 + grown), p * rest / rising
