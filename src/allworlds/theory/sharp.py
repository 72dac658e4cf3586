"""The pieces of the regret proof with sharp constants, one function a step of ``docs/sharp_constants.md``.

Notation, as there: ``q_k`` the masses, ``q*`` the best clique's, ``x`` the mass of the best clique without
the best arm, ``d*`` the best clique's size, ``s`` the sum of ``sqrt(q_k)`` over the other cliques. A plus
marks the half step. What speaks of a whole run is in ``sharp_runs``; step 1 is ``mass_stability``.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from allworlds.covers import CliqueCover
from allworlds.foundation.errors import InvalidParameter
from allworlds.ftrl.sharp import sharp_alphas
from allworlds.theory import coefficients as number
from allworlds.theory.check import Check
from allworlds.theory.penalty_stability import expected_dual_norm
from allworlds.theory.regulariser import log_barrier, tsallis_shannon
from allworlds.theory.rounds import Round, masses
from allworlds.theory.simplex import sharp_comparator

Array = NDArray[np.float64]


def comparator_cost(losses: Array, cover: CliqueCover, best_arm: int) -> Check:
    """Step 2: playing the comparator costs at most 1 more than the best arm; ``losses`` has shape (T, N)."""
    horizon, n_arms = losses.shape
    u = sharp_comparator(cover, best_arm, horizon)
    cost = float((losses @ (u - np.eye(n_arms)[best_arm])).sum())
    return Check("sum l·(u - e*) <= 1", "sharp-2", cost, 1.0)


def barrier_penalty(first: Array, cover: CliqueCover, best_arm: int, horizon: int) -> Check:
    """Step 3: the barrier's penalty is at most ``9 (K - 1) log T``; ``first`` is ``p_1``, shape (N,)."""
    u = sharp_comparator(cover, best_arm, horizon)
    left = log_barrier(u, cover, number.BETA) - log_barrier(first, cover, number.BETA)
    right = number.BETA * (cover.n_cliques - 1) * math.log(horizon)
    return Check("Phi(u) - Phi(p_1) <= 9 (K-1) log T", "sharp-3a", left, right, scale=1.0)


def best_clique_entropy(p: Array, cover: CliqueCover, best_arm: int) -> Check:
    """Step 3, the key: ``H(y*) sqrt(q*) <= (1 + log d*) sqrt(x)``; the best arm itself costs nothing."""
    clique = list(cover.cliques[int(cover.owner[best_arm])])
    q = float(p[clique].sum())
    x = float(sum(p[i] for i in clique if i != best_arm))
    y = p[clique][p[clique] > 0.0] / q
    left = -float(y @ np.log(y)) * math.sqrt(q)
    right = (1.0 + math.log(len(clique))) * math.sqrt(x)
    return Check("H(y*) sqrt(q*) <= (1 + log d*) sqrt(x)", "sharp-3b", left, right)


def entropy_penalty(p: Array, cover: CliqueCover, best_arm: int, horizon: int) -> Check:
    """Step 3: what the entropy's weight costs in one round, before it is multiplied by that weight."""
    alpha = sharp_alphas(cover.sizes)
    u = sharp_comparator(cover, best_arm, horizon)
    left = tsallis_shannon(u, cover, alpha) - tsallis_shannon(p, cover, alpha)
    best = int(cover.owner[best_arm])
    q = masses(cover, p)
    x = float(sum(p[i] for i in cover.cliques[best] if i != best_arm))
    log_sizes = np.log(cover.sizes)
    right = float(np.delete((alpha + log_sizes) * np.sqrt(q), best).sum())
    right += (1.0 + float(log_sizes[best])) * math.sqrt(x) + float(alpha[best]) / horizon
    return Check("Psi(u) - Psi(p) <= its bound", "sharp-3c", left, right, scale=float(alpha.sum()))


def stability_terms(state: Round) -> Array:
    """The stability of the round for each drawn clique, shape (K,): ``p·lhat + F(p) - F+(p+)``.

    ``F`` is what ``p`` minimises and ``F+`` what ``p+`` minimises.
    """
    before, alpha, eta = state.cumulative_losses, state.constants.alpha, state.learning_rate

    def objective(p: Array) -> float:
        smooth = tsallis_shannon(p, state.cover, alpha) / eta
        return float(before @ p) + smooth + log_barrier(p, state.cover, state.constants.beta)

    at_p = objective(state.distribution)
    moves = state.distribution - state.half_steps
    drops = np.array([at_p - objective(step) for step in state.half_steps])
    terms: Array = np.einsum("kn,kn->k", state.estimates, moves) + drops
    return terms


def stability_at_most_one(state: Round) -> Check:
    """Step 4: whatever is drawn, a round's stability is at most ``lhat·p <= 1``."""
    return Check("stability <= 1", "sharp-4-one", float(stability_terms(state).max()), 1.0)


def stability_at_most_half_norm(state: Round) -> Check:
    """Step 4: stability is at most ``eta/2`` times the squared dual norm, for the draw with the least room.

    Theorem 3 of the paper has ``2 eta``; expanding the other function gives a quarter of it.
    """
    terms = stability_terms(state)
    shift = state.losses[state.best_arm]
    norms = [state.largest_dual_norm(k, state.estimates[k] - shift) for k in range(len(terms))]
    bound = state.learning_rate / 2.0 * np.array(norms)
    k = int(np.argmin(bound - terms))
    large = abs(tsallis_shannon(state.distribution, state.cover, state.constants.alpha)) / state.learning_rate
    large += float(np.abs(state.cumulative_losses) @ state.distribution)
    left, right = float(terms[k]), float(bound[k])
    return Check("stability <= eta/2 |g|*^2", "sharp-4-half", left, right, tolerance=1e-12, rounding=1e-12 * large)


