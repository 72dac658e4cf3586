"""AAE on independent sets: its sweeps, what it drops, and its bound."""

from __future__ import annotations

import math

import numpy as np
import pytest

from allworlds import graphs
from allworlds.foundation.errors import InvalidParameter
from allworlds.kernels.random import uniform_pair
from allworlds.learners import AAEIndependent
from allworlds.simulation import play_many
from allworlds.worlds import one_good_arm
from index_rules import GRAPHS

SHAPES = pytest.mark.parametrize("shape", [shape for shape in GRAPHS if shape != "directed"])


@SHAPES
@pytest.mark.parametrize("horizon", [None, 5000])
def test_a_sweep_is_a_maximal_independent_set_and_drops_what_the_radius_rules_out(shape, horizon):
    graph = GRAPHS[shape]()
    n, matrix = graph.n_arms, graph.adjacency()
    learner = AAEIndependent(graph, horizon, scale=0.2)
    state = learner.init()
    past, played, active, dropped = [[] for _ in range(n)], [], set(range(n)), 0
    for t in range(1, 1500):
        ticket = learner.draw(state, *uniform_pair(4, 9, t, 0))
        assert ticket.arm in active
        assert not any(matrix[ticket.arm, other] for other in played)
        played.append(ticket.arm)
        losses = (np.random.default_rng([5, t]).uniform(size=n) < np.linspace(0.9, 0.1, n)).astype(float)
        for i in np.flatnonzero(matrix[ticket.arm]):
            past[i].append(losses[i])
        learner.update(state, ticket, losses[learner.observes(ticket.arm)])
        if all(matrix[i, played].any() for i in active):  # maximal: the sweep is over
            rounds = horizon or t
            radius = {i: math.sqrt(0.2 * math.log(2 * n * rounds**2) / (2 * len(past[i]))) for i in active}
            ceiling = min(np.mean(past[i]) + radius[i] for i in active)
            kept = {i for i in active if np.mean(past[i]) - radius[i] <= ceiling}
            dropped += len(active - kept)
            active, played = kept, []
        assert learner.active(state).tolist() == sorted(active)
    assert dropped > 0
    assert n - 1 in active


@pytest.mark.compiled
def test_its_regret_is_below_the_published_bound_and_above_half_of_what_seeing_the_gap_costs():
    # 32 log(2NT/delta) log T sum over an independent set of 1/Delta, delta = 1/T.
    graph, horizon, gap = graphs.disjoint_cliques(3, 4), 60_000, 0.3
    traces = play_many(AAEIndependent(graph, horizon), one_good_arm(12, gap=gap), horizon, range(8), jobs=1)
    regret = np.mean([trace.final_regret for trace in traces])
    # An arm is dropped once 2 radii are about the gap: O = 2 log(2 N T²) / gap² sweeps of 3 plays.
    sweeps = 2 * math.log(2 * 12 * horizon**2) / gap**2
    assert 0.5 * 3 * gap * sweeps * 11 / 12 < regret < 1.5 * 3 * gap * sweeps
    assert regret < 32 * math.log(2 * 12 * horizon**2) * math.log(horizon) * 3 / gap


def test_arguments_that_mean_nothing_are_refused():
    with pytest.raises(InvalidParameter, match="scale is 0; expected a finite number above 0"):
        AAEIndependent(graphs.bandit(2), scale=0)
    with pytest.raises(InvalidParameter, match="horizon is 0; expected an integer of at least 1"):
        AAEIndependent(graphs.bandit(2), 0)
