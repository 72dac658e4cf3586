"""Graphs from files, checked against networkx and by hand."""

from __future__ import annotations

import json

import networkx
import numpy as np
import pytest

from allworlds import graphs
from allworlds.foundation.errors import InvalidGraph, InvalidParameter
from allworlds.graphs import FeedbackGraph
from allworlds.graphs.files import graph_from_data, graph_to_data, parse_graph, read_graph


def written(tmp_path, text, name="graph.txt"):
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    return file


def test_numbers_from_zero_on_are_arms_in_their_order(tmp_path):
    graph = read_graph(written(tmp_path, "2 0\n1,2\n"))
    assert graph.labels is None
    assert graph.edges().tolist() == [[0, 2], [1, 2]]


def test_other_numbers_are_labels_in_their_order(tmp_path):
    graph = read_graph(written(tmp_path, "30 10\n20 30\n"))
    assert graph.labels == (10, 20, 30)
    assert graph.edges().tolist() == [[0, 2], [1, 2]]


def test_words_are_labels_in_the_order_of_the_file_and_comments_are_skipped(tmp_path):
    graph = read_graph(written(tmp_path, "# who sees whom\n\nb a  # friends\n\tc\na c\n"))
    assert graph.labels == ("b", "a", "c")
    assert graph.edges().tolist() == [[0, 1], [1, 2]]


def test_an_arm_alone_and_repeated_edges_are_fine(tmp_path):
    graph = read_graph(written(tmp_path, "0 1\n1 0\n2\n1 1\n"))
    assert (graph.n_arms, graph.n_edges) == (3, 1)


def test_an_edge_list_that_networkx_writes_gives_the_same_graph(tmp_path):
    original = networkx.petersen_graph()
    networkx.write_edgelist(original, tmp_path / "petersen.edges", data=False)
    read = read_graph(tmp_path / "petersen.edges").to_networkx()
    assert set(map(frozenset, read.edges)) == set(map(frozenset, original.edges))


@pytest.mark.parametrize("nodes", [[0, 1, 2, 3], ["x", "y", "z", "w"], [7, 5, 3, 1]])
def test_graphml_that_networkx_writes_gives_the_same_graph(tmp_path, nodes):
    original = networkx.Graph([(nodes[0], nodes[1]), (nodes[1], nodes[2])])
    original.add_node(nodes[3])
    networkx.write_graphml(original, tmp_path / "g.graphml")
    read = read_graph(tmp_path / "g.graphml").to_networkx()
    assert set(read.nodes) == set(original.nodes)
    assert set(map(frozenset, read.edges)) == set(map(frozenset, original.edges))


def test_parallel_edges_of_graphml_count_once(tmp_path):
    original = networkx.MultiGraph([("a", "b"), ("a", "b"), ("b", "c")])
    networkx.write_graphml(original, tmp_path / "g.graphml")
    assert read_graph(tmp_path / "g.graphml").n_edges == 2


@pytest.mark.parametrize(
    ("text", "name", "sentence"),
    [
        ("0 1\n0 1 0.5\n", "g.txt", "line 2 of .* has 3 columns"),
        (
            "0 1\nx2 1\n",
            "g.txt",
            "line 2: 'x2' is a name, but the other arms are numbers; expected only numbers",
        ),
        ("source,target\n0,1\n", "g.txt", "line 1: 'source' is a name, but the other arms are numbers"),
        ("a b\n\nc 7\n", "g.txt", "line 3: '7' is a number, but the other arms are names"),
        ("# nothing\n", "g.txt", "contains no arm"),
        ("<graphml", "g.graphml", "networkx cannot read .* as GraphML"),
    ],
)
def test_a_file_that_is_no_graph_says_why(tmp_path, text, name, sentence):
    with pytest.raises(InvalidGraph, match=sentence):
        read_graph(written(tmp_path, text, name))


def test_a_file_that_is_no_text_says_so(tmp_path):
    (tmp_path / "g.txt").write_bytes(b"\xff\xfe\x00\x80")
    with pytest.raises(InvalidGraph, match="is not text"):
        read_graph(tmp_path / "g.txt")


