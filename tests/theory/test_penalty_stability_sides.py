"""Both sides of Theorem 3 and of Lemmas 3 to 5, written out round by round, and where they are equalities."""

from __future__ import annotations

import math

import numpy as np
import pytest

from allworlds.foundation.errors import InvalidParameter
from allworlds.ftrl.constants import Constants
from allworlds.theory import (
    general_penalty_bound,
    general_stability_bound,
    lemma_3,
    lemma_4,
    lemma_5,
    theorem_3,
)
from allworlds.theory.penalty_stability import expected_dual_norm
from theory import by_definition as own
from theory.states import cover_of

ROUNDS = own.few_rounds()
RATES = np.array([1.0, 0.6, 0.5])
GRADIENTS = np.array([[0.3, -0.2, 1.0], [0.5, 0.1, -0.4], [-1.0, 0.7, 0.2]])
COMPARATOR = np.array([0.2, 0.7, 0.1])


def entropy(w: np.ndarray) -> float:
    return math.fsum(v * math.log(v) for v in w)


def barrier(w: np.ndarray) -> float:
    return -0.1 * math.fsum(math.log(v) for v in w)


def norm(g: np.ndarray, w: np.ndarray) -> float:
    return math.fsum(w * g**2)


def points(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.full(3, 5.0), size=3)


def softmax(scores: np.ndarray) -> np.ndarray:
    weights = np.exp(scores - scores.max())
    return np.asarray(weights / weights.sum())


def penalty_of(w: np.ndarray) -> float:
    weights = [1.0, 1.0 / 0.6 - 1.0, 2.0 - 1.0 / 0.6]
    gains = [entropy(COMPARATOR) - entropy(row) for row in w]
    return barrier(COMPARATOR) - barrier(w[0]) + math.fsum(a * b for a, b in zip(weights, gains, strict=True))


def test_theorem_3_is_penalty_plus_twice_the_norms() -> None:
    w, half = points(0), points(1)
    check = theorem_3(GRADIENTS, w, half, RATES, COMPARATOR, entropy, barrier, norm)
    regret = math.fsum(float(GRADIENTS[t] @ (w[t] - COMPARATOR)) for t in range(3))
    largest = [max(norm(GRADIENTS[t], w[t] + r / 16.0 * (half[t] - w[t])) for r in range(17)) for t in range(3)]
    stability = math.fsum(rate * value for rate, value in zip(RATES, largest, strict=True))
    assert check.left == pytest.approx(regret)
    assert check.right == pytest.approx(penalty_of(w) + 2.0 * stability)


def test_the_penalty_of_theorem_3_is_a_sum_over_rounds() -> None:
    w, half = points(0), points(1)
    check = general_penalty_bound(GRADIENTS, w, half, RATES, COMPARATOR, entropy, barrier)
    left = 0.0
    for t in range(3):
        before = GRADIENTS[:t].sum(axis=0)
        now = before @ w[t] + entropy(w[t]) / RATES[t] + barrier(w[t])
        then = (before + GRADIENTS[t]) @ half[t] + entropy(half[t]) / RATES[t] + barrier(half[t])
        left += then - now - COMPARATOR @ GRADIENTS[t]
    assert check.left == pytest.approx(left)
    assert check.right == pytest.approx(penalty_of(w))
    size = math.fsum(abs(GRADIENTS[: t + 1, i].sum()) * half[t, i] for t in range(3) for i in range(3))
    assert check.rounding == pytest.approx(1e-12 * size, rel=1e-6, abs=0.0)


def test_the_penalty_bound_of_one_round_is_an_equality_against_its_own_half_step() -> None:
    w, half = np.full((1, 3), 1.0 / 3.0), softmax(-GRADIENTS[0])[None]
    check = general_penalty_bound(GRADIENTS[:1], w, half, np.ones(1), half[0], entropy, lambda v: 0.0)
    assert check.left == pytest.approx(check.right)
    other = general_penalty_bound(GRADIENTS[:1], w, half, np.ones(1), COMPARATOR, entropy, lambda v: 0.0)
    assert other.holds
    assert other.slack > 1e-3
    worse = general_penalty_bound(GRADIENTS[:1], w, w, np.ones(1), half[0], entropy, lambda v: 0.0)
    assert not worse.holds


def test_the_stability_of_a_round_is_its_definition() -> None:
    w, half, before, g = points(0)[0], points(1)[0], GRADIENTS[1], GRADIENTS[0]
    check = general_stability_bound(g, before, w, half, 0.6, entropy, barrier, norm)

    def objective(at: np.ndarray) -> float:
        return float((before + g) @ at) + entropy(at) / 0.6 + barrier(at)

    assert check.left == pytest.approx(objective(w) - objective(half))
    largest = max(norm(g, w + r / 16.0 * (half - w)) for r in range(17))
    assert check.right == pytest.approx(1.2 * largest)
    size = -entropy(w) / 0.6 + math.fsum(abs(before) * w)
    assert check.rounding == pytest.approx(1e-12 * size, rel=1e-6, abs=0.0)


