"""Theorem C, steps 3 and 4: the penalty and the stability.

Random rounds of the default learner, and both sides against independent definitions.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from allworlds.foundation.errors import InvalidParameter
from allworlds.ftrl.constants import Constants
from allworlds.ftrl.sharp import rebound
from allworlds.theory import practical
from allworlds.theory.practical import PracticalRound
from allworlds.theory.practical_coefficients import numbers_of
from theory.practical_states import EVERY, HALF, Step, late, shipped_run
from theory.states import cover_of

# --- step 3: the penalty -------------------------------------------------------------------------------


def test_every_step_about_the_penalty_holds(states: list[PracticalRound]) -> None:
    for state in states:
        for horizon in (state.round, state.round + 1000):
            for step in (practical.barrier_penalty, practical.entropy_penalty, practical.plain_penalty):
                assert step(state, horizon).holds


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


def test_the_entropy_of_an_empty_clique_is_zero() -> None:
    cover = cover_of([2, 1])
    state = PracticalRound(cover, Constants.practical(cover), 1, 0.0, 0.0, np.zeros(3), np.zeros(3), 0)
    p = np.zeros(3)
    p[cover.cliques[1]] = 1.0  # one arm has everything: alpha / sigma = alpha / sqrt(alpha) remains
    assert state.entropy(p) == pytest.approx(-math.sqrt(state.constants.alpha[1]))


def test_the_weight_grows_by_less_than_059() -> None:
    cover = cover_of([1, 1])
    for constants in (Constants.practical(cover), Constants.sharp(cover)):
        for t in (2, 3, 10, 1000, 10**6):
            assert practical.weight_growth(constants, t).holds
    assert practical.weight_growth(Constants.sharp(cover), 2).ratio > 0.99
    with pytest.raises(InvalidParameter, match="expected at least 2"):
        practical.weight_growth(Constants.sharp(cover), 1)


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


# --- step 4: the stability -----------------------------------------------------------------------------


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


# --- what a step is about, and what it forgives --------------------------------------------------------


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
    with pytest.raises(InvalidParameter, match=r"highest 0.86; expected 0 <= baseline <= highest <= 0.85"):
        dataclasses.replace(early, baseline=0.5, highest=0.86)
    whole = dataclasses.replace(c, baseline_share=1.0)
    assert dataclasses.replace(early, constants=whole, baseline=0.5, highest=1.0).barrier == c.beta + 1.25
    with pytest.raises(InvalidParameter, match="between 0 and 1"):
        dataclasses.replace(early, losses=np.full(3, 2.0))


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
