"""Stability of the iterates: Lemmas 7 and 8, and the cost of the shrunk comparator, Lemma 9.

The log-barrier keeps a clique's mass from growing by more than a factor in a half step. Only the
convexity of the entropy, non-negative estimates and ``lhat·p_t <= 1`` are used, so the factor depends on
``beta`` alone.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from allworlds.foundation.errors import InvalidConstants
from allworlds.theory.check import Check
from allworlds.theory.rounds import Round
from allworlds.theory.simplex import shrunk_comparator

Array = NDArray[np.float64]


def mass_ratio(beta: float) -> float:
    """``rho``: the factor by which a half step can raise a clique's mass, for ``beta > 2``.

    >>> round(mass_ratio(9.0), 4)
    1.8918

    [EK21, Lemma 7], sharpened: ``docs/sharp_constants.md``, step 1.
    """
    if not beta > 2.0:
        raise InvalidConstants(f"beta is {beta!r}; mass stability needs beta > 2 (the paper has 9)")
    return 1.0 + math.sqrt(2.0) / (math.sqrt(beta) - math.sqrt(2.0))


def lemma_7(state: Round) -> Check:
    """No clique's mass grows by more than 7/3 in a half step, whichever clique is drawn (``beta = 9``).

    [EK21, Lemma 7]
    """
    largest = float((state.half_mass / state.mass).max())
    return Check("p+(V_k) <= 7/3 p(V_k)", "lem:q-stability-new", largest, 7.0 / 3.0)


def mass_stability(state: Round) -> Check:
    """No clique's mass moves by more than ``rho - 1`` of itself in a half step, up or down.

    ``docs/sharp_constants.md``, step 1.
    """
    largest = float(np.abs(state.half_mass / state.mass - 1.0).max())
    return Check("|q+/q - 1| <= rho - 1", "sharp-1", largest, mass_ratio(state.constants.beta) - 1.0)


def lemma_8(state: Round) -> Check:
    """A half step never raises the estimated loss: ``p+·lhat <= p·lhat``, for the draw with the least room.

    [EK21, Lemma 8]
    """
    before = state.estimates @ state.distribution
    after = np.einsum("kn,kn->k", state.estimates, state.half_steps)
    tightest = int(np.argmax(after - before))
    return Check("p+·lhat <= p·lhat", "lem:ftrl-shifted-regret", float(after[tightest]), float(before[tightest]))


def lemma_9(distributions: Array, losses: Array, best_arm: int, gamma: float) -> Check:
    """Regret against the best arm is at most regret against ``p^gamma`` plus ``gamma N T``.

    ``distributions`` and ``losses`` have shape (T, N); by unbiasedness the expected estimates are losses.

    [EK21, Lemma 9]
    """
    horizon, n_arms = losses.shape
    incurred = float((distributions * losses).sum())
    comparator = shrunk_comparator(n_arms, best_arm, gamma)
    left = incurred - float(losses[:, best_arm].sum())
    right = incurred - float((losses @ comparator).sum()) + gamma * horizon * n_arms
    return Check("R(i*) <= R(p^gamma) + gamma N T", "lem:shrinked-regret", left, right, scale=incurred)
