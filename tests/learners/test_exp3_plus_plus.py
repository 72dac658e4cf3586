"""EXP3++ against the printed formulas on a kept history, its cap as a real minimum, and its two bounds."""

from __future__ import annotations

import math

import numpy as np
import pytest

from allworlds import graphs, play_many
from allworlds.foundation.errors import InvalidParameter
from allworlds.kernels.random import uniform_pair
from allworlds.learners import Exp3PlusPlus
from allworlds.learners.by_name import make_learner
from allworlds.worlds import one_good_arm
from estimates import mean_step


def printed_distribution(history, n_arms, t, b):
    """The formulas of the paper, from all past (arm, loss, divisor)."""
    losses = [[loss for arm, loss, _ in history if arm == i] for i in range(n_arms)]
    estimates = [sum(loss / divisor for arm, loss, divisor in history if arm == i) for i in range(n_arms)]
    radius = [math.sqrt(3 * math.log(t * n_arms ** (1 / 3)) / (2 * len(seen))) for seen in losses]
    upper = [min(1.0, np.mean(seen) + r) for seen, r in zip(losses, radius, strict=True)]
    lower = [max(0.0, np.mean(seen) - r) for seen, r in zip(losses, radius, strict=True)]
    gaps = np.array([max(0.0, low - min(upper)) for low in lower])
    rate = 0.5 * math.sqrt(math.log(n_arms) / (t * n_arms))
    with np.errstate(divide="ignore"):
        share = b * math.log(t) / (t * gaps**2)
    eps = np.minimum(np.minimum(1 / (2 * n_arms), rate), share)
    weights = np.exp(-rate * (np.array(estimates) - min(estimates)))
    return (1 - eps.sum()) * weights / weights.sum() + eps, gaps, eps


def test_it_follows_the_printed_rule_with_an_exploration_that_falls_below_its_cap():
    n_arms, b = 3, 0.05
    learner = Exp3PlusPlus(graphs.bandit(n_arms), exploration=b)
    state, history, below_cap = learner.init(), [], 0
    for t in range(1, 601):
        p = learner.distribution(state)
        if t > n_arms:
            expected, gaps, eps = printed_distribution(history, n_arms, t, b)
            assert p == pytest.approx(expected, rel=1e-9)
            assert state.gaps == pytest.approx(gaps, abs=1e-12)
            below_cap += eps.min() < 0.9 * eps.max()
        ticket = learner.draw(state, *uniform_pair(4, 9, t, 0))
        loss = float(np.random.default_rng(t).uniform() < [0.02, 0.95, 0.98][ticket.arm])
        history.append((ticket.arm, loss, 1.0 if t <= n_arms else ticket.probability))
        learner.update(state, ticket, np.array([loss]))
    assert below_cap > 100


def test_each_arm_is_played_once_before_anything_else():
    learner = Exp3PlusPlus(graphs.disjoint_cliques(2, 3))
    state = learner.init()
    arms = []
    for t in range(6):
        p = learner.distribution(state)
        assert p[p > 0].tolist() == pytest.approx([1 / (6 - t)] * (6 - t))
        ticket = learner.draw(state, *uniform_pair(4, 9, t, 0))
        learner.update(state, ticket, np.array([0.5]))
        arms.append(ticket.arm)
    assert sorted(arms) == list(range(6))
    assert state.cumulative_losses.tolist() == [0.5] * 6


def test_the_exploration_is_the_least_of_three_numbers():
    """Two arms, 10,000 plays each, means 0 and 1: the gap is 1 - 2 radii and each of the three numbers can be least."""
    t, plays = 20_001.0, 10_000.0
    gap = 1.0 - 2.0 * math.sqrt((3 * math.log(t) + math.log(2)) / (2 * plays))
    caps = (0.25, 0.5 * math.sqrt(math.log(2) / (t * 2)))
    for b in (1e-4, 1.0, 256.0):
        learner = Exp3PlusPlus(graphs.bandit(2), exploration=b)
        saved = {
            "cumulative_losses": np.array([0.0, 1e9]),
            "totals": np.array([0.0, plays]),
            "played": np.array([plays, plays]),
            "clock": np.array([t]),
        }
        p = learner.distribution(learner.unpack(saved))
        assert p[1] == pytest.approx(min(*caps, b * math.log(t) / (t * gap**2)), rel=1e-9)


def test_estimates_are_right_on_average_after_the_first_plays():
    learner = Exp3PlusPlus(graphs.bandit(4))
    state = learner.init()
    for t in range(40):
        ticket = learner.draw(state, *uniform_pair(4, 9, t, 0))
        learner.update(state, ticket, np.array([0.25 * ticket.arm]))
    losses = np.array([0.3, 0.9, 0.0, 1.0])
    assert mean_step(learner, learner.pack(state), losses) == pytest.approx(losses, rel=1e-9, abs=1e-9)


@pytest.mark.compiled
def test_its_regret_is_below_both_bounds_and_far_below_uniform_play():
    n_arms, horizon = 5, 20_000
    learner = make_learner("exp3-plus-plus", graphs.bandit(n_arms))
    traces = play_many(learner, one_good_arm(n_arms, gap=0.3), horizon, range(6))
    regret = np.mean([trace.final_regret for trace in traces])
    assert regret < 4 * math.sqrt(n_arms * horizon * math.log(n_arms))
    assert regret < 0.15 * 0.3 * 0.8 * horizon


def test_a_parameter_out_of_range_raises():
    with pytest.raises(InvalidParameter, match=r"exploration is 0.*; expected a finite number above 0"):
        Exp3PlusPlus(graphs.bandit(2), exploration=0)
