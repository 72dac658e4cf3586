"""SPM-FTRL against the published recursion, Tsallis-INF on single arms, and the shape of its bounds."""

from __future__ import annotations

import math
from functools import partial

import networkx
import numpy as np
import pytest
from numba.core import config
from scipy.optimize import brentq

from allworlds import graphs, play_many
from allworlds.covers import independence_number
from allworlds.foundation.errors import InvalidParameter
from allworlds.kernels.random import uniform_pair
from allworlds.learners import SPMFTRL, TsallisINF
from allworlds.learners.by_name import make_learner
from allworlds.learners.spm_ftrl import BETA, step
from allworlds.learners.tsallis_inf import tsallis_weights
from allworlds.worlds import one_good_arm
from estimates import mean_step

N_ROUNDS = 40 if config.DISABLE_JIT else 150
GRAPHS = {
    "bandit": networkx.empty_graph(4),
    "full information": networkx.complete_graph(5),
    "cycle": networkx.cycle_graph(7),
    "star": networkx.star_graph(5),
}


def learner_on(graph, **options):
    return SPMFTRL(graphs.FeedbackGraph.from_networkx(graph), **options)


def losses_of(t, n_arms):
    return (np.random.default_rng([4, t]).uniform(size=n_arms) < np.linspace(0.2, 0.8, n_arms)).astype(float)


def by_brent(losses, beta, second, a):
    """``beta p^(a-1) + second p^-a = L - x`` with ``x`` such that ``p`` sums to one, by Brent's method."""
    losses = losses - losses.min()

    def price(p):
        return beta * p ** (a - 1.0) + second * p**-a

    def shares(x):
        return np.array(
            [math.exp(brentq(lambda w, g=loss - x: price(math.exp(w)) - g, -300.0, 1.0, rtol=1e-15)) for loss in losses]
        )

    x = brentq(lambda x: shares(x).sum() - 1.0, -1.1 * price(1.0 / losses.size), -0.9 * price(1.0), rtol=1e-15)
    return shares(x)


@pytest.mark.parametrize("beta1", [None, 2.0], ids=["paper", "bold"])
@pytest.mark.parametrize("shape", list(GRAPHS))
def test_every_round_follows_the_published_formulas(shape, beta1):
    graph = GRAPHS[shape]
    n, sees = len(graph), networkx.to_numpy_array(graph) + np.eye(len(graph))
    learner = learner_on(graph, beta1=beta1)
    a = learner.index
    beta = 4 * n / (1 - a) if beta1 is None else beta1
    second = 0.0 if a <= 0.5 else 32 * n / ((1 - a) ** 2 * 4 * n / (1 - a))
    estimates, state = np.zeros(n), learner.init()
    for t in range(1, N_ROUNDS + 1):
        p = by_brent(estimates, beta, second, a)
        assert learner.distribution(state) == pytest.approx(p, rel=1e-9)
        assert state.clock[BETA] == pytest.approx(beta, rel=1e-11)
        ticket = learner.draw(state, *uniform_pair(1, 9, t, 0))
        chance = sees @ p
        losses = losses_of(t, n)
        estimates = estimates + sees[ticket.arm] * losses / chance
        h = np.sum(p**a - p) / a
        z = np.sum(np.minimum(p, min(p.max(), 1 - p.max())) ** (2 - a) / chance) / (1 - a)
        beta = beta + z / (beta * h)
        learner.update(state, ticket, losses[learner.observes(ticket.arm)])


def test_the_first_rate_on_single_arms_by_hand():
    """Uniform on N arms: ``h = 2 (sqrt(N) - 1)`` and ``z = 2 sqrt(N)``."""
    learner = SPMFTRL(graphs.bandit(9))
    assert (learner.index, learner.beta1, learner.betabar) == (0.5, 72.0, 0.0)
    state = learner.init()
    ticket = learner.draw(state, 0.5, 0.0)
    assert ticket.spread == pytest.approx(3.0 / 2.0)
    learner.update(state, ticket, np.array([1.0]))
    assert state.clock[BETA] == pytest.approx(72.0 + 1.5 / 72.0)


