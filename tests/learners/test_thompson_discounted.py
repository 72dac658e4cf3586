"""Discounted Thompson sampling: its counts by definition, and Thompson-N as its limit."""

from __future__ import annotations

import math

import numpy as np
import pytest

from allworlds import graphs
from allworlds.foundation.errors import InvalidParameter
from allworlds.kernels.random import uniform_pair
from allworlds.learners import ThompsonDiscounted, ThompsonN
from allworlds.learners.by_name import make_learner
from allworlds.simulation import play_many
from allworlds.worlds import switching
from index_rules import GRAPHS, SHAPES, losses_of


@SHAPES
def test_counts_are_the_discounted_sums_of_what_was_seen(shape):
    graph, discount = GRAPHS[shape](), 0.9
    learner = ThompsonDiscounted(graph, discount)
    state, matrix = learner.init(), graph.adjacency()
    history = []
    for t in range(1, 60):
        ticket = learner.draw(state, *uniform_pair(3, 9, t, 0))
        losses = losses_of(t, graph.n_arms)
        history.append((matrix[ticket.arm], losses))
        learner.update(state, ticket, losses[learner.observes(ticket.arm)])
    for gives, counts in ((1.0, state.losses), (0.0, state.rewards)):
        ages = range(len(history) - 1, -1, -1)
        expected = sum(discount**s * (seen & (x == gives)) for s, (seen, x) in zip(ages, history, strict=True))
        assert np.allclose(counts, expected, rtol=1e-12, atol=0)


def test_without_a_discount_it_is_thompson_n():
    graph = graphs.cycle(5)
    learners = ThompsonDiscounted(graph, 1.0), ThompsonN(graph)
    states = [learner.init() for learner in learners]
    for t in range(1, 200):
        losses = np.random.default_rng([4, t]).uniform(size=5)
        tickets = [
            learner.draw(state, *uniform_pair(3, 9, t, 0)) for learner, state in zip(learners, states, strict=True)
        ]
        assert tickets[0].arm == tickets[1].arm
        for learner, state, ticket in zip(learners, states, tickets, strict=True):
            learner.update(state, ticket, losses[learner.observes(ticket.arm)])
    assert states[0].losses.tolist() == states[1].losses.tolist()


@pytest.mark.compiled
def test_where_the_best_arm_changes_forgetting_pays():
    # Both regrets are against the same fixed arm, so their difference is one of losses: at most 0.3 a round.
    graph, world = graphs.disjoint_cliques(2, 3), switching(6, gap=0.3, phases=[2_500] * 7)
    kept, faded = (
        np.mean([trace.final_regret for trace in play_many(make_learner(name, graph), world, 20_000, range(6), jobs=1)])
        for name in ("thompson-n", "thompson-discounted:discount=0.99")
    )
    assert faded < kept - 0.1 * 20_000


@pytest.mark.parametrize("discount", [0.0, 1.5, -1.0, math.nan, "x", True])
def test_a_discount_that_is_no_factor_is_refused(discount):
    with pytest.raises(InvalidParameter, match=r"discount is .*; expected a number above 0 and at most 1"):
        ThompsonDiscounted(graphs.bandit(2), discount)
