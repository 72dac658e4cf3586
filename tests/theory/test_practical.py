"""Theorem C, step by step: random rounds of the default learner, and both sides against independent definitions."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

import numpy as np
import pytest

from allworlds.foundation.errors import InvalidConstants, InvalidParameter
from allworlds.ftrl.clock import HIGHEST, MULTIPLIER
from allworlds.ftrl.constants import Constants
from allworlds.ftrl.sharp import rebound, worst_conditional
from allworlds.learners.tsallis_shannon import TsallisShannon
from allworlds.theory import Check, practical
from allworlds.theory.practical import PracticalRound, covers
from allworlds.theory.practical_coefficients import Numbers, numbers_of
from theory.practical_states import practical_state
from theory.states import cover_of

Step = Callable[[PracticalRound], Check]
EVERY: list[Step] = [
    practical.deficit,
    practical.held_back_mass,
    practical.bias_cost,
    practical.price_falls,
    practical.price_rises,
    practical.curvature,
    practical.drawn_mass,
    practical.mass_growth,
    practical.stability_by_local_norm,
    practical.plain_stability,
    practical.drawn_elsewhere,
    practical.stability_along_a_run,
]
HALF: list[Step] = [
    practical.other_masses,
    practical.drawn_best_arm,
    practical.not_drawn,
    practical.drawn_other_arms,
    practical.half_step_lemma,
]


@pytest.fixture(scope="module")
def states() -> list[PracticalRound]:
    rng = np.random.default_rng(20261117)
    return [practical_state(rng) for _ in range(300)]


def late(states: list[PracticalRound], *, half: bool = False) -> list[PracticalRound]:
    found = [state for state in states if state.numbers.is_late(state.round)]
    return [state for state in found if state.best_mass >= 0.5] if half else found


def test_the_states_reach_the_corners(states: list[PracticalRound]) -> None:
    assert min(state.mass.min() for state in states) < 1e-7
    assert sum(bool((state.excess > 0.0).any()) for state in states) > 20
    assert len(late(states, half=True)) > 60
    assert len(late(states)) < 280
    assert max(state.cover.sizes.max() for state in states) >= 25
    baselines = [state.baseline for state in states]
    assert (min(baselines), max(baselines)) == (0.0, 0.75)  # the shipped share: no baseline can be higher
    assert any(state.baseline < state.highest == 0.75 for state in states)


@pytest.mark.parametrize("step", EVERY, ids=lambda step: step.__name__)
def test_every_step_about_any_round_holds(step: Step, states: list[PracticalRound]) -> None:
    for state in states:
        check = step(state)
        assert check.holds, (check, state)


@pytest.mark.parametrize("step", HALF, ids=lambda step: step.__name__)
def test_every_step_about_a_leading_best_clique_holds(step: Step, states: list[PracticalRound]) -> None:
    for state in late(states, half=True):
        assert step(state).holds, state


def test_the_summed_stability_holds_in_late_rounds(states: list[PracticalRound]) -> None:
    ratios = [practical.stability(state).ratio for state in late(states)]
    assert 0.05 < max(ratios) <= 1.0


def test_a_small_best_clique_costs_no_more_than_the_others(states: list[PracticalRound]) -> None:
    checks = [practical.drawn_best_if_small(state) for state in states if state.best_mass < 0.5]
    assert len(checks) > 50
    assert all(check.holds for check in checks)
    assert max(check.ratio for check in checks) > 0.5


def test_every_step_about_the_penalty_holds(states: list[PracticalRound]) -> None:
    for state in states:
        for horizon in (state.round, state.round + 1000):
            for step in (practical.barrier_penalty, practical.entropy_penalty, practical.plain_penalty):
                assert step(state, horizon).holds


# --- step 0 --------------------------------------------------------------------------------------------


def by_hand_estimates(state: PracticalRound, k: int) -> np.ndarray:
    """The update of the learner, written out arm by arm."""
    clique = list(state.cover.cliques[k])
    q = sum(state.distribution[i] for i in clique)
    raw = {i: (state.losses[i] - state.baseline) / q for i in clique}
    before = min(state.cumulative_losses[i] for i in clique)
    after = min(state.cumulative_losses[i] + raw[i] for i in clique)
    limit = state.solution.multiplier + state.constants.deficit_limit * (state.round + state.constants.head_start)
    z = max(0.0, after - max(before, limit))
    row = np.zeros(state.cover.n_arms)
    for i in clique:
        row[i] = raw[i] - min(z, max(0.0, raw[i]))
    return row


def test_the_estimates_and_the_bias_are_those_of_the_enumerated_draws(states: list[PracticalRound]) -> None:
    rng = np.random.default_rng(3)
    tight = 0.0
    for state in states:
        rows = [by_hand_estimates(state, k) for k in range(state.cover.n_cliques)]
        np.testing.assert_allclose(state.estimates, rows, rtol=1e-6, atol=1e-6)
        u = rng.dirichlet(np.full(state.cover.n_arms, 0.1))
        expected = sum(state.mass[k] * rows[k] for k in range(state.cover.n_cliques))
        check = practical.bias(state, u)
        gap = (state.losses - expected) @ (state.distribution - u)
        assert check.left == pytest.approx(gap, abs=1e-7)
        raised = sum(
            state.mass[k] * min(state.excess[k], max(0.0, state.raw_estimates[k, i])) * state.distribution[i]
            for k, clique in enumerate(state.cover.cliques)
            for i in clique
        )
        assert raised <= check.right * (1.0 + 1e-9)
        assert check.holds
        if check.right > 1e-6:
            away = np.zeros(state.cover.n_arms)  # a comparator that loses nothing by what was held back
            away[state.best_arm] = 1.0
            tight = max(tight, practical.bias(state, away).ratio)
    assert tight > 0.99


def test_the_deficit_and_the_cost_are_their_formulas(states: list[PracticalRound]) -> None:
    for state in states[:60]:
        sizes, c = state.cover.sizes, state.constants
        rights, lefts = [], []
        for k, clique in enumerate(state.cover.cliques):
            x = 1.0 / math.sqrt(state.mass[k])
            reach = c.alpha[k] + math.log(sizes[k])
            eta = 4.0 * math.sqrt(reach) / math.sqrt(state.round + 300.0)
            rights.append(reach * x / (2.0 * eta) + (c.beta + 1.25 * state.highest) * x**2)
            lefts.append(min(state.cumulative_losses[i] for i in clique) - state.solution.multiplier)
            limit = max(reach / 0.16, 20.0 * (c.beta + 1.25 * 0.75 + 1.0))  # theta eta0 = 0.4; 2 / theta = 20
            assert state.numbers.limits[k] == pytest.approx(limit, rel=1e-12)
        check = practical.deficit(state)
        assert check.ratio == pytest.approx(max(a / b for a, b in zip(lefts, rights, strict=True)), rel=1e-6)
        cost = practical.bias_cost(state)
        assert cost.left == pytest.approx(sum(q * q * z for q, z in zip(state.mass, state.excess, strict=True)))
        assert cost.right == pytest.approx(state.numbers.limits.sum() / (state.round + 300.0))


def test_the_mass_of_a_clique_that_is_held_back_is_small(states: list[PracticalRound]) -> None:
    ratios = [practical.held_back_mass(state).ratio for state in states if (state.excess > 0.0).any()]
    assert 0.3 < max(ratios) <= 1.0


# --- steps 1 and 2 -------------------------------------------------------------------------------------


def test_the_price_is_the_multiplier_and_its_derivatives_are_those_of_the_proof(states: list[PracticalRound]) -> None:
    for state in states[:60]:
        losses = state.cumulative_losses
        for k, clique in enumerate(state.cover.cliques):
            q = float(state.mass[k])
            price = state.price(k, q, losses)
            scale = 1.0 + abs(price) + state.barrier / q
            assert price == pytest.approx(state.solution.multiplier, abs=1e-8 * scale)
            y = state.distribution[clique] / state.distribution[clique].sum()
            log_y = np.log(np.maximum(y, 1e-300))
            entropy = -(y @ log_y)
            weights = y * (1.0 + (log_y + entropy) / 2.0)
            assert weights.sum() == pytest.approx(1.0, abs=1e-9)
            if q > 1e-3:
                for j, i in enumerate(clique[:4]):
                    bump = np.zeros_like(losses)
                    bump[i] = 1e-4 * (1.0 + 1.0 / state.rates[k])
                    rise = state.price(k, q, losses + bump) - state.price(k, q, losses - bump)
                    assert rise / (2.0 * bump[i]) == pytest.approx(weights[j], abs=1e-4)
                slope = (state.price(k, q * 1.0001, losses) - state.price(k, q * 0.9999, losses)) / (q * 0.0002)
                assert state.price_slope(k, q, losses) == pytest.approx(slope, rel=1e-4)


def test_the_changes_of_the_price_are_differences_of_prices(states: list[PracticalRound]) -> None:
    for state in states[:100]:
        cliques = range(state.cover.n_cliques)
        after = [state.price(k, state.mass[k], state.cumulative_losses + state.estimates[k]) for k in cliques]
        before = [state.price(k, state.mass[k], state.cumulative_losses) for k in cliques]
        changes = (np.array(after) - before) * state.mass
        down, up = practical.price_falls(state), practical.price_rises(state)
        n = rebound(int(state.cover.sizes.max()))
        assert (down.left, up.left) == (pytest.approx((-changes).max()), pytest.approx(changes.max()))
        assert (down.right, up.right) == (pytest.approx(state.baseline + n), pytest.approx(1.0 - state.baseline + n))


def test_the_fall_of_a_price_reaches_the_baseline_and_a_loss_can_lower_a_price() -> None:
    cover = cover_of([1, 1])
    constants = Constants.practical(cover)
    state = PracticalRound(cover, constants, 5000, 0.75, 0.75, np.zeros(2), np.zeros(2), 0)
    assert practical.price_falls(state).ratio == pytest.approx(1.0, abs=1e-9)
    state = PracticalRound(cover, constants, 5000, 0.25, 0.75, np.zeros(2), np.ones(2), 0)
    assert practical.price_rises(state).ratio == pytest.approx(1.0, abs=1e-9)
    # 29 light arms lose: the price of the whole clique falls, although no loss is negative
    cover = cover_of([30, 1])
    cumulative = np.zeros(31)
    light = list(cover.cliques[0][1:])
    falls = []
    for gap in np.linspace(0.0, 400.0, 200):
        cumulative[light] = gap
        losses = np.zeros(31)
        losses[light] = 1e-3
        state = PracticalRound(cover, Constants.practical(cover), 10**5, 0.0, 0.0, cumulative.copy(), losses, 0)
        falls.append(practical.price_falls(state).left / 1e-3)
    assert max(falls) == pytest.approx(rebound(30), rel=0.02)


def test_the_drawn_mass_obeys_its_equation(states: list[PracticalRound]) -> None:
    used = []
    for state in states:
        lefts = []
        for k in range(state.cover.n_cliques):
            q, after = state.mass[k], state.half_mass[k, k]
            tau = min(1.0, math.sqrt(q / after))
            lefts.append(0.5 * math.sqrt(q) / state.rates[k] * (1.0 - tau) + state.barrier * (1.0 - tau**2))
        check = practical.drawn_mass(state)
        assert check.left == pytest.approx(max(lefts), abs=1e-12)
        used.append(check.ratio)
        growth = practical.mass_growth(state)
        assert growth.left == pytest.approx(max(state.half_mass[k, k] / state.mass[k] for k in range(len(lefts))))
        n = rebound(int(state.cover.sizes.max()))
        assert growth.right == pytest.approx(state.barrier / (state.barrier - state.baseline - n))
    assert max(used) > 0.9


def test_a_rare_clique_grows_by_almost_rho() -> None:
    cover = cover_of([1, 1])
    c = Constants.practical(cover)
    state = PracticalRound(cover, c, 10**4, 0.75, 0.75, np.array([0.0, 1e8]), np.zeros(2), 0)
    check = practical.mass_growth(state)
    assert check.right == pytest.approx(1.1375 / 0.3875)  # beta_t = 0.2 + 1.25 * 0.75, and n = 0
    assert 0.95 < check.ratio <= 1.0
    whole = dataclasses.replace(c, baseline_share=1.0)
    state = PracticalRound(cover, whole, 10**4, 1.0, 1.0, np.array([0.0, 1e8]), np.zeros(2), 0)
    check = practical.mass_growth(state)
    assert check.right == pytest.approx(1.45 / 0.45)
    assert 0.95 < check.ratio <= 1.0


def test_the_curvature_is_attained_by_single_arms_and_nearly_by_the_worst_conditional() -> None:
    cover = cover_of([1, 1])
    state = PracticalRound(cover, Constants.practical(cover), 10, 0.0, 0.0, np.zeros(2), np.zeros(2), 0)
    assert practical.curvature(state).ratio == pytest.approx(1.0, rel=1e-12)
    for size in (2, 10, 30):  # (H + alpha - Var) / 4 is at least kappa
        y = worst_conditional(size, 0.25)
        entropy = -(y @ np.log(y))
        spread = y @ (np.log(y) + entropy) ** 2
        alpha = 1.0 + spread / 0.75 - entropy
        assert (entropy + alpha - spread) / 4.0 >= 0.25


@pytest.mark.parametrize("size", [2, 3, 10, 100, 1000])
def test_the_rebound_is_the_largest_over_the_simplex(size: int) -> None:
    rng = np.random.default_rng(size)

    def value(y: np.ndarray) -> float:
        y = y[y > 0.0]
        log_y = np.log(y)
        return float((y * np.maximum(0.0, -(1.0 + (log_y - y @ log_y) / 2.0))).sum())

    points = [rng.dirichlet(np.full(size, 10.0 ** rng.uniform(-2.0, 1.0))) for _ in range(500)]
    two_levels = [
        np.concatenate([[1.0 - m], np.full(size - 1, m / (size - 1))]) for m in np.linspace(1e-4, 0.9999, 2000)
    ]
    assert max(value(y) for y in points) <= rebound(size) + 1e-12
    assert max(value(y) for y in two_levels) == pytest.approx(rebound(size), rel=1e-4, abs=1e-6)


# --- steps 3 and 4 -------------------------------------------------------------------------------------


def test_the_entropy_and_the_barrier_are_their_definitions(states: list[PracticalRound]) -> None:
    for state in states[:60]:
        p, psi, phi, horizon = state.distribution, 0.0, 0.0, state.round
        n_cliques, best = state.cover.n_cliques, state.best_clique
        right = plain = 0.0
        for k, clique in enumerate(state.cover.cliques):
            q = sum(p[i] for i in clique)
            entropy = -sum(p[i] / q * math.log(p[i] / q) for i in clique if p[i] > 0.0)
            reach = state.constants.alpha[k] + math.log(len(clique))
            psi -= math.sqrt(q) * (state.constants.alpha[k] + entropy) / math.sqrt(reach)
            phi -= math.log(q)
            plain += reach
            right += math.sqrt(reach * q) if k != best else 0.0
        root = math.sqrt(state.constants.alpha[best] + math.log(state.cover.sizes[best]))
        right += (1.0 + math.log(state.cover.sizes[best])) / root * math.sqrt(state.others_mass)
        right += state.constants.alpha[best] / (root * horizon)
        assert state.entropy(p) == pytest.approx(psi, rel=1e-9)
        assert state.barrier_value(p) == pytest.approx(phi, rel=1e-9)
        assert practical.entropy_penalty(state, horizon).right == pytest.approx(right)
        assert practical.plain_penalty(state, horizon).right == pytest.approx(math.sqrt(plain))
        check = practical.barrier_penalty(state, horizon)
        u_phi = (n_cliques - 1) * math.log(n_cliques * horizon)
        u_phi -= math.log(1.0 - (n_cliques - 1) / (n_cliques * horizon))
        assert check.left == pytest.approx(u_phi - phi, abs=1e-8)
        assert check.right == pytest.approx((n_cliques - 1) * math.log(horizon))


def test_the_weight_grows_by_less_than_059() -> None:
    cover = cover_of([1, 1])
    for constants in (Constants.practical(cover), Constants.sharp(cover)):
        for t in (2, 3, 10, 1000, 10**6):
            assert practical.weight_growth(constants, t).holds
    assert practical.weight_growth(Constants.sharp(cover), 2).ratio > 0.99
    with pytest.raises(InvalidParameter, match="expected at least 2"):
        practical.weight_growth(Constants.sharp(cover), 1)


def largest_share(state: PracticalRound, drawn: int, arms: list[int], shift: float) -> float:
    worst = 0.0
    for w in np.linspace(0.0, 1.0, 17):
        p = (1.0 - w) * state.distribution + w * state.half_steps[drawn]
        total = 0.0
        for i in arms:
            k = int(state.cover.owner[i])
            mass = sum(p[j] for j in state.cover.cliques[k])
            total += 2.0 * state.rates[k] * math.sqrt(mass) * p[i] * (state.estimates[drawn, i] - shift) ** 2
        worst = max(worst, total)
    return worst * state.mass[drawn]


def test_the_shares_are_sums_arm_by_arm(states: list[PracticalRound]) -> None:
    for state in late(states, half=True)[:25]:
        best, c = state.best_clique, float(state.losses[state.best_arm]) - state.baseline
        elsewhere = [i for i in range(state.cover.n_arms) if state.cover.owner[i] != best]
        close = {"rel": 1e-6, "abs": 1e-12}
        others = [int(i) for i in state.others]
        root = math.sqrt(state.constants.alpha[best] + math.log(state.cover.sizes[best]))
        eta_best = 4.0 * root / math.sqrt(state.round + 300.0)
        s = sum(math.sqrt(q) for k, q in enumerate(state.mass) if k != best)
        weighted = sum(state.rates[k] * math.sqrt(q) for k, q in enumerate(state.mass) if k != best)
        b, not_drawn = practical.drawn_best_arm(state), practical.not_drawn(state)
        d, lemma = practical.drawn_other_arms(state), practical.half_step_lemma(state)
        assert b.left == pytest.approx(largest_share(state, best, [state.best_arm], c), **close)
        assert b.right == pytest.approx(1.42 * eta_best * s)
        assert not_drawn.left == pytest.approx(largest_share(state, best, elsewhere, c), **close)
        assert not_drawn.right == pytest.approx(8.0 * weighted)
        assert d.left == pytest.approx(largest_share(state, best, others, c), **close)
        x, after = (sum(p[i] for i in others) for p in (state.distribution, state.half_steps[best]))
        assert lemma.left == pytest.approx(math.sqrt(max(x, after)), **close)
        assert d.right == pytest.approx(4.0 * eta_best * math.sqrt(max(x, after)))
        step = 4.0 * math.sqrt(x) + (4.83 + 2.45 * math.sqrt(math.log(len(others) + 1))) * s
        assert lemma.right == pytest.approx(step)
        elsewhere_left = sum(
            largest_share(state, k, list(state.cover.cliques[k]), 0.0)
            for k in range(state.cover.n_cliques)
            if k != best
        )
        a = practical.drawn_elsewhere(state)
        assert a.left == pytest.approx(elsewhere_left, **close)
        n = rebound(int(state.cover.sizes.max()))
        rho = state.barrier / (state.barrier - state.baseline - n)
        factor = 2.0 * rho**1.5 * max(state.baseline, 1.0 - state.baseline) ** 2
        assert a.right == pytest.approx(factor * weighted)
        plain = practical.plain_stability(state)
        drawn_best = largest_share(state, best, list(state.cover.cliques[best]), 0.0)
        assert plain.left == pytest.approx(elsewhere_left + drawn_best, **close)
        assert plain.right == pytest.approx(factor * (weighted + eta_best * math.sqrt(state.mass[best])))
        summed = practical.stability(state)
        assert (
            elsewhere_left * (1.0 - 1e-9)
            <= summed.left
            <= (elsewhere_left + b.left + not_drawn.left + d.left) * (1.0 + 1e-9)
        )
        m = max(2.0 * state.numbers.growth, 1.42 + 19.32 + 9.8 * math.sqrt(math.log(len(others) + 1)))
        right = (2.0 * state.numbers.growth + 8.0) * weighted + eta_best * (m * s + 16.0 * math.sqrt(x))
        assert summed.right == pytest.approx(right)


def test_stability_is_what_the_two_minima_differ_by(states: list[PracticalRound]) -> None:
    for state in states[:40]:
        rights, lefts = [], []
        for k in range(state.cover.n_cliques):
            after, half = state.cumulative_losses + state.estimates[k], state.half_steps[k]
            values = [
                after @ p
                + state.entropy(p) * math.sqrt(state.round + 300.0) / 4.0
                + state.barrier * state.barrier_value(p)
                for p in (state.distribution, half)
            ]
            lefts.append(values[0] - values[1])
            rights.append(largest_share(state, k, list(state.cover.cliques[k]), 0.0) / state.mass[k])
        check = practical.stability_by_local_norm(state)
        k = int(np.argmin(np.abs(np.array(rights) - check.right)))
        assert check.right == pytest.approx(rights[k], rel=1e-6)
        assert check.left == pytest.approx(lefts[k], rel=1e-5, abs=1e-7 * (1.0 + np.ptp(state.cumulative_losses)))


def test_what_the_bound_along_a_run_adds_for_a_round_is_used_to_more_than_a_half(states: list[PracticalRound]) -> None:
    ratios = [practical.stability_along_a_run(state).ratio for state in states]
    assert 0.5 < max(ratios) <= 1.0


def test_the_local_norm_is_used_to_more_than_a_half(states: list[PracticalRound]) -> None:
    assert max(practical.stability_by_local_norm(state).ratio for state in states) > 0.5
    for state in late(states, half=True)[:40]:
        shift = float(state.losses[state.best_arm]) - state.baseline
        assert practical.stability_by_local_norm(state, shift).holds


def growth_at(beta: float, slope: float, n: float, b: float, highest: float) -> float:
    barrier = beta + slope * highest
    return (barrier / (barrier - b - n)) ** 1.5 * max(b, 1.0 - b) ** 2


def largest_growth(beta: float, slope: float, n: float, share: float) -> float:
    """By brute force over all pairs ``b <= highest <= share``, then on a fine grid with ``highest = b``."""
    coarse = np.linspace(0.0, share, 61)
    pairs = max(growth_at(beta, slope, n, b, top) for b in coarse for top in coarse[coarse >= b])
    fine = max(growth_at(beta, slope, n, b, b) for b in np.linspace(0.0, share, 12001))
    assert pairs <= fine
    assert fine <= pairs * 1.01
    return fine


def test_the_growth_of_the_theorem_is_the_largest_of_any_round(states: list[PracticalRound]) -> None:
    for state in states:
        assert state.growth <= state.numbers.growth * (1.0 + 1e-12)
    for sizes in ([1, 1], [10, 2], [1000, 1]):
        numbers = numbers_of(sizes)
        c, n = numbers.constants, numbers.rebound
        assert numbers.growth == pytest.approx(largest_growth(c.beta, 1.25, n, 0.75), rel=1e-6)
        for share in (0.0, 0.3, 0.6, 1.0):
            other = Numbers(np.array(sizes), dataclasses.replace(c, baseline_share=share))
            assert other.growth == pytest.approx(largest_growth(c.beta, 1.25, n, share), rel=1e-6)
    shipped = Constants.practical(cover_of([1, 1]))
    inner = Numbers(np.array([1, 1]), dataclasses.replace(shipped, beta=0.05, barrier_slope=3.0))
    inside = largest_growth(0.05, 3.0, 0.0, 0.75)
    assert inner.growth == pytest.approx(inside, rel=1e-6)
    ends = [(2.3 / 1.55) ** 1.5 * 0.75**2, (1.55 / 1.05) ** 1.5 * 0.25, 1.0]  # b = 3/4, 1/2 and 0
    assert inside > 1.2 * max(ends)  # the largest value lies inside
    flat = Numbers(np.array([1, 1]), dataclasses.replace(shipped, beta=2.0, barrier_slope=0.0, baseline_share=0.3))
    assert flat.growth == pytest.approx(1.0)  # at b = 0; at 0.3 it is (2 / 1.7)^1.5 0.7^2
    steep = Numbers(np.array([10, 2]), dataclasses.replace(shipped, beta=5.0, barrier_slope=3.0, rate_factor=()))
    assert steep.growth == pytest.approx((5.0 / (5.0 - rebound(10))) ** 1.5)  # the largest value is at b = 0
    assert steep.growth == pytest.approx(largest_growth(5.0, 3.0, rebound(10), 0.75), rel=1e-6)
    short = Numbers(np.array([1, 1]), dataclasses.replace(shipped, beta=0.05, barrier_slope=3.0, baseline_share=0.01))
    assert short.growth == pytest.approx((0.08 / 0.07) ** 1.5 * 0.99**2, rel=1e-12)  # the share ends before that place


def test_from_a_half_on_a_higher_baseline_only_makes_the_growth_larger() -> None:
    rng = np.random.default_rng(4)
    for _ in range(300):
        n, slope = rng.uniform(0.0, 3.0), rng.uniform(0.0, 4.0)
        beta = max(n, n + 1.0 - slope) + 10.0 ** rng.uniform(-3.0, 1.0)  # a barrier above b + n for every b up to 1
        values = [growth_at(beta, slope, n, b, b) for b in np.linspace(0.5, 1.0, 200)]
        assert np.all(np.diff(values) > 0.0)


# --- what the theorem is about -------------------------------------------------------------------------


def test_the_shipped_constants_are_covered_for_every_cover() -> None:
    for sizes in ([1, 1], [2, 1], [10] * 10, [300, 1], [7, 3, 100]):
        cover = cover_of(sizes)
        assert covers(Constants.practical(cover), cover)
        assert covers(Constants.sharp(cover), cover)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"implicit_exploration": 1.0}, "implicit_exploration"),
        ({"gamma": 1e-6}, "gamma"),
        ({"power": 0.4}, "power"),
        ({"variance_floor": 0.5, "baseline_share": 1.0}, "variance_floor"),
        ({"alpha": (1.0, 1.0)}, "alpha is 1 for clique 0"),
        ({"alpha": (1.0,), "rate_factor": ()}, "1 alphas for 2 cliques"),
        ({"beta": 0.0}, "baseline b = 0"),
        ({"barrier_slope": 0.5}, "baseline b = 0.75;"),
        ({"barrier_slope": 0.75, "baseline_share": 1.0}, "baseline b = 1;"),
        ({"barrier_slope": 0.5, "baseline_share": 0.6}, "baseline b = 0.6;"),
        ({"memory": 0.0}, "baseline b = 1;"),
    ],
)
def test_other_constants_are_refused_with_the_reason(change: dict[str, object], reason: str) -> None:
    cover = cover_of([3, 1])
    verdict = covers(dataclasses.replace(Constants.practical(cover), **change), cover)
    assert not verdict
    assert reason in verdict.reason


@pytest.mark.parametrize("share", [0.0, 0.3, 0.75, 1.0])
@pytest.mark.parametrize("sizes", [[1, 1], [3, 1], [100, 2]])
def test_the_condition_is_needed_up_to_the_share_and_no_further(sizes: list[int], share: float) -> None:
    cover = cover_of(sizes)
    base = dataclasses.replace(Constants.practical(cover), baseline_share=share)
    n = rebound(max(sizes))
    verdicts = []
    for slope in (0.0, 0.5, 0.7, 0.74, 0.77, 0.81, 1.0, 1.25):
        grid = np.linspace(0.0, share, 101)
        room = min(base.beta + slope * b - b - n for b in grid)  # the barrier is lowest if b is the highest so far
        verdict = covers(dataclasses.replace(base, barrier_slope=slope), cover)
        assert bool(verdict) == (room > 0.0)
        assert f"by {room:g} " in verdict.reason
        verdicts.append(bool(verdict))
    assert verdicts[-1]
    assert verdicts[0] == (share < base.beta - n)


def test_one_clique_is_another_matter() -> None:
    cover = cover_of([3])
    assert "one clique" in covers(Constants.practical(cover), cover).reason
    with pytest.raises(InvalidConstants, match="Theorem C does not hold"):
        numbers_of([3])


@pytest.mark.parametrize("step", [*HALF, practical.stability], ids=lambda step: step.__name__)
def test_every_step_about_late_rounds_rejects_the_last_early_one(step: Step) -> None:
    cover = cover_of([1, 1])
    last = numbers_of([1, 1]).last_early_round
    ahead, losses = np.array([0.0, 1.0]), np.array([0.0, 1.0])
    early = PracticalRound(cover, Constants.practical(cover), last, 0.0, 0.0, ahead, losses, 0)
    with pytest.raises(InvalidParameter, match=f"round is {last}; expected one after {last}"):
        step(early)
    assert step(dataclasses.replace(early, round=last + 1)).holds


@pytest.mark.parametrize("step", HALF, ids=lambda step: step.__name__)
def test_every_step_about_a_leading_best_clique_rejects_less_than_half_the_mass(step: Step) -> None:
    cover = cover_of([1, 1])
    behind = np.array([1e-3, 0.0])
    state = PracticalRound(cover, Constants.practical(cover), 10**6, 0.0, 0.0, behind, np.zeros(2), 0)
    assert 0.49 < state.best_mass < 0.5
    with pytest.raises(InvalidParameter, match="at least 1/2"):
        step(state)
    assert practical.drawn_best_if_small(state).holds
    assert practical.stability(state).holds
    even = dataclasses.replace(state)
    half = np.array([0.5, 0.5])
    even.__dict__["solution"] = dataclasses.replace(state.solution, distribution=half, clique_mass=half)
    assert step(even).holds
    with pytest.raises(InvalidParameter, match="less than 1/2"):
        practical.drawn_best_if_small(even)


def test_the_summed_stability_takes_the_shift_from_exactly_half_the_mass_on() -> None:
    cover, half, losses = cover_of([1, 1]), np.array([0.5, 0.5]), np.array([0.75, 0.0])
    state = PracticalRound(cover, Constants.practical(cover), 10**4, 0.25, 0.25, np.zeros(2), losses, 0)
    state.__dict__["solution"] = dataclasses.replace(state.solution, distribution=half, clique_mass=half)
    left = largest_share(state, 0, [0, 1], 0.5) + largest_share(state, 1, [0, 1], 0.0)  # c = l* - b = 1/2
    assert practical.stability(state).left == pytest.approx(left)
    assert left != pytest.approx(largest_share(state, 0, [0, 1], 0.0) + largest_share(state, 1, [0, 1], 0.0), rel=0.01)


def test_steps_refuse_states_they_are_not_about() -> None:
    cover = cover_of([2, 1])
    c = Constants.practical(cover)
    early = PracticalRound(cover, c, 1, 0.0, 0.0, np.zeros(3), np.zeros(3), 0)
    with pytest.raises(InvalidParameter, match="expected one after"):
        practical.stability(early)
    small = PracticalRound(cover, c, 10**6, 0.0, 0.0, np.eye(3)[cover.cliques[0]].sum(axis=0) * 1e4, np.zeros(3), 0)
    small = dataclasses.replace(small, best_arm=int(cover.cliques[0][0]))
    with pytest.raises(InvalidParameter, match="at least 1/2"):
        practical.half_step_lemma(small)
    with pytest.raises(InvalidParameter, match="less than 1/2"):
        practical.drawn_best_if_small(dataclasses.replace(small, best_arm=int(cover.cliques[1][0])))
    with pytest.raises(InvalidParameter, match="baseline <= highest"):
        dataclasses.replace(early, baseline=0.5)
    with pytest.raises(InvalidParameter, match=r"highest 0.76; expected 0 <= baseline <= highest <= 0.75"):
        dataclasses.replace(early, baseline=0.5, highest=0.76)
    whole = dataclasses.replace(c, baseline_share=1.0)
    assert dataclasses.replace(early, constants=whole, baseline=0.5, highest=1.0).barrier == c.beta + 1.25
    with pytest.raises(InvalidParameter, match="between 0 and 1"):
        dataclasses.replace(early, losses=np.full(3, 2.0))


# --- the shipped learner -------------------------------------------------------------------------------


def shipped_run(sizes: list[int], rounds: int, seed: int) -> tuple[list[PracticalRound], list[int], np.ndarray]:
    """Play the shipped learner; one state of the theorem a round, the drawn clique, and what ``Lhat`` grew by."""
    rng, cover = np.random.default_rng(seed), cover_of(sizes)
    learner = TsallisShannon(cover)
    memory = learner.init()
    states, drawn, added = [], [], []
    for t in range(1, rounds + 1):
        losses = (rng.random(cover.n_arms) < np.where(np.arange(cover.n_arms) == 0, 0.2, 0.95)).astype(np.float64)
        before = learner.cumulative_losses(memory)
        ticket = learner.draw(memory, rng.random(), rng.random())
        states.append(
            PracticalRound(
                cover,
                Constants.practical(cover),
                t,
                ticket.baseline,
                float(memory.clock[HIGHEST]),
                before,
                losses,
                best_arm=0,
            )
        )
        now = learner.constants_now(memory)
        assert now.beta == states[-1].barrier
        np.testing.assert_allclose(learner.distribution(memory), states[-1].distribution, rtol=1e-6, atol=1e-12)
        clique, weight = cover.cliques[ticket.clique], 1.0 / ticket.clique_probability
        limit = float(memory.clock[MULTIPLIER]) + 0.1 * (t + 300.0)
        learner.update(memory, ticket, losses[clique])
        exact = before.copy()  # the rule of the theorem with the learner's own mass and multiplier, to the last bit
        exact[clique] += (losses[clique] - ticket.baseline) * weight
        excess = max(0.0, exact[clique].min() - max(before[clique].min(), limit))
        if excess > 0.0:
            exact[clique] -= np.minimum(excess, np.maximum(0.0, (losses[clique] - ticket.baseline) * weight))
        np.testing.assert_array_equal(learner.cumulative_losses(memory), exact)
        drawn.append(ticket.clique)
        added.append(learner.cumulative_losses(memory) - before)
    return states, drawn, np.array(added)


def test_the_shipped_learner_adds_the_estimates_of_the_theorem() -> None:
    held = 0
    baseline = 0.0
    for sizes, seed in (([3, 1, 2], 1), ([1] * 6, 2)):
        states, drawn, added = shipped_run(sizes, 400, seed)
        highest = baseline = 0.0
        for t, (state, k, row) in enumerate(zip(states, drawn, added, strict=True), start=1):
            expected = state.estimates[k]
            size = 1.0 + np.abs(state.cumulative_losses).max()
            np.testing.assert_allclose(row, expected, rtol=1e-6, atol=1e-8 * size)
            held += bool(state.excess[k] > 0.0)
            assert 0.0 <= state.baseline <= state.highest <= 0.75
            highest = max(highest, state.baseline)
            assert state.highest == highest
            assert t == 1 or abs(state.baseline - baseline) <= 0.75 * 20.0 / (t + 99.0) * (1.0 + 1e-12)
            baseline = state.baseline
    assert held > 0


def test_the_decomposition_holds_on_a_run_of_the_shipped_learner() -> None:
    states, drawn, added = shipped_run([3, 1, 2], 300, 5)
    halves = np.array([state.half_steps[k] for state, k in zip(states, drawn, strict=True)])
    rng = np.random.default_rng(0)
    for u in [rng.dirichlet(np.ones(6)) for _ in range(5)] + [np.array([0.95] + [0.01] * 5)]:
        check = practical.decomposition(states, added, halves, u)
        assert check.holds
        left = sum(float(row @ (state.distribution - u)) for state, row in zip(states, added, strict=True))
        assert check.left == pytest.approx(left)
    # the best comparator in hindsight leaves only what each round's half step gives away
    last = states[-1]
    final = last.solve(last.cumulative_losses + added[-1]).distribution
    best = practical.decomposition(states, added, halves, final)
    assert best.holds
    assert best.slack < 0.05 * abs(best.right)


def test_what_a_step_forgives_is_rounding_of_the_numbers_it_subtracts(states: list[PracticalRound]) -> None:
    for state in [*states[:40], *late(states, half=True)[:10]]:
        p, q, losses = state.distribution, state.mass, state.cumulative_losses
        psi = sum(
            math.sqrt(q[k]) * (state.constants.alpha[k] - sum(y * math.log(y) for y in p[clique] / q[k] if y > 0.0))
            / state.constants.rate_factors[k]
            for k, clique in enumerate(state.cover.cliques)
        )  # fmt: skip
        noise = 1e-13 * (1.0 + max(abs(losses)) * max(q) + state.barrier)
        root = math.sqrt(state.round + 300.0)
        norm = 1e-12 * (psi * root + sum(p[i] * (losses[i] - min(losses)) for i in range(len(p))))
        u = np.eye(len(p))[state.best_arm]
        forgiven = {practical.price_falls: noise, practical.price_rises: noise, practical.drawn_mass: 1e-9}
        forgiven |= dict.fromkeys([practical.stability_by_local_norm, practical.stability_along_a_run], norm)
        assert practical.bias(state, u).rounding == 1e-9
        for step in EVERY:
            check = step(state)
            assert check.rounding == pytest.approx(forgiven.get(step, 0.0), rel=1e-6, abs=0.0)
            assert (check.scale, check.tolerance) == (0.0, 1e-9)
        assert practical.barrier_penalty(state, 10).scale == 1.0
        reach = [a + math.log(len(c)) for a, c in zip(state.constants.alpha, state.cover.cliques, strict=True)]
        assert practical.entropy_penalty(state, 10).scale == pytest.approx(sum(reach))
    assert practical.drawn_best_arm(late(states, half=True)[0]).rounding == 1e-15


def test_what_the_decomposition_forgives_is_the_size_of_what_it_subtracts() -> None:
    cover = cover_of([2, 1])
    c = Constants.practical(cover)
    sums = np.array([[0.0, 0.0, 0.0], [-3.0, 2.0, -1.0], [-30.0, 20.0, -50.0]])  # a baseline makes sums negative
    states = [PracticalRound(cover, c, t, 0.25, 0.5, row, np.zeros(3), 0) for t, row in enumerate(sums, start=1)]
    halves = np.array([state.half_steps[0] for state in states])
    check = practical.decomposition(
        states, np.array([state.estimates[0] for state in states]), halves, np.full(3, 1 / 3)
    )
    size = sum(
        sum(abs(loss) * share for loss, share in zip(row, state.distribution, strict=True))
        - state.entropy(state.distribution) * math.sqrt(t + 300.0) / 4.0
        for t, (row, state) in enumerate(zip(sums, states, strict=True), start=1)
    )
    assert check.rounding == pytest.approx(1e-12 * size, rel=1e-9, abs=0.0)


def test_the_entropy_of_an_empty_clique_is_zero() -> None:
    cover = cover_of([2, 1])
    state = PracticalRound(cover, Constants.practical(cover), 1, 0.0, 0.0, np.zeros(3), np.zeros(3), 0)
    p = np.zeros(3)
    p[cover.cliques[1]] = 1.0  # one arm has everything: alpha / sigma = alpha / sqrt(alpha) remains
    assert state.entropy(p) == pytest.approx(-math.sqrt(state.constants.alpha[1]))


def test_the_remaining_sides_are_their_definitions(states: list[PracticalRound]) -> None:
    for state in late(states, half=True)[:40]:
        best, after = state.best_clique, state.half_mass[state.best_clique]
        check = practical.other_masses(state)
        assert check.left == pytest.approx(max(after[k] / q for k, q in enumerate(state.mass) if k != best))
        assert check.right == 4.0
    for state in states[:60]:
        u = np.zeros(state.cover.n_arms)
        for k, clique in enumerate(state.cover.cliques):
            if k != state.best_clique:
                u[clique[0]] = 1.0 / (state.cover.n_cliques * state.round)
        u[state.best_arm] = 1.0 - u.sum()
        gap = state.entropy(u) - state.entropy(state.distribution)
        assert practical.entropy_penalty(state, state.round).left == pytest.approx(gap, abs=1e-9)
        assert practical.plain_penalty(state, state.round).left == pytest.approx(gap, abs=1e-9)
        if state.best_mass < 0.5:
            best, small = state.best_clique, practical.drawn_best_if_small(state)
            share = largest_share(state, best, list(state.cover.cliques[best]), 0.0)
            assert small.left == pytest.approx(share, rel=1e-6, abs=1e-12)
            s = sum(math.sqrt(q) for k, q in enumerate(state.mass) if k != best)
            assert small.right == pytest.approx(2.0 * state.growth * state.rates[best] * s)
