"""Exp3 against a plain implementation of the published rule, and its estimates by enumeration."""

from __future__ import annotations

import math

import numpy as np
import pytest

from allworlds import graphs
from allworlds.kernels.random import uniform_pair
from allworlds.learners import Exp3
from estimates import mean_step


def arm_at(p, uniform):
    return int(np.searchsorted(np.cumsum(p), uniform, side="right"))


def test_it_follows_the_published_rule():
    n_arms = 6
    learner = Exp3(graphs.disjoint_cliques(2, 3))  # the graph is ignored
    state = learner.init()
    history = []  # (arm, loss, probability)
    for t in range(1, 401):
        estimates = np.zeros(n_arms)
        for arm, loss, p in history:
            estimates[arm] += loss / p
        weights = np.exp(-math.sqrt(math.log(n_arms) / (n_arms * t)) * estimates)
        p = weights / weights.sum()
        assert learner.distribution(state) == pytest.approx(p, rel=1e-11)
        first, second = uniform_pair(4, 9, t, 0)
        ticket = learner.draw(state, first, second)
        assert ticket.arm == arm_at(p, first)
        losses = (np.random.default_rng(t).uniform(size=n_arms) < np.linspace(0.2, 0.9, n_arms)).astype(float)
        history.append((ticket.arm, losses[ticket.arm], p[ticket.arm]))
        assert learner.observes(ticket.arm).tolist() == [ticket.arm]
        learner.update(state, ticket, losses[[ticket.arm]])


def test_estimates_are_right_on_average():
    n_arms = 4
    learner = Exp3(graphs.bandit(n_arms))
    start = learner.pack(learner.init()) | {"cumulative_losses": np.array([3.0, 0.0, 7.0, 1.0])}
    losses = np.array([0.3, 0.9, 0.0, 1.0])
    assert mean_step(learner, start, losses) == pytest.approx(losses, rel=1e-12, abs=1e-12)


def test_a_late_outcome_is_divided_by_the_probability_at_its_draw():
    learner = Exp3(graphs.bandit(4))
    state = learner.init()
    late = learner.draw(state, 0.1, 0.0)
    for t in range(1, 40):
        ticket = learner.draw(state, *uniform_pair(6, 9, t, 0))
        learner.update(state, ticket, np.array([float(ticket.arm == 0)]))
    before = state.cumulative_losses[0]
    assert learner.distribution(state)[0] < 0.2
    learner.update(state, late, np.array([0.5]))
    assert state.cumulative_losses[0] - before == pytest.approx(0.5 / 0.25, rel=1e-12)


def test_hopeless_arms_vanish_without_an_overflow():
    learner = Exp3(graphs.bandit(3))
    state = learner.unpack(learner.pack(learner.init()) | {"cumulative_losses": np.array([1e300, 0.0, 1.5e3])})
    assert learner.distribution(state)[0] == 0.0
    for uniform in (0.0, 0.5, np.nextafter(1.0, 0.0)):
        ticket = learner.draw(state, uniform, 0.0)
        assert ticket.arm == 1
        learner.update(state, ticket, np.array([1.0]))
    learner.update(state, ticket._replace(arm=2, probability=5e-324), np.array([1.0]))
    assert np.isfinite(state.cumulative_losses).all()
    assert learner.distribution(state).sum() == pytest.approx(1.0, abs=1e-15)
