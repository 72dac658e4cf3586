"""UCB-N and UCB-MaxN against plain implementations of the published rules that remember every observation."""

from __future__ import annotations

import math

import numpy as np
import pytest

from allworlds import graphs
from allworlds.foundation.errors import InvalidGraph, InvalidParameter
from allworlds.kernels.random import uniform_pair
from allworlds.learners import UCBN, UCBMaxN
from index_rules import GRAPHS, SHAPES, equals, losses_of, play


def optimistic(past, t, width):
    """The lowest mean that each arm's observations allow, from the list of them."""
    seen = [[loss for _, loss in pairs] for pairs in past]
    return np.array([np.mean(x) - math.sqrt(width * math.log(t) / len(x)) if x else -np.inf for x in seen])


@SHAPES
@pytest.mark.parametrize("width", [2.0, 0.5])
def test_ucb_n_chooses_what_the_published_rule_chooses(shape, width):
    learner = UCBN(GRAPHS[shape](), width)
    assert play(learner, lambda past, t, first, second: equals(optimistic(past, t, width), first)) > 0


@SHAPES
def test_ucb_maxn_plays_the_best_neighbour_of_what_ucb_n_would_choose(shape):
    graph = GRAPHS[shape]()
    matrix = graph.adjacency()

    def rule(past, t, first, second):
        wanted = equals(optimistic(past, t, 2.0), first)
        neighbours = np.flatnonzero(matrix[:, wanted])
        means = [np.mean([loss for _, loss in past[j]]) if past[j] else np.inf for j in neighbours]
        return int(neighbours[equals(means, second)])

    assert play(UCBMaxN(graph), rule) > 0


@pytest.mark.parametrize("kind", [UCBN, UCBMaxN])
def test_every_arm_is_seen_before_any_is_chosen_for_its_mean(kind):
    learner = kind(graphs.disjoint_cliques([2, 3, 1]))
    state = learner.init()
    for clique in range(3):
        ticket = learner.draw(state, *uniform_pair(5, 9, clique, 0))
        assert state.seen[ticket.arm] == 0
        learner.update(state, ticket, np.ones(learner.observes(ticket.arm).size))
    assert state.seen.tolist() == [1.0] * 6


def test_with_single_arms_both_are_ucb1():
    graph = graphs.bandit(5)
    learners = [UCBN(graph), UCBMaxN(graph)]
    states = [learner.init() for learner in learners]
    for t in range(1, 301):
        tickets = [
            learner.draw(state, *uniform_pair(6, 9, t, 0)) for learner, state in zip(learners, states, strict=True)
        ]
        assert tickets[0].arm == tickets[1].arm
        for learner, state, ticket in zip(learners, states, tickets, strict=True):
            learner.update(state, ticket, losses_of(t, 5)[[ticket.arm]])


def test_with_full_information_ucb_maxn_follows_the_leader():
    learner = UCBMaxN(graphs.full_information(4))
    state = learner.init()
    total = np.zeros(4)
    for t in range(1, 200):
        ticket = learner.draw(state, *uniform_pair(7, 9, t, 0))
        assert total[ticket.arm] == total.min()
        losses = losses_of(t, 4)
        total += losses
        learner.update(state, ticket, losses)


def test_a_hub_that_is_best_so_far_is_played_to_look_at_a_leaf_that_was_never_seen():
    # Arms 0 to 2 in a path: the middle one shows all. It was seen through arm 0; arm 2 was not.
    learner = UCBMaxN(graphs.path(3))
    state = learner.init()
    learner.update(state, learner.draw(state, 0.1, 0.1)._replace(arm=0), np.array([1.0, 0.0]))
    assert learner.distribution(state).tolist() == [0.0, 1.0, 0.0]
    assert UCBN(learner.graph).distribution(state).tolist() == [0.0, 0.0, 1.0]


def test_ucb_maxn_looks_at_an_arm_through_those_who_show_it_not_through_those_whom_it_shows():
    # Arm 0 shows arm 1, which shows only itself. Both were seen, arm 2 was not; arm 0 has the best mean.
    graph = graphs.FeedbackGraph(3, [(0, 1), (2, 0)], directed=True)
    learner = UCBMaxN(graph)
    state = learner.init()
    learner.update(state, learner.draw(state, 0.1, 0.1)._replace(arm=0), np.array([0.0, 1.0]))
    assert learner.distribution(state).tolist() == [0.0, 0.0, 1.0]  # arm 0 does not show arm 2
    turned = UCBMaxN(graphs.FeedbackGraph(3, [(0, 1), (0, 2)], directed=True))
    state = turned.init()
    learner.update(state, learner.draw(state, 0.1, 0.1)._replace(arm=0), np.array([0.0, 1.0]))
    assert turned.distribution(state).tolist() == [1.0, 0.0, 0.0]


def test_ucb_maxn_does_not_take_an_arm_that_does_not_see_itself():
    graph = graphs.FeedbackGraph(3, [(0, 1), (0, 2), (1, 2)], self_loops=[1, 2])
    with pytest.raises(InvalidGraph, match="arm 0 does not see itself, which ucb-maxn does not take"):
        UCBMaxN(graph)


@pytest.mark.parametrize("kind", [UCBN, UCBMaxN])
@pytest.mark.parametrize("width", [0.0, -1.0, math.inf, math.nan, True, "2"])
def test_a_width_that_is_no_positive_number_is_refused(kind, width):
    with pytest.raises(InvalidParameter, match=r"width is .*; expected a finite number above 0"):
        kind(graphs.bandit(2), width)
