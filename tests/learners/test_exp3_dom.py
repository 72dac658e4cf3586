"""Exp3-DOM against its rule, written with dense matrices, on fixed and on changing graphs."""

from __future__ import annotations

import itertools
import math

import networkx
import numpy as np
import pytest
from scipy.special import softmax

from allworlds import graphs, play
from allworlds.foundation.errors import InvalidGraph, InvalidState
from allworlds.graphs import FeedbackGraph
from allworlds.kernels.random import STREAM_LEARNER, uniform_pair
from allworlds.learners.by_name import make_learner
from allworlds.learners.exp3_dom import Exp3DOM
from allworlds.worlds import one_good_arm, stochastic

DIRECTED = FeedbackGraph.from_networkx(networkx.gnp_random_graph(8, 0.25, seed=2, directed=True))
GRAPHS = {
    "bandit": graphs.bandit(4),
    "full information": graphs.full_information(5),
    "cycle": graphs.cycle(7),
    "star": graphs.star(6),
    "two cliques": graphs.disjoint_cliques([4, 2]),
    "directed": DIRECTED,
}
SHAPES = pytest.mark.parametrize("shape", list(GRAPHS))


class Printed:
    """The rule with dense matrices: multiplied weights, a dictionary of copies."""

    def __init__(self, n_arms):
        self.n, self.copies = n_arms, {}

    def distribution(self, sees):
        left, chosen = np.ones(self.n), []
        while left.any():
            chosen.append(int((sees @ left).argmax()))
            left = left * (1 - sees[chosen[-1]])
        self.b = int(math.log2(len(chosen)))
        weights, _, r = self.copies.setdefault(self.b, (np.ones(self.n), 0.0, 0))
        self.gamma = min(math.sqrt(2**self.b * math.log(self.n) / 2**r), 0.5)
        self.p = (1 - self.gamma) * weights / weights.sum()
        self.p[chosen] += self.gamma / len(chosen)
        return self.p

    def learn(self, sees, arm, losses):
        weights, spent, r = self.copies[self.b]
        weights = weights * np.exp(-self.gamma * sees[arm] * losses / (self.p @ sees) / 2**self.b)
        spent += 1 + np.sum(self.p / (self.p @ sees)) / 2 ** (self.b + 1)
        self.copies[self.b] = (np.ones(self.n), 0.0, r + 1) if spent > 2**r else (weights, spent, r)


@SHAPES
def test_every_round_follows_the_rule(shape):
    graph = GRAPHS[shape]
    learner, sees, rule = Exp3DOM(graph), graph.adjacency().astype(float), Printed(graph.n_arms)
    state = learner.init()
    for t in range(1, 120):
        assert np.allclose(learner.distribution(state), rule.distribution(sees), rtol=1e-9)
        ticket = learner.draw(state, *uniform_pair(1, 9, t, 0))
        losses = np.random.default_rng([2, t]).uniform(size=graph.n_arms)
        learner.update(state, ticket, losses[learner.observes(ticket.arm)])
        rule.learn(sees, ticket.arm, losses)
    assert state.doublings[rule.b] == rule.copies[rule.b][2] >= 4


@pytest.mark.parametrize("probability", [None, 0.3])
def test_on_changing_graphs_each_round_plays_the_copy_of_its_dominating_set(probability):
    """A run again, from the definition: the graphs of the rounds, the losses of the world, the rule."""
    graph = graphs.changing(DIRECTED, probability=probability, told="before")
    if probability is None:
        graph = graphs.changing([DIRECTED, graphs.star(8), graphs.bandit(8)], period=3, told="before")
    world, horizon, seed, rule = stochastic(np.linspace(0.2, 0.8, 8)), 250, 6, Printed(8)
    counts = np.zeros(8)
    for t in range(1, horizon + 1):
        sees = graph.graph_of(t, seed).adjacency().astype(float)
        p = rule.distribution(sees)
        arm = int(np.searchsorted(np.cumsum(p), uniform_pair(seed, STREAM_LEARNER, t, 0)[0], side="right"))
        rule.learn(sees, arm, np.array([world.loss(seed, t, i) for i in range(8)]))
        counts[arm] += 1
    assert len(rule.copies) > 1
    assert play(Exp3DOM(graph), world, horizon, seed).counts.tolist() == counts.tolist()


