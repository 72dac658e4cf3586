"""The null rival learns nothing and favours nobody."""

from __future__ import annotations

import numpy as np
import pytest

from allworlds import graphs
from allworlds.covers import clique_cover
from allworlds.foundation.errors import InvalidParameter
from allworlds.learners import Uniform


@pytest.mark.parametrize("n_arms", [1, 3, 7, 49])
def test_an_even_grid_of_uniforms_gives_every_arm_its_share(n_arms):
    learner = Uniform(graphs.bandit(n_arms))
    state = learner.init()
    side = 10 * n_arms
    arms = [learner.draw(state, (k + 0.5) / side, 0.0).arm for k in range(side)]
    assert np.bincount(arms, minlength=n_arms).tolist() == [10] * n_arms


@pytest.mark.parametrize("n_arms", [1, 3, 5, 49, 1000])
def test_the_last_uniform_below_one_gives_the_last_arm(n_arms):
    learner = Uniform(graphs.bandit(n_arms))
    assert learner.draw(learner.init(), np.nextafter(1.0, 0.0), 0.0).arm == n_arms - 1


def test_nothing_is_learnt():
    learner = Uniform(graphs.disjoint_cliques(2, 2))
    state = learner.init()
    for t in range(100):
        ticket = learner.draw(state, t / 100, 0.0)
        assert (ticket.arm, ticket.probability, ticket.round) == (t // 25, 0.25, t + 1)
        learner.update(state, ticket, np.array([float(ticket.arm > 0)]))
    assert learner.distribution(state).tolist() == [0.25] * 4


def test_a_cover_in_place_of_the_graph_raises_and_the_error_says_where_its_graph_is():
    sentence = r"graph is a CliqueCover; expected a FeedbackGraph; cover\.graph is that of a cover"
    with pytest.raises(InvalidParameter, match=sentence):
        Uniform(clique_cover(graphs.bandit(3)))
