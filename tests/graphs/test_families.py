"""The families: their numbers by brute force, their edges by networkx or by definition."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import verifiers
from allworlds import graphs
from allworlds.foundation.errors import InvalidGraph
from allworlds.graphs import FeedbackGraph
from problems import GRAPHS, SMALL_GRAPHS


def same_as_networkx(graph, other):
    relabelled = nx.convert_node_labels_to_integers(other, ordering="sorted")
    return nx.utils.graphs_equal(nx.Graph(graph.to_networkx().edges), nx.Graph(relabelled.edges)) and (
        graph.n_arms == other.number_of_nodes()
    )


def milp_independence_number(graph):
    from scipy.optimize import Bounds, LinearConstraint, milp

    rows = np.zeros((graph.n_edges, graph.n_arms))
    for row, edge in enumerate(graph.edges()):
        rows[row, edge] = 1
    answer = milp(-np.ones(graph.n_arms), integrality=1, bounds=Bounds(0, 1), constraints=LinearConstraint(rows, ub=1))
    assert answer.success
    return round(-answer.fun)


def cover_program(graph, integrality):
    """The fewest maximal cliques that reach every arm, whole or fractional."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    cliques = list(nx.find_cliques(graph.to_networkx()))
    reach = np.zeros((graph.n_arms, len(cliques)))
    for column, clique in enumerate(cliques):
        reach[clique, column] = 1
    answer = milp(
        np.ones(len(cliques)),
        integrality=integrality,
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(reach, lb=1),
    )
    assert answer.success
    return answer.fun


@pytest.mark.parametrize("known", SMALL_GRAPHS, ids=str)
def test_alpha_and_theta_are_as_the_docstrings_say(known):
    matrix = known.make().adjacency()
    assert verifiers.independence_number(matrix) == known.alpha
    assert verifiers.clique_cover_number(matrix) == known.theta


def test_only_the_gadgets_are_beyond_brute_force():
    assert [known.name for known in GRAPHS if known not in SMALL_GRAPHS] == ["lu-gadgets"]


def test_the_gadgets_have_the_degrees_of_their_definition():
    graph = graphs.lu_gadgets()
    degrees = [graph.degree(arm) for arm in range(30)]
    assert degrees == [7, 4, 4, 4, 4, 4, 5] * 4 + [2, 2]
    for base in (0, 7, 14, 21):
        ring = list(range(base + 1, base + 6))
        assert nx.is_isomorphic(graph.to_networkx().subgraph(ring), nx.cycle_graph(5))
        assert not graph.are_neighbours(base, base + 6)
        assert all(graph.are_neighbours(hub, arm) for hub in (base, base + 6) for arm in ring)
    assert graph.sees(28).tolist() == [0, 7, 28]
    assert graph.sees(29).tolist() == [14, 21, 29]
    assert graph.are_neighbours(0, 14)
    assert graph.are_neighbours(7, 21)


def test_the_gadgets_separate_alpha_from_theta():
    graph = graphs.lu_gadgets()
    assert milp_independence_number(graph) == 10
    assert round(cover_program(graph, integrality=1)) == 14
    assert cover_program(graph, integrality=0) == pytest.approx(12)


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5, 6])
def test_mycielski_complements_are_complements_of_mycielski_graphs(k):
    graph = graphs.mycielski_complement(k)
    other = nx.complement(graph.to_networkx())
    assert nx.is_isomorphic(other, nx.mycielski_graph(k))
    assert sum(nx.triangles(other).values()) == 0  # so no three arms are independent


@pytest.mark.parametrize(
    ("graph", "other"),
    [
        (graphs.bandit(5), nx.empty_graph(5)),
        (graphs.full_information(5), nx.complete_graph(5)),
        (graphs.disjoint_cliques([2, 1, 3]), nx.disjoint_union_all(map(nx.complete_graph, [2, 1, 3]))),
        (graphs.star(6), nx.star_graph(5)),
        (graphs.star(1), nx.empty_graph(1)),
        (graphs.path(6), nx.path_graph(6)),
        (graphs.path(1), nx.empty_graph(1)),
        (graphs.cycle(6), nx.cycle_graph(6)),
        (graphs.grid(3, 4), nx.grid_2d_graph(3, 4)),
        (graphs.grid(1, 4), nx.path_graph(4)),
    ],
    ids=lambda value: f"{len(value)} nodes" if isinstance(value, nx.Graph) else repr(value),
)
def test_plain_families_are_those_of_networkx(graph, other):
    assert same_as_networkx(graph, other)


