"""The regret proof with sharp constants: its numbers, and one function a step of ``docs/sharp_constants.md``.

Notation, as there: ``q_k`` the masses, ``q*`` the best clique's, ``x`` the mass of the best clique without
the best arm, ``d*`` the best clique's size, ``s`` the sum of ``sqrt(q_k)`` over the other cliques. A plus
marks the half step. The statements about a whole run are ``penalty_stability.decomposition`` and, for step 7,
``displays.corrupted_play`` and ``displays.youngs_line``.

The numbers are derived for ``beta = 9``, each from the one before it. The bounds use the values rounded up to two
decimals, so that a reader can copy them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from allworlds.covers import CliqueCover
from allworlds.foundation.errors import InvalidConstants, InvalidParameter
from allworlds.ftrl.constants import Constants
from allworlds.ftrl.sharp import sharp_alphas
from allworlds.theory.check import Check
from allworlds.theory.penalty_stability import expected_dual_norm
from allworlds.theory.regulariser import clique_entropies, log_barrier, sharp_comparator
from allworlds.theory.rounds import Round, mass_beside, masses

Array = NDArray[np.float64]


def mass_ratio(beta: float) -> float:
    """``rho``: the factor by which a half step can raise a clique's mass, for ``beta > 2``.

    Only the convexity of the entropy, non-negative estimates and ``lhat·p_t <= 1`` are used, so the factor depends on
    ``beta`` alone.

    >>> round(mass_ratio(9.0), 4)
    1.8918

    [EK21, Lemma 7], sharpened: ``docs/sharp_constants.md``, step 1.
    """
    if not beta > 2.0:
        raise InvalidConstants(f"beta is {beta!r}; expected more than 2, because masses can jump otherwise; try 9")
    return 1.0 + math.sqrt(2.0) / (math.sqrt(beta) - math.sqrt(2.0))


BETA = 9.0
RHO = mass_ratio(BETA)  # 1.8918: how much a clique's mass can grow in a half step, step 1
HUMP = math.sqrt(27.0) / 16.0  # 0.3248: the largest value of sqrt(q) (1 - q)^(3/2), at q = 1/4

# Step 4, the half-step lemma: sqrt(max(x, x+)) <= STEP_X sqrt(x) + (STEP_S + STEP_LOG sqrt(log d*)) s
SHRINKAGE = 2.0 * (RHO - 1.0) / (1.0 + math.sqrt(2.0 - RHO))  # 1.3421: 1 - tau <= SHRINKAGE (1 - q*)
STEP_X = 2.0 * math.e  # 5.4366
STEP_S = math.e * math.sqrt(SHRINKAGE)  # 3.1492
STEP_LOG = math.sqrt(SHRINKAGE)  # 1.1585

# Step 4, summed: stability_t <= eta_t [ (STABILITY_S + STABILITY_LOG sqrt(log d*)) s + STABILITY_X sqrt(x) ]
STABILITY_S = 10.91  # RHO^1.5 (5/4 + 2 HUMP) + RHO STEP_S = 10.9002
STABILITY_LOG = 2.20  # RHO STEP_LOG = 2.1917
STABILITY_X = 10.29  # RHO STEP_X = 10.2849
ADVERSARIAL = 5.21  # 2 RHO^1.5 = 5.2041, step 6
FREE_ROUNDS = 3  # rounds 1, 2, 3 cost at most 1 each: the half-step lemma needs eta <= 1/2


@dataclass(frozen=True)
class SharpNumbers:
    """What Theorem B computes from the sizes of the cliques; ``practical_coefficients.Numbers`` is Theorem C's."""

    sizes: NDArray[np.intp]
    head_start = 0.0

    @property
    def reach(self) -> Array:
        """``alpha_k + log d_k``, shape (K,)."""
        reach: Array = sharp_alphas(self.sizes) + np.log(self.sizes)
        return reach

    def weights(self, best_clique: int) -> Array:
        """``B_k`` of Theorem B: what a root of the clique's mass costs, and of ``x`` for the best clique, shape (K,).

        >>> SharpNumbers(np.array([1, 1])).weights(best_clique=0).round(2).tolist()
        [11.29, 12.91]
        """
        log_best = math.log(self.sizes[best_clique])
        costs: Array = self.reach + STABILITY_S + STABILITY_LOG * math.sqrt(log_best)
        costs[best_clique] = 1.0 + log_best + STABILITY_X
        return costs

    def harmonic(self, horizon: int) -> float:
        """``1 + log T``: at least ``sum_{t <= T} 1/t``."""
        return 1.0 + math.log(horizon)

    def constant(self, best_clique: int, horizon: int) -> float:
        """``A = 9 (K - 1) log T + 4 + alpha* / sqrt(T)`` of Theorem B (i)."""
        barrier = BETA * (len(self.sizes) - 1) * math.log(horizon)
        alpha_best = float(sharp_alphas(self.sizes)[best_clique])
        return barrier + 1.0 + FREE_ROUNDS + alpha_best / math.sqrt(horizon)


