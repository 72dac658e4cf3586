"""Regret is penalty plus stability: Theorem 3 and Lemmas 3, 4, 5, 7, 8 and 9.

Theorem 3 holds for any regulariser ``psi / eta_t + phi``. Lemma 3 is the same for Algorithm 1, Lemma 4
bounds its penalty and Lemma 5 its stability in one round. Lemmas 7 and 8 say how far a half step can move, Lemma 9 what
the comparator costs. Statements about a whole run take arrays with one row a round. An intermediate point is known only
to lie between two others, so every dual norm here is the largest over that segment.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from allworlds.covers import CliqueCover
from allworlds.foundation.checks import real
from allworlds.foundation.errors import InvalidParameter
from allworlds.ftrl.constants import Constants
from allworlds.theory.check import Check
from allworlds.theory.hessian import dual_norm_squared
from allworlds.theory.regulariser import log_barrier, shrunk_comparator, tsallis_shannon
from allworlds.theory.rounds import SEGMENT_POINTS, Round, masses

Array = NDArray[np.float64]
Scalar = Callable[[Array], float]
Norm = Callable[[Array, Array], float]


def theorem_3(
    gradients: Array,
    points: Array,
    half_points: Array,
    rates: Array,
    comparator: Array,
    psi: Scalar,
    phi: Scalar,
    dual_norm: Norm,
) -> Check:
    """The regret of FTRL with ``psi / eta_t + phi`` is at most its penalty plus twice its stability.

    ``gradients``, ``points``, ``half_points`` have shape (T, d), ``rates`` shape (T,);
    ``dual_norm(g, w)`` is the squared dual local norm ``g' (Hess psi(w))^(-1) g``.

    [EK21, Theorem 3]
    """
    left = float((gradients * (points - comparator)).sum())
    penalty = _penalty(points, rates, comparator, psi, phi)
    rounds = zip(gradients, points, half_points, rates, strict=True)
    stability = sum(eta * _largest_norm(g, w, half, dual_norm) for g, w, half, eta in rounds)
    label = "thm:ftrl-general-regret-bound-haipeng"
    return Check("regret <= penalty + 2 stability", label, left, penalty + 2.0 * float(stability))


def general_stability_bound(
    gradient: Array,
    before: Array,
    point: Array,
    half_point: Array,
    rate: float,
    psi: Scalar,
    phi: Scalar,
    dual_norm: Norm,
) -> Check:
    """The stability of one round of FTRL: ``w·g + F(w) - F+(w+) <= 2 eta |g|*^2``.

    ``before`` (d,) is the sum of the earlier gradients, ``F(w) = before·w + psi(w)/eta + phi(w)`` and ``F+`` has
    ``gradient`` added. ``sharp.stability_at_most_half_norm`` has ``eta/2``.

    [EK21, proof of Theorem 3: eqn:general-stability-bound]
    """
    size = abs(psi(point)) / rate + float(np.abs(before) @ point)  # the sides are differences of such numbers
    left = stability_of(before + gradient, point, half_point, rate, psi, phi)
    right = 2.0 * rate * _largest_norm(gradient, point, half_point, dual_norm)
    label = "eqn:general-stability-bound"
    return Check("stability <= 2 eta |g|*^2", label, left, right, rounding=1e-12 * size)


def general_penalty_bound(
    gradients: Array,
    points: Array,
    half_points: Array,
    rates: Array,
    comparator: Array,
    psi: Scalar,
    phi: Scalar,
) -> Check:
    """The rest of FTRL's regret: ``sum F_t+(w_t+) - F_t(w_t) - u·g_t`` is at most the penalty.

    The arrays are those of :func:`theorem_3`, and ``u`` is the comparator.

    [EK21, proof of Theorem 3: eqn:general-penalty-bound]
    """
    after = np.cumsum(gradients, axis=0)
    left = float((gradients * (points - comparator)).sum())
    rounds = zip(after, points, half_points, rates, strict=True)
    left -= sum(stability_of(total, w, half, eta, psi, phi) for total, w, half, eta in rounds)
    right = _penalty(points, rates, comparator, psi, phi)
    size = float(np.abs(after * half_points).sum())
    return Check("the rest <= penalty", "eqn:general-penalty-bound", left, right, rounding=1e-12 * size)


def decomposition(
    cover: CliqueCover,
    constants: Constants,
    estimates: Array,
    distributions: Array,
    half_steps: Array,
    rates: Array,
    comparator: Array,
) -> Check:
    """Regret on the estimates is at most penalty plus stability: ``sum lhat·(p_t - u) <= penalty + sum stability_t``.

    ``estimates``, ``distributions`` and ``half_steps`` (of the drawn clique) have shape (T, N), ``rates`` (T,) is
    ``eta_t`` and ``comparator`` (N,) is ``u``. The right side has the minima themselves and no dual norm.

    ``docs/sharp_constants.md``, penalty and stability.
    """
    psi, phi, _ = regularisers(cover, constants)
    after = np.cumsum(estimates, axis=0)
    rounds = zip(after, distributions, half_steps, rates, strict=True)
    stability = sum(stability_of(total, p, half, eta, psi, phi) for total, p, half, eta in rounds)
    left = float((estimates * (distributions - comparator)).sum())
    right = _penalty(distributions, rates, comparator, psi, phi) + stability
    rounding = 1e-13 * float(((after - estimates) * distributions).sum())
    text = "sum lhat·(p - u) <= penalty + stability"
    return Check(text, "sharp-decomposition", left, right, tolerance=1e-12, rounding=rounding)


def regularisers(cover: CliqueCover, constants: Constants) -> tuple[Scalar, Scalar, Norm]:
    """``Psi`` and ``Phi`` of Algorithm 1, without the learning rate, and the squared dual norm of ``Psi``."""

    def norm(g: Array, p: Array) -> float:
        return float(dual_norm_squared(g, p, cover, constants.alpha))

    psi = partial(tsallis_shannon, cover=cover, alpha=constants.alpha)
    return psi, partial(log_barrier, cover=cover, beta=constants.beta), norm


def stability_of(after: Array, point: Array, half_point: Array, rate: float, psi: Scalar, phi: Scalar) -> float:
    """``w·g + F(w) - F+(w+)``, which is ``F+(w) - F+(w+)``; ``after`` is the sum of the gradients up to ``g``."""
    smooth = (psi(point) - psi(half_point)) / rate
    return float(after @ (point - half_point)) + smooth + phi(point) - phi(half_point)


def _largest_norm(g: Array, point: Array, half_point: Array, dual_norm: Norm) -> float:
    """The largest squared dual norm of ``g`` over the segment between the two points."""
    return max(dual_norm(g, (1.0 - r) * point + r * half_point) for r in np.linspace(0.0, 1.0, SEGMENT_POINTS))


def _penalty(points: Array, rates: Array, comparator: Array, psi: Scalar, phi: Scalar) -> float:
    """``phi(u) - phi(w_1) + sum (1/eta_t - 1/eta_{t-1}) (psi(u) - psi(w_t))``, with ``1/eta_0 = 0``."""
    weights = np.diff(1.0 / rates, prepend=0.0)
    gains = np.array([psi(comparator) - psi(w) for w in points])
    return phi(comparator) - phi(points[0]) + float(weights @ gains)


def lemma_3(
    cover: CliqueCover,
    constants: Constants,
    estimates: Array,
    best_losses: Array,
    distributions: Array,
    half_steps: Array,
    rates: Array,
    comparator: Array,
) -> Check:
    """Theorem 3 for Algorithm 1, with the estimates shifted by the best arm's loss.

    ``estimates``, ``distributions`` and ``half_steps`` (of the drawn clique) have shape (T, N),
    ``best_losses`` and ``rates`` shape (T,).

    [EK21, Lemma 3]
    """
    general = theorem_3(
        estimates - best_losses[:, None],
        distributions,
        half_steps,
        rates,
        comparator,
        *regularisers(cover, constants),
    )
    return Check(general.statement, "lem:general-regret-bound", general.left, general.right)


def lemma_4(distributions: Array, cover: CliqueCover, best_arm: int, gamma: float) -> Check:
    """The penalty of Algorithm 1 against ``p^gamma`` is at most its bound, round for round of the sum.

    ``distributions`` has shape (T, N), every entry at least ``gamma``; the constants are the paper's.

    [EK21, Lemma 4, restated]
    """
    log_floor = math.log(1.0 / real("gamma", gamma, above=0, at_most=1.0 / cover.n_arms))
    if not float(distributions.min()) >= gamma * (1.0 - 1e-9):
        raise InvalidParameter(f"an arm has {distributions.min():g}; expected at least gamma = {gamma:g}")
    comparator = shrunk_comparator(cover.n_arms, best_arm, gamma)
    barrier = log_barrier(comparator, cover, 9.0) - log_barrier(distributions[0], cover, 9.0)
    left = barrier + entropy_penalty(distributions, cover, best_arm, gamma)

    best_clique, rounds = int(cover.owner[best_arm]), np.arange(1, len(distributions) + 1)
    q = masses(cover, distributions)
    others = np.maximum(q[:, best_clique] - distributions[:, best_arm], 0.0)
    elsewhere = np.sqrt(np.delete(q, best_clique, axis=1)).sum(axis=1)
    right = 9.0 * cover.n_cliques * log_floor
    right += 5.0 * log_floor**2 * float((elsewhere / np.sqrt(rounds)).sum())
    right += 2.0 * log_floor * float(np.sqrt(others / rounds).sum())
    return Check("penalty <= its bound", "lem:penalty-main", left, right)


def entropy_penalty(distributions: Array, cover: CliqueCover, best_arm: int, gamma: float) -> float:
    """``sum (sqrt(t) - sqrt(t-1)) (Psi(p^gamma) - Psi(p_t))`` with the paper's alpha for the floor ``gamma``."""
    alpha = 2.0 * (math.log(gamma) ** 2 + 1.0)
    target = tsallis_shannon(shrunk_comparator(cover.n_arms, best_arm, gamma), cover, alpha)
    gains = np.array([target - tsallis_shannon(p, cover, alpha) for p in distributions])
    return float(np.diff(np.sqrt(np.arange(1, len(gains) + 1)), prepend=0.0) @ gains)


