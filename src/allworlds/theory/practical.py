"""The regret proof for ``Constants.practical``, one function a step of ``docs/default_proof.md``.

Every function takes a :class:`PracticalRound` and evaluates both sides of one inequality; where a statement is about
every clique, it returns the one that uses the largest share of its bound.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from allworlds.foundation.errors import InvalidParameter
from allworlds.ftrl.constants import Constants
from allworlds.ftrl.regret_bound import bound_terms, stability_of
from allworlds.theory import practical_coefficients as number
from allworlds.theory.check import Check
from allworlds.theory.practical_coefficients import KAPPA, Verdict, covers
from allworlds.theory.regulariser import sharp_comparator
from allworlds.theory.rounds import PracticalRound
from allworlds.theory.sharp import entropy_sides

__all__ = ["PracticalRound", "Verdict", "covers"]

Array = NDArray[np.float64]


# --- step 0: estimates that are held back --------------------------------------------------------------


def bias(state: PracticalRound, comparator: Array) -> Check:
    """Step 0: ``l·(p - u) - E lhat·(p - u) <= sum_k q_k^2 z_k``, for every distribution ``u`` of shape (N,)."""
    move = state.distribution - comparator
    left = float(state.losses @ move) - float(state.mass @ (state.estimates @ move))
    right = float(state.mass**2 @ state.excess)
    return Check("l·(p-u) - E lhat·(p-u) <= sum q^2 z", "default-0", left, right, rounding=1e-9)


def deficit(state: PracticalRound) -> Check:
    """Step 0: a clique's lowest loss is at most ``R_k x / (2 eta_k) + beta_t x^2`` above the multiplier."""
    x = state.mass**-0.5
    lowest = np.array([state.cumulative_losses[clique].min() for clique in state.cover.cliques])
    lefts = lowest - state.solution.multiplier
    rights = state.numbers.reach * x / (2.0 * state.rates) + state.barrier * x**2
    return _tightest("L_k - lambda <= R x/(2 eta) + beta x^2", "default-0-deficit", lefts, rights)


def held_back_mass(state: PracticalRound) -> Check:
    """Step 0: a clique whose estimate would be held back has at most ``G_k / s_t`` of the mass."""
    held = state.excess > 0.0
    if not held.any():
        return Check("q_k <= G_k / s_t if z_k > 0", "default-0-mass", 0.0, 1.0)
    rights = state.numbers.limits / state.effective_round
    return _tightest("q_k <= G_k / s_t if z_k > 0", "default-0-mass", state.mass[held], rights[held])


def bias_cost(state: PracticalRound) -> Check:
    """Step 0: holding estimates back costs at most ``sum_k G_k / s_t`` in a round."""
    left = float(state.mass**2 @ state.excess)
    right = float(state.numbers.limits.sum()) / state.effective_round
    return Check("sum q^2 z <= sum G / s_t", "default-0-cost", left, right)


# --- steps 1 and 2: prices and masses ------------------------------------------------------------------


def price_falls(state: PracticalRound) -> Check:
    """Step 1: an estimate lowers the price of the drawn clique by at most ``(b + n) / q``; both sides times ``q``."""
    right = state.baseline + state.numbers.rebound
    return _largest("q (V' - V'+) <= b + n", "default-1-down", -_price_changes(state), right, _noise(state))


def price_rises(state: PracticalRound) -> Check:
    """Step 1: an estimate raises the drawn clique's price by at most ``(1 - b + n) / q``; both sides times ``q``."""
    right = 1.0 - state.baseline + state.numbers.rebound
    return _largest("q (V'+ - V') <= 1 - b + n", "default-1-up", _price_changes(state), right, _noise(state))


def curvature(state: PracticalRound) -> Check:
    """Step 2: ``V_k'' >= kappa / (eta_k q^(3/2)) + beta_t / q^2``, Theorem A in one direction."""
    lefts = KAPPA / (state.rates * state.mass**1.5) + state.barrier / state.mass**2
    each = enumerate(state.mass.tolist())
    rights = np.array([state.price_slope(k, q, state.cumulative_losses) for k, q in each])
    return _tightest("kappa / (eta q^1.5) + beta / q^2 <= V''", "default-2-slope", lefts, rights)


