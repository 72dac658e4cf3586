"""Hedge inside cliques and bandits between them: the rule written out, its extremes and its bound."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numba.core import config
from scipy.optimize import brentq

from allworlds import graphs, play_many
from allworlds.covers import CliqueCover
from allworlds.foundation.errors import InvalidParameter, InvalidState
from allworlds.kernels.random import uniform_pair
from allworlds.learners import Chen2024, Hedge, TsallisINF
from allworlds.learners.by_name import make_learner
from allworlds.learners.chen_2024 import step
from allworlds.theory.limits import cliques_lower_bound
from allworlds.worlds import one_good_arm

N_ROUNDS = 60 if config.DISABLE_JIT else 300
CLIQUES = [[0, 3, 5], [1], [2, 4]]


def losses_of(t, n_arms):
    return (np.random.default_rng([7, t]).uniform(size=n_arms) < np.linspace(0.8, 0.2, n_arms)).astype(float)


def masses_by_brent(charges, eta):
    """``1 / sqrt(y) = eta (C - x)`` with ``x`` such that ``y`` sums to one."""
    below = eta * (charges - charges.min())
    y = (below + brentq(lambda z: ((below + z) ** -2).sum() - 1, 0.9, 2 * math.sqrt(charges.size), rtol=1e-15)) ** -2
    return y / y.sum()


@pytest.mark.parametrize("horizon", [None, 500])
def test_every_round_follows_the_rule(horizon):
    """By mirror descent inside the cliques where the rate is constant, from all estimates where it is not."""
    learner = Chen2024(CliqueCover(graphs.FeedbackGraph.from_cliques(6, CLIQUES), CLIQUES), horizon)
    state = learner.init()
    logs = [math.log(len(clique) + 1) for clique in CLIQUES]
    weights = [np.full(len(clique), 1 / len(clique)) for clique in CLIQUES]
    totals, charges = [np.zeros(len(clique)) for clique in CLIQUES], np.zeros(3)
    for t in range(1, N_ROUNDS + 1):
        root = math.sqrt(horizon or t)
        rates = [each / (root * math.sqrt(sum(logs))) for each in logs]
        if horizon is None:
            weights = [np.exp(-rate * (total - total.min())) for rate, total in zip(rates, totals, strict=True)]
            weights = [each / each.sum() for each in weights]
        y, p = masses_by_brent(charges, 1 / root), np.empty(6)
        for k, clique in enumerate(CLIQUES):
            p[clique] = y[k] * weights[k]
        assert learner.distribution(state) == pytest.approx(p, rel=1e-9)
        assert learner.clique_mass(state) == pytest.approx(y, rel=1e-9)
        ticket = learner.draw(state, *uniform_pair(3, 9, t, 0))
        k = next(k for k, clique in enumerate(CLIQUES) if ticket.arm in clique)
        estimates = losses_of(t, 6)[CLIQUES[k]] / y[k]
        shrunk = weights[k] * np.exp(-rates[k] * estimates)
        charges[k] += (1 - shrunk.sum()) / rates[k]
        totals[k] += estimates
        weights[k] = shrunk / shrunk.sum()
        learner.update(state, ticket, losses_of(t, 6)[learner.observes(ticket.arm)])


def test_single_arms_are_tsallis_inf_where_hedge_is_slow():
    learner, rival = Chen2024(graphs.bandit(5), within_scale=1e-13), TsallisINF(graphs.bandit(5))
    state, other = learner.init(), rival.init()
    for t in range(1, N_ROUNDS):
        assert learner.distribution(state) == pytest.approx(rival.distribution(other), rel=1e-9)
        ticket = learner.draw(state, *uniform_pair(4, 9, t, 0))
        losses = losses_of(t, 5)[[ticket.arm]]
        learner.update(state, ticket, losses)
        rival.update(other, rival.draw(other, *uniform_pair(4, 9, t, 0)), losses)


def test_one_clique_is_hedge():
    """At its rate ``sqrt(log N / t)``; ours has ``N + 1``."""
    graph = graphs.full_information(6)
    learner, rival = Chen2024(graph, within_scale=math.sqrt(math.log(6) / math.log(7))), Hedge(graph)
    state, other = learner.init(), rival.init()
    for t in range(1, N_ROUNDS):
        assert learner.distribution(state) == pytest.approx(rival.distribution(other), rel=1e-9)
        learner.update(state, learner.draw(state, 0.5, 0.0), losses_of(t, 6))
        rival.update(other, rival.draw(other, 0.5, 0.0), losses_of(t, 6))


def test_estimates_are_right_on_average_and_charges_lack_at_most_half_a_rate():
    learner = Chen2024(CliqueCover(graphs.FeedbackGraph.from_cliques(6, CLIQUES), CLIQUES), 50)
    state = learner.init()
    state.cumulative_losses[:] = [0.0, 3.0, 9.0, 5.0, 2.0, 1.0]
    state.charges[:] = [4.0, 0.0, 7.0]
    step(state)
    p, y, packed = learner.distribution(state), learner.clique_mass(state), learner.pack(state)
    losses, estimates, charges = np.array([0.3, 1.0, 0.1, 0.7, 0.9, 0.5]), np.zeros(6), np.zeros(3)
    for arm in range(6):
        copy = learner.unpack(packed)
        ticket = learner.draw(copy, p[:arm].sum() + p[arm] / 2, 0.0)
        assert ticket.arm == arm
        learner.update(copy, ticket, losses[learner.observes(arm)])
        estimates += p[arm] * (copy.cumulative_losses - packed["cumulative_losses"])
        charges += p[arm] * (copy.charges - packed["charges"])
    assert estimates == pytest.approx(losses, rel=1e-9)
    logs = np.log([4, 2, 3])
    lacking = [p[clique] @ losses[clique] / y[k] - charges[k] for k, clique in enumerate(CLIQUES)]
    second = [p[clique] @ losses[clique] ** 2 / y[k] ** 2 for k, clique in enumerate(CLIQUES)]
    most = logs / math.sqrt(50 * logs.sum()) / 2 * np.array(second)
    assert np.all(lacking <= most)
    assert np.all(lacking >= 0.7 * most)


@pytest.mark.compiled
@pytest.mark.parametrize("anytime", [False, True])
@pytest.mark.parametrize("sizes", [[1] * 12, [4, 4, 4], [12], [1, 1, 10], [1, 1, 300]], ids=str)
def test_the_bound_holds_where_the_gap_is_hardest_and_is_not_far(sizes, anytime):
    horizon = 20_000
    order = cliques_lower_bound(sizes, horizon)
    root = math.sqrt(len(sizes) * horizon)
    bound = 4 * root + 2 * order if anytime else 3 * root + 1.5 * order
    world = one_good_arm(sum(sizes), best_arm=sum(sizes) - 1, gap=2 * order / horizon)
    learner = Chen2024(graphs.disjoint_cliques(sizes), None if anytime else horizon)
    regret = np.mean([trace.final_regret for trace in play_many(learner, world, horizon, range(8))])
    assert 0.15 * order < regret < 0.6 * bound


def test_impossible_options_and_tickets_raise():
    graph = graphs.cycle(5)
    with pytest.raises(InvalidParameter, match=r"within_scale is 0; expected a finite number above 0"):
        Chen2024(graph, within_scale=0)
    with pytest.raises(InvalidParameter, match=r"scale is -1; expected a finite number above 0"):
        Chen2024(graph, scale=-1)
    learner = make_learner("chen-2024:scale=2", graph, horizon=100)
    assert (learner.horizon, learner.scale) == (100, 2.0)
    fields = learner.draw(learner.init(), 0.5, 0.5)._asdict()
    with pytest.raises(InvalidState, match="a ticket's clique_probability is 0"):
        learner.ticket(list((fields | {"clique_probability": 0.0}).values()))
