"""Who beats whom where, as published: the facts that do not come from our own code."""

from __future__ import annotations

import numpy as np
import pytest

from allworlds import graphs
from allworlds.learners.by_name import make_learner
from allworlds.simulation import play_many
from allworlds.worlds import constrained_adversary, one_good_arm

pytestmark = pytest.mark.compiled


def regrets(name, graph, world, horizon, n_seeds=8):
    """(seeds, recorded rounds)."""
    traces = play_many(make_learner(name, graph), world, horizon, seeds=range(n_seeds), jobs=1)
    return traces[0].rounds, np.array([trace.pseudo_regret for trace in traces])


def mean_regret(name, graph, world, horizon, n_seeds=8):
    return float(regrets(name, graph, world, horizon, n_seeds)[1][:, -1].mean())


@pytest.mark.parametrize(
    ("name", "least", "most"),
    [("ucb-n", 6, 11), ("thompson-n", 6, 11), ("tsallis-inf", 1, 3), ("tsallis-inf-rv", 1, 3)],
)
def test_on_moving_ground_index_rules_are_near_linear_and_tsallis_inf_is_not(name, least, most):
    # Zimmert and Seldin 2021, Section 8: ten times the rounds.
    rounds, regret = regrets(name, graphs.bandit(8), constrained_adversary(8, gap=0.125), 100_000)
    early = int(np.searchsorted(rounds, 10_000))
    assert least <= regret[:, -1].mean() / regret[:, early].mean() <= most


def test_reduced_variance_beats_importance_weighting_in_a_stochastic_world():
    # Zimmert and Seldin 2021, Section 8.
    graph, world = graphs.bandit(8), one_good_arm(8, gap=0.125)
    assert mean_regret("tsallis-inf-rv", graph, world, 20_000) < 0.8 * mean_regret("tsallis-inf", graph, world, 20_000)


@pytest.mark.parametrize("size", [2, 12])
def test_thompson_beats_ucb_on_two_equal_cliques(size):
    # Hu, Mehta and Pan 2019: T = 35,000, one best arm, equal gaps.
    graph, world = graphs.disjoint_cliques(2, size), one_good_arm(2 * size, gap=0.2)
    assert mean_regret("thompson-n", graph, world, 35_000) < 0.8 * mean_regret("ucb-n", graph, world, 35_000)


def test_side_observations_help_those_who_use_them():
    graph, world = graphs.disjoint_cliques(2, 5), one_good_arm(10, gap=0.125)
    for name in ("ucb-n", "thompson-n"):
        assert mean_regret(name, graph, world, 10_000) < 0.5 * mean_regret(name, graphs.bandit(10), world, 10_000)


def test_in_a_stochastic_world_everyone_beats_uniform_play():
    graph, world = graphs.disjoint_cliques(2, 5), one_good_arm(10, gap=0.125)
    uniform = mean_regret("uniform", graph, world, 20_000)
    assert uniform == pytest.approx(0.9 * 0.125 * 20_000, rel=0.01)
    for name in ("hedge", "exp3", "tsallis-inf", "tsallis-inf-rv", "ucb-n", "ucb-maxn", "thompson-n"):
        assert mean_regret(name, graph, world, 20_000) < 0.5 * uniform
