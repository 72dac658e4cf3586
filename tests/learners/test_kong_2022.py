"""Kong, Zhou and Li's elimination against its formulas with sets, on weakly observable graphs, and EXP3.G after it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from allworlds import graphs, play_many
from allworlds.foundation.errors import InvalidParameter
from allworlds.graphs import FeedbackGraph
from allworlds.kernels.random import uniform_pair
from allworlds.learners import Kong2022
from allworlds.learners.by_name import make_learner
from allworlds.worlds import stochastic

WEAK = FeedbackGraph(5, [(0, 1), (0, 2), (1, 3), (1, 4), (1, 0), (2, 3), (4, 0)], directed=True, self_loops=[2])
"""Arms 3 and 4 are seen by others only; {0, 1} shows all."""


class Printed:
    """The formulas, with sets for ``A`` and ``D_A``, dictionaries for rounds and the running sums of ``1 / gamma``."""

    def __init__(self, graph, dominating, failure, scale):
        self.shows = {j: set(graph.sees(j).tolist()) for j in range(graph.n_arms)}
        self.n, self.failure, self.scale = graph.n_arms, failure, scale
        self.big, self.active, self.left = set(dominating), set(range(self.n)), set(dominating)
        self.tau, self.u, self.alone = {}, {}, {}
        self.total, self.hostile, self.inverses = np.zeros(self.n), False, [0.0]

    def gamma(self, t):
        return min(1.0, self.n ** (2 / 3) * len(self.big) ** (1 / 3) * t ** (-1 / 3))

    def d(self, t):
        d = np.zeros(self.n)
        for j in self.tau:
            d[j] = self.u[j] * self.tau[j] / t
        if self.left:
            d[sorted(self.left)] = (1 - d.sum()) / len(self.left)
        return d

    def p(self, t):
        d, g = self.d(t), self.gamma(t)
        p = g * d
        p[sorted(self.active)] += (1 - g * d.sum()) / len(self.active)
        return p

    def seen(self, p, i):
        return sum(p[j] for j in range(self.n) if i in self.shows[j])

    def radius(self, i, t):
        log, size, s = self.scale * math.log(t / self.failure), len(self.big), self.alone.get(i, math.inf)
        past = self.inverses[min(t, s)]
        late = size * (t - s) / (self.gamma(t) * s * t) if t > s else 0.0
        wide = 4 * (size / t**2 * past + late) * log
        return math.sqrt(wide + 5 * size**2 * log**2 / (self.gamma(t) ** 2 * min(t**2, s**2)))

    def learn(self, t, p, arm, losses):
        for i in self.shows[arm]:
            self.total[i] += (1 - losses[i]) / self.seen(p, i)
        self.inverses.append(self.inverses[-1] + 1 / self.gamma(t))
        means, d = self.total / t, self.d(t)
        best = max(self.active, key=lambda i: means[i])
        for i in sorted(self.active):
            if means[best] - means[i] > 3 * self.radius(best, t) + 3 * self.radius(i, t):
                self.active.discard(i)
        for j in sorted(self.left):
            if not self.shows[j] & self.active or len(self.active) == 1:
                self.left.discard(j)
                self.tau[j], self.u[j] = t, d[j]
        for i in range(self.n):
            if not any(i in self.shows[j] for j in self.left):
                self.alone.setdefault(i, t)
        self.hostile = any(
            means[best] - means[i] <= self.radius(i, t) + self.radius(best, t)
            for i in range(self.n)
            if i not in self.active
        )


@pytest.mark.parametrize("switches", [False, True])
def test_every_round_before_the_switch_agrees_with_the_printed_formulas(switches):
    failure, scale = 0.5, 0.02
    learner, other = Kong2022(WEAK, (0, 1), failure, scale), Printed(WEAK, (0, 1), failure, scale)
    state, sizes = learner.init(), set()
    for t in range(1, 1801):
        p = other.p(t)
        assert learner.distribution(state) == pytest.approx(p, abs=1e-9)
        ticket = learner.draw(state, *uniform_pair(4, 9, t, 0))
        losses = np.array([0.9, 0.5, 0.05, 0.7, 0.95])
        if switches and t > 1200:
            losses = 1.0 - losses
        learner.update(state, ticket, losses[learner.observes(ticket.arm)])
        other.learn(t, p, ticket.arm, losses)
        assert set(learner.active(state)) == other.active
        assert set(np.flatnonzero(state.quit_at)) == set(other.tau)
        assert learner.hostile(state) == other.hostile
        sizes.add((len(other.active), len(other.left)))
        if other.hostile:
            break
    assert other.hostile == switches
    assert other.active == {2}
    assert (1, 0) in sizes  # all of the dominating set was dropped, too
    assert t > 1200


def test_estimates_are_right_on_average_on_a_weakly_observable_graph():
    learner = Kong2022(WEAK, (0, 1))
    fresh = learner.pack(learner.init()) | {"clock": np.array([5000.0, 300.0, 0.0])}
    p = learner.distribution(learner.unpack(fresh))
    assert p.min() > 0
    losses, mean = np.array([0.3, 0.9, 0.0, 1.0, 0.5]), np.zeros(5)
    for arm in range(5):
        state = learner.unpack(fresh)
        ticket = learner.draw(state, p[:arm].sum() + p[arm] / 2, 0.0)
        assert ticket.arm == arm
        learner.update(state, ticket, losses[learner.observes(arm)])
        mean += p[arm] * state.estimates
    assert mean == pytest.approx(1 - losses, abs=1e-9)


def test_after_the_switch_it_is_exp3_g_with_exploration_on_the_dominating_set():
    learner = Kong2022(WEAK, (0, 1))
    state = learner.unpack(learner.pack(learner.init()) | {"clock": np.array([101.0, 0.0, 100.0])})
    estimates, losses, u = np.zeros(5), np.array([0.9, 0.5, 0.1, 0.7, 0.8]), np.array([0.5, 0.5, 0, 0, 0])
    for s in range(1, 400):
        gamma = min((2 * math.log(5) / s) ** (1 / 3), 0.5)
        weights = np.exp(-(gamma**2) / 2 * (estimates - estimates.min()))
        p = (1 - gamma) * weights / weights.sum() + gamma * u
        assert learner.distribution(state) == pytest.approx(p, rel=1e-9)
        ticket = learner.draw(state, *uniform_pair(4, 9, s, 0))
        seen = learner.observes(ticket.arm)
        learner.update(state, ticket, losses[seen])
        for i in seen:
            estimates[i] += losses[i] / sum(p[j] for j in range(5) if i in WEAK.sees(j))
    assert estimates.argmin() == 2


def test_the_greedy_set_shows_all_arms_and_one_that_does_not_is_refused():
    rng = np.random.default_rng(6)
    for _ in range(20):
        matrix = rng.uniform(size=(9, 9)) < 0.25
        matrix[0] |= ~matrix.any(axis=0)  # some arm shows each arm
        learner = Kong2022(FeedbackGraph.from_adjacency(matrix, directed=True))
        assert matrix[list(learner.dominating)].any(axis=0).all()
        assert len(learner.dominating) < 9
    with pytest.raises(InvalidParameter, match=r"dominating is \(0, 2\), and none of these shows arm 0; add one"):
        Kong2022(WEAK, (2, 0))
    with pytest.raises(InvalidParameter, match="dominating"):
        Kong2022(WEAK, (0, 7))
    assert make_learner("kong-2022:dominating=0/1,failure=0.5", WEAK) == Kong2022(WEAK, (0, 1), 0.5)


def test_the_radius_of_a_dropped_arm_grows_again_so_that_the_rule_as_we_have_it_switches_in_the_end():
    """Exact estimates, gap 1/2, everything dropped after round ``s``: no switch at ``20 s``, but one at ``1000 s``."""
    learner = Kong2022(WEAK, (0, 1), failure=0.01, scale=0.02)
    s, gap = 400.0, 0.5
    inverses = sum(1 / min(1.0, 5 ** (2 / 3) * 2 ** (1 / 3) * k ** (-1 / 3)) for k in range(1, 401))
    for t, hostile in ((20 * s, False), (1000 * s, True)):
        means = np.array([0.1, 0.1, 0.1 + gap, 0.1, 0.1])
        state = learner.unpack(
            learner.pack(learner.init())
            | {
                "estimates": means * t,
                "active": np.array([0, 0, 1, 0, 0]),
                "quit_at": np.array([s, s, 0, 0, 0]),
                "quit_with": np.array([0.5, 0.5, 0, 0, 0]),
                "alone_at": np.full(5, s),
                "alone_sum": np.full(5, inverses),
                "clock": np.array([t, inverses, 0.0]),
            }
        )
        learner.update(state, learner.draw(state, 0.5, 0.5)._replace(arm=2, divisors=np.ones(2)), np.array([0.4, 0.9]))
        assert learner.hostile(state) == hostile


@pytest.mark.compiled
def test_where_only_a_bad_arm_shows_the_others_it_ends_up_with_the_best():
    revealing = FeedbackGraph(3, [(0, 1), (0, 2)], directed=True, self_loops=[0])
    world = stochastic([1.0, 0.2, 0.7])
    traces = play_many(make_learner("kong-2022:scale=0.02", revealing), world, 20_000, range(6))
    assert np.mean([trace.counts[1] for trace in traces]) > 0.7 * 20_000


def test_a_parameter_out_of_range_raises():
    with pytest.raises(InvalidParameter, match=r"failure is 0.*; expected a number above 0 and at most 1"):
        Kong2022(graphs.bandit(2), failure=0)
