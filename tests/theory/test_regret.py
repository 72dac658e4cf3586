from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import entropy

import allworlds as aw
from allworlds import graphs
from allworlds.foundation.errors import InvalidParameter
from allworlds.theory import arm_gaps, clique_gaps, corruption_level, pseudo_regret, realised_regret
from allworlds.theory.regret import (
    HOSTILE_START,
    bernoulli_divergence,
    hostile_lower_bound,
    stochastic_lower_bound,
)


def test_corruption_is_the_sum_of_the_largest_change_of_each_round() -> None:
    clean = np.array([[0.2, 0.8, 0.5], [0.0, 1.0, 0.5], [0.3, 0.3, 0.3]])
    played = np.array([[0.2, 0.3, 0.9], [0.0, 1.0, 0.5], [1.0, 0.3, 0.0]])
    assert corruption_level(played, clean) == pytest.approx(0.5 + 0.0 + 0.7)


def test_corruption_of_several_runs_is_their_mean() -> None:
    clean = np.zeros((2, 3, 2))
    played = clean.copy()
    played[1, :, 0] = 1.0
    assert corruption_level(played, clean) == 1.5


def test_pseudo_regret_in_a_stochastic_world_is_the_mean_gap_that_was_played() -> None:
    """Section 2: with l = mu in every round the regret is sum_t sum_i p_ti delta_i."""
    rng = np.random.default_rng(0)
    means = np.array([0.3, 0.1, 0.7])
    p = rng.dirichlet(np.ones(3), size=50)
    assert pseudo_regret(p, np.tile(means, (50, 1))) == pytest.approx(float((p @ arm_gaps(means)).sum()))


def test_the_comparator_of_pseudo_regret_is_one_arm_for_all_runs() -> None:
    """min over arms of the expectation, not the expectation of the minimum."""
    losses = np.array([[[0.0, 1.0]], [[1.0, 0.0]]])
    p = np.full((2, 1, 2), 0.5)
    assert pseudo_regret(p, losses) == 0.0


def test_realised_regret_counts_what_the_drawn_arms_cost() -> None:
    losses = np.array([[0.0, 1.0], [1.0, 0.5], [0.0, 1.0]])
    assert realised_regret([1, 1, 0], losses) == pytest.approx(1.5 - 1.0)


def test_the_gap_of_a_clique_leaves_out_the_best_arm() -> None:
    cover = aw.clique_cover(aw.graphs.disjoint_cliques([3, 2, 1]))
    means = [0.5, 0.1, 0.3, 0.6, 0.4, 0.9]
    np.testing.assert_allclose(clique_gaps(means, cover), [0.2, 0.3, 0.8])


def test_a_best_clique_of_one_arm_has_gap_zero() -> None:
    cover = aw.clique_cover(aw.graphs.disjoint_cliques([1, 2]))
    np.testing.assert_allclose(clique_gaps([0.1, 0.3, 0.2], cover), [0.0, 0.1])


def test_the_gap_of_a_clique_follows_the_cover_and_not_the_order_of_the_arms() -> None:
    graph = aw.FeedbackGraph(4, [(0, 2), (1, 3)])
    cover = aw.CliqueCover(graph, [[1, 3], [0, 2]])
    np.testing.assert_allclose(clique_gaps([0.0, 0.5, 0.25, 0.75], cover), [0.5, 0.25])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: corruption_level([[0.0]], [[0.0, 1.0]]), "shape"),
        (lambda: pseudo_regret([0.5, 0.5], [0.0, 1.0]), "shape"),
        (lambda: realised_regret([0.5], [[0.0, 1.0]]), "arm numbers"),
        (lambda: arm_gaps([0.0, float("nan")]), "finite"),
        (lambda: arm_gaps([]), "one finite number"),
        (lambda: arm_gaps(["a"]), "expected numbers in a regular shape"),
        (lambda: pseudo_regret("a", "b"), "expected numbers in a regular shape"),
        (lambda: pseudo_regret([[float("nan")]], [[0.5]]), "not finite"),
        (lambda: pseudo_regret(np.zeros((0, 3)), np.zeros((0, 3))), "none of them 0"),
        (lambda: realised_regret([5], [[0.0, 1.0]]), "expected 0 to 1"),
        (lambda: clique_gaps([0.1, 0.2], aw.clique_cover(aw.graphs.bandit(3))), "got 2 means for 3 arms"),
        (lambda: clique_gaps([0.1, 0.1, 0.3], aw.clique_cover(aw.graphs.bandit(3))), "unique best arm"),
    ],
)
def test_arrays_that_do_not_fit_are_refused_in_a_sentence(call, words: str) -> None:
    with pytest.raises(InvalidParameter, match=words):
        call()


ZIMMERT_SELDIN = [0.4375] + [0.5625] * 9


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
    return linprog(gaps, A_ub=-graph.adjacency().T[worse].astype(float), b_ub=-np.array(needed)).fun


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("family", ["cliques", "cycle", "random", "directed"])
def test_the_constant_solves_the_linear_program(family, seed):
    graph = {
        "cliques": graphs.disjoint_cliques([1, 2, 4]),
        "cycle": graphs.cycle(7),
        "random": graphs.erdos_renyi(7, 0.4, seed),
        "directed": graphs.random_directed(7, 0.3, seed=seed),
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
    assert hostile_lower_bound(10, 40_000) == pytest.approx(2 * hostile_lower_bound(10, 10_000))
    assert hostile_lower_bound(4, 10_000) == pytest.approx(0.06 * 200)


def test_means_of_the_wrong_number_are_refused():
    with pytest.raises(InvalidParameter, match="expected 3 numbers from 0 to 1"):
        stochastic_lower_bound(graphs.bandit(3), [0.5, 0.5])
    with pytest.raises(InvalidParameter, match="expected at least 1 of each"):
        hostile_lower_bound(0, 10)


def test_every_clique_pays_for_its_hardest_arm_with_its_cheapest():
    """Two cliques by hand: in each, the smallest gap times the largest number of looks that an arm needs."""
    means = [0.2, 0.5, 0.9, 0.3]
    graph = graphs.FeedbackGraph.from_cliques(4, [[0, 1], [2, 3]])
    looks = [1.0 / entropy([m, 1.0 - m], [0.2, 0.8]) for m in means[1:]]
    by_hand = 0.0 * looks[0] + 0.1 * max(looks[1], looks[2])
    assert stochastic_lower_bound(graphs.disjoint_cliques(2, 2), means) == pytest.approx(by_hand)
    assert stochastic_lower_bound(graph, means) == pytest.approx(by_hand)


def test_the_hostile_bound_begins_at_one_arm_and_one_round():
    assert hostile_lower_bound(1, 1) == pytest.approx(0.06)
    for arms, rounds in ((0, 1), (1, 0)):
        with pytest.raises(InvalidParameter, match="expected at least 1 of each"):
            hostile_lower_bound(arms, rounds)
    assert HOSTILE_START == 374


def test_means_at_the_ends_are_accepted_and_beyond_them_refused():
    assert stochastic_lower_bound(graphs.bandit(2), [0.5, 1.0]) == pytest.approx(0.5 / np.log(2.0))
    assert stochastic_lower_bound(graphs.bandit(2), [0.0, 0.5]) == 0.0
    for wrong in ([0.5, 1.1], [-0.1, 0.5], [0.5, np.nan], [[0.5, 0.5]]):
        with pytest.raises(InvalidParameter, match="expected 2 numbers from 0 to 1"):
            stochastic_lower_bound(graphs.bandit(2), wrong)
