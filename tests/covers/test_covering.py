"""clique_cover: always valid, never below its bound, proved where it says so; independent_set too."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import verifiers
from allworlds import graphs
from allworlds.covers import clique_cover, independent_set
from allworlds.covers.greedy import dsatur
from allworlds.foundation.errors import InvalidParameter
from allworlds.graphs import FeedbackGraph
from problems import GRAPHS


@st.composite
def matrices(draw, n=None):
    """A symmetric matrix of bools with a true diagonal, sparse, dense or between."""
    n = n or draw(st.integers(1, 9))
    chance = draw(st.sampled_from([0.15, 0.5, 0.85]))
    dice = np.random.default_rng(draw(st.integers(0, 2**32 - 1))).random((n, n))
    upper = np.triu(dice < chance, 1)
    return upper | upper.T | np.eye(n, dtype=bool)


def dsatur_by_definition(matrix):
    """DSATUR on the complement, straight from its rule: slow, and without a line of the package."""
    n = len(matrix)
    cliques = []
    left = set(range(n))
    degree = matrix.sum(axis=1) - 1
    while left:
        takers = {arm: [c for c in cliques if all(matrix[arm][other] for other in c)] for arm in left}
        arm = min(left, key=lambda arm: (len(takers[arm]), degree[arm], arm))
        if takers[arm]:
            takers[arm][0].append(arm)
        else:
            cliques.append([arm])
        left.remove(arm)
    return [sorted(clique) for clique in cliques]


@given(matrices())
def test_small_covers_are_valid_and_minimum_and_their_proof_holds(matrix):
    cover = clique_cover(FeedbackGraph.from_adjacency(matrix))
    assert verifiers.is_clique_cover(matrix, cover.cliques)
    assert cover.n_cliques == verifiers.clique_cover_number(matrix) == cover.lower_bound
    assert verifiers.proved_bound(matrix, cover.certificate.to_data()) == cover.lower_bound
    cover.certificate.check(cover.graph)


def test_the_kernel_follows_the_rule_of_dsatur():
    for n, chance in [(12, 0.15), (12, 0.5), (12, 0.85), (60, 0.1), (60, 0.5), (60, 0.9)]:
        graph = graphs.erdos_renyi(n, chance, seed=3)
        owner = dsatur(*graph._storage.neighbours())
        cliques = [np.flatnonzero(owner == clique).tolist() for clique in range(owner.max() + 1)]
        assert cliques == dsatur_by_definition(graph.adjacency())


@given(st.integers(1, 5), st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_the_cover_is_minimum_where_the_complement_is_bipartite(left, right, seed):
    rng = np.random.default_rng(seed)
    matrix = np.ones((left + right, left + right), dtype=bool)
    across = rng.random((left, right)) < 0.5
    matrix[:left, left:], matrix[left:, :left] = across, across.T
    matrix = verifiers.relabelled(matrix, rng.permutation(left + right))
    graph = FeedbackGraph.from_adjacency(matrix)
    assert dsatur(*graph._storage.neighbours()).max() == (0 if across.all() else 1)
    assert clique_cover(graph).is_minimum


@given(matrices(), st.randoms(use_true_random=False))
def test_a_relabelled_graph_gets_a_valid_cover_too(matrix, random):
    permutation = list(range(len(matrix)))
    random.shuffle(permutation)
    renamed = verifiers.relabelled(matrix, permutation)
    cover = clique_cover(FeedbackGraph.from_adjacency(renamed))
    assert verifiers.is_clique_cover(renamed, cover.cliques)
    assert cover.n_cliques >= verifiers.clique_cover_number(matrix)


def fewest_neighbours_first_by_definition(matrix):
    taken, left = [], set(range(len(matrix)))
    while left:
        arm = min(left, key=lambda arm: (sum(matrix[arm][other] for other in left), arm))
        taken.append(arm)
        left -= {other for other in left if matrix[arm][other]}
    return sorted(taken)


@given(matrices(n=12))
def test_the_greedy_set_takes_the_arm_with_the_fewest_neighbours_left(matrix):
    graph = FeedbackGraph.from_adjacency(matrix)
    assert independent_set(graph).tolist() == fewest_neighbours_first_by_definition(matrix)


@given(matrices())
def test_a_greedy_set_is_independent_maximal_and_sorted(matrix):
    arms = independent_set(FeedbackGraph.from_adjacency(matrix))
    assert arms.tolist() == sorted(set(arms.tolist()))
    assert verifiers.is_independent(matrix, arms)
    assert matrix[arms].any(axis=0).all()  # every arm is in the set or sees one of it


@pytest.mark.parametrize("known", GRAPHS, ids=str)
def test_known_graphs_get_their_number_with_a_proof(known):
    graph = known.make()
    cover = clique_cover(graph)
    assert verifiers.is_clique_cover(graph.adjacency(), cover.cliques)
    assert cover.n_cliques == known.theta
    assert verifiers.proved_bound(graph.adjacency(), cover.certificate.to_data()) == known.theta
    assert verifiers.is_independent(graph.adjacency(), independent_set(graph))
    assert len(independent_set(graph)) <= known.alpha


def test_disjoint_cliques_are_read_off_wherever_they_come_from():
    owner = np.random.default_rng(5).integers(4, size=30)
    graph = FeedbackGraph.from_adjacency(owner[:, None] == owner[None, :])
    cover = clique_cover(graph)
    assert (cover.method, cover.is_minimum, cover.n_cliques) == ("structure", True, 4)
    assert verifiers.is_clique_cover(graph.adjacency(), cover.cliques)


@pytest.mark.compiled
def test_equal_graphs_get_equal_covers():
    graph = graphs.erdos_renyi(50, 0.3, seed=1)
    assert clique_cover(graph) == clique_cover(FeedbackGraph.from_adjacency(graph.adjacency()))


@pytest.mark.parametrize("time_limit", [None, 1, 0.5, np.float64(2.0), float("inf")])
def test_what_is_solved_by_structure_needs_no_time(time_limit):
    assert clique_cover(graphs.cycle(7), time_limit) == clique_cover(graphs.cycle(7))


@pytest.mark.parametrize("time_limit", [0, -1.0, float("nan"), True, "10"])
def test_a_bad_time_limit_is_refused(time_limit):
    with pytest.raises(InvalidParameter, match=r"time_limit is .*; expected a finite number above 0"):
        clique_cover(graphs.cycle(7), time_limit=time_limit)


@pytest.mark.parametrize("ask", [clique_cover, independent_set])
def test_only_feedback_graphs_are_covered(ask):
    with pytest.raises(InvalidParameter, match="graph is of type list; expected a FeedbackGraph"):
        ask([(0, 1)])
