"""Both sides of every step of the sharp proof, against the same written out arm by arm and draw by draw."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from allworlds.foundation.errors import InvalidParameter
from allworlds.ftrl.constants import Constants
from allworlds.ftrl.sharp import sharp_alpha
from allworlds.theory import Round, round_state, sharp
from theory import by_definition as own
from theory.states import cover_of

ROUNDS = own.few_rounds()
LATE = [state for state in ROUNDS if state.learning_rate <= 0.5]
RHO = 1.0 + math.sqrt(2.0) / (3.0 - math.sqrt(2.0))
HUMP = math.sqrt(27.0) / 16.0
SIGMA = 2.0 * (RHO - 1.0) / (1.0 + math.sqrt(2.0 - RHO))


def close(value: float) -> object:
    return pytest.approx(value, rel=1e-9, abs=1e-13)


def comparator(state: Round, horizon: int) -> np.ndarray:
    """``1/(KT)`` on one arm of each other clique, the rest on the best arm."""
    u = np.zeros(state.cover.n_arms)
    for k, clique in enumerate(state.cover.cliques):
        if k != own.best_clique(state):
            u[clique[0]] = 1.0 / (state.cover.n_cliques * horizon)
    u[state.best_arm] = 1.0 - u.sum()
    return u


def test_stability_is_what_the_two_minima_differ_by() -> None:
    for state in ROUNDS:
        terms = state.stabilities
        alphas = np.broadcast_to(state.constants.alpha, state.cover.n_cliques)
        for k in range(state.cover.n_cliques):

            def objective(p: np.ndarray, losses: np.ndarray, state: Round = state, alphas=alphas) -> float:
                smooth = own.psi(p, state.cover, alphas) / state.learning_rate
                return float(losses @ p) + smooth + own.phi(p, state.cover, 9.0)

            after = state.cumulative_losses + own.estimates(state, k)
            by_hand = objective(state.distribution, after) - objective(state.half_steps[k], after)
            assert terms[k] == pytest.approx(by_hand, rel=1e-6, abs=1e-10)
        one = sharp.stability_at_most_one(state)
        assert one.left == close(float(terms.max()))
        assert one.right == 1.0


def test_half_the_norm_is_that_of_the_draw_with_the_least_room() -> None:
    for state in ROUNDS:
        terms = state.stabilities
        alphas = np.broadcast_to(state.constants.alpha, state.cover.n_cliques)
        bounds = [
            state.learning_rate
            / 2.0
            * max(own.dual_norm(own.shifted(state, k), p, state.cover, alphas) for p in own.segment(state, k))
            for k in range(state.cover.n_cliques)
        ]
        tightest = min(range(len(bounds)), key=lambda k: bounds[k] - terms[k])
        check = sharp.stability_at_most_half_norm(state)
        assert check.left == close(float(terms[tightest]))
        assert check.right == pytest.approx(bounds[tightest], rel=1e-8)
        size = abs(own.psi(state.distribution, state.cover, alphas)) / state.learning_rate
        size += math.fsum(abs(state.cumulative_losses) * state.distribution)
        assert check.rounding == pytest.approx(1e-12 * size, rel=1e-6, abs=0.0)


def test_a_draw_with_the_larger_bound_can_have_the_least_room() -> None:
    state = dataclasses.replace(ROUNDS[0])
    alphas = np.broadcast_to(state.constants.alpha, state.cover.n_cliques)
    bounds = np.array(
        [
            state.learning_rate
            / 2.0
            * max(own.dual_norm(own.shifted(state, k), p, state.cover, alphas) for p in own.segment(state, k))
            for k in (0, 1)
        ]
    )
    larger = int(bounds.argmax())
    terms = np.zeros(2)
    terms[larger] = 0.999 * bounds[larger]
    state.__dict__["stabilities"] = terms
    check = sharp.stability_at_most_half_norm(state)
    assert check.left == terms[larger]
    assert check.right == pytest.approx(bounds[larger], rel=1e-8)


def test_the_four_parts_of_the_stability_are_their_sums_over_arms() -> None:
    for state in ROUNDS:
        best, cliques, s = own.best_clique(state), state.cover.cliques, own.root_sum(state)
        q = [own.mass(state.distribution, clique) for clique in cliques]
        arms = range(state.cover.n_arms)

        elsewhere = [q[k] * own.diagonal_form(state, k, cliques[k]) for k in range(len(q)) if k != best]
        check = sharp.drawn_elsewhere(state)
        assert check.left == close(math.fsum(elsewhere))
        assert check.right == close(RHO**1.5 * s)

        check = sharp.drawn_best_arm(state)
        assert check.left == close(q[best] * own.diagonal_form(state, best, [state.best_arm]))
        assert check.right == close(HUMP * RHO**1.5 * s)

        away = [q[k] * own.diagonal_form(state, k, [i for i in arms if i not in cliques[k]]) for k in range(len(q))]
        check = sharp.not_drawn(state)
        assert check.left == close(math.fsum(away))
        assert check.right == close((0.25 + HUMP) * RHO**1.5 * s)


def test_the_parts_that_need_a_late_round_are_their_sums_over_arms() -> None:
    assert len(LATE) >= 4
    for state in LATE:
        best, s, x = own.best_clique(state), own.root_sum(state), own.beside(state, state.distribution)
        clique, eta = state.cover.cliques[best], state.learning_rate
        log_size = math.log(len(clique))
        half = 2.0 * math.e * math.sqrt(x) + (math.e * math.sqrt(SIGMA) + math.sqrt(SIGMA * log_size)) * s

        check = sharp.drawn_other_arms(state)
        rest = [int(i) for i in clique if i != state.best_arm]
        assert check.left == close(own.mass(state.distribution, clique) * own.diagonal_form(state, best, rest))
        assert check.right == close(RHO * half)

        if own.mass(state.distribution, clique) > 0.5:
            check = sharp.half_step_lemma(state)
            assert check.left == close(math.sqrt(max(x, own.beside(state, state.half_steps[best]))))
            assert check.right == close(half)

        check = sharp.stability(state)
        assert check.left == pytest.approx(eta / 2.0 * expected_norm(state, own.shifted), rel=1e-8)
        assert check.right == close(eta * ((10.91 + 2.2 * math.sqrt(log_size)) * s + 10.29 * math.sqrt(x)))


def expected_norm(state: Round, g_of) -> float:
    alphas = np.broadcast_to(state.constants.alpha, state.cover.n_cliques)
    return own.expected(
        state,
        lambda k: max(own.dual_norm(g_of(state, k), p, state.cover, alphas) for p in own.segment(state, k)),
    )


def test_without_the_shift_every_clique_counts() -> None:
    for state in ROUNDS:
        check = sharp.plain_stability(state)
        roots = math.fsum(math.sqrt(own.mass(state.distribution, clique)) for clique in state.cover.cliques)
        assert check.left == pytest.approx(state.learning_rate / 2.0 * expected_norm(state, own.estimates), rel=1e-8)
        assert check.right == close(state.learning_rate * RHO**1.5 * roots)


@pytest.mark.parametrize("horizon", [1, 7, 1000])
def test_the_penalties_are_differences_of_entropies_and_barriers(horizon: int) -> None:
    for state in ROUNDS:
        p, cover, best = state.distribution, state.cover, own.best_clique(state)
        u, alphas = comparator(state, horizon), [sharp_alpha(len(clique)) for clique in cover.cliques]
        x, q = own.beside(state, p), [own.mass(p, clique) for clique in cover.cliques]
        sizes = [len(clique) for clique in cover.cliques]
        gain = own.psi(u, cover, alphas) - own.psi(p, cover, alphas)

        check = sharp.entropy_penalty(p, cover, state.best_arm, horizon)
        assert check.left == close(gain)
        others = [(alphas[k] + math.log(sizes[k])) * math.sqrt(q[k]) for k in range(len(q)) if k != best]
        own_part = (1.0 + math.log(sizes[best])) * math.sqrt(x) + alphas[best] / horizon
        assert check.right == close(math.fsum(others) + own_part)
        assert check.scale == close(sum(alphas))

        check = sharp.plain_penalty(p, cover, state.best_arm, horizon)
        assert check.left == close(gain)
        assert check.right == close(math.hypot(*[a + math.log(d) for a, d in zip(alphas, sizes, strict=True)]))

        check = sharp.barrier_penalty(p, cover, state.best_arm, horizon)
        assert check.left == close(own.phi(u, cover, 9.0) - own.phi(p, cover, 9.0))
        assert check.right == close(9.0 * (len(q) - 1) * math.log(horizon))
        assert check.scale == 1.0

        check = sharp.best_clique_entropy(p, cover, state.best_arm)
        y = [p[i] / q[best] for i in cover.cliques[best]]
        assert check.left == close(-math.fsum(v * math.log(v) for v in y) * math.sqrt(q[best]))
        assert check.right == close((1.0 + math.log(sizes[best])) * math.sqrt(x))


def test_an_arm_without_mass_adds_nothing_to_the_best_cliques_entropy() -> None:
    cover = cover_of([3])
    p = np.array([0.5, 0.0, 0.5])
    check = sharp.best_clique_entropy(p, cover, 0)
    assert check.left == close(math.log(2.0))
    assert check.right == close((1.0 + math.log(3.0)) * math.sqrt(0.5))


def test_the_comparators_cost_is_what_it_loses_beyond_the_best_arm() -> None:
    rng = np.random.default_rng(3)
    for state in ROUNDS:
        losses = rng.random((5, state.cover.n_arms))
        u = comparator(state, 5)
        check = sharp.comparator_cost(losses, state.cover, state.best_arm)
        by_hand = math.fsum(losses[t] @ u - losses[t, state.best_arm] for t in range(5))
        assert check.left == close(by_hand)
        assert check.right == 1.0


def test_stability_comes_as_near_to_one_as_one_likes() -> None:
    """A tiny clique is drawn whose leading arm loses: all its mass moves, and hardly anything is paid for it."""
    cover = cover_of([1, 2])
    single, (first, second) = int(cover.cliques[0][0]), cover.cliques[1]
    cumulative = np.zeros(3)
    cumulative[[first, second]] = 1e10
    cumulative[second] += 1e6
    losses = np.zeros(3)
    losses[first] = 1.0
    state = round_state(cover, cumulative, losses, 1.0, Constants.sharp(cover), best_arm=single)
    check = sharp.stability_at_most_one(state)
    assert 0.9986 < check.left < 1.0
    assert check.right == 1.0


def test_half_the_norm_is_attained_in_the_limit() -> None:
    """A late round moves little, and then the quadratic form is all there is."""
    cover = cover_of([1, 1])
    state = round_state(cover, np.zeros(2), np.ones(2), 2e-4, Constants.sharp(cover), best_arm=1)
    assert sharp.stability_at_most_half_norm(state).ratio > 0.99


def test_the_limits_of_the_late_steps_are_one_half_and_one_half() -> None:
    """``eta = 1/2`` and ``q* = 1/2`` themselves: the first is late enough, the second is too little."""
    cover = cover_of([1, 1])
    even = round_state(cover, np.zeros(2), np.ones(2), 0.5, Constants.sharp(cover), best_arm=0)
    exact = dataclasses.replace(even)
    exact.__dict__["distribution"] = np.array([0.5, 0.5])
    assert sharp.stability(exact).holds
    assert sharp.drawn_other_arms(exact).holds
    with pytest.raises(InvalidParameter, match="more than 1/2"):
        sharp.half_step_lemma(exact)
    early = dataclasses.replace(even, rate=0.51)
    for step in (sharp.stability, sharp.drawn_other_arms, sharp.half_step_lemma):
        with pytest.raises(InvalidParameter, match="at most 1/2"):
            step(early)


def test_rounding_is_forgiven_by_very_little() -> None:
    for state in ROUNDS:
        for check in (
            sharp.stability_at_most_half_norm(state),
            sharp.drawn_best_arm(state),
            sharp.barrier_penalty(state.distribution, state.cover, state.best_arm, 10),
        ):
            assert check.tolerance <= 1e-9
            assert 0.0 <= check.rounding <= 1e-7
        assert sharp.drawn_best_arm(state).rounding <= 1e-12