def mass_stability(state: Round) -> Check:
    """Step 1: no clique's mass moves by more than ``rho - 1`` of itself in a half step, up or down."""
    largest = float(np.abs(state.half_mass / state.mass - 1.0).max())
    return Check("|q+/q - 1| <= rho - 1", "sharp-1", largest, mass_ratio(state.constants.beta) - 1.0)


def comparator_cost(losses: Array, cover: CliqueCover, best_arm: int) -> Check:
    """Step 2: playing the comparator costs at most 1 more than the best arm; ``losses`` has shape (T, N)."""
    horizon, n_arms = losses.shape
    u = sharp_comparator(cover, best_arm, horizon)
    cost = float((losses @ (u - np.eye(n_arms)[best_arm])).sum())
    return Check("sum l·(u - e*) <= 1", "sharp-2", cost, 1.0)


def barrier_penalty(first: Array, cover: CliqueCover, best_arm: int, horizon: int) -> Check:
    """Step 3: the barrier's penalty is at most ``9 (K - 1) log T``; ``first`` is ``p_1``, shape (N,)."""
    u = sharp_comparator(cover, best_arm, horizon)
    left = log_barrier(u, cover, BETA) - log_barrier(first, cover, BETA)
    right = BETA * (cover.n_cliques - 1) * math.log(horizon)
    return Check("Phi(u) - Phi(p_1) <= 9 (K-1) log T", "sharp-3a", left, right, scale=1.0)


def best_clique_entropy(p: Array, cover: CliqueCover, best_arm: int) -> Check:
    """Step 3, the key: ``H(y*) sqrt(q*) <= (1 + log d*) sqrt(x)``; the best arm itself costs nothing."""
    best = int(cover.owner[best_arm])
    left = -float(clique_entropies(p, cover, 0.0)[best])
    right = (1.0 + math.log(cover.sizes[best])) * math.sqrt(mass_beside(cover, p, best_arm))
    return Check("H(y*) sqrt(q*) <= (1 + log d*) sqrt(x)", "sharp-3b", left, right)


def entropy_penalty(p: Array, cover: CliqueCover, best_arm: int, horizon: int) -> Check:
    """Step 3: what the entropy's weight costs in one round, before it is multiplied by that weight."""
    left, right = entropy_sides(p, cover, best_arm, horizon, Constants.sharp(cover))
    scale = float(sharp_alphas(cover.sizes).sum())
    return Check("Psi(u) - Psi(p) <= its bound", "sharp-3c", left, right, scale=scale)


def entropy_sides(
    p: Array, cover: CliqueCover, best_arm: int, horizon: int, constants: Constants
) -> tuple[float, float]:
    """``Psi(u) - Psi(p)``, and its bound in terms of the other masses and ``x``, with any alphas and rate factors.

    The bound is the sum of ``R_k sqrt(q_k) / sigma_k`` over the other cliques, with ``R_k = alpha_k + log d_k``, plus
    ``((1 + log d*) sqrt(x) + alpha* / T) / sigma*``.
    """
    alpha, sigma, best = np.array(constants.alpha), constants.rate_factors, int(cover.owner[best_arm])
    u = sharp_comparator(cover, best_arm, horizon)
    gains = clique_entropies(u, cover, alpha) - clique_entropies(p, cover, alpha)
    costs = (alpha + np.log(cover.sizes)) * np.sqrt(masses(cover, p))
    root = math.sqrt(mass_beside(cover, p, best_arm))
    costs[best] = (1.0 + math.log(cover.sizes[best])) * root + alpha[best] / horizon
    return float((gains / sigma).sum()), float((costs / sigma).sum())


def stability_at_most_one(state: Round) -> Check:
    """Step 4: whatever is drawn, a round's stability is at most ``lhat·p <= 1``."""
    return Check("stability <= 1", "sharp-4-one", float(state.stabilities.max()), 1.0)


def stability_at_most_half_norm(state: Round) -> Check:
    """Step 4: stability is at most ``eta/2`` times the squared dual norm, for the draw with the least room.

    Theorem 3 of the paper has ``2 eta``; expanding the other function gives a quarter of it.
    """
    terms, shift = state.stabilities, state.losses[state.best_arm]
    norms = [state.largest_dual_norm(k, state.estimates[k] - shift) for k in range(len(terms))]
    bound = state.learning_rate / 2.0 * np.array(norms)
    k = int(np.argmin(bound - terms))
    large = abs(state.entropy(state.distribution)) / state.learning_rate
    large += float(np.abs(state.cumulative_losses) @ state.distribution)
    left, right = float(terms[k]), float(bound[k])
    return Check("stability <= eta/2 |g|*^2", "sharp-4-half", left, right, tolerance=1e-12, rounding=1e-12 * large)