def drawn_mass(state: PracticalRound) -> Check:
    """Step 2: if the drawn mass rises, ``(2 kappa sqrt(q) / eta_k) (1 - tau) + beta_t (1 - tau^2) <= b + n``."""
    q, after = state.mass, np.diag(state.half_mass)
    tau = np.minimum(1.0, np.sqrt(q / after))
    lefts = 2.0 * KAPPA * np.sqrt(q) / state.rates * (1.0 - tau) + state.barrier * (1.0 - tau**2)
    right = state.baseline + state.numbers.rebound
    return _largest("(2 kappa sqrt(q)/eta)(1-tau) + beta (1-tau^2) <= b + n", "default-2", lefts, right, 1e-9)


def mass_growth(state: PracticalRound) -> Check:
    """Step 2: a drawn mass grows by at most ``rho_t = beta_t / (beta_t - b - n)``."""
    right = state.barrier / (state.barrier - state.baseline - state.numbers.rebound)
    return _largest("q+ / q <= rho_t", "default-2-rho", np.diag(state.half_mass) / state.mass, right, 0.0)


# --- step 3: the penalty -------------------------------------------------------------------------------


def barrier_penalty(state: PracticalRound, horizon: int) -> Check:
    """Step 3: ``Phi(u) - Phi(p) <= (K - 1) log T``."""
    u = sharp_comparator(state.cover, state.best_arm, horizon)
    left = state.barrier_value(u) - state.barrier_value(state.distribution)
    right = (state.cover.n_cliques - 1) * math.log(horizon)
    return Check("Phi(u) - Phi(p) <= (K-1) log T", "default-3-barrier", left, right, scale=1.0)


def entropy_penalty(state: PracticalRound, horizon: int) -> Check:
    """Step 3: ``Psi(u) - Psi(p)`` in terms of the other masses and ``x``."""
    left, right = entropy_sides(state.distribution, state.cover, state.best_arm, horizon, state.constants)
    scale = float(state.numbers.reach.sum())
    return Check("Psi(u) - Psi(p) <= its bound", "default-3", left, right, scale=scale)


def plain_penalty(state: PracticalRound, horizon: int) -> Check:
    """Step 3: ``Psi(u) - Psi(p) <= sqrt(sum_k (R_k / sigma_k)^2)``, whatever the masses."""
    left, _ = entropy_sides(state.distribution, state.cover, state.best_arm, horizon, state.constants)
    right = float(np.linalg.norm(state.numbers.reach / state.constants.rate_factors))
    return Check("Psi(u) - Psi(p) <= |R / sigma|", "default-3-plain", left, right)


def weight_growth(constants: Constants, round: int) -> Check:
    """Step 3: ``1/eta_t - 1/eta_{t-1} <= 0.59 / (eta0 sqrt(s_t))`` for ``t >= 2``."""
    if round < 2:
        raise InvalidParameter(f"round is {round}; expected at least 2")
    left = 1.0 / constants.learning_rate(round) - 1.0 / constants.learning_rate(round - 1)
    right = number.WEIGHT * constants.learning_rate(round) / constants.eta0**2
    return Check("1/eta_t - 1/eta_{t-1} <= 0.59/(eta0 sqrt(s))", "default-3-weight", left, right)


def decomposition(states: list[PracticalRound], estimates: Array, half_steps: Array, comparator: Array) -> Check:
    """Regret on the estimates is at most penalty plus stability, with a barrier that rises during the run.

    ``estimates`` and ``half_steps`` (of the drawn clique) have shape (T, N), ``comparator`` is ``u``.
    """
    left = penalty = stability = large = 0.0
    weight = barrier = 0.0
    for state, estimate, half in zip(states, estimates, half_steps, strict=True):
        p, now = state.distribution, 1.0 / state.learning_rate
        penalty += (now - weight) * (state.entropy(comparator) - state.entropy(p))
        penalty += (state.barrier - barrier) * (state.barrier_value(comparator) - state.barrier_value(p))
        weight, barrier = now, state.barrier
        stability += state.stability(estimate, half)
        left += float(estimate @ (p - comparator))
        large += float(np.abs(state.cumulative_losses) @ p) + abs(state.entropy(p)) * now
    text = "sum lhat·(p - u) <= penalty + stability"
    return Check(text, "default-decomposition", left, penalty + stability, rounding=1e-12 * large)


