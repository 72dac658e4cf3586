"""UCB over a window and discounted UCB against the published indices, from the list of all observations."""

from __future__ import annotations

import math

import numpy as np
import pytest

from allworlds import graphs
from allworlds.foundation.errors import InvalidParameter
from allworlds.kernels.random import uniform_pair
from allworlds.learners import UCBN, UCBDiscounted, UCBWindow
from allworlds.learners.by_name import make_learner
from allworlds.simulation import play_many
from allworlds.worlds import switching
from index_rules import GRAPHS, SHAPES, equals, losses_of, play


@SHAPES
@pytest.mark.parametrize("window", [1, 7, 60])
def test_the_window_keeps_the_last_rounds_and_nothing_else(shape, window):
    def rule(past, t, first, second):
        seen = [[loss for s, loss in pairs if s >= t - window] for pairs in past]
        bonus = 0.6 * math.log(min(t, window))
        return equals([np.mean(x) - math.sqrt(bonus / len(x)) if x else -math.inf for x in seen], first)

    assert play(UCBWindow(GRAPHS[shape](), window), rule, 200) > 0


def test_a_window_longer_than_the_run_gives_ucb_n():
    graph = graphs.cycle(5)
    rivals = UCBWindow(graph, 1000, width=2.0), UCBN(graph)
    states = [learner.init() for learner in rivals]
    for t in range(1, 300):
        losses, uniforms = np.random.default_rng([4, t]).uniform(size=5), uniform_pair(3, 9, t, 0)
        tickets = [learner.draw(state, *uniforms) for learner, state in zip(rivals, states, strict=True)]
        assert tickets[0] == tickets[1]
        for learner, state, ticket in zip(rivals, states, tickets, strict=True):
            learner.update(state, ticket, losses[learner.observes(ticket.arm)])


@SHAPES
@pytest.mark.parametrize("discount", [0.5, 0.95, 1.0])
def test_discounted_sums_follow_their_definition(shape, discount):
    graph = GRAPHS[shape]()
    learner = UCBDiscounted(graph, discount)
    state, matrix, history = learner.init(), graph.adjacency(), []
    for t in range(1, 80):
        ticket = learner.draw(state, *uniform_pair(3, 9, t, 0))
        losses = losses_of(t, graph.n_arms)
        history.append((matrix[ticket.arm], losses))
        learner.update(state, ticket, losses[learner.observes(ticket.arm)])
        weights = discount ** np.arange(t - 1, -1, -1.0)
        count = sum(w * seen for w, (seen, _) in zip(weights, history, strict=True))
        total = sum(w * seen * x for w, (seen, x) in zip(weights, history, strict=True))
        mean = total / np.where(count > 0, count, 1.0)
        index = mean - np.sqrt(2.4 * math.log(weights.sum()) / np.where(count > 0, count, 1.0))
        index[count == 0] = -math.inf
        best = learner.distribution(state) > 0
        assert np.allclose(index[best], index.min(), rtol=0, atol=1e-9)


def test_window_and_discount_are_those_of_the_paper_for_a_horizon():
    graph = graphs.bandit(2)
    assert UCBWindow(graph, horizon=10_000, changes=4).n_kept == math.ceil(2 * math.sqrt(10_000 * math.log(10_000) / 4))
    assert UCBDiscounted(graph, horizon=10_000, changes=4).factor == pytest.approx(1 - 0.25 * 0.02, rel=1e-15)
    assert (UCBWindow(graph).n_kept, UCBDiscounted(graph).factor) == (1000, 0.999)
    assert (UCBWindow(graph, 5, horizon=99).n_kept, UCBDiscounted(graph, 0.5, horizon=99).factor) == (5, 0.5)
    assert UCBWindow(graph, horizon=1).n_kept == 1


@pytest.mark.compiled
@pytest.mark.parametrize("name", ["ucb-window:window=400", "ucb-discounted:discount=0.99"])
def test_where_the_best_arm_changes_forgetting_pays(name):
    # Both regrets are against the same fixed arm, so their difference is one of losses: at most 0.3 a round.
    graph, world = graphs.disjoint_cliques(2, 3), switching(6, gap=0.3, phases=[2_500] * 7)
    kept, forgotten = (
        np.mean([trace.final_regret for trace in play_many(make_learner(each, graph), world, 20_000, range(6), jobs=1)])
        for each in ("ucb-n", name)
    )
    assert forgotten < kept - 0.04 * 20_000


@pytest.mark.parametrize(
    ("kind", "wrong", "sentence"),
    [
        (UCBWindow, {"window": 0}, "window is 0; expected an integer of at least 1"),
        (UCBWindow, {"width": 0}, "width is 0; expected a finite number above 0"),
        (UCBWindow, {"horizon": -1}, "horizon is -1; expected an integer of at least 1"),
        (UCBDiscounted, {"discount": 1.5}, "discount is 1.5; expected a number above 0 and at most 1"),
        (UCBDiscounted, {"changes": 0}, "changes is 0; expected a finite number above 0"),
    ],
)
def test_arguments_that_mean_nothing_are_refused(kind, wrong, sentence):
    with pytest.raises(InvalidParameter, match=sentence):
        kind(graphs.bandit(2), **wrong)
