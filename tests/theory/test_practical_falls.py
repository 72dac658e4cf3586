"""Theorem C with a barrier that falls: what a fall costs, how rare a clique can be, and the numbers of the bound."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from allworlds.ftrl.constants import Constants
from allworlds.learners import TsallisShannon
from allworlds.theory import practical, practical_adversarial_bound
from allworlds.theory.practical_coefficients import FALL_SUM, covers, numbers_of
from allworlds.theory.rounds import PracticalRound
from theory.practical_states import shipped_run
from theory.states import cover_of


def falling(sizes: list[int], fall: float = 100.0) -> Constants:
    return dataclasses.replace(Constants.practical(cover_of(sizes)), barrier_fall=fall)


def test_what_a_fall_costs_is_its_definition(states: list[PracticalRound]) -> None:
    used = 0
    for state in states:
        k, horizon = state.cover.n_cliques, state.round + 1000
        check = practical.barrier_credit(state, horizon)
        q = [sum(state.distribution[i] for i in clique) for clique in state.cover.cliques]
        comparator = (k - 1) * math.log(k * horizon) - math.log(1.0 - (k - 1) / (k * horizon))
        assert check.left == pytest.approx(sum(-math.log(each) for each in q) - comparator, abs=1e-7)
        scarce = [max(0.0, math.log(1.0 / (k * horizon * each))) for each in q]
        assert check.right == pytest.approx(math.log(k) + sum(scarce), abs=1e-9)
        assert check.holds
        used += check.left > 0.0
    assert used > 5  # there are states in which a fall costs something


def test_how_rare_a_clique_is_is_its_definition(states: list[PracticalRound]) -> None:
    tightest = 0.0
    for state in states:
        k, p, eta = state.cover.n_cliques, state.distribution, state.learning_rate
        q = [sum(p[i] for i in clique) for clique in state.cover.cliques]
        means = [
            sum(p[i] * state.cumulative_losses[i] for i in clique) / mass
            for clique, mass in zip(state.cover.cliques, q, strict=True)
        ]
        likeliest = max(range(k), key=q.__getitem__)
        reach = [a + math.log(d) for a, d in zip(state.constants.alpha, state.cover.sizes, strict=True)]
        rest = math.sqrt(k) * max(math.sqrt(r) for r in reach) / (2.0 * eta) + k * state.barrier
        check = practical.rare_mass(state)
        assert check.holds
        pairs = [(state.barrier / mass, mean - means[likeliest] + rest) for mass, mean in zip(q, means, strict=True)]
        shares = [left / right for left, right in pairs]
        assert check.left / check.right == pytest.approx(max(shares), rel=1e-6)
        tightest = max(tightest, max(shares))
    assert tightest > 0.9


def test_the_falls_sum_to_at_most_a_fifth() -> None:
    t = np.arange(1, 10_000_001)
    total = float(((t + 100.0) ** -1.5).sum()) + 2.0 / math.sqrt(t[-1] + 100.0)
    assert 0.99 / FALL_SUM < total <= 1.0 / FALL_SUM


def test_the_numbers_of_a_barrier_that_falls_are_their_formulas() -> None:
    sizes, horizon = [3, 1, 10], 10**6
    still, moving = numbers_of(sizes), numbers_of(sizes, falling(sizes, 40.0))
    c = moving.constants
    fallen = 1.25 * 0.85 * 40.0 / 5.0
    highest = c.beta + 1.25 * 0.85
    reach = [a + math.log(d) for a, d in zip(c.alpha, sizes, strict=True)]
    rarity = 1.0 + max(math.sqrt(r) for r in reach) * math.sqrt(horizon + 300.0) / (8.0 * math.sqrt(3.0) * horizon)
    rarity = (rarity + highest / horizon) / c.beta
    more = fallen * (2.0 * math.log(horizon) + math.log(3.0) + 2.0 * math.log(1.0 + rarity))
    assert (still.fallen, moving.fallen) == (0.0, pytest.approx(fallen))
    assert moving.rarity(horizon) == pytest.approx(rarity, rel=1e-12)
    assert moving.logarithms(horizon) - still.logarithms(horizon) == pytest.approx(more, rel=1e-9)
    bounds = [practical_adversarial_bound(sizes, horizon, constants=n.constants).value for n in (still, moving)]
    assert bounds[1] - bounds[0] == pytest.approx(more, rel=1e-9)
    assert covers(c, cover_of(sizes))


@pytest.mark.compiled
@pytest.mark.parametrize("sizes", [[1, 1], [2, 1, 3]])
def test_a_clique_is_in_the_mean_no_rarer_than_the_proof_says(sizes: list[int]) -> None:
    cover, horizon = cover_of(sizes), 400
    learner = TsallisShannon(cover, falling(sizes))
    numbers = numbers_of(sizes, learner.constants)
    inverse = np.zeros(cover.n_cliques)
    for seed in range(60):
        state, rng = learner.init(), np.random.default_rng(seed)
        for _ in range(horizon - 1):
            ticket = learner.draw(state, rng.random(), rng.random())
            seen = learner.observes(ticket.arm)
            learner.update(state, ticket, np.where(np.asarray(cover.owner)[seen] == 0, 0.0, 1.0))
        inverse += [1.0 / learner.distribution(state)[clique].sum() for clique in cover.cliques]
    most = cover.n_cliques * horizon * numbers.rarity(horizon)
    assert (inverse / 60 <= most).all()
    assert (inverse / 60).max() > 0.01 * most


@pytest.mark.compiled
def test_the_decomposition_holds_on_a_run_in_which_the_barrier_falls() -> None:
    states, drawn, added = shipped_run([3, 1, 2], 250, 5, falling([3, 1, 2], 300.0))
    barriers = np.array([state.barrier for state in states])
    assert (np.diff(barriers) < 0.0).sum() > 50
    halves = np.array([state.half_steps[k] for state, k in zip(states, drawn, strict=True)])
    rng = np.random.default_rng(0)
    for u in [rng.dirichlet(np.ones(6)) for _ in range(5)] + [np.array([0.95] + [0.01] * 5)]:
        assert practical.decomposition(states, added, halves, u).holds
