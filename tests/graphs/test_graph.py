"""FeedbackGraph: every way to build one agrees, and every bad input is refused in a sentence."""

from __future__ import annotations

import pickle
import sys

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import verifiers
from allworlds import graphs
from allworlds.foundation.errors import InvalidGraph, InvalidParameter, MissingExtra
from allworlds.graphs import FeedbackGraph
from problems import GRAPHS


@st.composite
def matrices(draw, largest=9):
    """A symmetric matrix of bools with a true diagonal; now and then a union of cliques."""
    n = draw(st.integers(1, largest))
    if draw(st.integers(0, 3)) == 0:
        owner = np.array(draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)))
        return owner[:, None] == owner[None, :]
    bits = draw(st.lists(st.booleans(), min_size=n * n, max_size=n * n))
    upper = np.triu(np.array(bits).reshape(n, n), 1)
    return upper | upper.T | np.eye(n, dtype=bool)


def edge_list(matrix):
    return np.argwhere(np.triu(matrix, 1))


@given(matrices())
def test_a_graph_answers_every_question_as_its_matrix_does(matrix):
    n = len(matrix)
    graph = FeedbackGraph(n, edge_list(matrix))
    np.testing.assert_array_equal(graph.adjacency(), matrix)
    np.testing.assert_array_equal(graph.edges(), edge_list(matrix))
    assert graph.n_arms == n
    assert graph.n_edges == len(edge_list(matrix))
    for i in range(n):
        assert graph.sees(i).dtype == np.int64
        np.testing.assert_array_equal(graph.sees(i), np.flatnonzero(matrix[i]))
        assert graph.degree(i) == matrix[i].sum() - 1
        assert [graph.are_neighbours(i, j) for j in range(n)] == matrix[i].tolist()


@given(matrices())
def test_all_constructors_build_the_same_graph(matrix):
    n, edges = len(matrix), edge_list(matrix)
    graph = FeedbackGraph(n, edges)
    loops = [(arm, arm) for arm in range(n)]
    others = [
        FeedbackGraph(n, [tuple(edge[::-1]) for edge in edges.tolist()] + edges.tolist() + loops),
        FeedbackGraph(n, (edge for edge in edges.tolist())),
        FeedbackGraph.from_adjacency(matrix),
        FeedbackGraph.from_adjacency(matrix.astype(float) - np.eye(n)),
        FeedbackGraph.from_cliques(n, edges),
        FeedbackGraph.from_cliques(n, nx.find_cliques(nx.from_numpy_array(matrix & ~np.eye(n, dtype=bool)))),
        FeedbackGraph.from_networkx(graph.to_networkx()),
        pickle.loads(pickle.dumps(graph)),
    ]
    for other in others:
        assert other == graph
        assert hash(other) == hash(graph)
        assert other.digest() == graph.digest()


@given(matrices(), matrices())
def test_digests_are_equal_exactly_when_matrices_are(one, other):
    equal = one.shape == other.shape and np.array_equal(one, other)
    first, second = FeedbackGraph.from_adjacency(one), FeedbackGraph.from_adjacency(other)
    assert (first == second) == equal
    assert (first.digest() == second.digest()) == equal


@given(matrices(), st.data())
def test_a_set_of_arms_is_a_clique_exactly_when_all_pairs_are_neighbours(matrix, data):
    arms = data.draw(st.lists(st.integers(0, len(matrix) - 1), max_size=5))
    graph = FeedbackGraph.from_adjacency(matrix)
    assert graph.is_clique(arms) == verifiers.is_clique(matrix, sorted(set(arms)))


@given(matrices())
def test_disjoint_cliques_are_recognised_and_nothing_else_is(matrix):
    components = list(nx.connected_components(nx.from_numpy_array(matrix)))
    by_definition = all(verifiers.is_clique(matrix, component) for component in components)
    stored = type(FeedbackGraph.from_adjacency(matrix)._storage).__name__
    assert stored == ("DisjointCliques" if by_definition else "Neighbours")


