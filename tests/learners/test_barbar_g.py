"""BARBAR-G: it is BARBAR on a bandit, its plan covers what it must at a bounded price, its estimates are unbiased."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import linprog

from allworlds import graphs, play_many
from allworlds.kernels.random import uniform_pair
from allworlds.learners import Barbar, BarbarG
from allworlds.learners.by_name import make_learner
from allworlds.worlds import one_good_arm


def planned(learner, gaps):
    """The state that plans an epoch with these gaps."""
    return learner.unpack(learner.pack(learner.init()) | {"gaps": np.asarray(gaps, dtype=float)})


def random_digraph(rng, n_arms):
    matrix = rng.uniform(size=(n_arms, n_arms)) < 0.3
    np.fill_diagonal(matrix, True)
    return matrix, graphs.FeedbackGraph.from_adjacency(matrix, directed=True)


def test_on_a_bandit_it_is_barbar():
    graph = graphs.bandit(4)
    learner, other = BarbarG(graph, 1000, 1e-3), Barbar(graph, 1000, 1e-3)
    mine, theirs = learner.init(), other.init()
    for t in range(800):
        uniforms = uniform_pair(4, 9, t, 0)
        ticket, same = learner.draw(mine, *uniforms), other.draw(theirs, *uniforms)
        assert ticket.arm == same.arm
        assert ticket.probability == pytest.approx(same.probability, rel=1e-9)
        loss = np.array([[0.1, 0.5, 0.6, 0.9][ticket.arm]])
        learner.update(mine, ticket, loss)
        other.update(theirs, same, loss)
    assert mine.gaps == pytest.approx(theirs.gaps, rel=1e-9)
    assert len(set(mine.gaps)) > 1


def test_the_plan_shows_every_arm_as_often_as_its_gap_asks_by_arms_of_its_level_or_better():
    rng = np.random.default_rng(3)
    for _ in range(30):
        matrix, graph = random_digraph(rng, 8)
        gaps = 2.0 ** -rng.uniform(0, 5, 8)
        learner = BarbarG(graph, 1000, 1e-3)
        p = learner.distribution(planned(learner, gaps))
        level = 2.0 ** np.ceil(np.log2(gaps))
        total = (1 / gaps**2).max()
        shown = matrix.T @ p  # up to the plan's sum
        scale = ((1 / gaps**2) / shown).max()  # the plan's sum: some arm gets exactly what it asks for
        assert scale >= total * (1 - 1e-9)
        for i in range(8):
            enough = sum(p[j] for j in range(8) if matrix[j, i] and gaps[j] <= level[i])
            assert scale * enough >= (1 - 1e-8) / gaps[i] ** 2


def test_the_plan_for_equal_gaps_costs_at_most_a_logarithm_more_than_the_best_fractional_cover():
    rng = np.random.default_rng(4)
    for _ in range(20):
        matrix, graph = random_digraph(rng, 9)
        learner = BarbarG(graph, 1000, 1e-3)
        state = planned(learner, np.full(9, 0.5))
        cost = 1.0 / (matrix.T @ learner.distribution(state)).min()  # plays for one sight of each arm
        best = linprog(np.ones(9), A_ub=-matrix.T.astype(float), b_ub=-np.ones(9)).fun
        assert best - 1e-9 <= cost <= best * (1 + math.log(9))


def test_a_star_is_seen_from_its_hub_unless_the_hub_is_bad():
    learner = BarbarG(graphs.star(6), 1000, 1e-3)
    assert learner.distribution(learner.init()).tolist() == [1, 0, 0, 0, 0, 0]
    p = learner.distribution(planned(learner, [1.0, 0.25, 0.25, 0.25, 0.25, 0.25]))
    assert p == pytest.approx([0, 0.2, 0.2, 0.2, 0.2, 0.2])


def test_estimates_are_right_on_average_on_a_directed_graph():
    matrix, graph = random_digraph(np.random.default_rng(5), 5)
    learner = BarbarG(graph, 1000, 1e-2)
    state = planned(learner, [1.0, 0.5, 0.25, 0.125, 1.0])
    p, losses, mean = learner.distribution(state), np.array([0.3, 0.9, 0.0, 1.0, 0.5]), np.zeros(5)
    for arm in np.flatnonzero(p):
        state = planned(learner, [1.0, 0.5, 0.25, 0.125, 1.0])
        ticket = learner.draw(state, p[:arm].sum() + p[arm] / 2, 0.0)
        assert ticket.arm == arm
        assert learner.observes(arm).tolist() == np.flatnonzero(matrix[arm]).tolist()
        learner.update(state, ticket, losses[learner.observes(arm)])
        mean += p[arm] * state.rewards
    assert mean == pytest.approx(1 - losses, abs=1e-12)


@pytest.mark.compiled
def test_on_cliques_it_needs_far_less_than_barbar():
    graph, world = graphs.disjoint_cliques(3, 4), one_good_arm(12, gap=0.4)
    regrets = [
        np.mean([trace.final_regret for trace in play_many(make_learner(name, graph, 10_000), world, 10_000, range(6))])
        for name in ("barbar-g:scale=0.0005", "barbar:scale=0.0005")
    ]
    assert regrets[0] < 0.6 * regrets[1]
    assert regrets[0] < 0.3 * 0.4 * 10_000
