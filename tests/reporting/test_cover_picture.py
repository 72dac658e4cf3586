"""Pictures of covers: every arm and edge is there, nothing overlaps, large graphs give sizes, masses add up."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from matplotlib.colors import to_hex

import allworlds as aw
from allworlds import graphs
from allworlds.covers import clique_cover
from allworlds.reporting.canvas import blank, save
from allworlds.reporting.cover_picture import (
    COLOURS,
    _clique_colours,
    _links,
    cover_picture,
    draw_islands,
    island_layout,
)

COVERS = {
    "one arm": clique_cover(graphs.bandit(1)),
    "one clique": clique_cover(graphs.full_information(7)),
    "unequal cliques": clique_cover(graphs.disjoint_cliques([1, 2, 6, 3])),
    "ring": clique_cover(graphs.cycle(8)),
    "bandit": clique_cover(graphs.bandit(12)),
    "gadgets": clique_cover(graphs.lu_gadgets()),
    "disk": clique_cover(graphs.random_unit_disk(120, 0.15, seed=1)),
}


@pytest.mark.parametrize("name", COVERS)
def test_islands_do_not_overlap(name):
    centres, radii = island_layout(COVERS[name])
    apart = np.linalg.norm(centres[:, None] - centres[None], axis=2) + np.eye(len(radii)) * 1e9
    assert (apart >= 0.98 * (radii[:, None] + radii[None])).all()


@pytest.mark.parametrize("name", COVERS)
def test_all_arms_and_edges_are_drawn(name):
    cover = COVERS[name]
    unused, _, used, arms = cover_picture(cover).axes[0].collections
    assert len(arms.get_offsets()) == cover.n_arms
    assert len(used.get_segments()) + len(unused.get_segments()) == cover.graph.n_edges
    inside = sum(size * (size - 1) // 2 for size in cover.sizes.tolist())
    assert len(used.get_segments()) == inside


def test_linked_cliques_differ_in_colour_where_colours_are_enough():
    cover = clique_cover(graphs.cycle(9))
    colours, links = np.array(_clique_colours(cover)), _links(cover) > 0
    assert (colours[:, None] != colours[None])[links].all()
    assert colours.max() < len(COLOURS)


def test_a_large_graph_is_drawn_as_clique_sizes():
    cover = clique_cover(graphs.disjoint_cliques([1] * 300 + [4] * 50))
    ax = cover_picture(cover).axes[0]
    assert [bar.get_height() for bar in ax.patches] == [300, 50]
    assert "too large to draw" in ax.get_xlabel()


def test_the_picture_is_no_higher_than_its_islands_need():
    figure = cover_picture(clique_cover(graphs.disjoint_cliques(2, 3)))
    left, right, low, high = (float(end) for end in (*figure.axes[0].get_xlim(), *figure.axes[0].get_ylim()))
    assert figure.get_figheight() == pytest.approx(8.0 * (high - low) / (right - left) + 0.6)
    assert cover_picture(clique_cover(graphs.cycle(6))).get_figheight() == 8.0


def test_the_same_cover_gives_the_same_picture_byte_for_byte(tmp_path):
    files = [save(cover_picture(COVERS["gadgets"]), tmp_path / f"{k}.svg") for k in range(2)]
    assert files[0].read_bytes() == files[1].read_bytes()


def axes():
    return blank(3.0, 3.0).subplots()


@pytest.mark.parametrize("name", COVERS)
def test_no_two_arms_share_a_place_and_arms_of_a_clique_share_a_colour(name):
    cover = COVERS[name]
    arms = draw_islands(axes(), cover).collections[-1]
    distances = [np.linalg.norm(a - b) for a, b in itertools.combinations(arms.get_offsets(), 2)]
    assert min(distances, default=1.0) > 0.05
    colours = [tuple(colour) for colour in arms.get_facecolors()]
    for members in cover.cliques:
        assert len({colours[arm] for arm in members}) == 1


def test_an_edge_between_cliques_is_grey():
    graph = aw.FeedbackGraph(4, [(0, 1), (2, 3), (1, 2)])
    unused = draw_islands(axes(), aw.CliqueCover(graph, [[0, 1], [2, 3]])).collections[0]
    assert len(unused.get_segments()) == 1
    assert to_hex(unused.get_colors()[0]) == "#aaaaaa"


@pytest.mark.parametrize("labels", [["red", "blue"], ["strawberry", "elderberry"]])
def test_labels_are_written_where_a_graph_has_them(labels):
    graph = aw.FeedbackGraph(2, [(0, 1)], labels=labels)
    ax = draw_islands(axes(), aw.clique_cover(graph))
    assert {text.get_text() for text in ax.texts} == set(labels)
