"""UCB-V-N, MOSS, MOSS-N and UCB-NE against the published indices, from the list of all observations."""

from __future__ import annotations

import math

import numpy as np
import pytest

from allworlds import graphs
from allworlds.foundation.errors import InvalidGraph, InvalidParameter
from allworlds.learners import MOSS, MOSSN, UCBN, UCBNE, UCBVN
from allworlds.simulation import play_many
from allworlds.worlds import one_good_arm, stochastic
from index_rules import GRAPHS, SHAPES, by_index, play


def fractions_of(t, n_arms):
    """(N,) losses that are multiples of 1/16, so that sums of them and of their squares are exact."""
    return np.random.default_rng([9, t]).integers(0, 17 - np.arange(n_arms) % 8, n_arms) / 16


@SHAPES
@pytest.mark.parametrize("zeta", [1.2, 0.3])
def test_ucb_v_n_chooses_what_the_published_index_chooses(shape, zeta):
    def index(losses, t, arm):
        level = zeta * math.log(t)
        variance = max(0.0, float((losses**2).sum() / losses.size - (losses.sum() / losses.size) ** 2))
        assert variance == pytest.approx(losses.var(), abs=1e-12)
        mean = losses.sum() / losses.size
        return mean - math.sqrt(2 * variance * level / losses.size) - 3 * level / losses.size

    assert play(UCBVN(GRAPHS[shape](), zeta), by_index(index), world=fractions_of) > 0


@pytest.mark.compiled
def test_ucb_v_keeps_the_published_bound_and_gains_where_losses_hardly_vary():
    # Audibert, Munos and Szepesvári 2009: 10 log(T) sum (sigma²/Delta + 2) for zeta = 1.2.
    means = np.array([0.01, 0.06, 0.06, 0.06])
    world, horizon = stochastic(means), 50_000
    bound = 10 * math.log(horizon) * sum(m * (1 - m) / 0.05 + 2 for m in means[1:])
    by_variance, by_width = (
        np.mean([trace.final_regret for trace in play_many(kind(graphs.bandit(4)), world, horizon, range(8), jobs=1)])
        for kind in (UCBVN, UCBN)
    )
    assert 20 < by_variance < bound
    assert by_variance < 0.5 * by_width


@SHAPES
@pytest.mark.parametrize("horizon", [None, 200, 5000])
def test_moss_n_chooses_what_the_published_index_chooses(shape, horizon):
    graph = GRAPHS[shape]()

    def index(losses, t, arm):
        count = losses.size
        if horizon is None:
            bonus = (1 + 1.35) / 2 * max(0.0, math.log(t / (graph.n_arms * count))) / count
        else:
            bonus = max(0.0, math.log(horizon / (graph.n_arms * count))) / count
        return losses.mean() - math.sqrt(bonus)

    assert play(MOSSN(graph, horizon), by_index(index)) > 0


def test_moss_is_moss_n_for_an_arm_that_shows_only_itself():
    def index(losses, t, arm):
        return losses.mean() - math.sqrt(max(0.0, math.log(300 / (6 * losses.size))) / losses.size)

    assert play(MOSS(graphs.star(6), 300), by_index(index)) > 0


@pytest.mark.compiled
def test_moss_keeps_the_published_bound_where_the_gap_is_hardest_and_grows_as_the_root_of_the_horizon():
    regrets = []
    for horizon in (2_000, 32_000):
        gap = 2 * math.sqrt(5 / horizon)
        traces = play_many(MOSS(graphs.bandit(5), horizon), one_good_arm(5, gap=gap), horizon, range(40), jobs=1)
        regrets.append(np.mean([trace.final_regret for trace in traces]))
        assert 0.1 * math.sqrt(5 * horizon) < regrets[-1] < 49 * math.sqrt(5 * horizon)
    assert math.log(regrets[1] / regrets[0]) / math.log(16) == pytest.approx(0.5, abs=0.1)


@pytest.mark.parametrize("shape", [shape for shape in GRAPHS if shape != "directed"])
@pytest.mark.parametrize("width", [2.0, 0.5])
def test_ucb_ne_chooses_what_the_published_index_chooses(shape, width):
    graph = GRAPHS[shape]()

    def index(losses, t, arm):
        neighbours = graph.degree(arm) + 1
        bonus = width * (math.log(t) + 0.25 * math.log(neighbours))
        assert bonus == pytest.approx(width * math.log(neighbours**0.25 * t), abs=1e-12)
        return losses.mean() - math.sqrt(bonus / losses.size)

    assert play(UCBNE(graph, width), by_index(index)) > 0


def test_arguments_that_mean_nothing_and_graphs_without_degrees_are_refused():
    with pytest.raises(InvalidParameter, match="zeta is 0; expected a finite number above 0"):
        UCBVN(graphs.bandit(2), 0)
    with pytest.raises(InvalidParameter, match="width is -1; expected a finite number above 0"):
        UCBNE(graphs.bandit(2), -1)
    for kind in (MOSS, MOSSN):
        with pytest.raises(InvalidParameter, match="horizon is 0; expected an integer of at least 1"):
            kind(graphs.bandit(2), 0)
    with pytest.raises(InvalidGraph, match="which ucb-ne does not take"):
        UCBNE(GRAPHS["directed"]())
