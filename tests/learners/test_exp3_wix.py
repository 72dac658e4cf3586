"""Exp3-WIX against the printed rule, written with dense matrices, and against Exp3-IX."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import softmax

from allworlds import graphs, play
from allworlds.foundation.errors import InvalidGraph, InvalidParameter
from allworlds.graphs.round_graphs import add_noise
from allworlds.kernels.random import STREAM_GRAPH, STREAM_LEARNER, uniform, uniform_pair
from allworlds.learners.by_name import make_learner
from allworlds.learners.exp3_ix import Exp3IX
from allworlds.learners.exp3_wix import Exp3WIX
from allworlds.worlds import stochastic

WEIGHTS = np.array([[1.0, 0.5, 0.0, 0.9], [0.2, 1.0, 1.0, 0.0], [0.0, 0.3, 1.0, 0.6], [1.0, 0.1, 0.0, 1.0]])
SEES = (WEIGHTS > 0.4).astype(float)


def printed(t_spent, bound, n):
    """(eta, gamma) of the paper."""
    eta = math.sqrt(math.log(n) / (2 * (1 + bound + bound**2) * (n + t_spent)))
    return eta, bound * eta


@pytest.mark.parametrize("bound", [0.5, 2.0])
def test_every_round_follows_the_printed_rule(bound):
    learner = Exp3WIX(graphs.noisy(WEIGHTS, noise=bound))
    state, estimates, spent = learner.init(), np.zeros(4), 0.0
    for t in range(1, 80):
        rng = np.random.default_rng([3, t])
        losses, xi = rng.uniform(size=4), rng.uniform(-bound, bound, size=4)
        eta, gamma = printed(spent, bound, 4)
        p = softmax(-eta * estimates)
        assert np.allclose(learner.distribution(state), p, rtol=1e-9)
        ticket = learner.draw(state, *uniform_pair(1, 9, t, 0))
        s = WEIGHTS[ticket.arm]
        c = s * losses + (1 - s) * xi
        chance = p @ WEIGHTS**2 + gamma
        assert ticket.spread == pytest.approx(np.sum(p / chance))
        learner.update(state, ticket, c[learner.observes(ticket.arm)])
        estimates, spent = estimates + s * c / chance, spent + np.sum(p / chance)


def test_the_mean_of_an_estimate_is_the_loss_shrunk_by_the_bonus():
    """Over all choices and a noise of both signs: ``l P / (P + gamma)``."""
    learner = Exp3WIX(graphs.noisy(WEIGHTS, noise=0.7))
    packed = {"cumulative_losses": np.array([0.0, 3.0, 1.0, 5.0]), "clock": np.array([9.0, 20.0, 0.0, 0.0])}
    p = learner.distribution(learner.unpack(packed))
    losses, edges, mean = np.array([0.9, 0.2, 0.5, 1.0]), np.concatenate([[0.0], np.cumsum(p)]), np.zeros(4)
    for arm in range(4):
        for xi in (0.7, -0.7):
            state = learner.unpack(packed)
            ticket = learner.draw(state, (edges[arm] + edges[arm + 1]) / 2, 0.0)
            c = WEIGHTS[arm] * losses + (1 - WEIGHTS[arm]) * xi
            learner.update(state, ticket, c[learner.observes(arm)])
            mean += p[arm] / 2 * (state.cumulative_losses - packed["cumulative_losses"])
    chance = p @ WEIGHTS**2
    assert np.allclose(mean, losses * chance / (chance + printed(20.0, 0.7, 4)[1]), rtol=1e-9)


@pytest.mark.parametrize("graph", [graphs.FeedbackGraph.from_adjacency(SEES, directed=True), graphs.noisy(SEES)])
def test_with_weights_0_and_1_and_its_constants_it_is_exp3_ix(graph):
    mine, other = Exp3WIX(graph, noise=1, scale=1), Exp3IX(getattr(graph, "graph", graph))
    state, theirs = mine.init(), other.init()
    for t in range(1, 60):
        losses = np.random.default_rng([4, t]).uniform(size=4)
        assert np.allclose(mine.distribution(state), other.distribution(theirs), rtol=1e-9)
        here, there = (a.draw(b, *uniform_pair(2, 9, t, 0)) for a, b in ((mine, state), (other, theirs)))
        assert here.arm == there.arm
        assert here.spread == pytest.approx(there.spread, rel=1e-12)
        mine.update(state, here, losses[mine.observes(here.arm)])
        other.update(theirs, there, losses[other.observes(here.arm)])


def test_on_a_changing_graph_of_which_it_is_told_late_it_plays_as_exp3_ix():
    graph = graphs.changing(graphs.FeedbackGraph.from_adjacency(SEES, directed=True), probability=0.5)
    world = stochastic([0.5, 0.4, 0.6, 0.3])
    mine, other = (play(a, world, 300, seed=5) for a in (Exp3WIX(graph, noise=1, scale=1), Exp3IX(graph)))
    assert mine.counts.tolist() == other.counts.tolist()
    assert mine.final_regret == other.final_regret


def test_the_loop_adds_the_noise_of_the_graph():
    """A run again, from the definition: losses of the world, noise of the round, the printed rule."""
    graph, world, horizon, seed = graphs.noisy(WEIGHTS, noise=0.8), stochastic([0.5, 0.4, 0.6, 0.3]), 200, 6
    estimates, spent, counts = np.zeros(4), 0.0, np.zeros(4)
    for t in range(1, horizon + 1):
        eta, gamma = printed(spent, 0.8, 4)
        p = softmax(-eta * estimates)
        arm = int(np.searchsorted(np.cumsum(p), uniform_pair(seed, STREAM_LEARNER, t, 0)[0], side="right"))
        losses = np.array([world.loss(seed, t, i) for i in range(4)])
        xi = np.array([0.8 * (2 * uniform(seed, STREAM_GRAPH + 1, t, i) - 1) for i in range(4)])
        s, chance = WEIGHTS[arm], p @ WEIGHTS**2 + gamma
        estimates, spent = estimates + s * (s * losses + (1 - s) * xi) / chance, spent + np.sum(p / chance)
        counts[arm] += 1
    assert play(Exp3WIX(graph), world, horizon, seed).counts.tolist() == counts.tolist()


def test_noise_has_mean_zero_its_bound_and_none_where_the_weight_is_1():
    graph = graphs.noisy(WEIGHTS, noise=0.8)
    arrays, seen = graph.round_graphs(), graph.graph.sees(0)
    rows = np.full((4000, 3), 0.25)
    for t, row in enumerate(rows):
        add_noise(arrays, 3, t + 1, 0, seen, row)
    assert (rows[:, 0] == 0.25).all()
    for column, s in ((1, 0.5), (2, 0.9)):
        xi = (rows[:, column] - s * 0.25) / (1 - s)
        assert np.abs(xi).max() <= 0.8 + 1e-12
        assert xi.mean() == pytest.approx(0.0, abs=4 * 0.8 / math.sqrt(3 * 4000))
        assert xi.std() == pytest.approx(0.8 / math.sqrt(3), rel=0.05)


@pytest.mark.compiled
def test_noisy_observations_help_and_better_ones_help_more():
    world, regrets = stochastic([0.5] * 9 + [0.3]), []
    for s in (1.0, 0.7, 0.0):
        learner = Exp3WIX(graphs.noisy(np.where(np.eye(10) > 0, 1.0, s), noise=0.5), noise=0.5)
        regrets.append(np.mean([play(learner, world, 20_000, seed).final_regret for seed in range(5)]))
    assert regrets == sorted(regrets)
    assert regrets[1] < 0.7 * regrets[2]


def test_the_registry_hands_over_options():
    graph = graphs.noisy(WEIGHTS, noise=0.5)
    assert make_learner("exp3-wix:noise=0.6,scale=2", graph) == Exp3WIX(graph, 0.6, 2.0)
    assert (Exp3WIX(graph).noise_bound, Exp3WIX(graphs.cycle(5)).noise_bound) == (0.5, 1.0)


def test_what_it_cannot_take_raises():
    with pytest.raises(InvalidGraph, match=r"arm 1 does not see itself, which exp3-wix does not take"):
        Exp3WIX(graphs.noisy([[1.0, 0.5], [0.5, 0.0]]))
    with pytest.raises(InvalidParameter, match=r"noise is 0\.1; expected at least 0\.5, the noise of the graph"):
        Exp3WIX(graphs.noisy(WEIGHTS, noise=0.5), noise=0.1)
    with pytest.raises(InvalidParameter, match=r"scale is 0; expected a finite number above 0"):
        Exp3WIX(graphs.cycle(5), scale=0)