def lemma_5(state: Round) -> Check:
    """The expected squared dual norm of the shifted estimates is at most ``56 s + 8 sqrt(E x+)``.

    The expectation is over the drawn clique; for each draw the norm is the largest over its segment.

    [EK21, Lemma 5, restated]
    """
    label = "lem:stability-term-bound"
    half_others = state.half_steps[:, state.others].sum(axis=1)
    right = 56.0 * state.root_sum + 8.0 * math.sqrt(state.expected(half_others))
    return Check("E |lhat - l*|^2 <= 56 s + 8 sqrt(E x+)", label, expected_dual_norm(state, shifted=True), right)


def expected_dual_norm(state: Round, *, shifted: bool) -> float:
    """``E |lhat - c 1|*^2`` over the drawn clique, ``c`` the best arm's loss if ``shifted``, else 0."""
    shift = state.losses[state.best_arm] if shifted else 0.0
    norms = [state.largest_dual_norm(k, state.estimates[k] - shift) for k in range(state.cover.n_cliques)]
    return state.expected(norms)


def lemma_7(state: Round) -> Check:
    """No clique's mass grows by more than 7/3 in a half step, whichever clique is drawn (``beta = 9``).

    [EK21, Lemma 7]
    """
    largest = float((state.half_mass / state.mass).max())
    return Check("p+(V_k) <= 7/3 p(V_k)", "lem:q-stability-new", largest, 7.0 / 3.0)


def lemma_8(state: Round) -> Check:
    """A half step never raises the estimated loss: ``p+·lhat <= p·lhat``, for the draw with the least room.

    [EK21, Lemma 8]
    """
    before = state.estimates @ state.distribution
    after = (state.estimates * state.half_steps).sum(axis=1)
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
