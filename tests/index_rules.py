"""Index rules, played beside plain implementations that remember every observation."""

from __future__ import annotations

import numpy as np
import pytest

from allworlds import graphs
from allworlds.kernels.random import uniform_pair

GRAPHS = {
    "cliques": lambda: graphs.disjoint_cliques([3, 1, 4]),
    "pentagon": lambda: graphs.cycle(5),
    "star": lambda: graphs.star(6),
    "bandit": lambda: graphs.bandit(4),
    "full": lambda: graphs.full_information(4),
    "directed": lambda: graphs.FeedbackGraph(5, [(0, 1), (0, 2), (3, 2), (3, 4), (4, 0)], directed=True),
}
SHAPES = pytest.mark.parametrize("shape", list(GRAPHS))


def losses_of(t, n_arms):
    """(N,) zeros and ones; later arms are better."""
    means = np.linspace(0.7, 0.3, n_arms)
    return (np.random.default_rng([8, t]).uniform(size=n_arms) < means).astype(float)


def equals(values, uniform):
    """One of the places of the lowest value."""
    values = np.asarray(values)
    places = np.flatnonzero(values == values.min())
    return int(places[int(uniform * places.size)])


def play(learner, rule, n_rounds=400, world=losses_of):
    """Play a learner beside ``rule(past, t, first, second)``; they must choose the same arms.

    ``past`` has, for each arm, the pairs of (round, loss) that were seen. How often there was a choice among equals.
    """
    state = learner.init()
    past = [[] for _ in range(learner.n_arms)]
    ties = 0
    matrix = np.eye(learner.n_arms, dtype=bool) if learner.shows == "itself" else learner.graph.adjacency()
    for t in range(1, n_rounds + 1):
        first, second = uniform_pair(21, 9, t, 0)
        ticket = learner.draw(state, first, second)
        assert ticket.arm == rule(past, t, first, second)
        assert ticket.probability == pytest.approx(learner.distribution(state)[ticket.arm], rel=1e-14)
        ties += ticket.probability < 1.0
        losses, seen = world(t, learner.n_arms), np.flatnonzero(matrix[ticket.arm])
        for i in seen:
            past[i].append((t, losses[i]))
        learner.update(state, ticket, losses[seen])
    return ties


def by_index(index):
    """The rule that plays the lowest ``index(losses, t, arm)`` of the losses seen; unseen arms come first."""

    def rule(past, t, first, second):
        seen = [[loss for _, loss in pairs] for pairs in past]
        return equals([index(np.array(seen[i]), t, i) if seen[i] else -np.inf for i in range(len(past))], first)

    return rule
