"""A picture of a graph has an arm for each arm, an arrow for each one-way edge, and a ring for each self-loop."""

from __future__ import annotations

import pytest
from matplotlib.patches import Circle, FancyArrowPatch

import allworlds as aw
from allworlds.foundation.errors import InvalidGraph
from allworlds.graphs import FeedbackGraph, bandit, cycle, random_edges


def parts(graph):
    patches = aw.plot_graph(graph).patches
    edges = [patch for patch in patches if isinstance(patch, FancyArrowPatch)]
    heads = [patch for patch in edges if type(patch.get_arrowstyle()).__name__ == "CurveFilledB"]
    circles = [patch for patch in patches if isinstance(patch, Circle)]
    return (
        len(edges),
        len(heads),
        len([one for one in circles if one.get_fill()]),
        [c for c in circles if not c.get_fill()],
    )


def test_edges_one_way_have_a_head_and_arms_that_see_themselves_a_ring():
    graph = FeedbackGraph(4, [(0, 1), (1, 0), (1, 2), (3, 1)], directed=True, self_loops=[0, 3])
    edges, heads, arms, rings = parts(graph)
    assert (edges, heads, arms, len(rings)) == (3, 2, 4, 2)


def test_heads_are_at_the_arm_that_is_seen():
    patch = aw.plot_graph(FeedbackGraph(2, [(1, 0)], directed=True)).patches[0]
    (_, start), (_, end) = patch._posA_posB  # arm 0 is on top
    assert start < end


def test_a_usual_graph_has_lines_and_no_rings():
    edges, heads, arms, rings = parts(cycle(5))
    assert (edges, heads, arms, rings) == (5, 0, 5, [])


def test_labels_are_written():
    graph = FeedbackGraph(2, [(0, 1)], ["low bid", "b"], directed=True)
    assert [text.get_text() for text in aw.plot_graph(graph).texts] == ["low bid", "b"]


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(InvalidGraph, match=r"graph is a ChangingGraph; expected a FeedbackGraph; try graph\.graph_of"):
        aw.plot_graph(random_edges(3, 0.5))
    with pytest.raises(InvalidGraph, match="the graph has 61 arms; expected at most 60"):
        aw.plot_graph(bandit(61))
