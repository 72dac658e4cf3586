"""Robust UCB: medians of blocks kept as lists, UCB-N where blocks agree, and lies that UCB-N believes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from allworlds import graphs, play_many
from allworlds.foundation.errors import InvalidParameter
from allworlds.kernels.random import uniform_pair
from allworlds.learners import UCBN, RobustUCB
from allworlds.learners.by_name import make_learner
from allworlds.worlds import one_good_arm


def median_of_means(losses, groups):
    """From the whole list: the block size is the power of two that leaves fewer than ``groups`` full blocks."""
    size = 1
    while len(losses) // size >= groups:
        size *= 2
    full = len(losses) // size
    means = [np.mean(losses[k * size : (k + 1) * size]) for k in range(full)]
    return (np.median(means), full * size) if full else (math.nan, 0)


@pytest.mark.parametrize("groups", [2, 6, 16])
def test_medians_and_indices_are_those_of_the_whole_list(groups):
    n_arms, width = 3, 0.5
    learner = RobustUCB(graphs.path(3), width, groups)
    state, history = learner.init(), [[] for _ in range(n_arms)]
    for t in range(1, 500):
        expected = [median_of_means(losses, groups) for losses in history]
        assert learner.medians(state) == pytest.approx([median for median, _ in expected], nan_ok=True, abs=1e-12)
        assert state.seen.tolist() == [count for _, count in expected]
        indices = [m - math.sqrt(width * math.log(t) / o) if o else -math.inf for m, o in expected]
        best = {i for i in range(n_arms) if indices[i] <= min(indices) + 1e-12}
        p = learner.distribution(state)
        assert set(np.flatnonzero(p)) <= best
        ticket = learner.draw(state, *uniform_pair(4, 9, t, 0))
        assert p[ticket.arm] == ticket.probability
        losses = np.random.default_rng(t).uniform(size=n_arms) * [0.5, 0.9, 1.0]
        seen = learner.observes(ticket.arm)
        learner.update(state, ticket, losses[seen])
        for i in seen:
            history[i].append(losses[i])
    assert all(len(losses) > 20 for losses in history)


def test_with_losses_that_do_not_vary_it_plays_as_ucb_n_until_the_first_merge_and_medians_stay_exact():
    graph, losses = graphs.bandit(3), np.array([0.25, 0.5, 1.0])
    learner, other = RobustUCB(graph, groups=64), UCBN(graph)
    mine, theirs = learner.init(), other.init()
    for t in range(63):
        assert learner.distribution(mine) == pytest.approx(other.distribution(theirs))
        uniforms = uniform_pair(4, 9, t, 0)
        ticket = learner.draw(mine, *uniforms)
        assert ticket == other.draw(theirs, *uniforms)
        learner.update(mine, ticket, losses[[ticket.arm]])
        other.update(theirs, ticket, losses[[ticket.arm]])
    assert learner.medians(mine).tolist() == losses.tolist()


def test_a_burst_of_lies_is_outvoted():
    """300 of 1000 observations in one burst are lies: the mean is off by 0.3, the median of means by little."""
    learner = RobustUCB(graphs.bandit(1))
    state = learner.init()
    truth = (np.random.default_rng(1).uniform(size=1000) < 0.1).astype(float)
    lies = truth.copy()
    lies[200:500] = 1.0
    for loss in lies:
        learner.update(state, learner.draw(state, 0.5, 0.5), np.array([loss]))
    assert lies.mean() > 0.35
    assert abs(learner.medians(state)[0] - 0.1) < 0.06


@pytest.mark.compiled
def test_in_a_friendly_world_it_is_about_as_good_as_ucb_n():
    graph, world = graphs.bandit(5), one_good_arm(5, gap=0.3)
    regrets = [
        np.mean([trace.final_regret for trace in play_many(make_learner(name, graph), world, 20_000, range(8))])
        for name in ("robust-ucb", "ucb-n")
    ]
    assert regrets[0] < 2.0 * regrets[1]


def test_a_parameter_out_of_range_raises():
    with pytest.raises(InvalidParameter, match="groups is 7; expected an even number"):
        RobustUCB(graphs.bandit(2), groups=7)
    with pytest.raises(InvalidParameter, match=r"width is 0.*; expected a finite number above 0"):
        RobustUCB(graphs.bandit(2), width=0)
