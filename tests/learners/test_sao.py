"""SAO against its printed formulas on a kept history, each of its tests in a hand-made state, and Exp3.P."""

from __future__ import annotations

import math

import numpy as np
import pytest

from allworlds import graphs, play_many
from allworlds.foundation.errors import InvalidParameter
from allworlds.kernels.random import uniform_pair
from allworlds.learners import SAO
from allworlds.learners.by_name import make_learner
from allworlds.learners.sao import allowed
from allworlds.worlds import one_good_arm


class Printed:
    """The rule with dictionaries of ``tau`` and ``q``, and the gains of every arm, weighted and as they were."""

    def __init__(self, n_arms, horizon, scale):
        self.n, self.log = n_arms, scale * math.log(horizon**4)
        self.t, self.tau, self.q, self.hostile = 0, {}, {}, False
        self.weighted, self.gains = np.zeros(n_arms), [[] for _ in range(n_arms)]

    def p(self, t):
        p = np.zeros(self.n)
        for i, tau in self.tau.items():
            p[i] = self.q[i] * tau / t
        active = [i for i in range(self.n) if i not in self.tau]
        p[active] = (1 - p.sum()) / len(active)
        return p

    def learn(self, arm, gain, p):
        self.t = t = self.t + 1
        self.weighted[arm] += gain / p[arm]
        self.gains[arm].append(gain)
        weighted = self.weighted / t
        active = [i for i in range(self.n) if i not in self.tau]
        best = max(weighted[i] for i in active)
        for i in active:
            if best - weighted[i] > 6 * self.radius(t):
                self.tau[i], self.q[i] = t, p[i]
        for i in range(self.n):
            gains = self.gains[i]
            if i in self.tau:
                gap, tau = best - weighted[i], self.tau[i]
                self.hostile |= gap > 10 * self.radius(tau - 1) or gap <= 2 * self.radius(tau)
            if gains:
                star = self.tau.get(i, t)
                late = (t - star) / (self.q[i] * self.tau[i] * t) if i in self.tau else 0.0
                wide = 4 * (self.n * star / t**2 + late) * self.log + 5 * (self.n * self.log / star) ** 2
                self.hostile |= abs(weighted[i] - np.mean(gains)) > math.sqrt(2 * self.log / len(gains)) + wide**0.5

    def radius(self, s):
        return math.sqrt(4 * self.n * self.log / s + 5 * (self.n * self.log / s) ** 2) if s else math.inf


@pytest.mark.parametrize(("switches", "scale"), [(False, 0.05), (True, 0.05)])
def test_every_round_before_the_switch_agrees_with_the_printed_formulas(switches, scale):
    n_arms, horizon = 3, 1000
    learner, other = SAO(graphs.bandit(n_arms), horizon, scale), Printed(n_arms, horizon, scale)
    state = learner.init()
    for t in range(1, 2001):
        p = other.p(t)
        assert learner.distribution(state) == pytest.approx(p, rel=1e-9)
        ticket = learner.draw(state, *uniform_pair(4, 9, t, 0))
        means = [0.9, 0.1, 0.05] if switches and t > 1300 else [0.05, 0.9, 0.95]
        loss = float(np.random.default_rng(t).uniform() < means[ticket.arm])
        learner.update(state, ticket, np.array([loss]))
        other.learn(ticket.arm, 1.0 - loss, p)
        assert learner.active(state).tolist() == [i for i in range(n_arms) if i not in other.tau]
        assert learner.hostile(state) == other.hostile
        if other.hostile:
            break
    assert other.hostile == switches
    assert t > 1300
    assert len(other.tau) == 2


def state_at(learner, t, **arrays):
    """A state after ``t - 1`` rounds; the tests of the next update see ``t`` rounds."""
    fresh = learner.pack(learner.init())
    return learner.unpack(fresh | {"clock": np.array([float(t), 0.0])} | {k: np.array(v) for k, v in arrays.items()})


def test_a_dropped_arm_that_is_as_good_as_the_best_starts_exp3_p():
    learner = SAO(graphs.bandit(2), 1000, scale=0.01)
    arrays = {"played": [500.0, 499.0], "dropped_at": [0.0, 400.0], "dropped_with": [0.0, 0.5]}
    for behind, hostile in ((0.0, True), (0.6, False)):
        gains = np.array([0.5, 0.5 - behind])
        state = state_at(
            learner, 1000, **(arrays | {"estimates": 1000 * gains, "totals": gains * np.array(arrays["played"])})
        )
        if behind:  # the reward of the play below does not matter much
            assert 2 * radius(2 * state.rates.log, 400) < behind < 10 * radius(2 * state.rates.log, 399)
        ticket = learner.draw(state, 0.0, 0.0)
        learner.update(state, ticket._replace(arm=0), np.array([0.5]))
        assert learner.hostile(state) == hostile


