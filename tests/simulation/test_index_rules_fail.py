"""An attack aimed at rules that trust averages: they never recover, the default learner hardly notices."""

from __future__ import annotations

import numpy as np
import pytest

import allworlds as aw


@pytest.mark.compiled
def test_when_everything_costs_one_at_first_index_rules_stay_lost_and_the_default_learner_does_not():
    graph = aw.graphs.disjoint_cliques(10, 10)
    gap, horizon, budget = 0.125, 20_000, 1000
    world = aw.worlds.corrupted(aw.worlds.one_good_arm(100, gap, 50), budget, "all-worst")
    uniform = gap * 0.99 * (horizon - budget)  # what playing at random costs: nothing while all arms are equal

    def regret(name):
        learner = aw.make_learner(name, graph, horizon=horizon)
        return np.mean([trace.final_regret for trace in aw.play_many(learner, world, horizon, range(4))])

    assert regret("tsallis-shannon") < 0.25 * uniform
    for rule in ("ucb-n", "thompson-n"):
        assert regret(rule) > 0.75 * uniform
