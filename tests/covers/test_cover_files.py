"""Covers in files, and graphs in METIS files and matrices."""

from __future__ import annotations

import json

import networkx
import numpy as np
import pytest

from allworlds import covers, graphs
from allworlds.covers import clique_cover, read_cover, write_cover
from allworlds.covers.by_name import make_cover
from allworlds.foundation.errors import InvalidCover, InvalidGraph, InvalidParameter
from allworlds.graphs import FeedbackGraph
from allworlds.graphs.by_name import make_graph
from allworlds.graphs.files import parse_graph, read_graph
from problems import GRAPHS


@pytest.mark.parametrize("known", GRAPHS, ids=str)
def test_a_cover_comes_back_from_its_file_with_its_proof(known, tmp_path):
    cover = clique_cover(known.make())
    again = read_cover(write_cover(cover, tmp_path / "cover.json"))
    assert again == cover
    assert (again.lower_bound, again.method, again.certificate) == (cover.lower_bound, cover.method, cover.certificate)


def test_a_spec_names_the_cover_in_a_file_and_its_graph(tmp_path):
    graph = FeedbackGraph(3, [(0, 1)], labels=["a", "b", "c"])
    cover = covers.CliqueCover.singletons(graph)
    file = write_cover(cover, tmp_path / "cover.json")
    assert make_graph(f"cover:{file}") == graph
    assert make_cover(f"cover:{file}") == cover
    assert make_cover("cycle:5").n_cliques == 3


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda data: data | {"owner": [0, 1, 2, 0, 1]}, "are not neighbours"),
        (lambda data: data | {"format": "another"}, "is no cover of ours"),
        (lambda data: {key: value for key, value in data.items() if key != "owner"}, "is damaged: 'owner'"),
        (lambda data: data | {"certificate": {"kind": "hope"}}, "is no certificate"),
        (lambda data: data | {"lower_bound": 4}, "lower_bound is 4, but the certificate proves 3"),
    ],
)
def test_a_file_that_is_no_cover_says_why(change, sentence, tmp_path):
    file = write_cover(clique_cover(graphs.cycle(5)), tmp_path / "cover.json")
    file.write_text(json.dumps(change(json.loads(file.read_text()))))
    with pytest.raises(InvalidCover, match=sentence):
        read_cover(file)


def test_files_that_cannot_be_read_or_written_say_so(tmp_path):
    (tmp_path / "text.json").write_text("no json")
    with pytest.raises(InvalidCover, match="is no JSON"):
        read_cover(tmp_path / "text.json")
    with pytest.raises(InvalidCover, match="cannot read"):
        read_cover(tmp_path / "nowhere.json")
    with pytest.raises(InvalidCover, match="cannot write"):
        write_cover(clique_cover(graphs.cycle(5)), tmp_path / "no" / "folder.json")


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
        ("3 2\n2\n1 3\n", "metis", "promises 3 arms, but has 2 lines"),
        ("2 1\n2\n3\n", "metis", "line 3 of .* names arm 3; expected 1 to 2"),
        ("2 2\n2\n1\n", "metis", "promises 2 edges, but has 1"),
        ("2 1\nx\n1\n", "metis", "METIS files hold whole numbers"),
        ("0,1,1\n1,0\n1,0,0\n", "matrix", "rows of different lengths"),
        ("0,x,1\n1,0,0\n1,0,0\n", "matrix", "must be square"),
        ("0,1,1\n1,0,y\n1,0,0\n", "matrix", "has 'y'; expected 0 and 1"),
        ("", "matrix", "has no row"),
        (",a,b\na,0,1\nc,1,0\n", "matrix", "differ from those above"),
    ],
)
def test_text_that_is_no_graph_says_why(text, form, sentence):
    with pytest.raises(InvalidGraph, match=sentence):
        parse_graph(text, form)


def test_a_form_that_is_none_is_refused():
    with pytest.raises(InvalidParameter, match="there is no form of graph files 'dot'"):
        parse_graph("0 1", "dot")