def drawn_elsewhere(state: Round) -> Check:
    """Step 4 (a): the drawn clique is not the best one: at most ``rho^(3/2) s``."""
    ks = [k for k in range(state.cover.n_cliques) if k != state.best_clique]
    left = sum(state.mass[k] * _largest(state, k, state.members(k)) for k in ks)
    return Check("(a)", "sharp-4a", float(left), RHO**1.5 * state.root_sum)


def drawn_best_arm(state: Round) -> Check:
    """Step 4 (b): the best clique is drawn, its best arm's share: at most ``0.325 rho^(3/2) s``."""
    left = state.best_mass * _largest(state, state.best_clique, np.array([state.best_arm]))
    return Check("(b)", "sharp-4b", left, HUMP * RHO**1.5 * state.root_sum, rounding=1e-15)


def not_drawn(state: Round) -> Check:
    """Step 4 (c): the cliques that were not drawn, where only the shift acts: ``0.575 rho^(3/2) s``."""
    owner = np.asarray(state.cover.owner)
    left = sum(state.mass[k] * _largest(state, k, np.flatnonzero(owner != k)) for k in range(state.cover.n_cliques))
    return Check("(c)", "sharp-4c", float(left), (0.25 + HUMP) * RHO**1.5 * state.root_sum)


def drawn_other_arms(state: Round) -> Check:
    """Step 4 (d): the best clique is drawn, the arms beside the best one; needs ``eta <= 1/2``."""
    _check_rate(state)
    left = state.best_mass * _largest(state, state.best_clique, state.others)
    return Check("(d)", "sharp-4d", left, RHO * state.in_roots(STEP_X, STEP_S, STEP_LOG))


def half_step_lemma(state: Round) -> Check:
    """Step 4: the half step cannot raise ``x`` much: ``sqrt(max(x, x+)) <= c1 sqrt(x) + (c2 + c3 ..) s``.

    ``x+`` is that of a draw from the best clique. Needs ``eta <= 1/2`` and ``q* > 1/2``.
    """
    _check_rate(state)
    if not state.best_mass > 0.5:
        raise InvalidParameter(f"q* is {state.best_mass:g}; expected more than 1/2")
    right = state.in_roots(STEP_X, STEP_S, STEP_LOG)
    return Check("sqrt(max(x, x+)) <= its bound", "sharp-4-step", state.larger_root, right)


def stability(state: Round) -> Check:
    """Step 4, summed: the expected stability of a round with ``eta <= 1/2``, without any half step in it."""
    _check_rate(state)
    left = state.learning_rate / 2.0 * expected_dual_norm(state, shifted=True)
    right = state.learning_rate * state.in_roots(STABILITY_X, STABILITY_S, STABILITY_LOG)
    return Check("E stability <= its bound", "sharp-4", left, right)


def plain_stability(state: Round) -> Check:
    """Step 6: without the shift, the expected stability is at most ``eta rho^(3/2) sum_k sqrt(q_k)``."""
    right = state.learning_rate * RHO**1.5 * float(np.sqrt(state.mass).sum())
    left = state.learning_rate / 2.0 * expected_dual_norm(state, shifted=False)
    return Check("E stability <= eta rho^1.5 sum sqrt(q)", "sharp-6", left, right)


def plain_penalty(p: Array, cover: CliqueCover, best_arm: int, horizon: int) -> Check:
    """Step 6: the entropy of a round costs at most ``sqrt(sum_k (alpha_k + log d_k)^2)``, whatever the masses."""
    left, _ = entropy_sides(p, cover, best_arm, horizon, Constants.sharp(cover))
    right = float(np.linalg.norm(SharpNumbers(cover.sizes).reach))
    return Check("Psi(u) - Psi(p) <= |alpha + log d|", "sharp-6-penalty", left, right)


def _largest(state: Round, drawn: int, arms: NDArray[np.intp]) -> float:
    """The largest ``sum sqrt(q~(V(i))) p~_i (lhat_i - l*)^2`` over ``arms``, on the segment of ``drawn``."""
    return state.largest_sum(drawn, arms, float(state.losses[state.best_arm]))


def _check_rate(state: Round) -> None:
    if state.learning_rate > 0.5:
        raise InvalidParameter(f"learning_rate is {state.learning_rate:g}; expected at most 1/2, that of round 4")
