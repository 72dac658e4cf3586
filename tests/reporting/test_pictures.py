from __future__ import annotations

import itertools

import numpy as np
import pytest

import allworlds as aw
from allworlds.reporting.canvas import CATEGORIES, blank
from allworlds.reporting.pictures import clique_colour, clique_masses, feedback_graph, ring_layout

COVERS = {
    "one arm": aw.CliqueCover(aw.FeedbackGraph(1), [[0]]),
    "one clique": aw.clique_cover(aw.graphs.full_information(5)),
    "two cliques": aw.clique_cover(aw.graphs.disjoint_cliques(2, 4)),
    "unequal cliques": aw.clique_cover(aw.graphs.disjoint_cliques([1, 2, 6, 3])),
    "singletons": aw.clique_cover(aw.graphs.bandit(9)),
    "ring": aw.clique_cover(aw.graphs.cycle(8)),
}


def axes():
    return blank(3.0, 3.0).subplots()


@pytest.mark.parametrize("name", COVERS)
def test_no_two_arms_share_a_place(name):
    positions = ring_layout(COVERS[name])
    distances = [np.linalg.norm(a - b) for a, b in itertools.combinations(positions, 2)]
    assert min(distances, default=1.0) > 0.05


@pytest.mark.parametrize("name", COVERS)
def test_every_arm_is_a_dot_in_the_colour_of_its_clique_and_every_edge_a_line(name):
    cover = COVERS[name]
    ax = feedback_graph(axes(), cover)
    assert len(ax.lines) == cover.graph.n_edges
    (dots,) = ax.collections
    assert len(dots.get_offsets()) == cover.n_arms
    colours = [tuple(colour) for colour in dots.get_facecolors()]
    for one, other in itertools.combinations(range(cover.n_arms), 2):
        if cover.owner[one] == cover.owner[other]:
            assert colours[one] == colours[other]
        elif cover.n_cliques <= len(CATEGORIES):
            assert colours[one] != colours[other]


def test_an_edge_between_cliques_is_grey():
    graph = aw.FeedbackGraph(4, [(0, 1), (2, 3), (1, 2)])
    ax = feedback_graph(axes(), aw.CliqueCover(graph, [[0, 1], [2, 3]]))
    assert sorted(line.get_color() for line in ax.lines) == sorted([clique_colour(0), clique_colour(1), "#BBBBBB"])


def test_labels_are_written_where_a_graph_has_them():
    graph = aw.FeedbackGraph(2, [(0, 1)], labels=["red", "blue"])
    ax = feedback_graph(axes(), aw.clique_cover(graph))
    assert {text.get_text() for text in ax.texts} == {"red", "blue"}


def test_masses_are_stacked_to_one_and_named_inside_their_own_area():
    rounds = np.arange(1, 101)
    first = np.linspace(0.9, 0.1, 100)
    masses = np.stack([first, 1.0 - first], axis=1)
    ax = clique_masses(axes(), rounds, masses, ["early", "late"])
    tops = [area.get_paths()[0].vertices[:, 1].max() for area in ax.collections]
    assert tops == pytest.approx([0.9, 1.0])
    for text, clique in zip(ax.texts, (0, 1), strict=True):
        round, height = text.get_position()
        share = masses[int(round) - 1]
        assert (height < share[0]) == (clique == 0)
