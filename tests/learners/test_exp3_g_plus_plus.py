"""EXP3.G++: EXP3++ on a bandit, every arm shown at its rate by better arms, and unbiased estimates."""

from __future__ import annotations

import math

import numpy as np
import pytest

from allworlds import graphs, play_many
from allworlds.foundation.errors import InvalidParameter
from allworlds.learners import Exp3GPlusPlus, Exp3PlusPlus
from allworlds.learners.by_name import make_learner
from allworlds.worlds import one_good_arm

ROUNDS = 4001.0


def state_with(learner, means, plays, estimates=None):
    """A state of round 4001 in which every arm was seen ``plays`` times with these mean losses."""
    n = learner.n_arms
    return learner.unpack(
        {
            "cumulative_losses": np.zeros(n) if estimates is None else np.asarray(estimates, dtype=float),
            "totals": np.asarray(means) * plays,
            "seen": np.full(n, float(plays)),
            "clock": np.array([ROUNDS, n * (ROUNDS - 1.0), 0.0]),
        }
    )


def random_digraph(rng, n_arms):
    matrix = rng.uniform(size=(n_arms, n_arms)) < 0.3
    np.fill_diagonal(matrix, True)
    return matrix, graphs.FeedbackGraph.from_adjacency(matrix, directed=True)


@pytest.mark.parametrize("exploration", [0.01, 1.0, 256.0])
def test_on_a_bandit_it_is_exp3_plus_plus(exploration):
    """From the same sums, counts and round, and ``Q_s = N`` in every past round."""
    rng = np.random.default_rng(2)
    graph = graphs.bandit(5)
    learner, other = Exp3GPlusPlus(graph, exploration), Exp3PlusPlus(graph, exploration)
    for _ in range(10):
        means, estimates = rng.uniform(size=5), rng.uniform(0, 400, 5)
        state = state_with(learner, means, 800, estimates)
        same = other.unpack(
            {
                "cumulative_losses": estimates,
                "totals": means * 800,
                "played": np.full(5, 800.0),
                "clock": np.array([ROUNDS]),
            }
        )
        assert learner.distribution(state) == pytest.approx(other.distribution(same), rel=1e-9)
        assert state.clock[2] == pytest.approx(5.0)  # Q = N


def test_every_arm_is_shown_at_its_rate_by_arms_whose_gap_is_not_larger():
    rng = np.random.default_rng(3)
    positive = 0
    for _ in range(40):
        matrix, graph = random_digraph(rng, 8)
        learner = Exp3GPlusPlus(graph, exploration=0.05)
        state = state_with(learner, rng.uniform(size=8).round(1), 3000)  # some gaps are equal
        rate = 0.5 * math.sqrt(math.log(8) / (8 * ROUNDS))
        eps, gaps = state.explored, state.gaps
        positive += (gaps > 0).sum()
        for i in range(8):
            natural = 0.05 * math.log(ROUNDS) / (ROUNDS * gaps[i] ** 2) if gaps[i] > 0 else math.inf
            wanted = min(1 / 16, rate, natural)
            shown = sum(eps[j] for j in range(8) if matrix[j, i] and gaps[j] <= gaps[i])
            assert shown >= wanted * (1 - 1e-8)
            before = sum(eps[j] for j in range(8) if matrix[j, i] and gaps[j] < gaps[i])
            if before > wanted * (1 + 1e-8):  # nothing is explored for an arm that is shown enough
                assert eps[i] == 0.0
        assert eps.sum() <= 0.5
    assert positive > 100


def test_a_clique_shares_one_rate_and_the_hub_of_a_star_explores_alone_if_it_is_best():
    clique = Exp3GPlusPlus(graphs.full_information(5))
    rate = min(0.1, 0.5 * math.sqrt(math.log(5) / 5))
    assert clique.init().explored == pytest.approx(np.full(5, rate / 5))
    star = Exp3GPlusPlus(graphs.star(5), exploration=0.05)
    state = state_with(star, [0.0, 0.9, 0.8, 0.95, 1.0], 3000)
    assert np.flatnonzero(state.explored).tolist() == [0]


def test_estimates_are_right_on_average_on_a_directed_graph():
    _, graph = random_digraph(np.random.default_rng(5), 5)
    learner = Exp3GPlusPlus(graph)
    estimates = np.array([30.0, 0.0, 70.0, 10.0, 5.0])
    p = learner.distribution(state_with(learner, np.full(5, 0.5), 100, estimates))
    losses, mean = np.array([0.3, 0.9, 0.0, 1.0, 0.5]), np.zeros(5)
    for arm in range(5):
        state = state_with(learner, np.full(5, 0.5), 100, estimates)
        ticket = learner.draw(state, p[:arm].sum() + p[arm] / 2, 0.0)
        assert ticket.arm == arm
        learner.update(state, ticket, losses[learner.observes(arm)])
        mean += p[arm] * (state.cumulative_losses - estimates)
    assert mean == pytest.approx(losses, abs=1e-9)


@pytest.mark.compiled
def test_on_cliques_it_is_far_better_than_exp3_plus_plus():
    graph, world = graphs.disjoint_cliques(3, 4), one_good_arm(12, gap=0.3)
    regrets = [
        np.mean([trace.final_regret for trace in play_many(make_learner(name, graph), world, 10_000, range(6))])
        for name in ("exp3-g-plus-plus", "exp3-plus-plus")
    ]
    assert regrets[0] < 0.7 * regrets[1]


def test_a_parameter_out_of_range_raises():
    with pytest.raises(InvalidParameter, match=r"exploration is -1; expected a finite number above 0"):
        Exp3GPlusPlus(graphs.bandit(2), exploration=-1)
