"""EXP3.G against the published rule, written with dense matrices."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from numba.core import config
from scipy.special import softmax

from allworlds import graphs, play, play_many
from allworlds.covers import CliqueCover, clique_cover
from allworlds.foundation.errors import InvalidParameter
from allworlds.kernels.random import uniform_pair
from allworlds.learners.by_name import make_learner
from allworlds.learners.dividing import spread_of
from allworlds.learners.exp3_g import Exp3G
from allworlds.worlds import one_good_arm, stochastic, switching
from estimates import GRAPHS, adjacency, mean_step

N_ROUNDS = 100 if config.DISABLE_JIT else 600
SHAPES = pytest.mark.parametrize("shape", list(GRAPHS))


def cover_of(graph):
    return clique_cover(graphs.FeedbackGraph.from_networkx(graph))


def run(learner, n_rounds=N_ROUNDS):
    """Yield (round, distribution, ticket, losses) and let the learner learn."""
    state = learner.init()
    for t in range(1, n_rounds + 1):
        ticket = learner.draw(state, *uniform_pair(1, 9, t, 0))
        losses = np.random.default_rng([2, t]).uniform(0.0, 1.0, learner.n_arms) ** np.arange(1, learner.n_arms + 1)
        yield t, learner.distribution(state), ticket, losses
        learner.update(state, ticket, losses[learner.observes(ticket.arm)])


@SHAPES
def test_with_a_horizon_it_is_the_published_multiplicative_rule(shape):
    graph = GRAPHS[shape]
    sees, n = adjacency(graph), len(graph)
    cover = cover_of(graph)
    gamma = min(math.sqrt(1.0 / (cover.n_cliques * 900)), 0.5)
    q = np.full(n, 1.0 / n)
    for _, p, ticket, losses in run(Exp3G(cover, horizon=900)):
        expected = (1.0 - gamma) * q + gamma / n
        assert np.allclose(p, expected, rtol=1e-9)
        q = q * np.exp(-2.0 * gamma * sees[ticket.arm] * losses / (sees @ expected))
        q = q / q.sum()


@SHAPES
def test_without_a_horizon_the_round_stands_for_it(shape):
    graph = GRAPHS[shape]
    sees, n = adjacency(graph), len(graph)
    cover = cover_of(graph)
    estimates = np.zeros(n)
    for t, p, ticket, losses in run(Exp3G(cover)):
        gamma = min((cover.n_cliques * t) ** -0.5, 0.5)
        expected = (1.0 - gamma) * softmax(-2.0 * gamma * estimates) + gamma / n
        assert np.allclose(p, expected, rtol=1e-9)
        assert p.min() >= gamma / n * (1 - 1e-12)
        assert ticket.probability == p[ticket.arm]
        estimates = estimates + sees[ticket.arm] * losses / (sees @ expected)


def test_only_the_number_of_cliques_counts_of_the_cover_and_may_be_replaced():
    graph = graphs.cycle(6)
    fine, coarse = CliqueCover.singletons(graph), clique_cover(graph)
    assert (fine.n_cliques, coarse.n_cliques) == (6, 3)
    for (_, p, *_), (_, q, *_) in zip(run(Exp3G(fine, independence=3), 50), run(Exp3G(coarse), 50), strict=True):
        assert p.tobytes() == q.tobytes()
    (*_, (_, p, *_)), (*_, (_, q, *_)) = run(Exp3G(fine), 50), run(Exp3G(coarse), 50)
    assert not np.allclose(p, q)


@SHAPES
def test_estimates_are_unbiased(shape):
    graph = GRAPHS[shape]
    packed = {"cumulative_losses": np.linspace(0.0, 9.0, len(graph)), "clock": np.array([30.0])}
    losses = np.random.default_rng(1).uniform(size=len(graph))
    assert np.allclose(mean_step(Exp3G(cover_of(graph)), packed, losses), losses, rtol=1e-9)


def test_a_late_outcome_is_weighted_as_when_it_was_drawn():
    graph = GRAPHS["star"]
    learner = Exp3G(cover_of(graph))
    state = learner.init()
    early = learner.draw(state, 0.5, 0.0)
    for t in range(1, 40):
        ticket = learner.draw(state, *uniform_pair(1, 9, t, 0))
        learner.update(state, ticket, np.linspace(0.0, 1.0, 6)[learner.observes(ticket.arm)])
    before = state.cumulative_losses.copy()
    learner.update(state, early, np.ones(learner.observes(early.arm).size))
    sees = adjacency(graph)
    expected = sees[early.arm] / (sees.sum(axis=0) / 6.0)  # the first distribution is uniform
    assert np.allclose(state.cumulative_losses - before, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.compiled
def test_regret_stays_below_the_published_order_in_friendly_and_hostile_worlds():
    """``sqrt(alpha T) log(N T)``, the order of [Alon et al. 2015], with constant 1; uniform play is above."""
    horizon, graph = 20_000, graphs.cycle(12)
    bound = math.sqrt(6 * horizon) * math.log(12 * horizon)
    assert bound < 0.25 * horizon * 11 / 12
    for world in (one_good_arm(12, gap=0.25), switching(12, gap=0.25)):
        for learner in (Exp3G(graph), Exp3G(graph, horizon)):
            regrets = [play(learner, world, horizon, seed).final_regret for seed in range(5)]
            assert max(regrets) < bound


def test_the_registry_hands_over_horizon_and_options():
    cover = clique_cover(graphs.cycle(5))
    assert make_learner("exp3-g", cover) == Exp3G(cover)
    assert make_learner("exp3-g:independence=2", cover, horizon=70) == Exp3G(cover, 70, 2)


def test_a_graph_is_covered_first_unless_the_independence_number_is_given():
    graph = graphs.cycle(5)
    assert Exp3G(graph) == Exp3G(clique_cover(graph)) == Exp3G(graph, independence=3)
    assert Exp3G(clique_cover(graph)).graph is graph


def test_what_is_not_a_graph_and_not_a_whole_number_raises():
    with pytest.raises(InvalidParameter, match="graph is a list; expected a FeedbackGraph"):
        Exp3G([[0, 1]])
    with pytest.raises(InvalidParameter, match=r"horizon is 0; expected an integer of at least 1"):
        Exp3G(graphs.cycle(5), horizon=0)
    with pytest.raises(InvalidParameter, match=r"independence is 2\.5; expected an integer"):
        Exp3G(graphs.cycle(5), independence=2.5)


SIGHTS = {
    "directed": [[1, 1, 0, 1], [0, 1, 1, 0], [1, 0, 1, 0], [0, 0, 1, 1]],
    "apple tasting": [[1, 1], [0, 0]],
    "directed, one arm without a loop": [[1, 1, 1, 0], [0, 1, 1, 1], [1, 0, 0, 0], [0, 1, 1, 1]],
    "loopless clique": 1 - np.eye(4),
    "revealing action": [[1, 1, 1, 1], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]],
    "loopless path": [[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]],
}
LEVELS = {"revealing action": ("weak", [0]), "loopless path": ("weak", [1, 2])}
SIGHT = pytest.mark.parametrize("sight", list(SIGHTS))


def printed_rule(sees, horizon):
    """(eta, gamma, u) of the paper; alpha and delta by trying all sets of arms."""
    n = len(sees)
    loops, others = np.diag(sees).astype(bool), (sees + np.eye(n) > 0).all(axis=0)
    weak = np.flatnonzero(~(loops | others))
    sets = [list(arms) for size in range(1, n + 1) for arms in itertools.combinations(range(n), size)]
    if weak.size:
        smallest = next(arms for arms in sets if sees[np.ix_(arms, weak)].any(axis=0).all())
        gamma = min((len(smallest) * math.log(n) / horizon) ** (1 / 3), 0.5)
        return gamma**2 / len(smallest), gamma, np.isin(np.arange(n), smallest) / len(smallest)
    if not loops.any():
        eta = min(math.sqrt(math.log(n) / (2 * horizon)), 0.25)
        return eta, 2 * eta, np.full(n, 1 / n)
    touch = (sees + sees.T) * (1 - np.eye(n))
    alpha = max(len(arms) for arms in sets if not touch[np.ix_(arms, arms)].any())
    gamma = min((1 / (alpha * horizon)) ** 0.5, 0.5)
    return 2 * gamma, gamma, np.full(n, 1 / n)


def learner_seeing(sight, **options):
    return Exp3G(graphs.FeedbackGraph.from_adjacency(SIGHTS[sight], directed=True), **options)


@SIGHT
@pytest.mark.parametrize("horizon", [400, None])
def test_directed_graphs_follow_the_printed_rule_of_their_kind(sight, horizon):
    sees = np.array(SIGHTS[sight], dtype=float)
    learner, estimates = learner_seeing(sight, horizon=horizon), np.zeros(len(sees))
    assert learner.graph.observability == LEVELS.get(sight, ("strong",))[0]
    for t, p, ticket, losses in run(learner, 60):
        eta, gamma, u = printed_rule(sees, horizon or t)
        expected = (1 - gamma) * softmax(-eta * estimates) + gamma * u
        assert np.allclose(p, expected, rtol=1e-9)
        assert learner.observes(ticket.arm).tolist() == np.flatnonzero(sees[ticket.arm]).tolist()
        estimates = estimates + sees[ticket.arm] * losses / (expected @ sees)


@SIGHT
def test_estimates_are_unbiased_where_arms_are_seen_one_way_or_not_by_themselves(sight):
    learner = learner_seeing(sight)
    n = learner.n_arms
    packed = {"cumulative_losses": np.linspace(0.0, 9.0, n), "clock": np.array([30.0])}
    losses = np.random.default_rng(1).uniform(size=n)
    assert np.allclose(mean_step(learner, packed, losses), losses, rtol=1e-9)


@pytest.mark.parametrize("sight", list(LEVELS))
def test_weakly_observable_graphs_are_explored_where_everything_is_seen(sight):
    assert np.flatnonzero(learner_seeing(sight).explorers).tolist() == LEVELS[sight][1]


def test_without_exploration_full_information_is_hedge():
    total = np.zeros(5)
    for t, p, _, losses in run(Exp3G(graphs.full_information(5), exploration=0)):
        assert np.allclose(p, softmax(-min(2.0 / math.sqrt(t), 1.0) * total), rtol=1e-9)
        total += losses


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize(
    ("sight", "means", "exponent"),
    [("revealing action", (1.0, 0.5, 0.5, 0.5), 2 / 3), ("apple tasting", (0.5, 0.5), 1 / 2)],
)
def test_regret_grows_as_fast_as_it_must(sight, means, exponent):
    """The last arm is better by ``c T^(exponent - 1)``, the gap that is hardest to find at that horizon."""
    horizons = [2**12, 2**14, 2**16, 2**18]
    regrets = []
    for horizon in horizons:
        world = stochastic(np.array(means) - np.eye(len(means))[-1] * horizon ** (exponent - 1))
        traces = play_many(learner_seeing(sight, horizon=horizon), world, horizon, range(20))
        regrets.append(np.mean([trace.final_regret for trace in traces]))
    slope = np.polyfit(np.log(horizons), np.log(regrets), 1)[0]
    assert slope == pytest.approx(exponent, abs=0.06)


@pytest.mark.parametrize("exploration", [1.5, 1.01, -0.1])
def test_an_exploration_that_is_no_share_is_refused(exploration):
    with pytest.raises(InvalidParameter, match=r"exploration is .*; expected"):
        Exp3G(graphs.bandit(3), exploration=exploration)
    assert Exp3G(graphs.bandit(3), exploration=1.0).exploration == 1.0


def test_an_arm_whose_probability_vanished_adds_nothing_to_the_spread():
    p, where = np.array([0.0, 1.0]), np.array([0, 1])
    assert spread_of(p, np.array([0.0, 0.5]), where, 0.0) == 2.0