def test_a_tree_with_the_counts_of_disjoint_cliques_is_not_taken_for_them():
    # Every arm sees as many arms as share its smallest neighbour, and yet these are no cliques.
    tree = FeedbackGraph(10, [(0, 1), (0, 2), (0, 3), (1, 4), (1, 5), (2, 6), (2, 7), (3, 8), (3, 9)])
    assert tree.sees(1).tolist() == [0, 1, 4, 5]


@pytest.mark.parametrize("known", GRAPHS, ids=str)
def test_networkx_sees_the_same_edges(known):
    graph = known.make()
    other = graph.to_networkx()
    assert other.number_of_nodes() == graph.n_arms
    assert other.number_of_edges() == graph.n_edges
    assert FeedbackGraph.from_networkx(other) == graph


def test_arms_in_no_clique_see_only_themselves():
    graph = FeedbackGraph.from_cliques(5, [[3, 1]])
    assert [graph.sees(arm).tolist() for arm in range(5)] == [[0], [1, 3], [2], [1, 3], [4]]


def test_cliques_may_come_as_sets_and_name_an_arm_twice():
    assert FeedbackGraph.from_cliques(3, [{0, 2}, (1, 1)]) == FeedbackGraph(3, [(0, 2)])


def test_nested_cliques_are_one_clique():
    assert FeedbackGraph.from_cliques(4, [[0, 1], [0, 1, 2]]) == graphs.disjoint_cliques([3, 1])


def test_every_array_handed_out_leaves_the_graph_unchanged():
    for graph in (graphs.cycle(5), graphs.disjoint_cliques(2, 3)):
        for copy in (graph, pickle.loads(pickle.dumps(graph))):
            with pytest.raises(ValueError, match="read-only"):
                copy.sees(0)[0] = 4
        digest = graph.digest()
        graph.edges()[:] = 0
        graph.adjacency()[:] = True
        assert FeedbackGraph(graph.n_arms, graph.edges()).digest() == digest


def test_the_arrays_of_the_caller_stay_writable_and_apart():
    edges = np.array([[0, 1], [1, 2]])
    graph = FeedbackGraph(3, edges)
    edges[:] = 0
    assert graph.edges().tolist() == [[0, 1], [1, 2]]


def test_attributes_cannot_be_set():
    with pytest.raises(AttributeError):
        graphs.cycle(5).n_arms = 6


def test_the_repr_is_short():
    assert repr(graphs.disjoint_cliques(10, 10)) == "FeedbackGraph(100 arms, 450 edges)"
    assert repr(FeedbackGraph(1)) == "FeedbackGraph(1 arm, 0 edges)"
    assert repr(FeedbackGraph(2, [(0, 1)])) == "FeedbackGraph(2 arms, 1 edge)"


# Labels


def test_labels_belong_to_equality_but_not_to_the_digest():
    plain, named = FeedbackGraph(2, [(0, 1)]), FeedbackGraph(2, [(0, 1)], labels=["a", "b"])
    assert plain != named
    assert plain.digest() == named.digest()
    assert named == FeedbackGraph.from_cliques(2, [[0, 1]], labels=("a", "b"))
    assert named.labels == ("a", "b")
    assert plain != "a graph"


def test_labels_that_repeat_the_numbers_are_dropped():
    assert FeedbackGraph(3, labels=np.arange(3)) == FeedbackGraph(3)
    assert FeedbackGraph(3, labels=[0, 1, 2]).labels is None
    assert FeedbackGraph(3, labels=[2, 1, 0]).labels == (2, 1, 0)


def test_numpy_labels_become_plain_ones():
    graph = FeedbackGraph(2, labels=np.array(["x", "y"]))
    assert [type(label) for label in graph.labels] == [str, str]
    graph = FeedbackGraph(2, labels=np.array([5, 6]))
    assert [type(label) for label in graph.labels] == [int, int]


def test_an_arm_is_found_by_its_label():
    graph = FeedbackGraph(3, labels=["red", "green", 7])
    assert [graph.index_of(label) for label in ("red", "green", 7)] == [0, 1, 2]
    assert FeedbackGraph(3).index_of(2) == 2
    assert type(FeedbackGraph(3).index_of(np.int64(2))) is int


