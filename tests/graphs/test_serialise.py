"""Graphs and covers as plain data: there and back, through JSON."""

from __future__ import annotations

import json

import numpy as np
import pytest

from allworlds.covers import CliqueCover, clique_cover
from allworlds.covers.cover_files import cover_from_data, cover_to_data
from allworlds.foundation.errors import InvalidCover, InvalidGraph
from allworlds.graphs import FeedbackGraph
from allworlds.graphs.serialise import graph_from_data, graph_to_data
from problems import GRAPHS


def through_json(data):
    return json.loads(json.dumps(data, default=lambda array: array.tolist()))


@pytest.mark.parametrize("known", GRAPHS, ids=str)
def test_a_graph_and_its_cover_survive_json(known):
    cover = clique_cover(known.make())
    again = cover_from_data(through_json(cover_to_data(cover)))
    assert again.graph == cover.graph
    assert again == cover
    assert (again.lower_bound, again.method) == (cover.lower_bound, cover.method)


def test_labels_survive_with_their_types():
    for labels in (["a", "b", "c"], [2, 1, 0], ["1", 1, "x"]):
        for edges in ([(0, 1)], [(0, 1), (1, 2)]):
            graph = FeedbackGraph(3, edges, labels)
            assert graph_from_data(through_json(graph_to_data(graph))).labels == tuple(labels)


def test_the_numbering_of_the_cliques_survives():
    graph = FeedbackGraph(4, [(0, 1), (2, 3)])
    cover = CliqueCover(graph, [[2, 3], [1], [0]])
    assert cover_from_data(cover_to_data(cover)).owner.tolist() == [2, 1, 0, 0]


def test_half_a_billion_edges_are_a_million_numbers():
    cover = CliqueCover.from_owner(FeedbackGraph._from_sizes(np.full(1000, 1000)), np.repeat(np.arange(1000), 1000))
    data = cover_to_data(cover)
    assert "edges" not in data["graph"]
    assert cover_from_data(data) == cover


@pytest.mark.parametrize("owner", [[], [0, 0], [0, 0, 1, 1], [[0, 0, 1]]])
def test_owners_that_do_not_fit_the_arms_are_refused(owner):
    with pytest.raises(InvalidGraph, match=r"expected one number for each of 3 arms"):
        graph_from_data({"n_arms": 3, "owner": owner})


def test_a_cover_that_is_none_is_refused():
    cover = CliqueCover(FeedbackGraph(3, [(0, 1)]), [[0, 1], [2]])
    data = cover_to_data(cover) | {"owner": [0, 0, 0]}
    with pytest.raises(InvalidCover, match="are not neighbours"):
        cover_from_data(data)
