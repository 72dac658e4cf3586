"""Regret is penalty plus stability: Theorem 3 and Lemmas 3, 4 and 5.

Theorem 3 holds for any regulariser ``psi / eta_t + phi``. Lemma 3 is the same for Algorithm 1, Lemma 4
bounds its penalty and Lemma 5 its stability in one round. Statements about a whole run take arrays with
one row a round. An intermediate point is known only to lie between two others, so every dual norm here
is the largest over that segment.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from allworlds.covers import CliqueCover
from allworlds.foundation.checks import real
from allworlds.foundation.errors import InvalidParameter
from allworlds.ftrl.constants import Constants
from allworlds.theory.check import Check
from allworlds.theory.hessian import dual_norm_squared
from allworlds.theory.regulariser import log_barrier, tsallis_shannon
from allworlds.theory.rounds import SEGMENT_POINTS, Round, masses
from allworlds.theory.simplex import shrunk_comparator

Array = NDArray[np.float64]
Scalar = Callable[[Array], float]


def theorem_3(
    gradients: Array,
    points: Array,
    half_points: Array,
    rates: Array,
    comparator: Array,
    psi: Scalar,
    phi: Scalar,
    dual_norm: Callable[[Array, Array], float],
) -> Check:
    """The regret of FTRL with ``psi / eta_t + phi`` is at most its penalty plus twice its stability.

    ``gradients``, ``points``, ``half_points`` have shape (T, d), ``rates`` shape (T,);
    ``dual_norm(g, w)`` is the squared dual local norm ``g' (Hess psi(w))^(-1) g``.

    [EK21, Theorem 3]
    """
    left = float(np.einsum("tn,tn->", gradients, points - comparator))
    penalty = _penalty(points, rates, comparator, psi, phi)
    spread = np.linspace(0.0, 1.0, SEGMENT_POINTS)
    stability = sum(
        eta * max(dual_norm(g, (1.0 - r) * w + r * after) for r in spread)
        for g, w, after, eta in zip(gradients, points, half_points, rates, strict=True)
    )
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
    dual_norm: Callable[[Array, Array], float],
) -> Check:
    """The stability of one round of FTRL: ``w·g + F(w) - F+(w+) <= 2 eta |g|*^2``.

    ``before`` (d,) is the sum of the earlier gradients, ``F(w) = before·w + psi(w)/eta + phi(w)`` and ``F+`` has
    ``gradient`` added. ``sharp.stability_at_most_half_norm`` has ``eta/2``.

    [EK21, proof of Theorem 3: eqn:general-stability-bound]
    """

    def after(w: Array) -> float:
        return float((before + gradient) @ w) + psi(w) / rate + phi(w)

    spread = np.linspace(0.0, 1.0, SEGMENT_POINTS)
    norm = max(dual_norm(gradient, (1.0 - r) * point + r * half_point) for r in spread)
    size = abs(psi(point)) / rate + float(np.abs(before) @ point)  # the sides are differences of such numbers
    left = after(point) - after(half_point)
    label = "eqn:general-stability-bound"
    return Check("stability <= 2 eta |g|*^2", label, left, 2.0 * rate * norm, rounding=1e-12 * size)


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
    before = after - gradients
    left = -float((gradients @ comparator).sum())
    for t, eta in enumerate(rates):
        w, half = points[t], half_points[t]
        left += float(after[t] @ half) + psi(half) / eta + phi(half)
        left -= float(before[t] @ w) + psi(w) / eta + phi(w)
    right = _penalty(points, rates, comparator, psi, phi)
    size = float(np.abs(after * half_points).sum())
    return Check("the rest <= penalty", "eqn:general-penalty-bound", left, right, rounding=1e-12 * size)


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
        psi=lambda p: tsallis_shannon(p, cover, constants.alpha),
        phi=lambda p: log_barrier(p, cover, constants.beta),
        dual_norm=lambda g, p: float(dual_norm_squared(g, p, cover, constants.alpha)),
    )
    return Check(general.statement, "lem:general-regret-bound", general.left, general.right)


def lemma_4(distributions: Array, cover: CliqueCover, best_arm: int, gamma: float) -> Check:
    """The penalty of Algorithm 1 against ``p^gamma`` is at most its bound, round for round of the sum.

    ``distributions`` has shape (T, N), every entry at least ``gamma``; the constants are the paper's.

    [EK21, Lemma 4, restated]
    """
    horizon, n_arms = distributions.shape
    log_floor = math.log(1.0 / real("gamma", gamma, above=0, at_most=1.0 / n_arms))
    if not float(distributions.min()) >= gamma * (1.0 - 1e-9):
        raise InvalidParameter(
            f"an arm has {distributions.min():g}, less than gamma = {gamma:g}; Lemma 4 needs as much"
        )
    alpha = 2.0 * (log_floor**2 + 1.0)
    comparator = shrunk_comparator(n_arms, best_arm, gamma)
    target = tsallis_shannon(comparator, cover, alpha)
    gains = np.array([target - tsallis_shannon(p, cover, alpha) for p in distributions])
    rounds = np.arange(1, horizon + 1)
    barrier = log_barrier(comparator, cover, 9.0) - log_barrier(distributions[0], cover, 9.0)
    left = barrier + float(np.diff(np.sqrt(rounds), prepend=0.0) @ gains)

    best_clique = int(cover.owner[best_arm])
    q = np.array([masses(cover, p) for p in distributions])
    others = np.maximum(q[:, best_clique] - distributions[:, best_arm], 0.0)
    elsewhere = np.sqrt(np.delete(q, best_clique, axis=1)).sum(axis=1)
    right = 9.0 * cover.n_cliques * log_floor
    right += 5.0 * log_floor**2 * float((elsewhere / np.sqrt(rounds)).sum())
    right += 2.0 * log_floor * float(np.sqrt(others / rounds).sum())
    return Check("penalty <= its bound", "lem:penalty-main", left, right)


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
    return state.expected(np.array(norms))
