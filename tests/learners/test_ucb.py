"""UCB-N and UCB-MaxN against plain implementations of the published rules that remember every observation."""

from __future__ import annotations

import math

import numpy as np
import pytest

from allworlds import graphs
from allworlds.foundation.errors import InvalidParameter
from allworlds.kernels.random import uniform_pair
from allworlds.learners import UCBN, UCBMaxN

GRAPHS = {
    "cliques": lambda: graphs.disjoint_cliques([3, 1, 4]),
    "pentagon": lambda: graphs.cycle(5),
    "star": lambda: graphs.star(6),
    "bandit": lambda: graphs.bandit(4),
    "full": lambda: graphs.full_information(4),
}
SHAPES = pytest.mark.parametrize("shape", list(GRAPHS))


def losses_of(t, n_arms):
    means = np.linspace(0.7, 0.3, n_arms)
    return (np.random.default_rng([8, t]).uniform(size=n_arms) < means).astype(float)


def optimistic(past, t, width):
    """The lowest mean that each arm's observations allow, from the list of them."""
    return np.array([np.mean(seen) - math.sqrt(width * math.log(t) / len(seen)) if seen else -np.inf for seen in past])


def equals(values, uniform):
    """One of the places of the lowest value."""
    places = np.flatnonzero(values == values.min())
    return int(places[int(uniform * places.size)])


def play(learner, rule, n_rounds=400):
    """Play a learner beside a rule; they must choose the same arms. How often there was a choice among equals."""
    state = learner.init()
    past = [[] for _ in range(learner.n_arms)]
    ties = 0
    for t in range(1, n_rounds + 1):
        first, second = uniform_pair(21, 9, t, 0)
        ticket = learner.draw(state, first, second)
        assert ticket.arm == rule(past, t, first, second)
        assert ticket.probability == pytest.approx(learner.distribution(state)[ticket.arm], rel=1e-14)
        ties += ticket.probability < 1.0
        losses = losses_of(t, learner.n_arms)
        seen = np.flatnonzero(
            [learner.graph.are_neighbours(ticket.arm, i) or i == ticket.arm for i in range(len(past))]
        )
        for i in seen:
            past[i].append(losses[i])
        learner.update(state, ticket, losses[seen])
    return ties


@SHAPES
@pytest.mark.parametrize("width", [2.0, 0.5])
def test_ucb_n_chooses_what_the_published_rule_chooses(shape, width):
    learner = UCBN(GRAPHS[shape](), width)
    assert play(learner, lambda past, t, first, second: equals(optimistic(past, t, width), first)) > 0


@SHAPES
def test_ucb_maxn_plays_the_best_neighbour_of_what_ucb_n_would_choose(shape):
    graph = GRAPHS[shape]()

    def rule(past, t, first, second):
        wanted = equals(optimistic(past, t, 2.0), first)
        neighbours = graph.sees(wanted)
        means = np.array([np.mean(past[j]) if past[j] else np.inf for j in neighbours])
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


@pytest.mark.parametrize("kind", [UCBN, UCBMaxN])
@pytest.mark.parametrize("width", [0.0, -1.0, math.inf, math.nan, True, "2"])
def test_a_width_that_is_no_positive_number_is_refused(kind, width):
    with pytest.raises(InvalidParameter, match=r"width is .*; expected a finite number above 0"):
        kind(graphs.bandit(2), width)
