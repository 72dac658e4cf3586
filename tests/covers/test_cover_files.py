"""Covers in files and as plain data: what is read is what was written, and writing is atomic."""

from __future__ import annotations

import json

import numpy as np
import pytest

from allworlds import covers, graphs
from allworlds.covers import CliqueCover, clique_cover, read_cover, write_cover
from allworlds.covers.cover import cover_from_data, cover_to_data
from allworlds.covers.covering import make_cover
from allworlds.foundation.errors import InvalidCover
from allworlds.graphs import FeedbackGraph
from allworlds.graphs.by_name import make_graph
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
        (lambda data: data | {"format": "another"}, "is not a cover"),
        (lambda data: {key: value for key, value in data.items() if key != "owner"}, "is damaged: 'owner'"),
        (lambda data: data | {"certificate": {"kind": "hope"}}, "the certificate is .*; expected one of the kinds"),
        (lambda data: data | {"lower_bound": 4}, "lower_bound is 4; expected 3, which the certificate proves"),
    ],
)
def test_a_file_that_is_no_cover_says_why(change, sentence, tmp_path):
    file = write_cover(clique_cover(graphs.cycle(5)), tmp_path / "cover.json")
    file.write_text(json.dumps(change(json.loads(file.read_text()))))
    with pytest.raises(InvalidCover, match=sentence):
        read_cover(file)


def test_a_failure_while_writing_leaves_the_old_file(tmp_path, monkeypatch):
    file = write_cover(clique_cover(graphs.cycle(5)), tmp_path / "cover.json")
    before = file.read_bytes()

    def full_disk(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full_disk)
    with pytest.raises(InvalidCover, match=r"cannot write .*: No space left on device"):
        write_cover(clique_cover(graphs.cycle(7)), file)
    assert file.read_bytes() == before
    assert list(tmp_path.iterdir()) == [file]


def test_files_that_cannot_be_read_or_written_say_so(tmp_path):
    (tmp_path / "text.json").write_text("no json")
    with pytest.raises(InvalidCover, match="is not JSON"):
        read_cover(tmp_path / "text.json")
    with pytest.raises(InvalidCover, match="cannot read"):
        read_cover(tmp_path / "nowhere.json")
    with pytest.raises(InvalidCover, match="cannot write"):
        write_cover(clique_cover(graphs.cycle(5)), tmp_path / "no" / "folder.json")


# Plain data


def through_json(data):
    return json.loads(json.dumps(data, default=lambda array: array.tolist()))


@pytest.mark.parametrize("known", GRAPHS, ids=str)
def test_a_graph_and_its_cover_survive_json(known):
    cover = clique_cover(known.make())
    again = cover_from_data(through_json(cover_to_data(cover)))
    assert again.graph == cover.graph
    assert again == cover
    assert (again.lower_bound, again.method) == (cover.lower_bound, cover.method)


def test_the_numbering_of_the_cliques_survives():
    graph = FeedbackGraph(4, [(0, 1), (2, 3)])
    cover = CliqueCover(graph, [[2, 3], [1], [0]])
    assert cover_from_data(cover_to_data(cover)).owner.tolist() == [2, 1, 0, 0]


def test_half_a_billion_edges_are_a_million_numbers():
    cover = CliqueCover.from_owner(FeedbackGraph._from_sizes(np.full(1000, 1000)), np.repeat(np.arange(1000), 1000))
    data = cover_to_data(cover)
    assert "edges" not in data["graph"]
    assert cover_from_data(data) == cover


def test_a_cover_that_is_none_is_refused():
    cover = CliqueCover(FeedbackGraph(3, [(0, 1)]), [[0, 1], [2]])
    data = cover_to_data(cover) | {"owner": [0, 0, 0]}
    with pytest.raises(InvalidCover, match="are not neighbours"):
        cover_from_data(data)
