"""UCB-N with change detection, our reconstruction: against a plain implementation, UCB-N, and worlds that change."""

from __future__ import annotations

import math

import numpy as np
import pytest

from allworlds import graphs
from allworlds.foundation.errors import InvalidParameter
from allworlds.kernels.random import uniform_pair
from allworlds.learners import UCBN, LuNonstationary
from allworlds.learners.by_name import make_learner
from allworlds.simulation import play_many
from allworlds.worlds import switching
from index_rules import GRAPHS, SHAPES, losses_of


def sudden(t, n):
    """The means turn round after 150 rounds."""
    means = np.linspace(0.98, 0.02, n)[:: 1 if t <= 150 else -1]
    return (np.random.default_rng([5, t]).uniform(size=n) < means).astype(float)


@SHAPES
@pytest.mark.parametrize("horizon", [None, 400])
def test_it_plays_and_starts_again_as_the_head_of_its_file_says(shape, horizon):
    graph, window, changes = GRAPHS[shape](), 60, 0.05
    n, matrix = graph.n_arms, graph.adjacency()
    learner = LuNonstationary(graph, window, changes, horizon=horizon)
    z = learner.plays
    state, since, restarts, restarted = learner.init(), [[] for _ in range(n)], 0, 0
    for t in range(1, 400):
        limit = math.sqrt(window * math.log(2 * n * (horizon or t) ** 2) / 2)
        gamma = min(1.0, math.sqrt(changes * z.sum() * (2 * limit + 3 * math.sqrt(window)) / (2 * (horizon or t))))
        bonus = 2 * math.log(t - restarted)
        index = np.array([np.mean(x) - math.sqrt(bonus / len(x)) if x else -math.inf for x in since])
        best = index == index.min()
        expected = gamma * z / z.sum() + (1 - gamma) * best / best.sum()
        assert np.allclose(learner.distribution(state), expected, rtol=0, atol=1e-12)
        ticket = learner.draw(state, *uniform_pair(3, 9, t, 0))
        losses = sudden(t, n)
        for i in np.flatnonzero(matrix[ticket.arm]):
            since[i].append(losses[i])
        learner.update(state, ticket, losses[learner.observes(ticket.arm)])
        halves = [(x[-window // 2 :], x[-window : -window // 2]) for x in since if len(x) >= window]
        if any(abs(sum(newer) - sum(older)) > limit for newer, older in halves):
            since, restarts, restarted = [[] for _ in range(n)], restarts + 1, t
        assert learner.restarts(state) == restarts
        assert state.newer == pytest.approx([sum(x[-window // 2 :]) for x in since], abs=1e-9)
        assert state.older == pytest.approx([sum(x[-window : -window // 2]) for x in since], abs=1e-9)
    assert shape not in ("full", "cliques", "star") or restarts > 0


def test_without_exploration_and_detection_it_is_ucb_n():
    graph = graphs.cycle(5)
    rivals = LuNonstationary(graph, 1000, explore=0.0), UCBN(graph)
    states = [learner.init() for learner in rivals]
    for t in range(1, 300):
        uniforms, losses = uniform_pair(3, 9, t, 0), losses_of(t, 5)
        assert rivals[0].distribution(states[0]).tolist() == rivals[1].distribution(states[1]).tolist()
        arm = rivals[1].draw(states[1], *uniforms).arm
        for learner, state in zip(rivals, states, strict=True):
            ticket = learner.draw(state, *uniforms)._replace(arm=arm)
            learner.update(state, ticket, losses[learner.observes(arm)])


@pytest.mark.compiled
def test_where_the_best_arm_changes_it_is_ahead_of_ucb_n():
    # Both regrets are against the same fixed arm, so their difference is one of losses: at most 0.6 a round.
    graph, world = graphs.disjoint_cliques(2, 3), switching(6, gap=0.6, phases=[5_000] * 3)
    kept, restarted = (
        np.mean([t.final_regret for t in play_many(make_learner(name, graph, 20_000), world, 20_000, range(6), jobs=1)])
        for name in ("ucb-n", "lu-nonstationary:window=200,changes=3")
    )
    assert restarted < kept - 0.02 * 20_000


@pytest.mark.compiled
def test_where_nothing_changes_it_hardly_ever_starts_again():
    # A false alarm has the probability 1 / (N T²) for each arm and round; there are N T of them in a run.
    learner = LuNonstationary(graphs.full_information(4), 50, horizon=2_000)
    alarms = 0
    for seed in range(5):
        state, rng = learner.init(), np.random.default_rng(seed)
        for t in range(1, 2_001):
            ticket = learner.draw(state, *uniform_pair(seed, 9, t, 0))
            learner.update(state, ticket, (rng.uniform(size=4) < 0.5).astype(float))
        alarms += learner.restarts(state)
    assert alarms == 0


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"window": 1}, "window is 1; expected an integer of at least 2"),
        ({"changes": 0}, "changes is 0; expected a finite number above 0"),
        ({"explore": 1.5}, "explore is 1.5; expected a number from 0 to 1"),
        ({"width": 0}, "width is 0; expected a finite number above 0"),
        ({"horizon": 0}, "horizon is 0; expected an integer of at least 1"),
    ],
)
def test_arguments_that_mean_nothing_are_refused(wrong, sentence):
    with pytest.raises(InvalidParameter, match=sentence):
        LuNonstationary(graphs.bandit(2), **wrong)


@pytest.mark.parametrize(("asked", "window"), [(2, 2), (5, 6), (6, 6)])
def test_a_window_has_two_equal_halves_and_is_no_shorter_than_asked(asked, window):
    assert LuNonstationary(graphs.bandit(2), asked).window == window
