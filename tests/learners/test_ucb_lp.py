"""UCB-LP, our reconstruction: its phases against a plain implementation of what the head of its file says."""

from __future__ import annotations

import math

import numpy as np
import pytest

from allworlds import graphs
from allworlds.foundation.errors import InvalidParameter
from allworlds.kernels.random import uniform_pair
from allworlds.learners import UCBLP
from allworlds.learners.by_name import make_learner
from allworlds.simulation import play_many
from allworlds.worlds import one_good_arm
from index_rules import GRAPHS, SHAPES


def phases(learner, losses_of):
    """Yield, round by round, the arms that may be played; take back the arm that was."""
    n, matrix, horizon = learner.n_arms, learner.graph.adjacency(), learner.horizon
    total, count, active = np.zeros(n), np.zeros(n), set(range(n))
    t, before, z = 1, 0, learner.plays

    def see(arm):
        nonlocal t, total, count
        losses = losses_of(t, n)
        total, count, t = total + matrix[arm] * losses, count + matrix[arm], t + 1

    for m in range(math.floor(0.5 * math.log2(horizon / math.e)) + 1):
        width = 2.0**-m
        enough = math.ceil(2 * math.log(horizon * width**2) / width**2)
        if len(active) == 1:
            break
        if z.sum() <= 2 * len(active) * width:
            due = np.ceil(z * (enough - before) - 1e-9)
            while due.max() > 0:
                arm = yield set(np.flatnonzero(due == due.max()).tolist())
                due[arm] -= 1
                see(arm)
        else:
            while min(count[i] for i in active) < enough:
                least = min(count[i] for i in active)
                see((yield {i for i in active if count[i] == least}))
        radius = math.sqrt(math.log(horizon * width**2) / (2 * enough))
        best = min(total[i] / count[i] for i in active)
        active, before = {i for i in active if total[i] / count[i] <= best + 2 * radius}, enough
    while True:
        best = min(total[i] / count[i] for i in active)
        see((yield {i for i in active if total[i] / count[i] == best}))


def world(t, n):
    return (np.random.default_rng([5, t]).uniform(size=n) < np.linspace(0.95, 0.1, n)).astype(float)


@SHAPES
def test_it_plays_what_its_phases_say(shape):
    learner = UCBLP(GRAPHS[shape](), horizon=3000)
    state, reference = learner.init(), phases(learner, world)
    allowed, kinds = next(reference), set()
    for t in range(1, 3000):
        assert np.flatnonzero(learner.distribution(state)).tolist() == sorted(allowed)
        ticket = learner.draw(state, *uniform_pair(3, 9, t, 0))
        kinds.add(float(state.clock[2]))
        learner.update(state, ticket, world(t, learner.n_arms)[learner.observes(ticket.arm)])
        allowed = reference.send(ticket.arm)
    assert 2.0 in kinds  # it settles
    assert learner.n_arms - 1 in learner.active(state)


def test_a_phase_by_the_program_shows_every_arm_as_often_as_elimination_needs():
    learner = UCBLP(graphs.lu_gadgets(), horizon=1000)
    state = learner.init()
    for t in range(1, 1000):
        if state.clock[1] > 0:
            break
        ticket = learner.draw(state, *uniform_pair(3, 9, t, 0))
        learner.update(state, ticket, np.ones(learner.observes(ticket.arm).size))
    assert state.seen.min() >= math.ceil(2 * math.log(1000))
    assert t - 1 <= 6 * math.ceil(2 * math.log(1000)) + 30  # the domination of the gadgets is 6; each arm rounds up


def test_with_a_horizon_too_short_for_a_phase_it_plays_the_best_mean():
    learner = UCBLP(graphs.bandit(3), horizon=2)
    state = learner.init()
    assert learner.distribution(state).tolist() == [1 / 3] * 3
    learner.update(state, learner.draw(state, 0.5, 0.0), np.array([1.0]))
    assert learner.distribution(state).tolist() == [0.0, 1.0, 0.0]


@pytest.mark.compiled
def test_on_a_star_it_is_far_ahead_of_the_same_rule_without_a_hub():
    world = one_good_arm(20, gap=0.4, best_arm=1)
    star, bandit = (
        np.mean(
            [t.final_regret for t in play_many(make_learner("ucb-lp", graph, 20_000), world, 20_000, range(6), jobs=1)]
        )
        for graph in (graphs.star(20), graphs.bandit(20))
    )
    assert 10 < star < 0.3 * bandit


def test_a_horizon_that_means_nothing_is_refused():
    with pytest.raises(InvalidParameter, match="horizon is 0; expected an integer of at least 1"):
        UCBLP(graphs.bandit(2), 0)
