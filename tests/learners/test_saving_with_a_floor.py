"""A saved learner continues bit for bit with a floor, too, whichever arms were pinned when a clique was expanded."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from allworlds import graphs
from allworlds.covers import clique_cover
from allworlds.ftrl import Constants
from allworlds.kernels.random import uniform_pair
from allworlds.learners import TsallisShannon


@pytest.mark.compiled
def test_packing_and_unpacking_changes_no_draw_in_any_round():
    cover = clique_cover(graphs.disjoint_cliques(3, 10))
    constants = dataclasses.replace(Constants.practical(cover), gamma=0.002, head_start=0.0)
    learner = TsallisShannon(cover, constants)
    state = learner.init()
    random = np.random.default_rng(0)
    means = random.uniform(0.2, 0.8, 30)
    for t in range(1, 1501):
        copy = learner.unpack(learner.pack(state))
        pair = uniform_pair(3, 9, t, 0)
        ticket = learner.draw(state, *pair)
        assert learner.draw(copy, *pair) == ticket
        losses = (random.random(30) < means).astype(float)[learner.observes(ticket.arm)]
        learner.update(state, ticket, losses)
        learner.update(copy, ticket, losses)
        assert [a.tobytes() for a in learner.pack(copy).values()] == [a.tobytes() for a in learner.pack(state).values()]
