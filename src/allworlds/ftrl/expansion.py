"""A clique in nine numbers: its log-partition around a point, with a certified radius.

The problem. The price of a clique depends on its arms only through ``A(s) = log sum_i exp(-s (L_i - min L))`` and two
derivatives, and ``s = eta sqrt(q)`` moves by little from round to round. How far may it move before the arms must be
read again?

The expansion. With ``u_i = s0 (L_i - min L)`` and the weights ``y_i`` at ``s0``, write ``s = s0 (1 + w)``:

    A(s) = log Z + log E exp(-w u) = sum_j a_j w^j,        the cumulants of u over j!, up to signs.

The moments ``E u^j / j!`` are sums over the arms; the logarithm of their power series gives the ``a_j``.

The certificate. Let ``v = u - E u``. On the complex circle ``|w| = R`` the function ``f = log E exp(-w v)``, which
differs from ``A`` by a linear term, obeys ``|f| <= -log(1 - theta)`` as long as

    theta(R) = E exp(R v) + E exp(-R v) - 2 >= |E exp(-w v) - 1|

is below one (``E v = 0``, and ``exp(a) - 1 - a <= exp(a) + exp(-a) - 2`` for ``a >= 0``). Cauchy's estimate bounds
every coefficient, ``|a_j| <= C / R^j`` with ``C = -log(1 - theta)``, hence what the first ``ORDER`` of them leave out
of ``A`` and of ``dA/dw``. ``theta(1/2)`` costs nothing: with ``h = exp(-u / 2)`` it needs the sums of ``h``, ``h^2``
and ``h^3`` only. For a smaller circle ``theta(R) <= (2 R)^2 theta(1/2)``, because ``cosh(c a) - 1 <= c^2 (cosh a - 1)``
for ``0 <= c <= 1``.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from allworlds.ftrl.clique_table import (
    ALPHA,
    INVERSE,
    LANES,
    LOWEST,
    NEXT,
    ORDER,
    PINNED,
    RADIUS,
    REFERENCE,
    TERMS,
    place,
)
from allworlds.kernels.exponential import exp
from allworlds.kernels.jit import inline_jit

Floats = NDArray[np.float64]

ACCURACY = 1e-10
"""Largest relative error of a temperature that an expansion may cause. A mass is its inverse square, and the multiplier
moves with it: at most four times that."""
FAR = 700.0
"""An arm so far away weighs ``exp(-700)``: nothing, but without underflow."""
CHUNK = 64
"""How many arms are weighed at a time: the sums of a chunk live at places that the compiler knows."""
AWAY, WEIGHT = np.uint64(0), np.uint64(CHUNK)
"""Places in the work array: ``u`` of each arm of a chunk, and ``h = exp(-u / 2)``."""
QUARTERS = 4
HALF, THREE_HALVES = np.uint64(0), np.uint64(QUARTERS)
_0, _1, _2, _3, _4, _5, _6, _7, _8 = (np.uint64((2 + j) * QUARTERS) for j in range(ORDER + 1))
"""Places in the sums, each in four parts: of ``h``, of ``h^3``, and of ``h^2 u^j`` for j = 0, 1, ..., 8."""
_L1, _L2, _L3, _L4, _L5, _L6, _L7, _L8 = (np.uint64(j) for j in range(1, 9))


def new_work() -> tuple[Floats, Floats]:
    """Room for a chunk of arms, and for 11 sums; nothing in it lasts."""
    return np.zeros(2 * CHUNK), np.zeros((3 + ORDER) * QUARTERS)


# --- kernels --------------------------------------------------------------------------------------------


@inline_jit
def expand(
    table: Floats,
    clique: int,
    losses: Floats,
    start: int,
    stop: int,
    s: float,
    cut: float,
    work: Floats,
    sums: Floats,
) -> None:
    """Expand a clique at sharpness ``s`` over its arms with ``u <= cut``; ``losses`` has LANES more at its end."""
    at = place(clique)
    sums[:] = 0.0
    for first in range(start, stop, CHUNK):
        size = min(CHUNK, stop - first)
        weigh(losses, first, size, table[at + LOWEST], s, min(cut, FAR), work)
        _add_up(size, work, sums)
    scale = 1.0 / _total(sums, _0)
    table[at + TERMS] = -math.log(scale)
    _set_terms(table, at + TERMS, scale, sums)
    mean = -table[at + TERMS + NEXT]
    tilt = exp(0.5 * mean)
    half = _total(sums, HALF)
    theta = max(0.0, scale * (half / tilt + _total(sums, THREE_HALVES) * tilt) - 2.0)
    steepness = table[at + TERMS] + table[at + ALPHA] + mean - 2.0 * table[at + TERMS + NEXT + NEXT]
    table[at + RADIUS] = _radius(theta, max(steepness, 1e-6 * (1.0 + table[at + ALPHA])))
    if mean == 0.0 and half == stop - start - table[at + PINNED]:
        table[at + RADIUS] = np.inf  # all free arms are equal, and A is constant
    table[at + REFERENCE] = s
    table[at + INVERSE] = 1.0 / s


@inline_jit
def weigh(losses: Floats, first: int, size: int, lowest: float, s: float, cut: float, work: Floats) -> None:
    """``u`` and ``exp(-u / 2)`` of a chunk of arms, up to a multiple of eight; no weight beyond the end or ``cut``."""
    for j in range((size + LANES - 1) // LANES * LANES):
        u = s * (losses[np.uint64(first + j)] - lowest)
        u = u if j < size and u <= cut else 2.0 * FAR
        work[np.uint64(j) + AWAY] = u
        work[np.uint64(j) + WEIGHT] = exp(-0.5 * u)


@inline_jit
def _add_up(size: int, work: Floats, sums: Floats) -> None:
    """Add a chunk to the sums of ``h``, ``h^3`` and ``h^2 u^j``, each part taking every fourth arm."""
    lanes = min(QUARTERS, sums.size)  # a number that the compiler does not know: it keeps the loop, and vectorises it
    for first in range(0, size, lanes):
        for lane in range(lanes):
            i, k = np.uint64(lane), np.uint64(first + lane)
            # an arm's distance from the lowest, and its weight
            u = work[k + AWAY]
            h = work[k + WEIGHT]
            w = h * h
            sums[i + HALF] += h
            sums[i + THREE_HALVES] += w * h
            # the moments, one power of the distance after another
            sums[i + _0] += w
            w *= u
            sums[i + _1] += w
            w *= u
            sums[i + _2] += w
            w *= u
            sums[i + _3] += w
            w *= u
            sums[i + _4] += w
            w *= u
            sums[i + _5] += w
            w *= u
            sums[i + _6] += w
            w *= u
            sums[i + _7] += w
            w *= u
            sums[i + _8] += w


@inline_jit
def _total(sums: Floats, row: np.uint64) -> float:
    """The four parts of a sum together, always in the same order."""
    return float((sums[row] + sums[row + _L1]) + (sums[row + _L2] + sums[row + _L3]))


@inline_jit
def _set_terms(table: Floats, first: np.uint64, scale: float, sums: Floats) -> None:
    """``a_j`` from ``b_j = (-1)^j E u^j / j!``: with ``c_j = j a_j``, ``c_j = j b_j - sum_{0<i<j} c_i b_{j-i}``."""
    b1 = -scale * _total(sums, _1)
    b2 = scale * _total(sums, _2) * (1.0 / 2.0)
    b3 = -scale * _total(sums, _3) * (1.0 / 6.0)
    b4 = scale * _total(sums, _4) * (1.0 / 24.0)
    b5 = -scale * _total(sums, _5) * (1.0 / 120.0)
    b6 = scale * _total(sums, _6) * (1.0 / 720.0)
    b7 = -scale * _total(sums, _7) * (1.0 / 5040.0)
    b8 = scale * _total(sums, _8) * (1.0 / 40320.0)
    c2 = 2.0 * b2 - b1 * b1
    c3 = 3.0 * b3 - (b1 * b2 + c2 * b1)
    c4 = 4.0 * b4 - (b1 * b3 + c2 * b2 + c3 * b1)
    c5 = 5.0 * b5 - (b1 * b4 + c2 * b3 + c3 * b2 + c4 * b1)
    c6 = 6.0 * b6 - (b1 * b5 + c2 * b4 + c3 * b3 + c4 * b2 + c5 * b1)
    c7 = 7.0 * b7 - (b1 * b6 + c2 * b5 + c3 * b4 + c4 * b3 + c5 * b2 + c6 * b1)
    c8 = 8.0 * b8 - (b1 * b7 + c2 * b6 + c3 * b5 + c4 * b4 + c5 * b3 + c6 * b2 + c7 * b1)
    table[first + NEXT] = b1
    table[first + NEXT * _L2] = c2 * (1.0 / 2.0)
    table[first + NEXT * _L3] = c3 * (1.0 / 3.0)
    table[first + NEXT * _L4] = c4 * (1.0 / 4.0)
    table[first + NEXT * _L5] = c5 * (1.0 / 5.0)
    table[first + NEXT * _L6] = c6 * (1.0 / 6.0)
    table[first + NEXT * _L7] = c7 * (1.0 / 7.0)
    table[first + NEXT * _L8] = c8 * (1.0 / 8.0)


@inline_jit
def _radius(theta: float, steepness: float) -> float:
    """How far ``w`` may go: what the expansion leaves out of ``A + (1 + w) dA/dw`` stays below ``ACCURACY`` steepness.

    With ``c = |w| / R <= 1/4`` and ``R <= 1/2`` the rest is at most ``C (c^9 / (1 - c) + (1 + |w|) 9 c^8 / (R (1 -
    c)^2)) <= 18.2 C c^8 / R``. The error of a temperature is that of the price over its slope:
    at most rest / steepness.
    """
    theta += 1e-15  # rounding
    circle, height = 0.5, 1.3863 * theta  # -log(1 - theta) <= 2 log(2) theta up to one half
    if theta > 0.5:
        circle, height = 0.5 * math.sqrt(0.5 / theta), 0.69315
    power = ACCURACY * steepness * circle / (18.2 * height)
    if power >= 0.25**8:
        return circle * 0.25
    return circle * math.sqrt(math.sqrt(math.sqrt(power)))
