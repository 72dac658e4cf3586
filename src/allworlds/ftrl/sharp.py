"""The smallest alpha that a clique of a given size needs.

Lemma 2 of [EK21] asks for ``alpha = 2 (1 + log(1/gamma)^2)``, about 520 for ten arms and a million
rounds. The exact condition is much weaker. For ``0 <= kappa < 1`` the Hessian of the Tsallis-Shannon
entropy dominates ``kappa * diag(1 / (p_i sqrt(p(V(i)))))`` on the whole orthant if and only if

    alpha >= alpha_kappa(d) = 4 kappa + max_y [ Var_y(log y) / (1 - kappa) - H(y) ],

with ``y`` over the simplex of ``d`` arms, ``H`` the Shannon entropy and ``Var_y(log y)`` the varentropy.
The maximiser is unique up to the order of the arms: one heavy arm and ``d - 1`` equal light ones. With
``g = log(heavy / light)`` it is the only root of

    g * tanh((g - log(d - 1)) / 2) = 3 - kappa.

The proof is in ``docs/sharp_constants.md``. There is no floor and no horizon in it.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from allworlds.foundation.errors import InvalidConstants, InvalidParameter

BRACKET = 4.0  # g >= excess = 4 and tanh(2) > 0.96, so the left side exceeds 3 there


def sharp_alpha(size: int, kappa: float = 0.5) -> float:
    """The smallest alpha with which a clique of ``size`` arms has the Hessian bound of Lemma 2.

    ``kappa = 1/2`` is the bound of the paper; ``kappa = 0`` is plain convexity. A single arm needs
    ``4 kappa``. The value grows like ``log(size)^2 / (4 (1 - kappa))``.

    >>> round(sharp_alpha(2), 3), round(sharp_alpha(10), 3), round(sharp_alpha(2, kappa=0.0), 4)
    (2.628, 5.209, 0.2202)

    [EK21, Lemma 2], sharpened.
    """
    return _sharp_alpha(_checked_size(size), _checked_kappa(kappa))


def sharp_alphas(sizes: Sequence[int] | NDArray[np.integer], kappa: float = 0.5) -> NDArray[np.float64]:
    """One :func:`sharp_alpha` for each clique size, shape (K,); equal sizes are computed once.

    >>> sharp_alphas([1, 2, 1]).round(3).tolist()
    [2.0, 2.628, 2.0]
    """
    given = np.asarray(sizes)
    if given.ndim != 1:
        raise InvalidParameter(f"sizes has shape {given.shape}; expected one for each clique, shape (K,)")
    distinct, place = np.unique(given, return_inverse=True)
    alphas = np.array([sharp_alpha(size.item(), kappa) for size in distinct])
    return alphas[place]


def worst_conditional(size: int, kappa: float = 0.5) -> NDArray[np.float64]:
    """The conditional distribution that forces :func:`sharp_alpha`, shape (size,), heavy arm first.

    It maximises ``Var_y(log y) / (1 - kappa) - H(y)`` over the simplex.

    >>> worst_conditional(2).round(3).tolist()
    [0.944, 0.056]
    """
    size = _checked_size(size)
    excess = _excess(size, _checked_kappa(kappa))
    if size == 1:
        return np.ones(1)
    light = 1.0 / ((size - 1) * (1.0 + math.exp(excess)))
    return np.array([1.0 / (1.0 + math.exp(-excess))] + [light] * (size - 1))


@functools.lru_cache(maxsize=4096)
def rebound(size: int) -> float:
    """The largest ``sum_i y_i (1 + (log y_i + H(y)) / 2)^-`` over the distributions of ``size`` arms.

    The price of a clique rises by ``y_i (1 + (log y_i + H) / 2)`` times a small loss of arm ``i``, so a loss on a rare
    arm may *lower* it; losses in [0, 1] lower it by at most this. With the mass ``m`` on the arms for which the bracket
    is negative, the sum is largest if they are equal and the rest is one arm: a search in one variable,

        max_m  m [(1 - m) / 2 * log((d - 1) (1 - m) / m) - 1].

    >>> rebound(1), round(rebound(2), 4), round(rebound(10), 4), round(rebound(1000), 4)
    (0.0, 0.0211, 0.1018, 0.5143)
    """
    size = _checked_size(size)
    if size == 1:
        return 0.0

    def value(mass: float) -> float:
        return mass * ((1.0 - mass) / 2.0 * math.log((size - 1) * (1.0 - mass) / mass) - 1.0)

    low, high = 1e-9, 0.5  # beyond one half the sum only falls; below, it rises and then falls
    for _ in range(200):
        left, right = low + (high - low) / 3.0, high - (high - low) / 3.0
        if value(left) < value(right):
            low = left
        else:
            high = right
    return max(0.0, value((low + high) / 2.0))


@functools.lru_cache(maxsize=4096)
def _sharp_alpha(size: int, kappa: float) -> float:
    if size == 1:
        return 4.0 * kappa
    excess = _excess(size, kappa)
    log_others = math.log(size - 1)
    heavy = 1.0 / (1.0 + math.exp(-excess))
    varentropy = (log_others + excess) ** 2 / (4.0 * math.cosh(excess / 2.0) ** 2)
    entropy = (1.0 - heavy) * log_others + math.log1p(math.exp(excess)) - heavy * excess
    return 4.0 * kappa + varentropy / (1.0 - kappa) - entropy


def _excess(size: int, kappa: float) -> float:
    """``g - log(d - 1)`` at the maximiser: the log-odds of the heavy arm, by bisection.

    The left side of the equation increases strictly in ``g`` beyond ``log(d - 1)``. An error ``e`` here
    moves the maximum by ``O(e^2)`` only.
    """
    if size == 1:
        return 0.0
    log_others = math.log(size - 1)
    low, high = 0.0, BRACKET
    for _ in range(60):
        middle = (low + high) / 2.0
        if (log_others + middle) * math.tanh(middle / 2.0) < 3.0 - kappa:
            low = middle
        else:
            high = middle
    return (low + high) / 2.0


def _checked_size(size: object) -> int:
    if not isinstance(size, int | np.integer) or isinstance(size, bool) or size < 1:
        raise InvalidParameter(f"size is {size!r}; expected a positive integer: the arms of one clique")
    return int(size)


def _checked_kappa(kappa: object) -> float:
    if not isinstance(kappa, int | float | np.integer | np.floating) or not 0.0 <= kappa < 1.0:
        raise InvalidConstants(f"kappa is {kappa!r}; expected 0 <= kappa < 1 (the paper has 1/2)")
    return float(kappa)
