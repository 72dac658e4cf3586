"""BROAD: the optimality condition of its step, by scipy too; the restart by hand; the uniform start."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from allworlds import graphs, play_many
from allworlds.foundation.errors import InvalidParameter
from allworlds.kernels.random import uniform_pair
from allworlds.learners import Broad
from allworlds.learners.by_name import make_learner
from allworlds.worlds import one_good_arm


def stepped(w, arm, loss, rate):
    learner = Broad(graphs.bandit(len(w)), horizon=1000, rate=rate)
    fresh = learner.pack(learner.init())
    state = learner.unpack(fresh | {"distribution": np.array(w)})
    ticket = learner.draw(state, float(np.sum(w[:arm]) + w[arm] / 2), 0.0)
    assert ticket.arm == arm
    learner.update(state, ticket, np.array([loss]))
    return learner.distribution(state)


def test_the_step_fulfils_its_optimality_condition():
    """``1 / w + eta lhat - 1 / w'`` is the same for all arms, and ``w'`` is a distribution."""
    rng = np.random.default_rng(3)
    for _ in range(200):
        n = int(rng.integers(2, 9))
        w = rng.dirichlet(np.full(n, 0.5)) + 1e-6
        w /= w.sum()
        arm, loss, rate = int(rng.integers(n)), float(rng.uniform()), float(rng.choice([1 / 162, 0.05, 0.2]))
        after = stepped(w, arm, loss, rate)
        inverse = 1 / w
        inverse[arm] += rate * loss / w[arm]
        likeliest = int(after.argmax())
        shift = inverse[likeliest] - 1 / after[likeliest]
        assert after.min() > 0
        assert after.sum() == pytest.approx(1, abs=1e-12)
        assert after == pytest.approx(1 / (inverse - shift), rel=1e-9)
        assert after[arm] <= w[arm] + 1e-12


def test_the_step_is_the_minimum_that_scipy_finds():
    w, arm, loss, rate = np.array([0.1, 0.2, 0.3, 0.4]), 1, 0.9, 0.2

    def objective(v):
        return rate * loss / w[arm] * v[arm] + np.sum(v / w - 1 - np.log(v / w))

    found = minimize(
        objective,
        w,
        bounds=[(1e-6, 1)] * 4,
        constraints={"type": "eq", "fun": lambda v: v.sum() - 1},
        options={"ftol": 1e-14, "maxiter": 500},
        method="SLSQP",
    )
    assert stepped(w, arm, loss, rate) == pytest.approx(found.x, abs=1e-6)


def test_it_starts_again_with_half_the_rate_when_the_losses_vary_too_much():
    n_arms, horizon, rate = 3, 100, 0.5
    learner = Broad(graphs.bandit(n_arms), horizon, rate)
    state, variation, restarts = learner.init(), 0.0, 0
    for t in range(1500):
        w = learner.distribution(state)
        ticket = learner.draw(state, *uniform_pair(4, 9, t, 0))
        loss = [0.3, 0.8, 1.0][ticket.arm]
        variation += np.sum((loss * np.eye(n_arms)[ticket.arm] - w * loss) ** 2)
        learner.update(state, ticket, np.array([loss]))
        if variation >= n_arms * math.log(horizon) / (3 * rate**2):
            rate, variation, restarts = rate / 2, 0.0, restarts + 1
            assert learner.distribution(state) == pytest.approx(np.full(n_arms, 1 / 3))
        assert state.clock[1] == rate
        assert state.clock[2] == pytest.approx(variation, abs=1e-9)
    assert restarts >= 2


def test_the_printed_rate_is_the_default_and_the_round_stands_for_a_missing_horizon():
    learner = make_learner("broad", graphs.bandit(3))
    assert learner == Broad(graphs.bandit(3), None, 1 / 162)
    assert make_learner("broad", graphs.bandit(3), horizon=50).horizon == 50
    quick = Broad(graphs.bandit(2), rate=1.0)  # N log(max(2, t)) / 3 = 0.46 in round one; the variation is 1/2
    state = quick.init()
    quick.update(state, quick.draw(state, 0.0, 0.0), np.array([1.0]))
    assert state.clock.tolist() == [2.0, 0.5, 0.0]


def test_without_a_horizon_it_starts_again_by_the_logarithm_of_the_round():
    learner, limit = Broad(graphs.bandit(2), rate=1.0), 2 * math.log(1000) / 3
    for variation, restarts in ((limit - 0.51, False), (limit - 0.49, True)):  # the round below adds 1/2
        fresh = learner.pack(learner.init()) | {"clock": np.array([1000.0, 1.0, variation])}
        state = learner.unpack(fresh)
        learner.update(state, learner.draw(state, 0.0, 0.0), np.array([1.0]))
        assert state.clock[1] == (0.5 if restarts else 1.0)


@pytest.mark.compiled
def test_it_learns_in_a_friendly_world():
    learner = make_learner("broad:rate=0.1", graphs.bandit(5), horizon=20_000)
    traces = play_many(learner, one_good_arm(5, gap=0.4), 20_000, range(6))
    assert np.mean([trace.final_regret for trace in traces]) < 0.2 * 0.4 * 0.8 * 20_000


def test_a_rate_out_of_range_raises():
    with pytest.raises(InvalidParameter, match=r"rate is 0.*; expected a finite number above 0"):
        Broad(graphs.bandit(2), rate=0)
