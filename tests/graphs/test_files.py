"""Graphs from files, checked against networkx and by hand."""

from __future__ import annotations

import networkx
import pytest

from allworlds.foundation.errors import InvalidGraph
from allworlds.graphs.files import read_graph


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


def test_directed_graphml_is_refused(tmp_path):
    networkx.write_graphml(networkx.DiGraph([("a", "b")]), tmp_path / "g.graphml")
    with pytest.raises(InvalidGraph, match="is directed, but feedback must be mutual"):
        read_graph(tmp_path / "g.graphml")


@pytest.mark.parametrize(
    ("text", "name", "sentence"),
    [
        ("0 1\n0 1 0.5\n", "g.txt", "line 2 of .* has 3 columns"),
        ("0 1\nx2 1\n", "g.txt", "line 2: 'x2' is a name, but the other arms are numbers; give every arm"),
        ("source,target\n0,1\n", "g.txt", "line 1: 'source' is a name, but the other arms are numbers"),
        ("a b\n\nc 7\n", "g.txt", "line 3: '7' is a number, but the other arms are names"),
        ("# nothing\n", "g.txt", "names no arm"),
        ("<graphml", "g.graphml", "is no GraphML that networkx can read"),
    ],
)
def test_a_file_that_is_no_graph_says_why(tmp_path, text, name, sentence):
    with pytest.raises(InvalidGraph, match=sentence):
        read_graph(written(tmp_path, text, name))


def test_a_file_that_is_no_text_says_so(tmp_path):
    (tmp_path / "g.txt").write_bytes(b"\xff\xfe\x00\x80")
    with pytest.raises(InvalidGraph, match="is no text"):
        read_graph(tmp_path / "g.txt")
