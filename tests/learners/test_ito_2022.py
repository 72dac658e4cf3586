"""The adaptive rate and the shares written out, right estimates on average, and regret in both worlds."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numba.core import config

from allworlds import graphs, play_many
from allworlds.foundation.errors import InvalidGraph, InvalidParameter
from allworlds.graphs.changing import changing
from allworlds.kernels.random import uniform_pair
from allworlds.learners import Ito2022
from allworlds.learners.by_name import make_learner
from allworlds.learners.ito_2022 import BETA, ROUND, resolve
from allworlds.worlds import one_good_arm
from estimates import mean_step

N_ROUNDS = 60 if config.DISABLE_JIT else 300
STRONG = {
    "bandit": (lambda: graphs.bandit(4), 4),
    "ring of arrows": (lambda: graphs.directed_cycle(5), 2),
    "star of arrows": (lambda: graphs.loopy_star(5), 4),
    "clique without loops": (lambda: graphs.loopless_clique(4), 1),
    "apple tasting": (graphs.apple_tasting, 1),
}
"""Strongly observable graphs, with their independence numbers."""
WEAK = {
    "revealing action": (lambda: graphs.revealing_action(4), [1, 0, 0, 0]),
    "clique with a gap": (lambda: graphs.clique_with_a_gap(4), None),
    "star without loops": (
        lambda: graphs.FeedbackGraph(3, [(0, 1), (0, 2), (1, 0), (2, 0)], directed=True, self_loops=False),
        [1, 0.5, 0.5],  # all others see the middle, so it is strongly observable, but it must be seen too
    ),
    "ring without loops": (lambda: graphs.directed_cycle(5, self_loops=False), [1, 1, 1, 1, 1]),
}
"""Weakly observable graphs, with the plays that show every arm."""


def losses_of(t, n_arms):
    return (np.random.default_rng([8, t]).uniform(size=n_arms) < np.linspace(0.1, 0.9, n_arms)).astype(float)


def entropy(q):
    return -sum(x * math.log(x) for x in q if x > 0)


def softmax(x):
    weights = np.exp(x - x.max())
    return weights / weights.sum()


@pytest.mark.parametrize(("horizon", "scale"), [(None, 1.0), (1000, 1.0), (1000, 0.01)])
@pytest.mark.parametrize("shape", list(STRONG))
def test_on_strongly_observable_graphs_every_round_follows_the_rule(shape, horizon, scale):
    """With the small scale ``beta'`` is below one at first."""
    graph, alpha = STRONG[shape][0](), STRONG[shape][1]
    n, sees = graph.n_arms, graph.adjacency().astype(float)
    learner = Ito2022(graph, horizon, scale=scale)
    assert learner.number == alpha
    totals, entropies, state = np.zeros(n), [], learner.init()
    betas = []
    for t in range(1, N_ROUNDS + 1):
        rounds = max(3, horizon or t - 1)  # the step to beta'_t was made in round t - 1
        c = scale * math.sqrt(alpha * math.log(rounds) * math.log(n * rounds) / math.log(n))
        betas.append(c if t == 1 else betas[-1] + c / math.sqrt(1 + sum(entropies) / math.log(n)))
        beta = max(1.0, betas[-1])
        q = softmax(-totals / beta)
        entropies.append(entropy(q))
        p = (1 - 1 / (2 * beta)) * q + 1 / (2 * beta * n)
        assert learner.distribution(state) == pytest.approx(p, rel=1e-9)
        ticket = learner.draw(state, *uniform_pair(5, 9, t, 0))
        losses = losses_of(t, n)
        totals = totals + sees[ticket.arm] * losses / (p @ sees)
        learner.update(state, ticket, losses[learner.observes(ticket.arm)])


@pytest.mark.parametrize("horizon", [None, 1000])
@pytest.mark.parametrize("shape", list(WEAK))
def test_on_weakly_observable_graphs_every_round_follows_the_rule(shape, horizon):
    graph, plays = WEAK[shape][0](), WEAK[shape][1]
    n, sees = graph.n_arms, graph.adjacency().astype(float)
    learner = Ito2022(graph, horizon)
    plays = learner.plays() if plays is None else np.array(plays, dtype=float)
    delta, u = plays.sum(), plays / plays.sum()
    assert learner.number == pytest.approx(delta)
    beta, totals, b, a, ratios, state = 4 * delta, np.zeros(n), [], [], [], learner.init()
    for t in range(1, N_ROUNDS + 1):
        rounds = max(3, horizon or t)
        c1 = (delta * math.log(rounds) * math.log(n * rounds)) ** (1 / 3)
        c2 = math.sqrt(delta * math.log(rounds))
        q = softmax(-totals / beta)
        b.append(np.sort(q)[:-1].sum())
        a.append(entropy(q))
        share = c1 * b[-1] / (4 * (c1 + sum(b) ** (1 / 3)))
        gamma = share + delta / beta
        assert 0 < gamma <= 0.5
        p = (1 - gamma) * q + gamma * u
        assert learner.distribution(state) == pytest.approx(p, rel=1e-8)
        ticket = learner.draw(state, *uniform_pair(6, 9, t, 0))
        losses = losses_of(t, n)
        totals = totals + sees[ticket.arm] * losses / (p @ sees)
        beta += c2 * b[-1] / share / math.sqrt(c1 + sum(ratios[s] * a[s + 1] for s in range(t - 1)))
        ratios.append(b[-1] / share)
        learner.update(state, ticket, losses[learner.observes(ticket.arm)])