# --- step 4: the stability -----------------------------------------------------------------------------


def stability_by_local_norm(state: PracticalRound, shift: float = 0.0) -> Check:
    """Step 4: ``stability <= sum_k eta_k sqrt(q~_k) sum_i p~_i (lhat_i - c)^2 / (2 kappa)``, for every draw."""
    everything = np.arange(state.cover.n_arms)
    rights = np.array([state.shares(k, everything, shift) for k in range(state.cover.n_cliques)])
    return _tightest("stability <= local norm", "default-4-norm", state.stabilities, rights, _stability_rounding(state))


def stability_along_a_run(state: PracticalRound) -> Check:
    """Along a run: the stability of every draw is at most what :mod:`allworlds.ftrl.regret_bound` adds up for it."""
    terms = bound_terms(state.constants, state.cover)
    ends = [
        (row[clique].min(), row[clique].max()) for row, clique in zip(state.estimates, state.cover.cliques, strict=True)
    ]
    draws = zip(state.constants.rate_factors.tolist(), np.sqrt(state.mass).tolist(), ends, strict=True)
    rights = np.array(
        [stability_of(terms, state.learning_rate, state.barrier, factor, cool, *pair) for factor, cool, pair in draws]
    )
    return _tightest("stability <= S_t", "default-run", state.stabilities, rights, _stability_rounding(state))


def plain_stability(state: PracticalRound) -> Check:
    """Step 4, adversarial: ``E stability <= rho_t^(3/2) delta_t^2 / (2 kappa) sum_k eta_k sqrt(q_k)``."""
    left = state.expected(_own_shares(state))
    right = state.growth / (2.0 * KAPPA) * float(state.rates @ np.sqrt(state.mass))
    return Check("E stability, c = 0", "default-4-plain", left, right)


def drawn_elsewhere(state: PracticalRound) -> Check:
    """Step 4 (a): another clique is drawn, ``c = 0``."""
    left = float(np.delete(state.mass * _own_shares(state), state.best_clique).sum())
    return Check("(a)", "default-4a", left, state.growth / (2.0 * KAPPA) * _weighted_roots(state))


def drawn_best_if_small(state: PracticalRound) -> Check:
    """Step 4 (a*): the best clique is drawn and has less than half the mass, ``c = 0``."""
    if not state.best_mass < 0.5:
        raise InvalidParameter(f"q* is {state.best_mass:g}; expected less than 1/2")
    best = state.best_clique
    left = state.best_mass * _own_shares(state)[best]
    right = state.growth / (2.0 * KAPPA) * float(state.rates[best]) * state.root_sum
    return Check("(a*)", "default-4a*", float(left), right)


def other_masses(state: PracticalRound) -> Check:
    """Step 4: if the best clique is drawn and has half the mass, no other mass grows by more than 4."""
    _check_late(state, half=True)
    ratios = np.delete(state.half_mass[state.best_clique] / state.mass, state.best_clique)
    return _largest("q_j+ <= 4 q_j", "default-4-others", ratios, number.OTHERS_GROWTH, 0.0)


def drawn_best_arm(state: PracticalRound) -> Check:
    """Step 4 (b): the best clique is drawn and has half the mass; its best arm's share, ``c = l* - b``."""
    _check_late(state, half=True)
    left = _best_share(state, np.array([state.best_arm]))
    right = number.BEST_ARM * float(state.rates[state.best_clique]) * state.root_sum
    return Check("(b)", "default-4b", left, right, rounding=1e-15)


def not_drawn(state: PracticalRound) -> Check:
    """Step 4 (c): the best clique is drawn and has half the mass; the other cliques' share."""
    _check_late(state, half=True)
    left = _best_share(state, np.flatnonzero(np.asarray(state.cover.owner) != state.best_clique))
    return Check("(c)", "default-4c", left, number.NOT_DRAWN * _weighted_roots(state))


def drawn_other_arms(state: PracticalRound) -> Check:
    """Step 4 (d): the best clique is drawn and has half the mass; its other arms' share."""
    _check_late(state, half=True)
    right = number.OTHER_ARMS * float(state.rates[state.best_clique]) * state.larger_root
    return Check("(d)", "default-4d", _best_share(state, state.others), right)


