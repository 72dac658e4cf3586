"""AAE-AlphaSample: phases counted by hand, the rule with sets, and the lemma on how few plays a sample takes."""

from __future__ import annotations

import math

import networkx
import numpy as np
import pytest
from numba.core import config

from allworlds import graphs, play
from allworlds.covers import clique_cover
from allworlds.foundation.errors import InvalidParameter
from allworlds.kernels.random import uniform_pair
from allworlds.learners.aae_alphasample import AAEAlphaSample
from allworlds.learners.by_name import make_learner
from allworlds.worlds import one_good_arm, stochastic

MEANS = np.array([0.0, 0.1, 0.3, 0.6, 0.9])
HAND = [(30, {0, 1, 2}), (118, {0, 1}), (472, {0, 1}), (1887, {0})]
"""Five arms, T = 1000, scale 1/10: ceil(0.2 log(10,000) 4^(r+1)) repetitions, 2 epsilon = 1/2, 1/4, 1/8, 1/16."""


def new(graph, horizon=1000, scale=0.1):
    return AAEAlphaSample(graph, horizon, scale)


def step(learner, state, t, losses, seed=1):
    ticket = learner.draw(state, *uniform_pair(seed, 9, t, 0))
    learner.update(state, ticket, losses[learner.observes(ticket.arm)])
    return ticket


def phase_ends(learner, means, n_phases):
    """Play deterministic losses; (length in rounds, arms kept) of each phase."""
    state = learner.init()
    ends, began, t, accuracy = [], 0, 0, 0.25
    while len(ends) < n_phases:
        t += 1
        step(learner, state, t, means)
        if state.clock[1] != accuracy:
            ends.append((t - began, set(learner.active(state).tolist())))
            began, accuracy = t, state.clock[1]
    return ends


def test_in_a_clique_a_phase_takes_one_play_a_repetition_and_drops_what_it_should():
    assert phase_ends(new(graphs.full_information(5)), MEANS, 4) == HAND


def test_in_a_bandit_a_repetition_plays_every_active_arm():
    n_active = [5, 3, 2, 2]
    expected = [(n * length, kept) for n, (length, kept) in zip(n_active, HAND, strict=True)]
    assert phase_ends(new(graphs.bandit(5)), MEANS, 4) == expected


def test_in_disjoint_cliques_a_repetition_plays_each_clique_that_has_an_active_arm():
    cliques = [2, 2, 1]  # arms {0, 1}, {2, 3}, {4}
    expected = [(n * length, kept) for n, (length, kept) in zip([3, 2, 1, 1], HAND, strict=True)]
    assert phase_ends(new(graphs.disjoint_cliques(cliques)), MEANS, 4) == expected


def test_the_published_lengths_are_the_default():
    """``ceil(2 log(2 * 5 * 1000) * 16) = 295`` rounds in the first phase of a clique."""
    learner = AAEAlphaSample(graphs.full_information(5), horizon=1000)
    assert phase_ends(learner, MEANS, 1) == [(295, {0, 1, 2})]


def test_an_arm_exactly_at_the_edge_is_kept():
    assert phase_ends(new(graphs.full_information(3)), np.array([0.25, 0.75, 0.8125]), 1)[0][1] == {0, 1}


class BySets:
    """The published pseudo-code, with sets and lists of samples."""

    def __init__(self, graph, horizon, scale):
        self.sees = {v: {v, *graph.neighbors(v)} for v in graph}
        self.log = 2.0 * math.log(2.0 * len(graph) * horizon) * scale
        self.active, self.accuracy = set(graph), 0.25
        self.start_phase()

    def start_phase(self):
        self.samples = {v: [] for v in self.active}
        self.left = math.ceil(self.log / self.accuracy**2)
        self.unseen = set(self.active)

    def learn(self, arm, losses):
        assert arm in self.unseen
        for v in self.sees[arm] & self.unseen:
            self.samples[v].append(losses[v])
        self.unseen -= self.sees[arm]
        if self.unseen:
            return
        self.left -= 1
        self.unseen = set(self.active)
        if self.left == 0:
            means = {v: np.mean(self.samples[v]) for v in self.active}
            self.active = {v for v in self.active if means[v] <= min(means.values()) + 2.0 * self.accuracy}
            self.accuracy /= 2.0
            self.start_phase()


@pytest.mark.parametrize(
    "graph",
    [networkx.path_graph(8), networkx.star_graph(6), networkx.gnp_random_graph(10, 0.3, seed=2)],
    ids=["path", "star", "random"],
)
def test_every_round_agrees_with_the_pseudo_code_by_sets(graph):
    n_rounds = 300 if config.DISABLE_JIT else 3000
    learner = new(graphs.FeedbackGraph.from_networkx(graph), scale=0.02)
    state, other = learner.init(), BySets(graph, 1000, 0.02)
    means = np.linspace(0.1, 0.9, len(graph))
    for t in range(1, n_rounds + 1):
        losses = (np.random.default_rng([5, t]).uniform(size=len(graph)) < means).astype(float)
        p = learner.distribution(state)
        assert set(np.flatnonzero(p)) == other.unseen
        assert np.allclose(p[p > 0], 1.0 / len(other.unseen))
        ticket = step(learner, state, t, losses)
        assert ticket.probability == p[ticket.arm]
        other.learn(ticket.arm, losses)
        assert set(learner.active(state).tolist()) == other.active
    assert len(other.active) < len(graph)


