"""Lower bounds beside closed forms, values worked out by hand, and programs written out in full."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import entropy

from allworlds import graphs
from allworlds.foundation.errors import InvalidGraph, InvalidParameter
from allworlds.theory.limits import (
    HOSTILE_START,
    adversarial_lower_bound,
    bernoulli_divergence,
    cliques_lower_bound,
    corruption_lower_bounds,
    finite_time_lower_bound,
    stochastic_lower_bound,
    weak_lower_bound,
)

ZIMMERT_SELDIN = [0.4375] + [0.5625] * 9


def kl(p, q):
    return p * np.log(p / q) + (1 - p) * np.log((1 - p) / (1 - q))


def test_orders_and_roots():
    assert adversarial_lower_bound(4, 10_000) == pytest.approx(0.06 * 200)
    assert cliques_lower_bound([1] * 9, 100) == pytest.approx(30 * np.sqrt(np.log(2)))
    assert cliques_lower_bound([3, 7], 400) == pytest.approx(20 * np.sqrt(np.log(4) + np.log(8)))
    assert weak_lower_bound(8, 3, 1000) == pytest.approx(2 * 100 / np.log(3) ** (2 / 3))
    assert corruption_lower_bounds(100, 25) == (100, 50)


def test_bad_input_is_named():
    with pytest.raises(InvalidParameter, match="independence is 0; expected an integer of at least 1"):
        adversarial_lower_bound(0, 10)
    with pytest.raises(InvalidParameter, match="sizes is empty"):
        cliques_lower_bound([], 10)
    with pytest.raises(InvalidParameter, match="n_arms is 1; expected an integer of at least 2"):
        weak_lower_bound(1, 1, 10)
    with pytest.raises(InvalidGraph, match="no arm sees arm 1"):
        stochastic_lower_bound(graphs.FeedbackGraph(2, directed=True, self_loops=[0]), [0.2, 0.4])


def test_in_a_directed_graph_an_arm_is_seen_by_its_observers():
    """Arm 0 is best; arm 1 shows arm 2 but not the other way round: playing arm 1 often enough serves both."""
    means = [0.2, 0.4, 0.9]
    graph = graphs.FeedbackGraph(3, [(1, 2)], directed=True)
    looks = [1 / kl(m, 0.2) for m in means[1:]]
    assert stochastic_lower_bound(graph, means) == pytest.approx(0.2 * max(looks))
    turned = graphs.FeedbackGraph(3, [(2, 1)], directed=True)
    assert stochastic_lower_bound(turned, means) == pytest.approx(0.7 * looks[1] + 0.2 * (looks[0] - looks[1]))


def test_a_best_arm_that_does_not_see_itself_must_be_looked_at_from_elsewhere():
    """Revealing action: arm 0 shows all, the others nothing; arm 1 is best and must be told from arm 2."""
    means = [0.9, 0.3, 0.5]
    graph = graphs.FeedbackGraph(3, [(0, 1), (0, 2)], directed=True, self_loops=[0])
    looks = max(1 / kl(0.3, 0.5), 1 / kl(0.5, 0.3), 1 / kl(0.9, 0.3))
    assert stochastic_lower_bound(graph, means) == pytest.approx(0.6 * looks)


def finite_time_in_full(graph, means):
    gaps = np.array(means) - min(means)
    values = []
    for s in range(int(np.ceil(np.log2(1 / gaps[gaps > 0].min()))) + 1):
        near = gaps <= 2.0 ** (1 - s)
        if near.sum() > 1:
            need = np.where(near, 4.0**s, 0)
            values.append(linprog(np.maximum(gaps, 2.0**-s), A_ub=-graph.adjacency().T.astype(float), b_ub=-need).fun)
    return max(values)


@pytest.mark.parametrize("seed", range(5))
def test_the_finite_time_bound_solves_its_programs(seed):
    rng = np.random.default_rng(seed)
    matrix = rng.random((6, 6)) < 0.4
    np.fill_diagonal(matrix, True)
    graph = graphs.FeedbackGraph.from_adjacency(matrix, directed=True)
    means = rng.uniform(0.1, 0.9, 6)
    assert finite_time_lower_bound(graph, means) == pytest.approx(finite_time_in_full(graph, means), rel=1e-7)


def test_the_finite_time_bound_by_hand():
    assert finite_time_lower_bound(graphs.bandit(3), [0.5, 0.75, 0.75]) == pytest.approx(12)
    assert finite_time_lower_bound(graphs.full_information(3), [0.5, 0.75, 0.75]) == pytest.approx(4)
    assert finite_time_lower_bound(graphs.bandit(2), [0.5, 0.5]) == 0.0


@pytest.mark.parametrize(("p", "q"), [(0.3, 0.7), (0.5, 0.1), (1.0, 0.25), (0.0, 0.25)])
def test_the_divergence_is_that_of_scipy(p, q):
    assert bernoulli_divergence(p, q) == pytest.approx(entropy([p, 1 - p], [q, 1 - q]))


@pytest.mark.parametrize(
    ("graph", "expected"), [(graphs.disjoint_cliques(2, 5), 3.98), (graphs.bandit(10), 35.8), (graphs.star(10), 0.0)]
)
def test_known_constants(graph, expected):
    assert stochastic_lower_bound(graph, ZIMMERT_SELDIN) == pytest.approx(expected, rel=2e-3, abs=1e-9)


def dense_program(graph, means):
    """The program written out with the full matrix."""
    mu = np.array(means)
    gaps = mu - mu.min()
    worse = np.flatnonzero(gaps > 0)
    needed = [1 / entropy([mu[i], 1 - mu[i]], [mu.min(), 1 - mu.min()]) for i in worse]
    return linprog(gaps, A_ub=-graph.adjacency()[worse].astype(float), b_ub=-np.array(needed)).fun


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("family", ["cliques", "cycle", "random"])
def test_the_constant_solves_the_linear_program(family, seed):
    graph = {
        "cliques": graphs.disjoint_cliques([1, 2, 4]),
        "cycle": graphs.cycle(7),
        "random": graphs.erdos_renyi(7, 0.4, seed),
    }[family]
    means = np.random.default_rng(seed).uniform(0.1, 0.9, 7)
    assert stochastic_lower_bound(graph, means) == pytest.approx(dense_program(graph, means), rel=1e-7, abs=1e-9)


def test_more_edges_never_raise_the_constant():
    means = np.random.default_rng(5).uniform(0.1, 0.9, 6)
    pairs = list(itertools.combinations(range(6), 2))
    values = [stochastic_lower_bound(graphs.FeedbackGraph(6, pairs[:n]), means) for n in range(len(pairs) + 1)]
    assert all(later <= earlier + 1e-9 for earlier, later in itertools.pairwise(values))
    assert values[-1] < values[0]


def test_the_hostile_bound_is_a_root():
    assert adversarial_lower_bound(10, 40_000) == pytest.approx(2 * adversarial_lower_bound(10, 10_000))
    assert adversarial_lower_bound(4, 10_000) == pytest.approx(0.06 * 200)


def test_means_of_the_wrong_number_are_refused():
    with pytest.raises(InvalidParameter, match="expected 3 numbers from 0 to 1"):
        stochastic_lower_bound(graphs.bandit(3), [0.5, 0.5])
    with pytest.raises(InvalidParameter, match="expected an integer of at least 1"):
        adversarial_lower_bound(0, 10)


def test_every_clique_pays_for_its_hardest_arm_with_its_cheapest():
    """Two cliques by hand: in each, the smallest gap times the largest number of looks that an arm needs."""
    means = [0.2, 0.5, 0.9, 0.3]
    graph = graphs.FeedbackGraph.from_cliques(4, [[0, 1], [2, 3]])
    looks = [1.0 / entropy([m, 1.0 - m], [0.2, 0.8]) for m in means[1:]]
    by_hand = 0.0 * looks[0] + 0.1 * max(looks[1], looks[2])
    assert stochastic_lower_bound(graphs.disjoint_cliques(2, 2), means) == pytest.approx(by_hand)
    assert stochastic_lower_bound(graph, means) == pytest.approx(by_hand)


def test_the_hostile_bound_begins_at_one_arm_and_one_round():
    assert adversarial_lower_bound(1, 1) == pytest.approx(0.06)
    for arms, rounds in ((0, 1), (1, 0)):
        with pytest.raises(InvalidParameter, match="expected an integer of at least 1"):
            adversarial_lower_bound(arms, rounds)
    assert HOSTILE_START == 374


def test_means_at_the_ends_are_accepted_and_beyond_them_refused():
    assert stochastic_lower_bound(graphs.bandit(2), [0.5, 1.0]) == pytest.approx(0.5 / np.log(2.0))
    assert stochastic_lower_bound(graphs.bandit(2), [0.0, 0.5]) == 0.0
    for wrong in ([0.5, 1.1], [-0.1, 0.5], [0.5, np.nan], [[0.5, 0.5]]):
        with pytest.raises(InvalidParameter, match="expected 2 numbers from 0 to 1"):
            stochastic_lower_bound(graphs.bandit(2), wrong)