def test_equal_cliques_can_be_named_in_two_ways():
    assert graphs.disjoint_cliques(3, 2) == graphs.disjoint_cliques([2, 2, 2])


points = st.floats(-10, 10, allow_nan=False).map(lambda x: round(x, 1))


@given(st.lists(st.tuples(points, points).map(sorted), min_size=1, max_size=8))
def test_intervals_are_neighbours_exactly_when_they_meet_and_are_perfect(intervals):
    graph = graphs.interval(intervals)
    matrix = [[max(a, c) <= min(b, d) for c, d in intervals] for a, b in intervals]
    np.testing.assert_array_equal(graph.adjacency(), matrix)
    assert verifiers.independence_number(matrix) == verifiers.clique_cover_number(matrix)


@given(st.lists(st.tuples(points, points, points), min_size=1, max_size=8), st.floats(0, 15))
def test_points_are_neighbours_exactly_when_they_are_near(places, radius):
    graph = graphs.unit_disk(places, radius)
    array = np.array(places)
    near = np.linalg.norm(array[:, None] - array[None, :], axis=2) <= radius
    np.testing.assert_array_equal(graph.adjacency(), near)


@pytest.mark.parametrize(
    ("build", "sentence"),
    [
        (lambda: graphs.bandit(0), "n must be an integer of at least 1, but 0 came"),
        (lambda: graphs.full_information(2.5), "n must be an integer"),
        (lambda: graphs.disjoint_cliques(3), r"disjoint_cliques\(3\) lacks the size of a clique"),
        (lambda: graphs.disjoint_cliques(3, 0), "size must be an integer of at least 1"),
        (lambda: graphs.disjoint_cliques(True, 2), "n_cliques must be an integer"),
        (lambda: graphs.disjoint_cliques([1, 2], 3), "n_cliques must be an integer"),
        (lambda: graphs.disjoint_cliques([1, 0]), "sizes must be a list of positive integers"),
        (lambda: graphs.disjoint_cliques([]), "sizes must be a list of positive integers"),
        (lambda: graphs.disjoint_cliques([1.5]), "sizes must be made of integers"),
        (lambda: graphs.star(-2), "n must be an integer"),
        (lambda: graphs.path("4"), "n must be an integer"),
        (lambda: graphs.cycle(2), "n must be an integer of at least 3, but 2 came"),
        (lambda: graphs.grid(0, 3), "rows must be an integer"),
        (lambda: graphs.grid(3, 0), "columns must be an integer"),
        (lambda: graphs.mycielski_complement(0), "k must be an integer"),
        (lambda: graphs.mycielski_complement(40), "k must be 14 at most"),
        (lambda: graphs.interval([(2, 1)]), "interval 0 runs from 2.0 to 1.0"),
        (lambda: graphs.interval([(0, np.nan)]), "row 0 of intervals .* not finite"),
        (lambda: graphs.interval([(0, 1, 2)]), r"shape \(n, 2\), but shape \(1, 3\) came"),
        (lambda: graphs.interval([]), "at least one row"),
        (lambda: graphs.interval("ab"), "intervals must be numbers"),
        (lambda: graphs.unit_disk([1, 2, 3], 1), r"points must have shape \(n, d\)"),
        (lambda: graphs.unit_disk([(0, 0)], -1), "radius must be a finite number of at least 0, but -1 came"),
        (lambda: graphs.unit_disk([(0, 0)], np.inf), "radius must be a finite number"),
        (lambda: graphs.unit_disk([(0, 0)], "near"), "radius must be a finite number"),
    ],
)
def test_bad_sizes_are_refused(build, sentence):
    with pytest.raises(InvalidGraph, match=sentence):
        build()


def test_every_family_is_a_public_name_of_the_room():
    names = [name for name in graphs.__all__ if name not in ("CliqueCover", "FeedbackGraph")]
    assert all(callable(getattr(graphs, name)) for name in names)
    assert isinstance(graphs.bandit(2), FeedbackGraph)


def test_more_arms_than_any_memory_holds_are_refused_before_anything_is_made():
    with pytest.raises(InvalidGraph, match="999,999,999 cliques of 999,999,999 arms are too many"):
        graphs.disjoint_cliques(999_999_999, 999_999_999)
