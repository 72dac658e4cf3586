"""ELP against its rule, written with dense matrices, and its exploration against the linear program and its dual."""

from __future__ import annotations

import math

import networkx
import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.special import softmax

from allworlds import graphs, play
from allworlds.covers import clique_cover, independence_number
from allworlds.foundation.errors import InvalidGraph
from allworlds.graphs import FeedbackGraph
from allworlds.kernels.random import uniform_pair
from allworlds.learners.by_name import make_learner
from allworlds.learners.elp import ELP, most_seen, stable_colours
from allworlds.worlds import one_good_arm, switching

DIRECTED = FeedbackGraph.from_adjacency(
    [[1, 1, 0, 1, 0], [0, 1, 1, 0, 0], [1, 0, 1, 0, 0], [0, 0, 1, 1, 1], [0, 0, 0, 0, 1]], directed=True
)
GRAPHS = {
    "bandit": graphs.bandit(4),
    "full information": graphs.full_information(5),
    "cycle": graphs.cycle(7),
    "two cliques": graphs.disjoint_cliques([4, 2]),
    "random": FeedbackGraph.from_networkx(networkx.gnp_random_graph(12, 0.3, seed=4)),
    "directed": DIRECTED,
    "random directed": FeedbackGraph.from_networkx(networkx.gnp_random_graph(9, 0.25, seed=2, directed=True)),
}
SHAPES = pytest.mark.parametrize("shape", list(GRAPHS))


@SHAPES
def test_no_distribution_sees_its_least_seen_arm_more_often(shape):
    """By the dual: a distribution ``d`` of which each arm shows at most ``v`` proves that ``v`` is the most."""
    sees = GRAPHS[shape].adjacency().astype(float)
    n, s = len(sees), most_seen(GRAPHS[shape])
    assert s.min() >= 0.0
    assert s.sum() == pytest.approx(1.0)
    dual = linprog(
        np.append(np.zeros(n), 1.0),
        A_ub=np.column_stack([sees, -np.ones(n)]),
        b_ub=np.zeros(n),
        A_eq=np.append(np.ones(n), 0.0)[None, :],
        b_eq=[1.0],
    )
    assert (s @ sees).min() == pytest.approx((sees @ dual.x[:n]).max(), rel=1e-7)


def test_exploration_is_that_of_closed_forms():
    assert np.allclose(most_seen(graphs.bandit(4)), 1 / 4)
    assert np.allclose(most_seen(graphs.cycle(7)), 1 / 7)
    assert np.allclose(most_seen(graphs.star(5)), [1, 0, 0, 0, 0])
    assert np.allclose(most_seen(graphs.disjoint_cliques([4, 2])), [1 / 8] * 4 + [1 / 4] * 2)


@SHAPES
def test_arms_of_one_colour_have_as_many_neighbours_of_each_and_other_numbers_change_nothing(shape):
    graph = GRAPHS[shape]
    sees, colours = graph.adjacency(), stable_colours(graph)
    for matrix in (sees, sees.T):
        counts = matrix.astype(int) @ np.eye(colours.max() + 1, dtype=int)[colours]
        for colour in range(colours.max() + 1):
            assert (counts[colours == colour] == counts[colours == colour][0]).all()
    new = np.random.default_rng(3).permutation(graph.n_arms)
    other = np.zeros_like(sees)
    other[np.ix_(new, new)] = sees
    renamed = FeedbackGraph.from_adjacency(other, directed=True)
    assert np.array_equal(most_seen(renamed)[new], most_seen(graph))


@SHAPES
@pytest.mark.parametrize("horizon", [900, None])
def test_every_round_follows_the_rule(shape, horizon):
    graph = GRAPHS[shape]
    learner, sees, n = ELP(graph, horizon), graph.adjacency().astype(float), graph.n_arms
    state, gains, s = learner.init(), np.zeros(n), learner.explorers
    alpha = clique_cover(graph.mutual()).n_cliques
    for t in range(1, 60):
        beta = min(math.sqrt(math.log(n) / (3 * alpha * (horizon or t))), 1 / (2 * n))
        gamma = beta / (s @ sees).min()
        assert gamma <= 0.5 + 1e-12
        p = (1 - gamma) * softmax(beta * gains) + gamma * s
        assert np.allclose(learner.distribution(state), p, rtol=1e-9)
        ticket = learner.draw(state, *uniform_pair(1, 9, t, 0))
        losses = np.random.default_rng([2, t]).uniform(size=n)
        learner.update(state, ticket, losses[learner.observes(ticket.arm)])
        gains = gains + sees[ticket.arm] * (1 - losses) / (p @ sees)


@SHAPES
def test_estimates_of_gains_are_unbiased_and_never_move_a_weight_by_more_than_e(shape):
    """``beta g / P <= beta / (gamma v) = 1``: what the size of the share is for."""
    learner = ELP(GRAPHS[shape], horizon=40)
    n = learner.n_arms
    packed = {"negative_gains": np.linspace(-300.0, 0.0, n), "clock": np.array([30.0])}
    p = learner.distribution(learner.unpack(packed))
    losses, edges, mean = np.linspace(0.0, 1.0, n), np.concatenate([[0.0], np.cumsum(p)]), np.zeros(n)
    beta = min(math.sqrt(math.log(n) / (3 * learner.independence * 40)), 1 / (2 * n))
    for arm in np.flatnonzero(p > 1e-12).tolist():
        state = learner.unpack(packed)
        ticket = learner.draw(state, (edges[arm] + edges[arm + 1]) / 2, 0.0)
        assert ticket.arm == arm
        learner.update(state, ticket, losses[learner.observes(arm)])
        steps = packed["negative_gains"] - state.negative_gains
        assert (beta * steps).max() <= 1 + 1e-9
        mean += p[arm] * steps
    assert np.allclose(mean, 1 - losses, atol=1e-6)


@pytest.mark.compiled
def test_regret_stays_below_the_published_bound():
    """``3 beta alpha T + log(N) / beta`` on an undirected graph; uniform play is above it."""
    horizon, graph = 40_000, graphs.cycle(8)
    alpha = independence_number(graph).lower
    bound = 2 * math.sqrt(3 * alpha * horizon * math.log(8))
    assert math.sqrt(math.log(8) / (3 * alpha * horizon)) <= 1 / 16
    assert bound < 0.3 * horizon * 7 / 8
    for world in (one_good_arm(8, gap=0.3), switching(8, gap=0.3)):
        regrets = [play(ELP(graph, horizon, alpha), world, horizon, seed).final_regret for seed in range(4)]
        assert np.mean(regrets) < bound


def test_the_registry_hands_over_horizon_and_options():
    cover = clique_cover(graphs.cycle(5))
    assert make_learner("elp", cover) == ELP(cover) == ELP(cover.graph, independence=3)
    assert make_learner("elp:independence=2", cover, horizon=70) == ELP(cover, 70, 2)


def test_graphs_that_change_or_have_arms_that_do_not_see_themselves_are_refused():
    with pytest.raises(InvalidGraph, match="arm 0 does not see itself, which elp does not take"):
        ELP(FeedbackGraph(3, [(0, 1), (1, 2), (0, 2)], self_loops=False))
    with pytest.raises(InvalidGraph, match="the graph changes and is told before the choice, which elp does not take"):
        ELP(graphs.changing([graphs.cycle(5), graphs.star(5)], told="before"))