def metis(graph, weights=False):
    """The text of a METIS file, written by the manual."""
    lines = [f"% comment\n{len(graph)} {graph.number_of_edges()}" + (" 011 2" if weights else "")]
    for node in graph:
        neighbours = [f"{other + 1} 7" if weights else f"{other + 1}" for other in graph[node]]
        lines.append(" ".join([*(["3", "4"] if weights else []), *neighbours]))
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("name", ["g.graph", "g.metis"])
def test_metis_files_give_their_graph_with_and_without_weights(tmp_path, name, weights):
    original = networkx.gnp_random_graph(12, 0.3, seed=1)
    (tmp_path / name).write_text(metis(original, weights))
    assert read_graph(tmp_path / name) == FeedbackGraph.from_networkx(original)


@pytest.mark.parametrize("between", [",", ";", " "])
def test_matrices_give_their_graph(tmp_path, between):
    matrix = graphs.erdos_renyi(8, 0.4, seed=3).adjacency().astype(int)
    text = "\n".join(between.join(map(str, row)) for row in matrix)
    (tmp_path / "g.csv").write_text(text)
    assert np.array_equal(read_graph(tmp_path / "g.csv").adjacency(), matrix.astype(bool))
    assert np.array_equal(parse_graph(text).adjacency(), matrix.astype(bool))


def test_matrices_may_bear_labels_above_and_beside():
    for text in ("a,b,c\n0,1,0\n1,0,0\n0,0,0\n", ",a,b,c\na,0,1,0\nb,1,0,0\nc,0,0,0\n"):
        graph = parse_graph(text, "matrix")
        assert graph.labels == ("a", "b", "c")
        assert graph.edges().tolist() == [[0, 1]]


def test_text_is_read_by_what_it_looks_like_or_by_what_is_said():
    graphml = "\n".join(networkx.generate_graphml(networkx.path_graph(3)))
    assert parse_graph(graphml).n_edges == 2
    assert parse_graph("0 1\n1 2\n").n_edges == 2
    assert parse_graph("3 2\n2\n1 3\n2\n", "metis").edges().tolist() == [[0, 1], [1, 2]]


@pytest.mark.parametrize(
    ("text", "form", "sentence"),
    [
        ("", "metis", "does not begin with the numbers of arms and edges"),
        ("3 2\n2\n1 3\n", "metis", "has 2 lines of neighbours; expected 3"),
        ("2 1\n2\n3\n", "metis", "line 3 of .* contains 3; expected arms from 1 to 2"),
        ("2 2\n2\n1\n", "metis", "has 1 edges; expected 2"),
        ("2 1\nx\n1\n", "metis", "line 2 of .* contains 'x'; expected METIS, which has integers"),
        ("0,1,1\n1,0\n1,0,0\n", "matrix", "rows of different lengths"),
        ("0,x,1\n1,0,0\n1,0,0\n", "matrix", "expected a square matrix"),
        ("0,1,1\n1,0,y\n1,0,0\n", "matrix", "contains 'y'; expected 0 and 1"),
        ("", "matrix", "has no rows"),
        (",a,b\na,0,1\nc,1,0\n", "matrix", "differ from those above"),
    ],
)
def test_text_that_is_no_graph_says_why(text, form, sentence):
    with pytest.raises(InvalidGraph, match=sentence):
        parse_graph(text, form)


def test_a_form_that_is_none_is_refused():
    with pytest.raises(InvalidParameter, match="there is no form of graph files 'dot'"):
        parse_graph("0 1", "dot")


# Plain data


def through_json(data):
    return json.loads(json.dumps(data, default=lambda array: array.tolist()))


def test_labels_survive_with_their_types():
    for labels in (["a", "b", "c"], [2, 1, 0], ["1", 1, "x"]):
        for edges in ([(0, 1)], [(0, 1), (1, 2)]):
            graph = FeedbackGraph(3, edges, labels)
            assert graph_from_data(through_json(graph_to_data(graph))).labels == tuple(labels)


@pytest.mark.parametrize("owner", [[], [0, 0], [0, 0, 1, 1], [[0, 0, 1]]])
def test_owners_that_do_not_fit_the_arms_are_refused(owner):
    with pytest.raises(InvalidGraph, match=r"expected one number for each of 3 arms"):
        graph_from_data({"n_arms": 3, "owner": owner})
