"""Matchings of graphs without triangles, against networkx; their certificates by definition."""

from __future__ import annotations

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import verifiers
from allworlds.covers.matching import matching_cover
from allworlds.graphs import FeedbackGraph


@st.composite
def triangle_free(draw, most=14):
    """A random graph that lost an edge of each triangle."""
    n, p = draw(st.integers(2, most)), draw(st.sampled_from([0.15, 0.3, 0.5]))
    graph = networkx.gnp_random_graph(n, p, seed=draw(st.integers(0, 10**6)))
    return without_triangles(graph)


def without_triangles(graph):
    for one, other in list(graph.edges):
        if set(graph[one]) & set(graph[other]):
            graph.remove_edge(one, other)
    return graph


def check(graph):
    whole = FeedbackGraph.from_networkx(graph)
    owner, certificate = matching_cover(*whole._storage.neighbours())
    matrix, n_cliques = whole.adjacency(), int(owner.max()) + 1
    assert verifiers.is_clique_cover(matrix, [np.flatnonzero(owner == k) for k in range(n_cliques)])
    assert n_cliques == len(graph) - len(networkx.max_weight_matching(graph, maxcardinality=True))
    assert verifiers.proved_bound(matrix, certificate.to_data()) == n_cliques
    return certificate


@given(triangle_free())
def test_the_cover_is_as_small_as_the_largest_matching_allows_and_is_proved(graph):
    check(graph)


@pytest.mark.parametrize("seed", range(6))
def test_larger_graphs_with_odd_cycles_are_matched_as_networkx_matches_them(seed):
    check(without_triangles(networkx.gnp_random_graph(150, 0.02, seed=seed)))
    check(without_triangles(networkx.random_regular_graph(3, 90, seed=seed)))


@pytest.mark.parametrize("seed", range(3))
def test_two_sides_are_proved_by_independent_arms(seed):
    graph = networkx.bipartite.random_graph(40, 30, 0.05, seed=seed)
    assert check(networkx.Graph(graph)).to_data()["kind"] == "independent arms"


def test_many_pentagons_on_a_star_need_a_barrier():
    graph = networkx.disjoint_union_all([networkx.cycle_graph(5) for _ in range(4)])
    graph.add_edges_from((20, 5 * k) for k in range(4))
    assert check(graph).barrier.tolist() == [20]