def test_the_first_rates_of_two_arms_by_hand():
    """With ``T = 3`` and equal losses ``H_t = log 2``: ``beta' = c (1 + 1 / sqrt(2) + 1 / sqrt(3) + ...)``."""
    learner = Ito2022(graphs.full_information(2), horizon=3)
    state, c = learner.init(), math.sqrt(math.log(3) * math.log(6) / math.log(2))
    for t in range(1, 6):
        assert state.clock[BETA] == pytest.approx(c * sum(1 / math.sqrt(s) for s in range(1, t + 1)), rel=1e-12)
        learner.update(state, learner.draw(state, 0.3, 0.0), np.ones(2))


def test_once_the_weights_have_settled_the_inverse_rate_grows_like_the_rounds():
    learner = Ito2022(graphs.full_information(3), horizon=1000)
    state = learner.init()
    state.cumulative_losses[1:] = 1e6
    resolve(state)
    start = state.clock[BETA]
    for _ in range(10):
        learner.update(state, learner.draw(state, 0.0, 0.0), np.array([0.0, 1.0, 1.0]))
    assert state.clock[BETA] == pytest.approx(11 * start, rel=1e-12)  # no entropy: a step of c each round
    assert state.clock[ROUND] == 11.0


@pytest.mark.parametrize("shape", [*STRONG, *WEAK])
def test_estimates_are_right_on_average(shape):
    graph = (STRONG | WEAK)[shape][0]()
    n, learner = graph.n_arms, Ito2022(graph, horizon=10)
    state = learner.init()
    state.cumulative_losses[:] = np.linspace(9.0, 0.0, n)
    losses = np.linspace(0.2, 1.0, n)
    assert mean_step(learner, learner.pack(state), losses) == pytest.approx(losses, rel=1e-9)


@pytest.mark.parametrize("shape", list(WEAK))
def test_arms_that_do_not_see_themselves_cannot_get_an_estimate_above_the_inverse_rate(shape):
    """``P_t(i) >= gamma_t / delta >= 1 / beta_t``, even where one arm has all the weight."""
    graph = WEAK[shape][0]()
    learner = Ito2022(graph, horizon=1000)
    for favourite in range(graph.n_arms):
        state = learner.init()
        state.cumulative_losses[:] = 1e5
        state.cumulative_losses[favourite] = 0.0
        resolve(state)
        seen = learner.distribution(state) @ graph.adjacency()
        assert seen[~graph.self_loops].min() >= (1 - 1e-9) / state.clock[BETA]


def mean_regret(learner, gap, horizon, seeds):
    world = one_good_arm(learner.n_arms, gap=gap, best_arm=2)
    return np.mean([trace.final_regret for trace in play_many(learner, world, horizon, range(seeds))])


def exponent(regrets, horizons):
    return math.log(regrets[1] / regrets[0]) / math.log(horizons[1] / horizons[0])


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("graph", "power"),
    [(graphs.disjoint_cliques(3, 2), 1 / 2), (graphs.loopless_clique(6), 1 / 2), (graphs.revealing_action(4), 2 / 3)],
    ids=["cliques", "loopless", "weak"],
)
def test_regret_grows_slowly_where_the_gap_stays_and_at_the_minimax_rate_up_to_logarithms_where_it_shrinks(
    graph, power
):
    """A cube of logarithms has the exponent 0.26 between the first horizons; uniform play has 1, and then ``power``.

    The published order is ``T^power (log(T) log(N T))^(1 - power)``. With ``scale=1`` logarithms show only later.
    """
    learner, horizons = Ito2022(graph, scale=0.3), (32_000, 256_000)
    stays = [mean_regret(learner, 0.4, horizon, 4) for horizon in horizons]
    assert 0.05 < exponent(stays, horizons) < power - 0.15
    horizons, regrets = (4_000, 32_000), []
    for horizon in horizons:
        gap = (12 if power == 1 / 2 else 5) * horizon ** (power - 1)
        regrets.append(mean_regret(learner, gap, horizon, 16))
        assert regrets[-1] < 0.75 * gap * horizon * (1 - 1 / graph.n_arms)
    published = [t**power * (math.log(t) * math.log(graph.n_arms * t)) ** (1 - power) for t in horizons]
    assert power - 0.1 < exponent(regrets, horizons) < exponent(published, horizons) + 0.1


def test_impossible_options_and_graphs_raise():
    graph = graphs.cycle(5)
    with pytest.raises(InvalidParameter, match=r"number is 0\.5; expected a finite number of at least 1"):
        Ito2022(graph, number=0.5)
    with pytest.raises(InvalidParameter, match=r"scale is 0; expected a finite number above 0"):
        Ito2022(graph, scale=0)
    with pytest.raises(InvalidGraph, match="which ito-2022 does not take"):
        Ito2022(changing([graphs.bandit(6), graphs.full_information(6)], told="after"))
    assert make_learner("ito-2022:scale=0.5", graph, horizon=100) == Ito2022(graph, 100, scale=0.5)
