"""Numbers of graphs: alpha, fractional covers and domination, by brute force and by hand."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import verifiers
from allworlds import graphs
from allworlds.covers import fractional_cover, independence_number, weak_domination
from allworlds.foundation.errors import InvalidGraph, InvalidParameter
from allworlds.graphs import FeedbackGraph
from problems import GRAPHS


@pytest.mark.parametrize("known", GRAPHS, ids=str)
def test_alpha_of_known_graphs_is_exact(known):
    graph = known.make()
    found = independence_number(graph)
    assert (found.lower, found.upper, found.is_exact) == (known.alpha, known.alpha, True)
    assert verifiers.is_independent(graph.adjacency(), found.arms)


@given(st.integers(1, 12), st.sampled_from([0.1, 0.4, 0.8]), st.integers(0, 10**6))
def test_alpha_of_small_graphs_is_that_of_brute_force(n, p, seed):
    graph = graphs.erdos_renyi(n, p, seed=seed)
    found = independence_number(graph)
    assert found.lower == found.upper == verifiers.independence_number(graph.adjacency())


def test_alpha_of_a_large_graph_has_two_sides():
    graph = graphs.erdos_renyi(3000, 0.01, seed=0)
    found = independence_number(graph)
    assert 400 < found.lower < found.upper < 3000
    assert verifiers.is_independent(graph.adjacency(), found.arms)


@pytest.mark.parametrize("known", GRAPHS, ids=str)
def test_the_fractional_number_lies_between_alpha_and_theta(known):
    graph = known.make()
    packing = fractional_cover(graph)
    assert known.alpha - 1e-4 <= packing.value <= known.theta
    assert verifiers.proved_bound(graph.adjacency(), packing.to_data()) == packing.bound


def test_fractional_numbers_known_by_hand():
    assert fractional_cover(graphs.cycle(9)).value == pytest.approx(4.5, abs=1e-4)
    assert fractional_cover(graphs.lu_gadgets()).value == pytest.approx(12.0, abs=1e-4)
    assert fractional_cover(graphs.disjoint_cliques(1000, 1000)).value == 1000.0


def test_too_many_maximal_cliques_are_refused():
    with pytest.raises(InvalidParameter, match="too many maximal cliques"):
        fractional_cover(graphs.erdos_renyi(3001, 0.001, seed=0))


def domination_by_definition(sees):
    """The fewest arms that see all arms that neither see themselves nor are seen by all others."""
    n = len(sees)
    weak = [j for j in range(n) if not sees[j][j] and not all(sees[i][j] for i in range(n) if i != j)]
    for k in range(n + 1):
        if any(all(any(sees[i][j] for i in arms) for j in weak) for arms in combinations(range(n), k)):
            return k
    return None


@given(st.integers(1, 8), st.sampled_from([0.2, 0.4, 0.7]), st.integers(0, 10**6))
def test_weak_domination_is_that_of_brute_force(n, p, seed):
    sees = np.random.default_rng(seed).random((n, n)) < p
    graph = FeedbackGraph.from_adjacency(sees, directed=True)
    if not sees.any(axis=0).all():
        with pytest.raises(InvalidGraph, match=f"no arm sees arm {sees.any(axis=0).argmin()}; expected"):
            weak_domination(graph)
        return
    found = weak_domination(graph)
    weak = ~np.diagonal(sees) & ~(sees | np.eye(n, dtype=bool)).all(axis=0)
    assert sees[found.arms][:, weak].any(axis=0).all()
    assert found.lower == found.upper == domination_by_definition(sees)


@given(st.integers(1, 9), st.sampled_from([0.1, 0.3, 0.6]), st.integers(0, 10**6))
def test_arms_of_a_directed_graph_are_independent_if_no_edge_joins_them_either_way(n, p, seed):
    sees = np.random.default_rng(seed).random((n, n)) < p
    found = independence_number(FeedbackGraph.from_adjacency(sees, directed=True))
    assert found.lower == found.upper == verifiers.independence_number(sees | sees.T | np.eye(n, dtype=bool))
    assert not (sees | sees.T)[np.ix_(found.arms, found.arms)][~np.eye(found.lower, dtype=bool)].any()


def test_without_an_answer_of_the_solver_domination_has_two_sides(monkeypatch):
    monkeypatch.setattr("allworlds.covers.set_cover.choose_sets", lambda holds, budget: (None, 1))
    sees = np.random.default_rng(0).random((40, 40)) < 0.08
    np.fill_diagonal(sees, False)
    sees[0, ~sees.any(axis=0)] = True
    sees[1, 0] = True
    found = weak_domination(FeedbackGraph.from_adjacency(sees, directed=True))
    assert 1 < found.lower < found.upper
    assert not found.is_exact


@pytest.mark.parametrize("number", [independence_number, weak_domination])
def test_a_matrix_is_not_taken_for_a_graph(number):
    with pytest.raises(InvalidParameter, match="graph is of type list; expected a FeedbackGraph"):
        number([[1, 0], [0, 1]])