def half_step_lemma(state: PracticalRound) -> Check:
    """Step 4: ``sqrt(max(x, x+)) <= 4 sqrt(x) + (4.83 + 2.45 sqrt(log d*)) S`` for a draw of the best clique."""
    _check_late(state, half=True)
    right = state.in_roots(number.STEP_X, number.STEP_S, number.STEP_LOG)
    return Check("sqrt(max(x, x+)) <= its bound", "default-4-step", state.larger_root, right)


def stability(state: PracticalRound) -> Check:
    """Step 4, summed: the expected stability of a late round, without any half step on the right."""
    _check_late(state, half=False)
    best, numbers = state.best_clique, state.numbers
    everything = np.arange(state.cover.n_arms)
    shifts = np.zeros(state.cover.n_cliques)
    shifts[best] = _shift(state) if state.best_mass >= 0.5 else 0.0
    left = state.expected([state.shares(k, everything, float(shift)) for k, shift in enumerate(shifts)])
    right = (numbers.growth / (2.0 * KAPPA) + number.NOT_DRAWN) * _weighted_roots(state)
    inside = number.OTHER_ARMS * number.STEP_X * math.sqrt(state.others_mass)
    right += float(state.rates[best]) * (numbers.best_clique_weight(best) * state.root_sum + inside)
    return Check("E stability <= its bound", "default-4", left, right)


# --- helpers -------------------------------------------------------------------------------------------


def _shift(state: PracticalRound) -> float:
    return float(state.losses[state.best_arm]) - state.baseline


def _own_shares(state: PracticalRound) -> Array:
    """The drawn clique's own share without a shift, for each draw, shape (K,)."""
    return np.array([state.shares(k, state.members(k), 0.0) for k in range(state.cover.n_cliques)])


def _best_share(state: PracticalRound, arms: NDArray[np.intp]) -> float:
    """The share of ``arms`` if the best clique is drawn, times the chance of that draw, with ``c = l* - b``."""
    return state.best_mass * state.shares(state.best_clique, arms, _shift(state))


def _weighted_roots(state: PracticalRound) -> float:
    """``sum eta_k sqrt(q_k)`` over the cliques other than the best."""
    return float(np.delete(state.rates * np.sqrt(state.mass), state.best_clique).sum())


def _stability_rounding(state: PracticalRound) -> float:
    """What rounding can do to a stability."""
    large = abs(state.entropy(state.distribution)) * math.sqrt(state.effective_round)
    large += float((state.cumulative_losses - state.cumulative_losses.min()) @ state.distribution)
    return 1e-12 * large


def _price_changes(state: PracticalRound) -> Array:
    """``q_k (V_k'(q_k; L + lhat) - V_k'(q_k; L))`` for each drawn clique, shape (K,)."""
    before, each = state.cumulative_losses, enumerate(state.mass.tolist())
    return np.array([q * (state.price(k, q, before + state.estimates[k]) - state.price(k, q, before)) for k, q in each])


def _noise(state: PracticalRound) -> float:
    """What rounding can do to a price times its mass."""
    return 1e-13 * float(1.0 + np.abs(state.cumulative_losses).max() * state.mass.max() + state.barrier)


def _tightest(text: str, label: str, lefts: Array, rights: Array, rounding: float = 0.0) -> Check:
    """The pair that uses most of its bound."""
    used = np.divide(lefts - rounding, rights, out=np.where(lefts > rounding, np.inf, -np.inf), where=rights > 0.0)
    k = int(np.argmax(used))
    return Check(text, label, float(lefts[k]), float(rights[k]), rounding=rounding)


def _largest(text: str, label: str, lefts: Array, right: float, rounding: float) -> Check:
    return Check(text, label, float(lefts.max()), right, rounding=rounding)


def _check_late(state: PracticalRound, *, half: bool) -> None:
    if not state.numbers.is_late(state.round):
        raise InvalidParameter(f"round is {state.round}; expected one after {state.numbers.last_early_round}")
    if half and not state.best_mass >= 0.5:
        raise InvalidParameter(f"q* is {state.best_mass:g}; expected at least 1/2")