def radius(width, s):
    return math.sqrt(4 * width / s + 5 * (width / s) ** 2)


def test_the_two_estimates_of_a_dropped_arm_may_differ_more_the_longer_ago_it_was_dropped():
    """``sqrt(2 L / T_i) + sqrt(4 (N s / t² + (t - s) / (q tau t)) L + 5 (N L / s)²)`` with ``s = tau = 50``."""
    n, t, tau, q, plays, log = 3, 400.0, 50.0, 0.25, 20.0, 0.7
    wide = 4 * (n * tau / t**2 + (t - tau) / (q * tau * t)) * log + 5 * (n * log / tau) ** 2
    assert allowed(n, t, tau, q, plays, log) == pytest.approx(math.sqrt(2 * log / plays) + math.sqrt(wide))
    active = 4 * (n / t) * log + 5 * (n * log / t) ** 2
    assert allowed(n, t, 0.0, 0.0, plays, log) == pytest.approx(math.sqrt(2 * log / plays) + math.sqrt(active))
    first = 4 * (n / t**2 + (t - 1) / (q * t)) * log + 5 * (n * log) ** 2  # dropped in the first round
    assert allowed(n, t, 1.0, q, plays, log) == pytest.approx(math.sqrt(2 * log / plays) + math.sqrt(first))


def test_a_dropped_arm_that_is_far_worse_than_when_it_was_dropped_starts_exp3_p():
    """Arm 1 was dropped after round 400 and lies ``10.5 r(399)``, or ``9.5 r(399)``, behind; its two means agree."""
    learner = SAO(graphs.bandit(2), 1000, scale=1e-4)
    edge = radius(2 * learner.init().rates.log, 399)
    for factor, hostile in ((10.5, True), (9.5, False)):
        gains, played = np.array([0.9, 0.9 - factor * edge]), np.array([900.0, 99.0])
        state = state_at(
            learner,
            1000,
            estimates=1000 * gains,
            totals=played * gains,
            played=played,
            dropped_at=[0.0, 400.0],
            dropped_with=[0.0, 0.5],
        )
        assert gains[1] > 0
        ticket = learner.draw(state, 0.0, 0.0)._replace(arm=0, probability=1.0)
        learner.update(state, ticket, np.array([0.1]))
        assert learner.hostile(state) == hostile


def test_after_the_switch_it_is_exp3_p():
    """``p = (1 - gamma) softmax(eta G) + gamma / N`` with ``G_i += (g 1{I = i} + beta) / p_i``, all by the horizon."""
    n_arms, horizon = 4, 500
    learner = SAO(graphs.bandit(n_arms), horizon)
    state = learner.unpack(learner.pack(learner.init()) | {"clock": np.array([100.0, 1.0])})
    eta = 0.95 * math.sqrt(math.log(n_arms) / (n_arms * horizon))
    gamma = 1.05 * math.sqrt(n_arms * math.log(n_arms) / horizon)
    beta = math.sqrt(math.log(n_arms * horizon) / (n_arms * horizon))
    gains = np.zeros(n_arms)
    for t in range(300):
        weights = np.exp(eta * (gains - gains.max()))
        p = (1 - gamma) * weights / weights.sum() + gamma / n_arms
        assert learner.distribution(state) == pytest.approx(p, rel=1e-9)
        ticket = learner.draw(state, *uniform_pair(4, 9, t, 0))
        loss = [0.1, 0.8, 0.5, 0.5][ticket.arm]
        learner.update(state, ticket, np.array([loss]))
        gains += (np.eye(n_arms)[ticket.arm] * (1 - loss) + beta) / p
    assert p.argmax() == 0


@pytest.mark.compiled
def test_its_regret_in_a_friendly_world_is_that_of_the_round_in_which_bad_arms_are_dropped():
    """Uniform play until ``6 r(tau) = gap``, and ``tau / t`` of it from then on: ``tau (1 + log(T / tau))`` rounds."""
    n_arms, horizon, gap, scale = 5, 20_000, 0.5, 0.02
    x = (math.sqrt(16 + 20 * (gap / 6) ** 2) - 4) / 10  # 36 (4 x + 5 x²) = gap²
    tau = n_arms * scale * 4 * math.log(horizon) / x
    expected = gap * (n_arms - 1) / n_arms * tau * (1 + math.log(horizon / tau))
    learner = make_learner(f"sao:scale={scale}", graphs.bandit(n_arms), horizon)
    traces = play_many(learner, one_good_arm(n_arms, gap=gap), horizon, range(8))
    assert expected < 0.4 * gap * 0.8 * horizon  # far below uniform play
    assert np.mean([trace.final_regret for trace in traces]) == pytest.approx(expected, rel=0.25)


def test_the_horizon_is_needed():
    with pytest.raises(InvalidParameter, match="sao needs the horizon"):
        make_learner("sao", graphs.bandit(2))
