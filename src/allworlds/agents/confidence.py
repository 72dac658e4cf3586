"""Intervals that hold at any time, for data that an adaptive policy collected.

The terms ``xi_t >= 0`` of an inverse-probability estimate have conditional means ``nu_t`` in [0, 1], and no upper limit
that is useful: an arm that is seen with probability 0.001 has terms up to 1,000. For a guess ``g_t`` in [0, 1] made
before round t, and any ``lambda`` in [0, 1),

    exp(lambda sum_t (xi_t - nu_t) - psi(lambda) sum_t (xi_t - g_t)^2),      psi(lambda) = -log(1 - lambda) - lambda,

is a supermartingale, because ``exp(lambda y - psi(lambda) y^2) <= 1 + lambda y`` for ``y >= -1`` (Fan, Grama and Liu,
"Exponential inequalities for martingales with applications", 2015), here with ``y = xi_t - g_t``. Ville's inequality
for a mixture over a grid of ``lambda`` gives a lower limit of ``mean nu_t`` that holds at all times together; the same
for ``1 - loss`` gives the upper limit. This is the empirical Bernstein confidence sequence for off-policy evaluation of
Waudby-Smith, Wu, Ramdas, Karampatziakis and Mineiro, "Anytime-valid off-policy inference for contextual bandits", 2022,
with a discrete mixture (Howard, Ramdas, McAuliffe and Sekhon, Annals of Statistics 2021) in place of their closed form.
The means may move: what is covered is their average over the rounds so far.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

Floats = NDArray[np.float64]

LAMBDAS = 0.9 * 2.0 ** (-0.5 * np.arange(56))
"""The grid of the mixture; the least is 5e-9, of use where terms are as large as 1e8."""
LOG_WEIGHTS = -np.log(np.arange(1.0, 57.0) * np.arange(2.0, 58.0))
"""``1 / (k (k + 1))``, which add up to less than one."""
PSI = -np.log1p(-LAMBDAS) - LAMBDAS


def margin(variance: Floats, alpha: float) -> Floats:
    """The least ``s`` at which the mixture ``sum_k w_k exp(lambda_k s - psi(lambda_k) V)`` reaches ``1 / alpha``.

    The logarithm of the mixture is convex in ``s``, so Newton's steps from above stay above the solution: but for
    rounding, an interval cannot become too short.
    """
    variance = np.atleast_1d(np.asarray(variance, dtype=np.float64))
    offsets = LOG_WEIGHTS + np.log(alpha) - np.multiply.outer(variance, PSI)
    root: Floats = (-offsets / LAMBDAS).min(axis=-1)  # one term of the mixture alone reaches 1 / alpha there
    for _ in range(30):
        exponents = offsets + root[:, None] * LAMBDAS
        value = logsumexp(exponents, axis=-1)
        if (value <= 1e-9).all():
            break
        slope = (np.exp(exponents - value[:, None]) * LAMBDAS).sum(axis=-1)
        root = root - np.maximum(value, 0.0) / slope
    return root


def lower_limits(terms: Floats, alpha: float, at: NDArray[np.int64]) -> Floats:
    """Lower limits of the average of the conditional means after each number of rounds in ``at``, together valid.

    The guess is the mean of the terms so far, started at 1/2 and kept within [0, 1].
    """
    sums = np.cumsum(terms)
    counts = np.arange(1.0, terms.size + 1.0)
    guesses = np.clip(np.concatenate([[0.5], (0.5 + sums[:-1]) / (1.0 + counts[:-1])]), 0.0, 1.0)
    variance = np.cumsum((terms - guesses) ** 2)
    chosen = at - 1
    return np.clip((sums[chosen] - margin(variance[chosen], alpha)) / at, 0.0, 1.0)


def intervals(
    terms: Floats, complements: Floats, alpha: float, at: NDArray[np.int64] | None = None
) -> tuple[Floats, Floats]:
    """Lower and upper limits of the mean loss after each number of rounds in ``at``, by default after all.

    A term is ``weight x loss``, its complement ``weight x (1 - loss)``; both are 0 where nothing was seen.

    >>> low, high = intervals(np.full(1000, 0.25), np.full(1000, 0.75), 0.05)
    >>> bool(0.22 < low[0] < 0.25 < high[0] < 0.28)
    True
    """
    at = np.array([terms.size]) if at is None else at
    return lower_limits(terms, alpha / 2.0, at), 1.0 - lower_limits(complements, alpha / 2.0, at)
