"""IMED-N against the published index, from the list of all observations."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import rel_entr

from allworlds import graphs
from allworlds.learners import IMEDN
from allworlds.learners.by_name import make_learner
from allworlds.simulation import play_many
from allworlds.worlds import one_good_arm
from index_rules import GRAPHS, SHAPES, equals, play


@SHAPES
def test_it_chooses_what_the_published_index_chooses(shape):
    def rule(past, t, first, second):
        seen = [[loss for _, loss in pairs] for pairs in past]
        means = [np.mean(x) if x else math.inf for x in seen]
        best = min(means)
        kl = [rel_entr(m, best) + rel_entr(1 - m, 1 - best) if x else 0.0 for m, x in zip(means, seen, strict=True)]
        return equals([len(x) * d + math.log(len(x)) if x else -math.inf for x, d in zip(seen, kl, strict=True)], first)

    assert play(IMEDN(GRAPHS[shape]()), rule) > 0


def test_the_index_of_the_best_arm_is_the_logarithm_of_its_count_and_that_of_an_impossible_one_is_infinite():
    learner = IMEDN(graphs.full_information(2))
    state = learner.init()
    for t in range(3):
        learner.update(state, learner.draw(state, 0.5, 0.5), np.array([0.0, t / 2]))
    assert learner.distribution(state).tolist() == [1.0, 0.0]
    assert state.indices.tolist() == [math.log(3), math.inf]


@pytest.mark.compiled
def test_for_bandits_the_regret_grows_as_lai_and_robbins_allow():
    # Honda and Takemura 2015: R_T / log T tends to sum Delta / kl. Growth between T = 3,000 and 30,000, many seeds.
    world, gap = one_good_arm(4, gap=0.3), 0.3
    low, high = (1 - gap) / 2, (1 + gap) / 2
    kl = high * math.log(high / low) + (1 - high) * math.log((1 - high) / (1 - low))
    traces = play_many(IMEDN(graphs.bandit(4)), world, 30_000, range(120), jobs=1)
    early = int(np.searchsorted(traces[0].rounds, 3_000))
    growth = np.mean([trace.pseudo_regret[-1] - trace.pseudo_regret[early] for trace in traces])
    slope = growth / math.log(30_000 / traces[0].rounds[early])
    assert slope == pytest.approx(3 * gap / kl, rel=0.25)


@pytest.mark.compiled
def test_it_is_ahead_of_thompson_sampling_and_of_ucb_on_cliques():
    graph, world = graphs.disjoint_cliques(5, 5), one_good_arm(25, gap=0.125)

    def regret(name):
        return np.mean([t.final_regret for t in play_many(make_learner(name, graph), world, 20_000, range(16), jobs=1)])

    assert regret("imed-n") < regret("thompson-n") < 0.5 * regret("ucb-n")