def test_an_arm_that_is_seen_twice_in_one_repetition_gives_one_sample():
    learner = new(graphs.path(3))  # 0 - 1 - 2
    state = learner.init()
    first = learner.draw(state, 0.0, 0.0)
    learner.update(state, first, np.array([0.25, 0.5]))
    second = learner.draw(state, 0.0, 0.0)
    assert (first.arm, second.arm) == (0, 2)
    learner.update(state, second, np.array([1.0, 0.75]))
    assert state.sums.tolist() == [0.25, 0.5, 0.75]


@pytest.mark.parametrize(
    ("graph", "alpha"),
    [
        (networkx.complete_graph(40), 1),
        (networkx.cycle_graph(40), 20),
        (networkx.star_graph(39), 39),
        (networkx.circulant_graph(60, [1, 2, 3, 4, 5]), 10),
        (networkx.grid_2d_graph(6, 6), 18),
    ],
    ids=["clique", "cycle", "star", "circulant", "grid"],
)
def test_a_sample_of_all_arms_takes_at_most_about_alpha_log_n_plays(graph, alpha):
    """A uniform play crosses off ``|U| / alpha`` arms or more in mean (Turán): ``alpha (1 + log N) + 1`` plays do."""
    graph = networkx.convert_node_labels_to_integers(graph)
    n = len(graph)
    learner = new(graphs.FeedbackGraph.from_networkx(graph), scale=1.0)
    state = learner.init()
    plays, samples, t = 0, 60, 0
    for _ in range(samples):
        left = state.clock[2]
        while state.clock[2] == left:
            t += 1
            step(learner, state, t, np.full(n, 0.5))
            plays += 1
    assert plays / samples <= alpha * (1.0 + math.log(n)) + 1.0
    assert plays / samples <= n


@pytest.mark.compiled
def test_the_best_arm_survives_and_is_all_that_is_played_in_the_end():
    """Gap 1/2 in a clique: gone after the second phase, 347 + 1385 rounds, with probability 1 - 1/T."""
    learner = AAEAlphaSample(graphs.full_information(5), horizon=5000)
    assert math.ceil(2 * math.log(50_000) * 16) + math.ceil(2 * math.log(50_000) * 64) == 347 + 1385
    for seed in range(20):
        trace = play(learner, one_good_arm(5, gap=0.5, best_arm=3), 5000, seed)
        late = trace.pseudo_regret[trace.rounds > 1732]
        assert late.size > 5
        assert np.ptp(late) == pytest.approx(0.0, abs=1e-9)
        assert 0.0 < late[-1] <= 0.5 * 1732


@pytest.mark.compiled
def test_the_compiled_loop_agrees_with_the_phases_counted_by_hand():
    """Three arms of a bandit at 0, 0.6 and 0.6: dropped after ``3 n_1`` rounds, so each is played ``n_1`` times."""
    n_1 = math.ceil(2 * math.log(2 * 3 * 4000) * 16)
    learner = make_learner("aae-alphasample", graphs.bandit(3), horizon=4000)
    trace = play(learner, stochastic([0.0, 0.6, 0.6], "deterministic"), 4000, seed=1)
    assert trace.counts.tolist() == [4000 - 2 * n_1, n_1, n_1]
    assert trace.final_regret == pytest.approx(0.6 * 2 * n_1)


def test_the_registry_asks_for_the_horizon_and_hands_over_the_scale():
    cover = clique_cover(graphs.cycle(5))
    assert make_learner("aae-alphasample:scale=0.5", cover, horizon=9) == AAEAlphaSample(cover.graph, 9, 0.5)
    with pytest.raises(InvalidParameter, match="aae-alphasample needs the horizon"):
        make_learner("aae-alphasample", cover)


def test_what_is_not_a_graph_or_not_a_number_raises():
    graph = graphs.cycle(5)
    with pytest.raises(InvalidParameter, match="graph is a CliqueCover; expected a FeedbackGraph"):
        AAEAlphaSample(clique_cover(graph), 100)
    with pytest.raises(InvalidParameter, match=r"horizon is 1\.5; expected an integer of at least 1"):
        AAEAlphaSample(graph, 1.5)
    for scale in (0.0, math.inf, math.nan, "1"):
        with pytest.raises(InvalidParameter, match="expected a finite number above 0"):
            AAEAlphaSample(graph, 100, scale)
