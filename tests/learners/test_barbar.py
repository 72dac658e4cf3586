"""BARBAR against its pseudo-code, with the numbers of the paper, and after an attack that it must forget."""

from __future__ import annotations

import math

import numpy as np
import pytest

from allworlds import graphs, play_many
from allworlds.foundation.errors import InvalidParameter
from allworlds.kernels.random import uniform_pair
from allworlds.learners import Barbar
from allworlds.learners.by_name import make_learner
from allworlds.worlds import one_good_arm

BUDGET = 1024 * math.log(8 * 4 * math.log2(1000) * 1000)
"""``lambda`` of four arms, T = 1000 and delta = 1 / T."""


def test_every_epoch_agrees_with_the_pseudo_code():
    """Pulls and sums by arm; ``r_i`` is the sum over the expected number of pulls, whatever their true number."""
    n_arms, scale = 4, 1e-3
    learner = Barbar(graphs.bandit(n_arms), horizon=1000, scale=scale)
    state, t = learner.init(), 0
    gaps = np.ones(n_arms)
    for epoch in range(1, 5):
        wanted = scale * BUDGET / gaps**2
        p, length = wanted / wanted.sum(), math.ceil(wanted.sum())
        sums, pulls = np.zeros(n_arms), np.zeros(n_arms)
        for _ in range(length):
            t += 1
            assert learner.distribution(state) == pytest.approx(p, rel=1e-9)
            ticket = learner.draw(state, *uniform_pair(4, 9, t, 0))
            reward = float(np.random.default_rng(t).uniform() < [0.9, 0.6, 0.5, 0.1][ticket.arm])
            sums[ticket.arm] += reward
            pulls[ticket.arm] += 1
            learner.update(state, ticket, np.array([1.0 - reward]))
        r = sums / (p * length)
        assert not np.allclose(r, sums / np.maximum(pulls, 1), rtol=1e-3)  # not the mean reward
        gaps = np.maximum(2.0**-epoch, (r - gaps / 16).max() - r)
        assert state.gaps == pytest.approx(gaps, rel=1e-9)
    assert gaps.argmin() == 0
    assert gaps[3] > 4 * gaps[0]


def test_the_published_length_is_the_default():
    """``4 * 1024 log(8 * 4 log2(1000) / delta)`` rounds of uniform play, with delta = 1 / T unless it is given."""
    learner = Barbar(graphs.bandit(4), horizon=1000)
    assert learner.epoch_length(learner.init()) == math.ceil(4 * BUDGET)
    likely = Barbar(graphs.bandit(4), horizon=1000, failure=0.5)
    assert likely.epoch_length(likely.init()) == math.ceil(4 * 1024 * math.log(8 * 4 * math.log2(1000) / 0.5))


def test_an_epoch_full_of_lies_is_forgotten_after_the_next():
    learner = Barbar(graphs.bandit(3), horizon=1000, scale=5e-3)
    state, means, t = learner.init(), np.array([0.0, 0.8, 0.8]), 0
    likely = []
    for epoch in range(4):
        losses = 1.0 - means if epoch == 0 else means
        for _ in range(learner.epoch_length(state)):
            t += 1
            ticket = learner.draw(state, *uniform_pair(4, 9, t, 0))
            learner.update(state, ticket, losses[[ticket.arm]])
        likely.append(learner.distribution(state)[0])
    assert likely[0] < 0.2
    assert likely[1] > 1 / 3
    assert likely[3] > 0.8


@pytest.mark.compiled
def test_it_ends_up_with_the_best_arm_and_its_regret_is_far_below_uniform_play():
    learner = make_learner("barbar:scale=0.0005", graphs.bandit(5), horizon=20_000)
    traces = play_many(learner, one_good_arm(5, gap=0.4), 20_000, range(6))
    assert np.mean([trace.final_regret for trace in traces]) < 0.3 * 0.4 * 0.8 * 20_000


def test_a_parameter_out_of_range_raises():
    graph = graphs.bandit(2)
    with pytest.raises(InvalidParameter, match=r"scale is 0.*; expected a finite number above 0"):
        Barbar(graph, 100, scale=0)
    with pytest.raises(InvalidParameter, match=r"failure is 2; expected a number above 0 and at most 1"):
        Barbar(graph, 100, failure=2)
    with pytest.raises(InvalidParameter, match="barbar needs the horizon"):
        make_learner("barbar", graph)