def test_an_unknown_label_brings_the_nearest_ones():
    graph = FeedbackGraph(3, labels=["red", "green", "blue"])
    with pytest.raises(InvalidParameter, match="no arm is labelled 'gren'; the nearest labels are green"):
        graph.index_of("gren")
    with pytest.raises(InvalidParameter, match="no arm is labelled \\['red'\\]"):
        graph.index_of(["red"])
    with pytest.raises(InvalidParameter, match="the arms have no labels and are numbered 0 to 2"):
        FeedbackGraph(3).index_of("red")
    with pytest.raises(InvalidParameter, match="no arm 3"):
        FeedbackGraph(3).index_of(3)


@pytest.mark.parametrize(
    ("labels", "sentence"),
    [
        (["a"], "labels has 1 labels; expected 2, one for each arm"),
        (["a", "a"], "label 'a' names two arms"),
        (["a", 1.0], "label 1.0 is of type float; expected str or int"),
        ([("a", 1), ("a", 2)], "is of type tuple"),
        ([True, False], "is of type bool"),
        ("ab", "labels is 'ab'; expected a list with one label for each arm"),
    ],
)
def test_bad_labels_are_refused(labels, sentence):
    with pytest.raises(InvalidGraph, match=sentence):
        FeedbackGraph(2, labels=labels)


# networkx


def test_names_of_nodes_become_labels_and_come_back():
    other = nx.Graph([("a", "c"), ("c", "b")])
    graph = FeedbackGraph.from_networkx(other)
    assert graph.labels == ("a", "c", "b")
    assert graph.sees(graph.index_of("c")).tolist() == [0, 1, 2]
    assert nx.utils.graphs_equal(graph.to_networkx(), other)


def test_numbered_nodes_out_of_order_are_labels():
    other = nx.Graph()
    other.add_nodes_from([1, 0])
    assert FeedbackGraph.from_networkx(other).labels == (1, 0)


def test_self_loops_of_networkx_are_harmless():
    assert FeedbackGraph.from_networkx(nx.Graph([(0, 0), (0, 1)])) == FeedbackGraph(2, [(0, 1)])


@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        (nx.MultiGraph([(0, 1)]), "graph is a multigraph"),
        (nx.Graph(), "graph has no nodes"),
        (nx.grid_2d_graph(2, 2), "is of type tuple; expected str or int"),
        ([(0, 1)], "graph is of type list; expected a networkx graph"),
    ],
)
def test_networkx_graphs_without_a_meaning_are_refused(other, sentence):
    with pytest.raises(InvalidGraph, match=sentence):
        FeedbackGraph.from_networkx(other)


def test_without_networkx_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(MissingExtra, match=r'pip install "allworlds\[networkx\]"'):
        graphs.cycle(4).to_networkx()


# Bad input


@pytest.mark.parametrize("n_arms", [0, -1, 2.0, True, "3", None])
def test_a_number_of_arms_must_be_a_positive_integer(n_arms):
    with pytest.raises(InvalidGraph, match=r"n_arms is .*; expected an integer of at least 1"):
        FeedbackGraph(n_arms)
    with pytest.raises(InvalidGraph, match=r"n_arms is .*; expected an integer"):
        FeedbackGraph.from_cliques(n_arms, [])


def test_a_number_of_arms_may_be_of_numpy():
    assert FeedbackGraph(np.int32(3)).n_arms == 3


@pytest.mark.parametrize(
    ("edges", "sentence"),
    [
        ([(0, 3)], "edges contains 3; expected arms from 0 to 2"),
        ([(-1, 0)], "edges contains -1; expected arms"),
        ([(0, 1, 2)], r"edges has shape \(1, 3\); expected pairs of arms, shape \(m, 2\)"),
        ([0, 1], r"edges has shape \(2,\); expected pairs"),
        ([(0, 1), (2,)], "regular shape"),
        ([(0.0, 1.0)], "edges is .*, of type float64; expected integers"),
        ([(False, True)], "of type bool"),
        ([("a", "b")], "edges is .*; expected integers; arms have the numbers from 0, and labels= names them"),
        (7, "edges is 7; expected integers"),
        ([(0, 2**70)], "edges is .*; expected integers"),
        (np.array([[0, 2**63]], dtype=np.uint64), r"edges contains .*; expected integers below 2\*\*63"),
    ],
)
def test_bad_edges_are_refused(edges, sentence):
    with pytest.raises(InvalidGraph, match=sentence):
        FeedbackGraph(3, edges)


