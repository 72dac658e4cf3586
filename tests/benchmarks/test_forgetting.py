"""The forms of forgetting that are only in a benchmark."""

from __future__ import annotations

import math

import numpy as np
import pytest

import allworlds as aw
import forgetting
from allworlds.ftrl.clock import RATE
from forgetting import Forgetting, has_changed, likelihood_ratio, make


def log_likelihood(values):
    mean = values.mean()
    return sum(v * math.log(mean) + (1 - v) * math.log(1 - mean) for v in values) if 0 < mean < 1 else 0.0


def test_the_test_is_the_likelihood_with_a_change_over_that_without_one():
    rng = np.random.default_rng(1)
    for n in (10, 20, 57, 90):
        losses = (rng.random(n) < 0.4).astype(float)
        sums = np.concatenate([[0.0], np.cumsum(losses)])
        splits = range(forgetting.EVERY, n, forgetting.EVERY)
        parts = [log_likelihood(losses[:s]) + log_likelihood(losses[s:]) for s in splits]
        expected = max([part - log_likelihood(losses) for part in parts], default=0.0)
        assert likelihood_ratio(sums, n) == pytest.approx(expected, abs=1e-9)


def test_it_fires_soon_after_a_change_of_an_arm_that_is_only_seen_and_never_before():
    rng = np.random.default_rng(2)
    sums, counts, fired = np.zeros((3, 2001)), np.zeros(3, np.int64), 0
    for t in range(2000):
        losses = (rng.random(2) < [0.5, 0.3 if t < 1000 else 0.7]).astype(float)
        if not fired and has_changed(sums, counts, np.array([0, 2]), losses, 0.05):
            fired = t
    assert 1000 < fired < 1150
    assert counts.tolist()[1] == 0


def test_without_a_window_or_a_test_it_is_the_default_and_a_restart_forgets_everything():
    graph, world = aw.graphs.disjoint_cliques(3, 2), aw.make_world("switching:gap=0.5", 6)
    plain = aw.play(aw.make_learner("tsallis-shannon", graph), world, 400, 7)
    ours = aw.play(make("window:rounds=1000000", graph, 400), world, 400, 7)
    assert ours.final_regret == plain.final_regret
    learner = make("restarts:delta=0.05", graph, 400)
    aw.play(learner, world, 400, 7)
    assert learner.n_restarts > 0
    learner.begin()
    assert np.allclose(learner.learner.distribution(learner.state), 1 / 6)


def test_in_a_window_the_schedule_stops():
    graph = aw.graphs.disjoint_cliques(2, 2)
    learner = Forgetting("window:rounds=50", graph)
    learner.start(1)
    rates = []
    for _ in range(120):
        learner.observe(learner.choose(), dict.fromkeys(range(4), 0.5))
        rates.append(learner.state.clock[RATE])
    usual = aw.make_learner("tsallis-shannon", graph)
    assert rates[10] == usual.constants.eta0 / math.sqrt(12 + usual.constants.head_start)
    assert rates[60:] == [usual.constants.eta0 / math.sqrt(50 + usual.constants.head_start)] * 60
