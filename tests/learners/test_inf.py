"""INF against its printed potential, with the normalising number found by Brent's method, and against its bound."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq

from allworlds import graphs, play_many
from allworlds.foundation.errors import InvalidParameter
from allworlds.kernels.random import uniform_pair
from allworlds.learners import INF
from allworlds.learners.by_name import make_learner
from allworlds.worlds import one_good_arm


def losses_of(t, n_arms):
    return np.random.default_rng([9, t]).uniform(size=n_arms) ** np.linspace(0.5, 2.0, n_arms)


@pytest.mark.parametrize("power", [2.0, 3.5])
@pytest.mark.parametrize("horizon", [None, 500])
def test_every_round_follows_the_potential(horizon, power):
    n_arms = 5
    learner = INF(graphs.bandit(n_arms), horizon, power)
    state, gains = learner.init(), np.zeros(n_arms)
    for t in range(1, 200):
        rounds = horizon or t
        eta, gamma = math.sqrt(5 * rounds), min(0.5, math.sqrt(3 * n_arms / rounds))

        def psi(x, eta=eta, gamma=gamma):
            return (eta / -x) ** power + gamma / n_arms

        best = gains.max()
        c = brentq(lambda c, psi=psi: psi(gains - c).sum() - 1, best + 1e-9, best + 100 * eta, xtol=1e-13, rtol=1e-15)
        p = psi(gains - c)
        assert learner.distribution(state) == pytest.approx(p, rel=1e-9)
        assert learner.distribution(state).min() >= gamma / n_arms
        ticket = learner.draw(state, *uniform_pair(2, 9, t, 0))
        losses = losses_of(t, n_arms)
        gains[ticket.arm] += (1 - losses[ticket.arm]) / p[ticket.arm]
        learner.update(state, ticket, losses[[ticket.arm]])


def test_gains_are_estimated_right_on_average():
    learner = INF(graphs.bandit(3), 100)
    state = learner.init()
    for t in range(1, 30):
        ticket = learner.draw(state, *uniform_pair(3, 9, t, 0))
        learner.update(state, ticket, losses_of(t, 3)[[ticket.arm]])
    p, packed, losses = learner.distribution(state), learner.pack(state), np.array([0.3, 0.9, 0.0])
    mean = np.zeros(3)
    for arm in range(3):
        copy = learner.unpack(packed)
        learner.update(copy, learner.draw(copy, p[:arm].sum() + p[arm] / 2, 0.0), losses[[arm]])
        mean -= p[arm] * (copy.forgone - packed["forgone"])
    assert mean == pytest.approx(1 - losses, rel=1e-9)


@pytest.mark.compiled
def test_its_regret_follows_the_root_of_the_horizon_below_the_published_bound():
    """Uniform exploration alone costs ``gamma T Delta``; the bound says something once it is below uniform play."""
    n_arms, gap = 10, 0.2
    world = one_good_arm(n_arms, gap=gap)

    def regret(horizon, rounds):
        runs = play_many(INF(graphs.bandit(n_arms), horizon), world, rounds, range(4))
        return np.mean([trace.final_regret for trace in runs])

    known = [regret(rounds, rounds) for rounds in (40_000, 160_000)]
    bound, uniform = 16 * math.sqrt(n_arms * 160_000), gap * 160_000 * (n_arms - 1) / n_arms
    assert known[1] < bound < uniform
    assert regret(None, 160_000) < bound
    assert 1.7 < known[1] / known[0] < 2.3
    assert known[1] > math.sqrt(3 * n_arms * 160_000) * gap * (n_arms - 1) / n_arms  # gamma T Delta


def test_options_by_name_and_impossible_ones():
    graph = graphs.bandit(4)
    assert make_learner("inf:power=3", graph, horizon=100) == INF(graph, 100, 3.0)
    with pytest.raises(InvalidParameter, match="power is 1; expected a finite number above 1"):
        INF(graph, power=1)