@SHAPES
def test_the_greedy_set_shows_all_arms_and_is_not_much_larger_than_the_smallest(shape):
    graph = GRAPHS[shape]
    sees, explorers = graph.adjacency(), Exp3DOM(graph).init().explorers
    chosen, n = np.flatnonzero(explorers), graph.n_arms
    assert np.allclose(explorers[chosen], 1 / len(chosen))
    assert sees[chosen].any(axis=0).all()
    sets = (list(arms) for size in range(1, n + 1) for arms in itertools.combinations(range(n), size))
    smallest = next(len(arms) for arms in sets if sees[arms].any(axis=0).all())
    assert smallest <= len(chosen) <= (1 + math.log(n)) * smallest


@SHAPES
def test_estimates_are_unbiased_and_never_move_a_weight_by_more_than_two(shape):
    """``gamma lhat / 2^b <= |R| / 2^b < 2``: what the copies are for."""
    learner = Exp3DOM(GRAPHS[shape])
    n, packed = learner.n_arms, learner.pack(learner.init())
    b = int(packed["clock"][1])
    packed["doublings"][:] = 9.0
    packed["cumulative_losses"][b] = np.linspace(0.0, 500.0, n)
    state = learner.unpack(packed)
    p, gamma = learner.distribution(state), min(math.sqrt(2**b * math.log(n) / 2**9), 0.5)
    assert np.allclose(
        p, (1 - gamma) * softmax(-gamma / 2**b * packed["cumulative_losses"][b]) + gamma * state.explorers
    )
    losses, edges, mean = np.linspace(0.3, 1.0, n), np.concatenate([[0.0], np.cumsum(p)]), np.zeros(n)
    for arm in np.flatnonzero(p > 1e-13).tolist():
        state = learner.unpack(packed)
        ticket = learner.draw(state, (edges[arm] + edges[arm + 1]) / 2, 0.0)
        assert ticket.arm == arm
        learner.update(state, ticket, losses[learner.observes(arm)])
        steps = state.cumulative_losses[b] - packed["cumulative_losses"][b]
        assert gamma * steps.max() / 2**b < 2.0 + 1e-9
        mean += p[arm] * steps
    assert np.allclose(mean, losses, atol=1e-6)


def test_where_no_two_arms_show_equally_many_other_numbers_change_nothing():
    """Everywhere else the greedy set depends on the numbers of arms, so the contract does not ask it."""
    sees = np.eye(5)
    sees[2, [0, 1, 3]] = sees[4, 0] = 1
    new = np.array([3, 0, 4, 1, 2])
    other = np.zeros_like(sees)
    other[np.ix_(new, new)] = sees
    mine, theirs = (Exp3DOM(FeedbackGraph.from_adjacency(a, directed=True)).init() for a in (sees, other))
    assert np.flatnonzero(mine.explorers).tolist() == [2, 4]
    assert np.allclose(theirs.distribution[new], mine.distribution)


@pytest.mark.compiled
def test_seeing_more_costs_less():
    world, regrets = one_good_arm(12, gap=0.25), []
    for graph in (graphs.full_information(12), graphs.cycle(12), graphs.bandit(12)):
        regrets.append(np.mean([play(Exp3DOM(graph), world, 20_000, seed).final_regret for seed in range(4)]))
    assert regrets == sorted(regrets)
    assert regrets[0] < regrets[2] / 3


def test_a_graph_that_is_told_late_is_refused_and_a_ticket_of_no_copy_is_not_restored():
    with pytest.raises(InvalidGraph, match="the graph changes and is told after the choice, which exp3-dom does not"):
        Exp3DOM(graphs.changing([graphs.cycle(5), graphs.star(5)]))
    learner = make_learner("exp3-dom", graphs.cycle(5))
    fields = learner.draw(learner.init(), 0.5, 0.5)._asdict()
    with pytest.raises(InvalidState, match="a ticket's copy is 3; expected an integer from 0 to 2"):
        learner.ticket(list((fields | {"copy": 3}).values()))
