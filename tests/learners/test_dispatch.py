"""One compiled loop, many learners: each runs its own kernels, whoever ran before it."""

from __future__ import annotations

import numpy as np
import pytest

from allworlds import graphs
from allworlds.covers import clique_cover
from allworlds.learners.by_name import BY_NAME, LEARNERS, make_learner
from allworlds.learners.dispatch import visibility_of
from allworlds.simulation import play
from allworlds.simulation.python_loop import python_loop
from allworlds.simulation.trace import record_rounds
from allworlds.worlds import one_good_arm

HORIZON = 120


@pytest.mark.compiled
@pytest.mark.parametrize("graph", [graphs.disjoint_cliques(2, 3), graphs.cycle(6)], ids=["cliques", "cycle"])
def test_in_the_compiled_loop_every_learner_does_what_it_does_by_hand(graph):
    # All in one process: states that look alike to the compiler must not be taken for each other.
    world = one_good_arm(6, gap=0.3, best_arm=4)
    for name in LEARNERS:
        learner = make_learner(name, graph, horizon=HORIZON)
        compiled = play(learner, world, HORIZON, seed=3)
        by_hand = python_loop(learner, world, HORIZON, 3, record_rounds(HORIZON))
        assert compiled.counts.tolist() == by_hand.counts.tolist(), name
        assert compiled.pseudo_regret == pytest.approx(by_hand.pseudo_regret, abs=1e-9), name


def test_no_two_states_share_a_name():
    cover = clique_cover(graphs.cycle(6))
    states = [type(make_learner(name, cover, horizon=HORIZON).init()) for name in LEARNERS]
    assert len({state.__name__ for state in states}) == len(set(states)) == len(BY_NAME)


@pytest.mark.parametrize("graph", [graphs.disjoint_cliques([2, 3]), graphs.cycle(5)], ids=["cliques", "cycle"])
def test_visibilities_list_what_an_arm_shows_and_have_one_type(graph):
    expected = {
        "neighbours": [graph.sees(i).tolist() for i in range(5)],
        "itself": [[i] for i in range(5)],
        "everything": [[0, 1, 2, 3, 4]] * 5,
    }
    for shows, lists in expected.items():
        visibility = visibility_of(graph, shows)
        ends = visibility.starts[visibility.where], visibility.starts[visibility.where + 1]
        assert [visibility.order[a:b].tolist() for a, b in zip(*ends, strict=True)] == lists
        assert {(array.dtype, array.flags.writeable) for array in visibility} == {(np.dtype(np.int64), False)}