def drawn_elsewhere(state: Round) -> Check:
    """Step 4 (a): the drawn clique is not the best one: at most ``rho^(3/2) s``."""
    ks = [k for k in range(state.cover.n_cliques) if k != state.best_clique]
    left = sum(state.mass[k] * _largest(state, k, np.array(state.cover.cliques[k])) for k in ks)
    return Check("(a)", "sharp-4a", float(left), number.RHO**1.5 * state.root_sum)


def drawn_best_arm(state: Round) -> Check:
    """Step 4 (b): the best clique is drawn, its best arm's share: at most ``0.325 rho^(3/2) s``."""
    left = state.best_mass * _largest(state, state.best_clique, np.array([state.best_arm]))
    return Check("(b)", "sharp-4b", left, number.HUMP * number.RHO**1.5 * state.root_sum, rounding=1e-15)


def not_drawn(state: Round) -> Check:
    """Step 4 (c): the cliques that were not drawn, where only the shift acts: ``0.575 rho^(3/2) s``."""
    owner = np.asarray(state.cover.owner)
    left = sum(state.mass[k] * _largest(state, k, np.flatnonzero(owner != k)) for k in range(state.cover.n_cliques))
    return Check("(c)", "sharp-4c", float(left), (0.25 + number.HUMP) * number.RHO**1.5 * state.root_sum)


def drawn_other_arms(state: Round) -> Check:
    """Step 4 (d): the best clique is drawn, the arms beside the best one; needs ``eta <= 1/2``."""
    _check_rate(state)
    left = state.best_mass * _largest(state, state.best_clique, state.others)
    return Check("(d)", "sharp-4d", left, number.RHO * _half_step_bound(state))


def half_step_lemma(state: Round) -> Check:
    """Step 4: the half step cannot raise ``x`` much: ``sqrt(max(x, x+)) <= c1 sqrt(x) + (c2 + c3 ..) s``.

    ``x+`` is that of a draw from the best clique. Needs ``eta <= 1/2`` and ``q* > 1/2``.
    """
    _check_rate(state)
    if not state.best_mass > 0.5:
        raise InvalidParameter(f"q* is {state.best_mass:g}; the half-step lemma needs more than 1/2")
    after = float(state.half_steps[state.best_clique, state.others].sum())
    left = math.sqrt(max(state.others_mass, after))
    return Check("sqrt(max(x, x+)) <= its bound", "sharp-4-step", left, _half_step_bound(state))


def stability(state: Round) -> Check:
    """Step 4, summed: the expected stability of a round with ``eta <= 1/2``, without any half step in it."""
    _check_rate(state)
    eta, log_size = state.learning_rate, math.log(1 + len(state.others))
    right = (number.STABILITY_S + number.STABILITY_LOG * math.sqrt(log_size)) * state.root_sum
    right += number.STABILITY_X * math.sqrt(state.others_mass)
    left = eta / 2.0 * expected_dual_norm(state, shifted=True)
    return Check("E stability <= its bound", "sharp-4", left, eta * right)


def plain_stability(state: Round) -> Check:
    """Step 6: without the shift, the expected stability is at most ``eta rho^(3/2) sum_k sqrt(q_k)``."""
    right = state.learning_rate * number.RHO**1.5 * float(np.sqrt(state.mass).sum())
    left = state.learning_rate / 2.0 * expected_dual_norm(state, shifted=False)
    return Check("E stability <= eta rho^1.5 sum sqrt(q)", "sharp-6", left, right)


def plain_penalty(p: Array, cover: CliqueCover, best_arm: int, horizon: int) -> Check:
    """Step 6: the entropy of a round costs at most ``sqrt(sum_k (alpha_k + log d_k)^2)``, whatever the masses."""
    alpha = sharp_alphas(cover.sizes)
    u = sharp_comparator(cover, best_arm, horizon)
    left = tsallis_shannon(u, cover, alpha) - tsallis_shannon(p, cover, alpha)
    return Check("Psi(u) - Psi(p) <= |alpha + log d|", "sharp-6-penalty", left, number.reach(cover.sizes))


def _largest(state: Round, drawn: int, arms: NDArray[np.intp]) -> float:
    """The largest ``sum sqrt(q~(V(i))) p~_i (lhat_i - l*)^2`` over ``arms``, on the segment of ``drawn``."""
    squares = (state.estimates[drawn] - state.losses[state.best_arm]) ** 2
    points = state.segment(drawn)
    roots = np.sqrt(np.array([masses(state.cover, p) for p in points]))[:, np.asarray(state.cover.owner)]
    return float((roots * points * squares)[:, arms].sum(axis=1).max())


def _half_step_bound(state: Round) -> float:
    log_size = math.log(1 + len(state.others))
    bound = number.STEP_X * math.sqrt(state.others_mass)
    return bound + (number.STEP_S + number.STEP_LOG * math.sqrt(log_size)) * state.root_sum


def _check_rate(state: Round) -> None:
    if state.learning_rate > 0.5:
        raise InvalidParameter(
            f"the learning rate is {state.learning_rate:g}; this step needs at most 1/2, so a round t >= 4"
        )
