"""Graphs that change or are noisy, inside the loops: each round has the graph that ``graph_of`` says, and its noise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import softmax

from allworlds import graphs
from allworlds.graphs import FeedbackGraph, changing, noisy
from allworlds.graphs.features import FEATURES
from allworlds.kernels.random import STREAM_LEARNER, uniform_pair
from allworlds.learners import UCBN, Exp3IX, Exp3WIX
from allworlds.learners.base import accepts_graph
from allworlds.learners.by_name import LEARNERS, make_learner
from allworlds.simulation import play, record_rounds
from allworlds.simulation.python_loop import python_loop
from allworlds.worlds import Reactive
from instances_of_worlds import CLEAN, N_ARMS, bare

HORIZON, SEED = 150, 7
CHANGING = {
    "random edges": graphs.random_edges(N_ARMS, 0.4),
    "random directed edges, in blocks": changing(graphs.first_price_bids(N_ARMS), 4, probability=0.6),
    "in turn": changing([graphs.star(N_ARMS), graphs.directed_cycle(N_ARMS), graphs.bandit(N_ARMS)], period=3),
    "told before": graphs.random_edges(N_ARMS, 0.4, told="before"),
}
SHAPES = pytest.mark.parametrize("shape", list(CHANGING))


class OpenUCB(UCBN):
    """Takes any graph, so that the loop can be tested on graphs that UCB-N is not made for."""

    accepts = frozenset(FEATURES)


class Copycat:
    """Chooses the arms that it is told, and remembers what it is shown."""

    def __init__(self, arms, graph):
        self.arms, self.graph, self.shown = arms, graph, []

    def choose(self):
        return self.arms[len(self.shown)]

    def observe(self, arm, losses):
        self.shown.append(losses)


class Table(Reactive):
    """The losses of a world, as a class of one's own."""

    def __init__(self, losses):
        self.table, self.n_arms = losses, losses.shape[1]

    def losses(self, round):
        return self.table[round - 1]


@SHAPES
@pytest.mark.parametrize("implicit", [True, False], ids=["exp3-ix", "exp3-set"])
def test_the_compiled_loop_plays_on_the_graph_of_each_round(shape, implicit):
    graph, world = CHANGING[shape], CLEAN["bernoulli"]
    losses = bare(world, HORIZON, SEED).losses
    estimates, spent, counts = np.zeros(N_ARMS), 0.0, np.zeros(N_ARMS, dtype=int)
    for t in range(1, HORIZON + 1):  # the published formulas, fed from graph_of
        sees = graph.graph_of(t, SEED).adjacency()
        rate = math.sqrt(math.log(N_ARMS) / (N_ARMS + spent))
        p = softmax(-rate * estimates)
        first, _ = uniform_pair(SEED, STREAM_LEARNER, t, 0)
        arm = int(np.searchsorted(np.cumsum(p), first, side="right"))
        divisors = sees.T @ p + (rate if implicit else 0.0)
        estimates += sees[arm] * losses[t - 1] / divisors
        spent += np.sum(p / divisors)
        counts[arm] += 1
    assert play(Exp3IX(graph, implicit), world, HORIZON, SEED).counts.tolist() == counts.tolist()


@SHAPES
def test_a_plain_learner_is_shown_what_the_graph_of_the_round_shows(shape):
    graph, world = CHANGING[shape], CLEAN["beta"]
    losses = bare(world, HORIZON, SEED).losses
    arms = np.random.default_rng(2).integers(N_ARMS, size=HORIZON).tolist()
    for place in (world, Table(losses)):
        learner = Copycat(arms, graph)
        play(learner, place, HORIZON, SEED)
        for t, (arm, shown) in enumerate(zip(arms, learner.shown, strict=True), start=1):
            assert shown == {j: losses[t - 1, j] for j in graph.graph_of(t, SEED).sees(arm).tolist()}


TAKERS = [
    (name, shape)
    for name, recipe in LEARNERS.items()
    for shape, graph in CHANGING.items()
    if accepts_graph(recipe.kind, graph)
]