@pytest.mark.parametrize("edges", [[], (), np.zeros((0, 2)), np.zeros((0, 2), dtype=np.int64), iter([])])
def test_no_edges_in_any_shape_make_a_bandit(edges):
    assert FeedbackGraph(3, edges) == graphs.bandit(3)


@pytest.mark.parametrize(
    ("matrix", "sentence"),
    [
        ([[1, 1], [0, 1]], "arm 0 sees arm 1 but not the other way round"),
        ([[1, 2], [2, 1]], r"entry \(0, 1\) of the adjacency matrix is 2; expected 0 or 1"),
        ([[1, np.nan], [np.nan, 1]], r"entry \(0, 1\) of the adjacency matrix is nan"),
        ([[1, 0]], r"has shape \(1, 2\); expected a square matrix"),
        ([], "expected a square matrix"),
        (np.zeros((0, 0)), "expected a square matrix"),
        ([["a"]], "is of type <U1; expected 0 and 1"),
    ],
)
def test_bad_matrices_are_refused(matrix, sentence):
    with pytest.raises(InvalidGraph, match=sentence):
        FeedbackGraph.from_adjacency(matrix)


def test_the_diagonal_of_a_matrix_is_ignored():
    assert FeedbackGraph.from_adjacency([[0, 1], [1, 7]]) == FeedbackGraph(2, [(0, 1)])


def test_the_matrix_of_the_caller_is_left_alone():
    matrix = np.zeros((2, 2), dtype=int)
    FeedbackGraph.from_adjacency(matrix)
    assert not matrix.any()


@pytest.mark.parametrize(
    ("cliques", "sentence"),
    [
        ([[0, 1], [3]], "clique 1 contains 3; expected arms from 0 to 2"),
        ([[0], []], "clique 1 is empty"),
        ([0, 1], "clique 0 is 0; expected integers"),
        ([[[0, 1]]], "clique 0 is .*; expected a flat list of arms"),
        ([["a"]], "clique 0 is .*; expected integers"),
        (3, "cliques is 3; expected a list of lists of arms"),
    ],
)
def test_bad_cliques_are_refused(cliques, sentence):
    with pytest.raises(InvalidGraph, match=sentence):
        FeedbackGraph.from_cliques(3, cliques)


@pytest.mark.parametrize("arm", [-1, 3, 1.0, True, "0", None])
def test_questions_about_no_arm_are_refused(arm):
    graph = FeedbackGraph(3, [(0, 1), (1, 2)])
    for ask in (graph.sees, graph.degree, lambda arm: graph.are_neighbours(0, arm)):
        with pytest.raises(InvalidParameter, match=r"(arm|other) is .*; expected an integer from 0 to 2"):
            ask(arm)


def test_a_clique_question_about_no_arm_is_refused():
    with pytest.raises(InvalidParameter, match="arms contains 5; expected arms from 0 to 2"):
        FeedbackGraph(3).is_clique([0, 5])


@given(st.lists(st.lists(st.integers(-5, 5) | st.floats() | st.text(max_size=2), max_size=3), max_size=4))
def test_any_edges_make_a_graph_exactly_when_they_are_pairs_of_arms(edges):
    sound = all(len(edge) == 2 and all(type(end) is int and 0 <= end < 4 for end in edge) for edge in edges)
    if sound or not any(edges):
        assert FeedbackGraph(4, edges).n_edges == len({frozenset(edge) for edge in edges if len(set(edge)) == 2})
    else:
        with pytest.raises(InvalidGraph):
            FeedbackGraph(4, edges)
