"""The lazy step gives the exact step's answers, in every round of runs in every kind of world."""

from __future__ import annotations

import numpy as np
import pytest

from allworlds import graphs, worlds
from allworlds.covers import clique_cover
from allworlds.ftrl import Constants, solve_ftrl
from allworlds.kernels.random import STREAM_LEARNER, uniform_pair
from allworlds.learners import TsallisShannon
from allworlds.worlds.losses import reveal

WORLDS = {
    "stochastic": lambda n: worlds.one_good_arm(n, gap=0.25),
    "hostile": lambda n: worlds.constrained_adversary(n, best_arm=1, gap=0.125),
    "corrupted": lambda n: worlds.corrupted(worlds.one_good_arm(n, gap=0.25), 150, "best-worst"),
    "switching": lambda n: worlds.switching(n, gap=0.5),
}
COVERS = {
    "10 x 10": [10] * 10,
    "singletons": [1] * 12,
    "uneven": [1, 2, 4, 8, 16, 70],
    "one clique": [30],
}


def settings(cover, name):
    if name == "floor":  # high enough that arms, and now and then whole cliques, are pinned to it
        return Constants(Constants.practical(cover).alpha, 0.5, 0.2 / cover.n_arms, 4.0)
    return Constants.paper(cover, 1000) if name == "paper" else getattr(Constants, name)(cover)


@pytest.mark.compiled
@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("cover", COVERS)
@pytest.mark.parametrize("name", ["practical", "sharp", "paper", "floor"])
def test_masses_and_drawn_probabilities_are_the_exact_ones_in_every_round(world, cover, name):
    grouped = clique_cover(graphs.disjoint_cliques(COVERS[cover]))
    learner = TsallisShannon(grouped, settings(grouped, name))
    n_rounds, seed = 600, 5
    arrays = WORLDS[world](grouped.n_arms).for_run(seed, n_rounds)
    state = learner.init()
    for t in range(1, n_rounds + 1):
        constants = learner.constants_now(state)
        exact = solve_ftrl(grouped, learner.cumulative_losses(state), constants.learning_rate(t), constants)
        ticket = learner.draw(state, *uniform_pair(seed, STREAM_LEARNER, t, 0))
        assert np.abs(learner.clique_mass(state) / exact.clique_mass - 1.0).max() <= 1e-9
        assert ticket.clique_probability == pytest.approx(exact.clique_mass[ticket.clique], rel=1e-9)
        assert ticket.probability == pytest.approx(exact.distribution[ticket.arm], rel=1e-9)
        arms = learner.observes(ticket.arm)
        rows = np.empty((4, arms.size))
        reveal(arrays, seed, t, arms, rows)
        learner.update(state, ticket, rows[2])


@pytest.mark.compiled
@pytest.mark.slow
@pytest.mark.parametrize("name", ["practical", "sharp"])
def test_long_runs_stay_exact(name):
    cover = clique_cover(graphs.disjoint_cliques(30, 20))
    learner = TsallisShannon(cover, settings(cover, name))
    n_rounds, seed = 100_000, 6
    arrays = worlds.constrained_adversary(cover.n_arms, best_arm=1, gap=0.125).for_run(seed, n_rounds)
    state = learner.init()
    for t in range(1, n_rounds + 1):
        ticket = learner.draw(state, *uniform_pair(seed, STREAM_LEARNER, t, 0))
        if t % 37 == 0:
            constants = learner.constants_now(state)
            exact = solve_ftrl(cover, learner.cumulative_losses(state), constants.learning_rate(t), constants)
            assert np.abs(learner.clique_mass(state) / exact.clique_mass - 1.0).max() <= 1e-9
            assert ticket.probability == pytest.approx(exact.distribution[ticket.arm], rel=1e-9)
        arms = learner.observes(ticket.arm)
        rows = np.empty((4, arms.size))
        reveal(arrays, seed, t, arms, rows)
        learner.update(state, ticket, rows[2])