def test_the_stability_bound_holds_with_room_of_a_factor_of_four() -> None:
    """Exponential weights with a small rate: the stability is ``eta/2`` times the norm of the centred gradient."""
    eta, w, g = 1e-3, np.full(2, 0.5), np.array([1.0, -1.0])
    half = softmax(-eta * g)
    check = general_stability_bound(g, np.zeros(2), w, half, eta, entropy, lambda v: 0.0, norm)
    assert check.ratio == pytest.approx(0.25, rel=1e-3)
    for state in ROUNDS:
        alphas = np.broadcast_to(state.constants.alpha, state.cover.n_cliques)
        for k in range(state.cover.n_cliques):
            assert general_stability_bound(
                own.shifted(state, k),
                state.cumulative_losses,
                state.distribution,
                state.half_steps[k],
                state.learning_rate,
                psi=lambda p, s=state, a=alphas: own.psi(p, s.cover, a),
                phi=lambda p, s=state: own.phi(p, s.cover, 9.0),
                dual_norm=lambda g, p, s=state, a=alphas: own.dual_norm(g, p, s.cover, a),
            ).holds


def test_lemma_3_is_theorem_3_with_shifted_estimates_and_the_two_regularisers() -> None:
    cover = cover_of([2, 1])
    constants = Constants.sharp(cover)
    w, half = points(2), points(3)
    estimates, best = np.abs(GRADIENTS), np.array([0.2, 0.9, 0.4])
    check = lemma_3(cover, constants, estimates, best, w, half, RATES, COMPARATOR)
    expected = theorem_3(
        estimates - best[:, None],
        w,
        half,
        RATES,
        COMPARATOR,
        psi=lambda p: own.psi(p, cover, constants.alpha),
        phi=lambda p: own.phi(p, cover, 9.0),
        dual_norm=lambda g, p: own.dual_norm(g, p, cover, constants.alpha),
    )
    assert check.left == pytest.approx(expected.left)
    assert check.right == pytest.approx(expected.right, rel=1e-8)


def test_lemma_4_is_a_sum_over_rounds_on_both_sides() -> None:
    cover, gamma = cover_of([3, 2, 1]), 0.01
    best = int(cover.cliques[0][1])
    play = gamma + (1.0 - 6 * gamma) * np.random.default_rng(5).dirichlet(np.ones(6), size=4)
    log_floor, alphas = math.log(100.0), [2.0 * (math.log(100.0) ** 2 + 1.0)] * 3
    target = np.full(6, gamma)
    target[best] = 1.0 - 5 * gamma
    home = list(cover.cliques[cover.owner[best]])
    left = own.phi(target, cover, 9.0) - own.phi(play[0], cover, 9.0)
    right = 27.0 * log_floor
    for t, p in enumerate(play, start=1):
        gain = own.psi(target, cover, alphas) - own.psi(p, cover, alphas)
        left += (math.sqrt(t) - math.sqrt(t - 1)) * gain
        elsewhere = math.fsum(math.sqrt(own.mass(p, clique) / t) for clique in cover.cliques if best not in clique)
        right += 5.0 * log_floor**2 * elsewhere
        right += 2.0 * log_floor * math.sqrt(math.fsum(p[i] for i in home if i != best) / t)
    check = lemma_4(play, cover, best, gamma)
    assert check.left == pytest.approx(left)
    assert check.right == pytest.approx(right)


def test_lemma_4_accepts_its_floor_itself_and_forgives_only_rounding() -> None:
    cover = cover_of([1, 1])
    assert lemma_4(np.array([[0.9, 0.1]]), cover, 0, 0.1).holds
    assert lemma_4(np.array([[0.9, 0.1 * (1.0 - 1e-9)]]), cover, 0, 0.1).holds
    with pytest.raises(InvalidParameter, match="at least gamma"):
        lemma_4(np.array([[0.9, 0.1 * (1.0 - 5e-9)]]), cover, 0, 0.1)
    with pytest.raises(InvalidParameter, match="at least gamma"):
        lemma_4(np.array([[0.9, np.nan]]), cover, 0, 0.1)


def test_lemma_5_is_its_expectation_over_arms() -> None:
    for state in ROUNDS:
        alphas = np.broadcast_to(state.constants.alpha, state.cover.n_cliques)

        def largest(g_of, state=state, alphas=alphas):
            return own.expected(
                state,
                lambda k: max(own.dual_norm(g_of(state, k), p, state.cover, alphas) for p in own.segment(state, k)),
            )

        half = own.expected(state, lambda k, s=state: own.beside(s, s.half_steps[k]))
        check = lemma_5(state)
        assert check.left == pytest.approx(largest(own.shifted), rel=1e-8)
        assert check.right == pytest.approx(56.0 * own.root_sum(state) + 8.0 * math.sqrt(half))
        assert expected_dual_norm(state, shifted=False) == pytest.approx(largest(own.estimates), rel=1e-8)
