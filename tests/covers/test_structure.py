"""Structure: components, triangles, sides, chordal graphs and dominated arms, against networkx and brute force."""

from __future__ import annotations

from itertools import combinations

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import verifiers
from allworlds import graphs
from allworlds.covers.structure import (
    chordal_cover,
    component_of,
    dominating_arms,
    has_triangle,
    reduce_graph,
    sees,
    two_sides,
)
from allworlds.graphs import FeedbackGraph


@st.composite
def random_graphs(draw, most=12):
    n, p = draw(st.integers(1, most)), draw(st.sampled_from([0.1, 0.25, 0.5, 0.8]))
    return networkx.gnp_random_graph(n, p, seed=draw(st.integers(0, 10**6)))


def lists(graph):
    return FeedbackGraph.from_networkx(graph)._storage.neighbours()


@given(random_graphs())
def test_components_are_those_of_networkx(graph):
    component = component_of(*lists(graph))
    expected = {frozenset(part) for part in networkx.connected_components(graph)}
    assert {frozenset(np.flatnonzero(component == k)) for k in range(component.max() + 1)} == expected


@given(random_graphs())
def test_triangles_are_found_where_networkx_has_some(graph):
    assert has_triangle(*lists(graph)) == any(networkx.triangles(graph).values())


@given(random_graphs())
def test_sides_exist_exactly_in_bipartite_graphs_and_no_edge_is_inside_one(graph):
    side = two_sides(*lists(graph))
    assert (side is not None) == networkx.is_bipartite(graph)
    assert side is None or all(side[one] != side[other] for one, other in graph.edges)


@given(random_graphs())
def test_lookups_agree_with_the_matrix(graph):
    indptr, indices = lists(graph)
    for one in graph:
        for other in graph:
            assert sees(indptr, indices, one, other) == (one == other or graph.has_edge(one, other))


@given(random_graphs())
def test_chordal_graphs_are_recognised_and_covered_by_as_many_cliques_as_arms_stand_apart(graph):
    found = chordal_cover(*lists(graph))
    assert (found is not None) == networkx.is_chordal(graph)
    if found is not None:
        check_cover_and_arms(graph, *found)


def check_cover_and_arms(graph, owner, apart):
    matrix = FeedbackGraph.from_networkx(graph).adjacency()
    assert verifiers.is_clique_cover(matrix, [np.flatnonzero(owner == k) for k in range(len(apart))])
    assert verifiers.is_independent(matrix, apart)


@pytest.mark.parametrize("seed", range(5))
def test_larger_chordal_and_interval_graphs_are_solved(seed):
    rng = np.random.default_rng(seed)
    tree = networkx.random_labeled_tree(60, seed=seed)
    balls = [set(networkx.ego_graph(tree, int(rng.integers(60)), int(rng.integers(4)))) for _ in range(50)]
    subtrees = networkx.Graph()  # subtrees of a tree that meet: chordal [Gavril 1974]
    subtrees.add_nodes_from(range(50))
    subtrees.add_edges_from((i, j) for i in range(50) for j in range(i) if balls[i] & balls[j])
    for graph in (subtrees, graphs.random_interval(80, 0.05, seed).to_networkx()):
        check_cover_and_arms(graph, *chordal_cover(*lists(graph)))


def without_dominated(graph, work):
    leader = dominating_arms(*lists(graph), work)
    return leader, np.flatnonzero(leader == np.arange(len(leader)))


@given(random_graphs())
def test_putting_dominated_arms_aside_changes_no_cover_number(graph):
    matrix = FeedbackGraph.from_networkx(graph).adjacency()
    leader, left = without_dominated(graph, work=10**6)
    assert verifiers.clique_cover_number(matrix[np.ix_(left, left)]) == verifiers.clique_cover_number(matrix)
    assert np.isin(leader, left).all()
    rest = matrix[np.ix_(left, left)]
    for v in range(len(left)):
        for u in range(len(left)):
            assert u == v or not rest[u, v] or (rest[v] & ~rest[u]).any()  # nothing is dominated any more


@given(random_graphs())
def test_arms_that_were_put_aside_fit_where_they_are_sent(graph):
    leader, left = without_dominated(graph, work=10**6)
    matrix = FeedbackGraph.from_networkx(graph).adjacency()
    place = {int(arm): k for k, arm in enumerate(left)}
    rest = networkx.convert_node_labels_to_integers(graph.subgraph(left.tolist()), ordering="sorted")
    colours = networkx.greedy_color(networkx.complement(rest))  # any cover of what is left
    owner = np.array([colours[place[int(arm)]] for arm in leader])
    assert verifiers.is_clique_cover(matrix, [np.flatnonzero(owner == k) for k in range(owner.max() + 1)])


def test_work_that_runs_out_leaves_a_right_answer():
    graph = networkx.path_graph(10)
    leader, left = without_dominated(graph, work=3)
    assert 5 < len(left) < 10
    assert all(graph.has_edge(arm, int(to)) or arm == to for arm, to in enumerate(leader))


@given(random_graphs(), st.sampled_from([None, 0, 1, 2]))
def test_a_reduced_graph_has_parts_without_an_edge_between_them(graph, most_parts):
    leader, parts = reduce_graph(*lists(graph), most_parts)
    left = without_dominated(graph, work=10**6)[1]
    assert np.sort(np.concatenate(parts)).tolist() == left.tolist()
    assert leader.tolist() == dominating_arms(*lists(graph), 10**6).tolist()
    for one, other in combinations(parts, 2):
        assert not any(graph.has_edge(int(arm), int(there)) for arm in one for there in other)
    rest = graph.subgraph(left.tolist())
    components = sum(len(component) > 1 for component in networkx.connected_components(rest))
    isolated = any(len(component) == 1 for component in networkx.connected_components(rest))
    allowed = components if most_parts is None else min(components, most_parts + 1)
    assert len(parts) == allowed + isolated


@given(random_graphs())
def test_a_reduced_graph_keeps_cover_and_independence_number(graph):
    matrix = FeedbackGraph.from_networkx(graph).adjacency()
    parts = reduce_graph(*lists(graph)).parts
    for number in (verifiers.clique_cover_number, verifiers.independence_number):
        assert sum(number(matrix[np.ix_(arms, arms)]) for arms in parts) == number(matrix)
