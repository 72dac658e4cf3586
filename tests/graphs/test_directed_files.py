"""Directed graphs in files, as plain data and in networkx."""

from __future__ import annotations

import json

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from allworlds.foundation.errors import InvalidGraph
from allworlds.graphs import FeedbackGraph
from allworlds.graphs.files import graph_from_data, graph_to_data, parse_graph, read_graph

MATRICES = st.integers(1, 6).flatmap(lambda n: arrays(np.bool_, (n, n)))


@pytest.mark.parametrize(("loops", "seeing"), [([], [True] * 3), ([("b", "b")], [False, True, False])])
def test_arms_of_directed_graphml_see_themselves_unless_it_has_self_loops(tmp_path, loops, seeing):
    networkx.write_graphml(networkx.DiGraph([("a", "b"), ("c", "a"), ("a", "c"), *loops]), tmp_path / "g.graphml")
    graph = read_graph(tmp_path / "g.graphml")
    assert graph.labels == ("a", "b", "c")
    assert graph.edges().tolist() == [[0, 1], [0, 2], [2, 0]]
    assert graph.self_loops.tolist() == seeing


@pytest.mark.parametrize("line", ["a -> b", "a->b", "  a  ->  b  # seen", "a ->\tb"])
def test_an_edge_list_with_arrows_is_directed(tmp_path, line):
    (tmp_path / "g.txt").write_text(f"{line}\nc\nb -> c\n")
    assert read_graph(tmp_path / "g.txt") == FeedbackGraph(3, [(0, 1), (1, 2)], ["a", "b", "c"], directed=True)


def test_self_loops_in_an_edge_list_with_arrows_say_who_sees_itself():
    assert parse_graph("1 -> 0\n0 -> 0\n") == FeedbackGraph(2, [(1, 0), (0, 0)], directed=True, self_loops=False)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "a -> b\n# c\na c\n",
            "line 3 of .* has no arrow, but line 1 has one; expected arrows on all lines",
        ),
        ("a\na b\nb -> a\n", "line 3 of .* has an arrow, but line 2 has none; expected arrows on all lines or on none"),
        ("a -> b -> c\n", "line 1 of .* is 'a -> b -> c'; expected one arm, ->, one arm"),
        ("a ->\n", "line 1 of .* is 'a ->'; expected one arm, ->, one arm"),
        ("a b -> c\n", "line 1 of .* is 'a b -> c'; expected one arm, ->, one arm"),
        ("-> c\n", "line 1 of .* is '-> c'; expected one arm, ->, one arm"),
    ],
)
def test_an_arrow_in_the_wrong_place_is_named_with_its_line(text, sentence):
    with pytest.raises(InvalidGraph, match=sentence):
        parse_graph(text)


@pytest.mark.parametrize(
    ("rows", "seeing"),
    [(["0,1,1", "0,0,0", "1,0,0"], [True] * 3), (["0,1,1", "0,1,0", "1,0,0"], [False, True, False])],
)
def test_a_matrix_that_is_not_symmetric_is_a_directed_graph(tmp_path, rows, seeing):
    (tmp_path / "g.csv").write_text("\n".join(rows))
    graph = read_graph(tmp_path / "g.csv")
    assert graph.edges().tolist() == [[0, 1], [0, 2], [2, 0]]
    assert graph.self_loops.tolist() == seeing


@given(MATRICES, st.booleans())
def test_data_and_back_give_the_same_graph(sees, labelled):
    labels = [f"arm {i}" for i in range(len(sees))] if labelled else None
    graph = FeedbackGraph.from_adjacency(sees, labels, directed=True)
    data = {key: value.tolist() if hasattr(value, "tolist") else value for key, value in graph_to_data(graph).items()}
    assert graph_from_data(json.loads(json.dumps(data))) == graph


@given(MATRICES)
def test_networkx_and_back_give_the_same_graph(sees):
    graph = FeedbackGraph.from_adjacency(sees, directed=True)
    other = graph.to_networkx()
    matrix = networkx.to_numpy_array(other, nodelist=range(len(sees))) == 1
    if other.is_directed():
        assert np.array_equal(matrix, sees)
        assert FeedbackGraph.from_networkx(other, self_loops=False) == graph
    else:  # mutual, and all arms see themselves
        assert np.array_equal(matrix | np.eye(len(sees), dtype=bool), sees)
        assert FeedbackGraph.from_networkx(other) == graph


@given(MATRICES)
def test_an_edge_list_and_back_give_the_same_graph_if_some_arm_sees_itself(sees):
    sees[0, 0] = True
    lines = [f"{i} -> {j}" for i, j in np.argwhere(sees)] + [str(i) for i in range(len(sees))]
    assert parse_graph("\n".join(lines)) == FeedbackGraph.from_adjacency(sees, directed=True)


def test_a_digraph_says_whom_an_arm_sees_by_the_direction_of_its_edges():
    graph = FeedbackGraph.from_networkx(networkx.DiGraph([("a", "b")]), self_loops=False)
    assert (graph.sees(0).tolist(), graph.sees(1).tolist(), graph.labels) == ([1], [], ("a", "b"))


@pytest.mark.parametrize(
    ("text", "sees"),
    [("0,1\n1,0\n", [[0, 1], [0, 1]]), ("1,1\n0,1\n", [[0, 1], [1]]), ("a,b\n1,0\n1,1\n", [[0], [0, 1]])],
)
def test_a_csv_file_of_two_rows_and_columns_of_0_and_1_is_a_matrix(tmp_path, text, sees):
    (tmp_path / "g.csv").write_text(text)
    graph = read_graph(tmp_path / "g.csv")
    assert [graph.sees(arm).tolist() for arm in range(2)] == sees


@pytest.mark.parametrize("text", ["0,1\n1,2\n", "0,1\n", "a,b\nb,c\n", "0,1\n0,1\n1,0\n"])
def test_other_csv_files_of_two_columns_are_edge_lists(tmp_path, text):
    (tmp_path / "g.csv").write_text(text)
    assert read_graph(tmp_path / "g.csv") == read_graph(tmp_path / "g.csv", "edges")