def test_with_the_rate_of_tsallis_inf_it_is_tsallis_inf():
    """The slopes are ``beta p^(-1/2)`` here and ``2 p^(-1/2) / eta`` there, with ``eta = 2 / sqrt(t)``."""
    learner = SPMFTRL(graphs.bandit(6))
    state, expected = learner.init(), np.empty(6)
    for t in range(1, 200):
        state.clock[BETA] = math.sqrt(t)
        step(state)
        tsallis_weights(state.cumulative_losses, 2.0 / math.sqrt(t), 1.0, expected)
        assert learner.distribution(state) == pytest.approx(expected, rel=1e-9)
        ticket = learner.draw(state, *uniform_pair(2, 9, t, 0))
        learner.update(state, ticket, losses_of(t, 6)[[ticket.arm]])


@pytest.mark.parametrize("shape", list(GRAPHS))
def test_estimates_are_right_on_average(shape):
    learner = learner_on(GRAPHS[shape], beta1=2.0)
    state, n = learner.init(), learner.n_arms
    for t in range(1, 40):
        ticket = learner.draw(state, *uniform_pair(3, 9, t, 0))
        learner.update(state, ticket, losses_of(t, n)[learner.observes(ticket.arm)])
    losses = np.linspace(0.1, 0.9, n)
    assert mean_step(learner, learner.pack(state), losses) == pytest.approx(losses, rel=1e-9)


def test_a_late_outcome_grows_the_rate_by_what_its_own_round_says():
    learner = learner_on(GRAPHS["star"], beta1=2.0)
    state = learner.init()
    early = learner.draw(state, 0.5, 0.0)
    for t in range(1, 30):
        ticket = learner.draw(state, *uniform_pair(1, 9, t, 0))
        learner.update(state, ticket, losses_of(t, 6)[learner.observes(ticket.arm)])
    assert early.spread != pytest.approx(state.clock[3])
    before = state.clock[BETA]
    learner.update(state, early, np.ones(2))
    assert state.clock[BETA] == pytest.approx(before + early.spread / before)


def test_the_index_comes_from_the_independence_number_unless_it_is_given():
    graph = graphs.lu_gadgets()
    alpha = independence_number(graph).upper
    assert SPMFTRL(graph).index == SPMFTRL(graph, independence=alpha).index > 0.6
    assert make_learner("spm-ftrl:index=0.7,beta1=3", graph) == SPMFTRL(graph, 0.7, 3.0)
    assert SPMFTRL(graph, 0.7).independence is None


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"index": 0.0}, "index is 0.0; expected a finite number above 0"),
        ({"index": 1.0}, "index is 1.0; expected a number above 0 and below 1"),
        ({"beta1": 0}, "beta1 is 0; expected a finite number above 0"),
        ({"betabar": -1}, "betabar is -1; expected a finite number of at least 0"),
        ({"independence": 0}, "independence is 0; expected a finite number of at least 1"),
    ],
)
def test_impossible_options_raise(options, sentence):
    with pytest.raises(InvalidParameter, match=sentence):
        SPMFTRL(graphs.cycle(5), **options)


@pytest.mark.compiled
def test_on_single_arms_its_regret_is_near_that_of_tsallis_inf():
    graph, world = graphs.bandit(8), one_good_arm(8, gap=0.2)

    def regret(learner):
        return np.mean([trace.final_regret for trace in play_many(learner, world, 20_000, range(8))])

    assert 0.6 < regret(SPMFTRL(graph, beta1=1.0)) / regret(TsallisINF(graph)) < 1.6


@pytest.mark.compiled
def test_regret_is_logarithmic_where_stochastic_and_follows_the_root_of_rounds_where_gaps_shrink():
    graph = graphs.disjoint_cliques(3, 4)

    def regret(horizon, gap):
        runs = play_many(SPMFTRL(graph), one_good_arm(12, gap=gap), horizon, range(6))
        return np.mean([trace.final_regret for trace in runs])

    assert regret(160_000, 0.2) < 1.5 * regret(40_000, 0.2)
    assert 1.6 < regret(160_000, 4.0 / 400.0) / regret(40_000, 4.0 / 200.0) < 2.4


@pytest.mark.compiled
def test_seeing_more_costs_less():
    """Regret falls with the independence number: a bandit, a cycle, one clique.

    The constants of the paper would hide it for the first hundred thousand rounds.
    """
    shapes = (graphs.bandit(12), graphs.cycle(12), graphs.full_information(12))
    bold = partial(SPMFTRL, beta1=5.0, betabar=0.0)
    world = one_good_arm(12, gap=0.2)
    regrets = [
        np.mean([trace.final_regret for trace in play_many(bold(graph), world, 10_000, range(6))]) for graph in shapes
    ]
    assert regrets[0] > 1.3 * regrets[1] > 1.3 * 1.3 * regrets[2]
