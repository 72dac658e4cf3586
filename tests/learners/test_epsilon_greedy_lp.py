"""Epsilon-greedy-LP against its formula, and what the domination of a star is worth."""

from __future__ import annotations

import math

import numpy as np
import pytest

from allworlds import graphs
from allworlds.foundation.errors import InvalidParameter
from allworlds.kernels.random import uniform_pair
from allworlds.learners import EpsilonGreedyLP
from allworlds.simulation import play_many
from allworlds.worlds import one_good_arm
from index_rules import GRAPHS, SHAPES, losses_of

CLOSED_FORM = {"cliques": [1 / 3] * 3 + [1.0] + [0.25] * 4, "pentagon": [1 / 3] * 5, "star": [1.0] + [0.0] * 5}


@pytest.mark.parametrize("shape", list(CLOSED_FORM))
def test_the_distribution_is_that_of_the_published_rule(shape):
    graph, z = GRAPHS[shape](), np.array(CLOSED_FORM[shape])
    learner = EpsilonGreedyLP(graph, d=0.5, c=0.7)
    state, matrix = learner.init(), graph.adjacency()
    total, count = np.zeros(graph.n_arms), np.zeros(graph.n_arms)
    for t in range(1, 200):
        epsilon = min(1.0, 0.7 * z.sum() / (0.25 * t))
        mean = np.where(count > 0, total / np.maximum(count, 1), math.inf)
        best = mean == mean.min()
        assert np.allclose(
            learner.distribution(state), epsilon * z / z.sum() + (1 - epsilon) * best / best.sum(), atol=1e-9
        )
        ticket = learner.draw(state, *uniform_pair(3, 9, t, 0))
        losses = losses_of(t, graph.n_arms)
        total, count = total + matrix[ticket.arm] * losses, count + matrix[ticket.arm]
        learner.update(state, ticket, losses[learner.observes(ticket.arm)])
    assert epsilon < 0.1


@SHAPES
def test_every_arm_is_seen_at_least_as_often_as_a_bandit_plays_one(shape):
    # While epsilon is 1, arm i is seen with probability at least 1 / Z, and Z is at most the number of arms.
    learner = EpsilonGreedyLP(GRAPHS[shape]())
    chances = learner.graph.adjacency().T @ learner.distribution(learner.init())
    assert chances.min() >= 1 / learner.plays.sum() - 1e-9
    assert 1.0 <= learner.plays.sum() <= learner.n_arms + 1e-9


@pytest.mark.compiled
def test_the_regret_is_that_of_its_exploration_and_a_hub_divides_it_by_the_number_of_leaves():
    # sum of epsilon_t is Z' (1 + log(T / Z')) with Z' = c Z / d²; the hub and every leaf but one have the gap.
    horizon, gap, n = 20_000, 0.3, 10
    regrets = {}
    for name, graph, value in (("star", graphs.star(n), 1), ("bandit", graphs.bandit(n), n)):
        traces = play_many(
            EpsilonGreedyLP(graph, d=gap, c=2.0), one_good_arm(n, gap=gap, best_arm=1), horizon, range(10), jobs=1
        )
        rate = 2.0 * value / gap**2
        exploring = rate * (1 + math.log(horizon / rate)) * gap * (1 if name == "star" else (n - 1) / n)
        regrets[name] = np.mean([trace.final_regret for trace in traces])
        assert exploring * 0.9 < regrets[name] < exploring * 1.25 + 10
    assert regrets["star"] < 0.2 * regrets["bandit"]


def test_arguments_that_mean_nothing_are_refused():
    with pytest.raises(InvalidParameter, match="d is 0; expected a number above 0 and at most 1"):
        EpsilonGreedyLP(graphs.bandit(2), d=0)
    with pytest.raises(InvalidParameter, match="c is 0; expected a finite number above 0"):
        EpsilonGreedyLP(graphs.bandit(2), c=0)