@pytest.mark.parametrize(("name", "shape"), TAKERS)
def test_compiled_play_is_play_by_hand_for_every_learner_that_takes_the_graph(name, shape):
    one, other = (make_learner(name, CHANGING[shape], HORIZON) for _ in range(2))
    compiled = play(one, CLEAN["bernoulli"], HORIZON, SEED)
    by_hand = python_loop(other, CLEAN["bernoulli"], HORIZON, SEED, record_rounds(HORIZON))
    assert compiled.counts.tolist() == by_hand.counts.tolist()
    np.testing.assert_allclose(compiled.pseudo_regret, by_hand.pseudo_regret, atol=1e-9)


def test_some_learners_take_changing_graphs():
    assert {"exp3-ix", "exp3-set", "ucb-n", "thompson-n"} <= {name for name, _ in TAKERS}


def test_runs_that_share_a_learner_do_not_share_its_graph():
    learner = Exp3IX(CHANGING["random edges"])
    alone = [play(learner, CLEAN["bernoulli"], HORIZON, seed).counts.tolist() for seed in range(4)]
    states = [learner.init() for _ in range(2)]
    assert states[0].visibility.order is not states[1].visibility.order
    assert [play(learner, CLEAN["bernoulli"], HORIZON, seed).counts.tolist() for seed in range(4)] == alone


WEIGHTS = np.random.default_rng(5).random((N_ARMS, N_ARMS))
WEIGHTS[WEIGHTS < 0.2] = 0.0
np.fill_diagonal(WEIGHTS, 1.0)


@pytest.mark.compiled
def test_noise_is_added_by_weight_has_mean_zero_and_its_range():
    world, rounds = CLEAN["deterministic"], 3000
    losses = bare(world, 1, SEED).losses[0]
    for arm in range(2):
        learner = Copycat([arm] * rounds, noisy(WEIGHTS, noise=0.25))
        play(learner, world, rounds, SEED)
        assert all(set(shown) == set(np.flatnonzero(WEIGHTS[arm]).tolist()) for shown in learner.shown)
        for j in np.flatnonzero(WEIGHTS[arm]).tolist():
            s = WEIGHTS[arm, j]
            noise = np.array([shown[j] for shown in learner.shown]) - s * losses[j]
            assert np.abs(noise).max() <= 0.25 * (1 - s) + 1e-12
            assert s == 1.0 or np.abs(noise).max() > 0.249 * (1 - s)
            assert abs(noise.mean()) <= 4.5 * 0.25 * (1 - s) / math.sqrt(3 * rounds) + 1e-12


def test_the_compiled_loop_adds_the_same_noise_as_the_loop_by_hand():
    graph = noisy(WEIGHTS)
    compiled = play(OpenUCB(graph), CLEAN["beta"], HORIZON, SEED)
    by_hand = python_loop(OpenUCB(graph), CLEAN["beta"], HORIZON, SEED, record_rounds(HORIZON))
    assert compiled.counts.tolist() == by_hand.counts.tolist()
    clear = play(OpenUCB(FeedbackGraph.from_adjacency(WEIGHTS > 0, directed=True)), CLEAN["beta"], HORIZON, SEED)
    assert compiled.counts.tolist() != clear.counts.tolist()


def test_weights_of_one_and_zero_are_the_graph_itself():
    plain = graphs.first_price_bids(N_ARMS)
    learners = Exp3WIX(plain, noise=0.5), Exp3WIX(noisy(plain.adjacency().astype(float)), noise=0.5)
    one, other = (play(learner, CLEAN["bernoulli"], HORIZON, SEED) for learner in learners)
    assert one.counts.tolist() == other.counts.tolist()


def test_arms_that_show_nothing_are_played_and_teach_nothing():
    learner = Copycat([1, 0, 2] * 4, graphs.revealing_action(N_ARMS))
    play(learner, CLEAN["beta"], 12, SEED)
    assert [len(shown) for shown in learner.shown] == [0, N_ARMS, 0] * 4
    trace = play(OpenUCB(graphs.revealing_action(N_ARMS)), CLEAN["bernoulli"], HORIZON, SEED)
    assert trace.counts.sum() == HORIZON
