"""The log barrier with guesses against its rule, mirror descent with restarts, and losses that do not change."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq

from allworlds import graphs, play_many
from allworlds.foundation.errors import InvalidParameter
from allworlds.kernels.random import uniform_pair
from allworlds.learners import LogBarrier
from allworlds.learners.by_name import make_learner
from allworlds.learners.log_barrier import RATE
from allworlds.worlds import one_good_arm, recorded


def losses_of(t, n_arms):
    return np.random.default_rng([10, t]).uniform(size=n_arms) ** np.linspace(0.5, 2.0, n_arms)


def descend(inverse, direction, eta):
    """The mirror step of the barrier, ``1/w' = 1/w + eta (direction - x)`` with ``x`` such that ``w'`` sums to one."""
    base = inverse + eta * direction

    def excess(shift):
        return np.sum(1.0 / (base - base.min() + shift)) - 1.0

    return base - base.min() + brentq(excess, 0.5, base.size + 1.0, xtol=1e-15, rtol=1e-15)


@pytest.mark.parametrize("horizon", [None, 300])
def test_it_is_optimistic_mirror_descent_with_restarts(horizon):
    """As in the paper: two steps a round, from ``w'_t`` to ``w_t`` by the guess and to ``w'_{t+1}`` by the estimate."""
    n_arms, eta, missed, restarts = 4, 1.5, 0.0, 0
    learner = LogBarrier(graphs.bandit(n_arms), horizon, rate=eta)
    state, inverse, guess = learner.init(), np.full(n_arms, float(n_arms)), np.zeros(n_arms)
    for t in range(1, 300):
        w = 1.0 / descend(inverse, guess, eta)
        assert learner.distribution(state) == pytest.approx(w, rel=1e-8)
        assert state.clock[RATE] == eta
        ticket = learner.draw(state, *uniform_pair(2, 9, t, 0))
        losses, arm = losses_of(t, n_arms), ticket.arm
        estimate = guess.copy()
        estimate[arm] += (losses[arm] - guess[arm]) / w[arm]
        inverse = descend(inverse, estimate, eta)
        missed += (losses[arm] - guess[arm]) ** 2
        guess[arm] = losses[arm]
        if missed >= n_arms * math.log(horizon or t + 1) / (3 * eta**2):
            eta, missed, restarts, inverse = eta / 2, 0.0, restarts + 1, np.full(n_arms, float(n_arms))
        learner.update(state, ticket, losses[[arm]])
    assert restarts >= 2


@pytest.mark.parametrize("n_between", [0, 20])
def test_estimates_are_right_on_average_even_late(n_between):
    learner = LogBarrier(graphs.bandit(3), rate=0.1)

    def go_on(state, first, last):
        for t in range(first, last):
            ticket = learner.draw(state, *uniform_pair(3, 9, t, 0))
            learner.update(state, ticket, losses_of(t, 3)[[ticket.arm]])

    state = learner.init()
    go_on(state, 1, 40)
    p = learner.distribution(state)
    tickets = [learner.draw(state, p[:arm].sum() + p[arm] / 2, 0.0) for arm in range(3)]
    go_on(state, 40, 40 + n_between)
    packed, losses, mean = learner.pack(state), np.array([0.3, 0.9, 0.0]), np.zeros(3)
    for arm, ticket in enumerate(tickets):
        copy = learner.unpack(packed)
        learner.update(copy, ticket, losses[[arm]])
        mean += p[arm] * (copy.cumulative_losses - packed["cumulative_losses"])
    assert mean == pytest.approx(losses, rel=1e-9)


@pytest.mark.compiled
def test_where_losses_do_not_change_regret_grows_with_the_logarithm():
    """Guesses are right, so ``Lhat = t l`` and ``p_i = 1 / (eta t Delta_i)`` or so: each arm costs ``log(T) / eta``."""
    means, rate = np.array([0.5, 0.8, 0.8, 0.9, 1.0]), 0.2

    def regret(rounds):
        world = recorded(np.tile(means, (rounds, 1)))
        runs = play_many(LogBarrier(graphs.bandit(5), rate=rate), world, rounds, range(8))
        return np.mean([trace.final_regret for trace in runs])

    assert regret(20_000) - regret(2_000) == pytest.approx(4 * math.log(10) / rate, rel=0.2)


@pytest.mark.compiled
def test_with_the_papers_rate_its_regret_is_below_the_proof():
    """``N log(T) / eta + 3 eta Q + 2`` with ``Q <= T``, over enough rounds for the bound to say something."""
    rounds = 300_000
    runs = play_many(LogBarrier(graphs.bandit(2), rounds), one_good_arm(2, gap=0.2), rounds, range(4))
    regret = np.mean([trace.final_regret for trace in runs])
    bound = 2 * math.log(rounds) * 162 + 3 * rounds / 162 + 2
    assert 100 < regret < bound < 0.2 * rounds / 2


def test_options_by_name_and_impossible_ones():
    graph = graphs.bandit(4)
    assert LogBarrier(graph).rate == 1 / 162
    assert make_learner("log-barrier:rate=0.2", graph, horizon=100) == LogBarrier(graph, 100, 0.2)
    with pytest.raises(InvalidParameter, match="rate is 0; expected a finite number above 0"):
        LogBarrier(graph, rate=0)
