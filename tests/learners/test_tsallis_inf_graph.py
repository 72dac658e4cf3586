"""Tsallis-INF on graphs: exactly Tsallis-INF on single arms, unbiased elsewhere, and better for seeing more."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numba.core import config

from allworlds import graphs, play_many
from allworlds.graphs import FeedbackGraph
from allworlds.graphs.changing import changing
from allworlds.kernels.random import uniform_pair
from allworlds.learners import TsallisINF, TsallisINFGraph
from allworlds.worlds import one_good_arm
from estimates import mean_step

N_ROUNDS = 150 if config.DISABLE_JIT else 2000


def losses_of(t, n_arms):
    return (np.random.default_rng([7, t]).uniform(size=n_arms) < np.linspace(0.2, 0.8, n_arms)).astype(float)


def test_on_single_arms_it_is_tsallis_inf_bit_for_bit():
    mine, theirs = TsallisINFGraph(graphs.bandit(7)), TsallisINF(graphs.bandit(7))
    one, other = mine.init(), theirs.init()
    for t in range(1, N_ROUNDS + 1):
        assert mine.distribution(one).tobytes() == theirs.distribution(other).tobytes()
        pair = uniform_pair(11, 9, t, 0)
        ticket, same = mine.draw(one, *pair), theirs.draw(other, *pair)
        assert ticket.arm == same.arm
        seen = losses_of(t, 7)[[ticket.arm]]
        mine.update(one, ticket, seen)
        theirs.update(other, same, seen)


def test_with_full_information_it_follows_the_true_losses():
    """Everything is seen for certain, so ``p = 4 / (eta (L - x))^2`` holds with the true losses ``L``."""
    learner = TsallisINFGraph(graphs.full_information(4))
    state, total = learner.init(), np.zeros(4)
    for t in range(1, 100):
        p = learner.distribution(state)
        levels = total - 2.0 / (2.0 / math.sqrt(t) * np.sqrt(p))  # all equal to x
        assert levels == pytest.approx(np.full(4, levels[0]), rel=1e-9)
        losses = losses_of(t, 4)
        learner.update(state, learner.draw(state, *uniform_pair(12, 9, t, 0)), losses)
        total += losses


@pytest.mark.parametrize("directed", [False, True])
def test_estimates_are_right_on_average(directed):
    pairs = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)]
    graph = FeedbackGraph(4, pairs, directed=True, self_loops=True) if directed else FeedbackGraph(4, pairs)
    learner = TsallisINFGraph(graph)
    state = learner.init()
    for t in range(1, 30):
        ticket = learner.draw(state, *uniform_pair(13, 9, t, 0))
        learner.update(state, ticket, losses_of(t, 4)[learner.observes(ticket.arm)])
    losses = np.array([0.3, 0.9, 0.1, 1.0])
    assert mean_step(learner, learner.pack(state), losses) == pytest.approx(losses, rel=1e-9)


@pytest.mark.compiled
def test_its_regret_is_below_that_of_tsallis_inf_where_arms_see_more_and_below_its_bound():
    world, rounds = one_good_arm(12, gap=0.2), 10_000

    def regret(learner):
        return np.mean([trace.final_regret for trace in play_many(learner, world, rounds, range(12))])

    blind = regret(TsallisINF(graphs.bandit(12)))
    assert 50 < blind < 4 * math.sqrt(12 * rounds) + 1
    for graph in (graphs.disjoint_cliques(3, 4), changing(graphs.full_information(12), probability=0.5)):
        assert regret(TsallisINFGraph(graph)) < 0.85 * blind
