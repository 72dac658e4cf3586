"""Graphs whose cover numbers are known by hand or published: the exact value, proved, and the proof checked."""

from __future__ import annotations

from itertools import combinations

import networkx
import numpy as np
import pytest

import verifiers
from allworlds import graphs
from allworlds.covers import clique_cover
from allworlds.graphs import FeedbackGraph

pytestmark = pytest.mark.compiled


def complement(graph):
    return FeedbackGraph.from_networkx(networkx.complement(networkx.convert_node_labels_to_integers(graph)))


def queens(n):
    """Squares of a board between which a queen can move."""
    squares = [(i, j) for i in range(n) for j in range(n)]
    pairs = [
        (one, other)
        for one, other in combinations(squares, 2)
        if one[0] == other[0] or one[1] == other[1] or abs(one[0] - other[0]) == abs(one[1] - other[1])
    ]
    return networkx.Graph(pairs)


def flat(n, colours, seed):
    """A graph that can be coloured with ``colours``, and has a clique of as many: n arms, half of the allowed edges."""
    rng = np.random.default_rng(seed)
    graph = networkx.Graph()
    graph.add_nodes_from(range(n))
    graph.add_edges_from(
        (i, j)
        for i, j in combinations(range(n), 2)
        if i % colours != j % colours and (j < colours or rng.random() < 0.5)
    )
    return graph


def proved(graph, theta, time_limit=None):
    """The cover has ``theta`` cliques, and its certificate proves so here and by definition."""
    cover = clique_cover(graph, time_limit)
    assert verifiers.is_clique_cover(graph.adjacency(), cover.cliques)
    assert (cover.n_cliques, cover.lower_bound) == (theta, theta)
    cover.certificate.check(graph)
    assert verifiers.proved_bound(graph.adjacency(), cover.certificate.to_data()) == theta


@pytest.mark.parametrize(("n", "colours"), [(5, 5), (6, 7), (7, 7)])
def test_queens_need_their_published_number_of_colours(n, colours):
    proved(complement(queens(n)), colours)


@pytest.mark.slow
def test_eight_queens_need_nine_colours():
    proved(complement(queens(8)), 9, time_limit=120.0)


@pytest.mark.parametrize("k", [3, 4])
def test_mycielski_graphs_need_one_colour_more_each(k):
    proved(complement(networkx.mycielski_graph(k + 1)), k + 1)


@pytest.mark.slow
def test_the_fifth_mycielski_graph_needs_six_colours():
    proved(complement(networkx.mycielski_graph(6)), 6, time_limit=120.0)


@pytest.mark.parametrize("seed", range(3))
def test_flat_graphs_need_the_colours_they_were_made_with(seed):
    proved(complement(flat(80, 6, seed)), 6)


NETWORKS = {
    "florentine families": networkx.florentine_families_graph,
    "davis southern women": networkx.davis_southern_women_graph,
    "karate club": networkx.karate_club_graph,
    "les miserables": networkx.les_miserables_graph,
}


@pytest.mark.parametrize("name", NETWORKS)
def test_real_networks_are_solved_and_proved(name):
    original = networkx.convert_node_labels_to_integers(NETWORKS[name]())
    graph = FeedbackGraph.from_networkx(networkx.Graph(original.edges))
    theta = clique_cover(graph).n_cliques
    proved(graph, theta)
    assert not verifiers.can_be_covered(graph.adjacency(), theta - 1)


@pytest.mark.parametrize("k", [1, 4])
def test_pentagons_side_by_side_need_three_cliques_each(k):
    pentagons = networkx.disjoint_union_all([networkx.cycle_graph(5) for _ in range(k)])
    proved(FeedbackGraph.from_networkx(pentagons), 3 * k)


@pytest.mark.parametrize("n", [7, 9, 21])
def test_odd_cycles_need_half_of_their_arms_rounded_up(n):
    proved(graphs.cycle(n), (n + 1) // 2)


@pytest.mark.parametrize("seed", range(3))
def test_perfect_graphs_need_as_many_cliques_as_arms_stand_apart(seed):
    for graph in (graphs.random_interval(60, 0.05, seed), graphs.barabasi_albert(60, 1, seed)):
        largest, _ = networkx.max_weight_clique(networkx.complement(graph.to_networkx()), weight=None)
        proved(graph, len(largest))


def test_parts_of_different_kinds_are_proved_together():
    parts = [
        networkx.cycle_graph(5),
        networkx.complement(networkx.mycielski_graph(4)),
        networkx.path_graph(4),
        graphs.lu_gadgets().to_networkx(),
    ]
    graph = FeedbackGraph.from_networkx(networkx.disjoint_union_all(parts))
    proved(graph, 3 + 4 + 2 + 14)
    kinds = {part["certificate"]["kind"] for part in clique_cover(graph).certificate.to_data()["parts"]}
    assert kinds == {"independent arms", "odd components", "exhausted"}


@pytest.mark.parametrize("p", [0.3, 0.5, 0.7, 0.9])
def test_random_graphs_of_sixty_arms_are_proved_without_a_time_limit(p):
    cover = clique_cover(graphs.erdos_renyi(60, p, seed=2))
    assert cover.is_minimum
    assert verifiers.is_clique_cover(cover.graph.adjacency(), cover.cliques)


def test_the_lu_gadgets_need_fourteen_cliques_by_every_exact_method():
    pytest.importorskip("pysat")
    graph = graphs.lu_gadgets()
    for method, solver in (("branch", "branch and bound"), ("sat", "glucose4"), ("set-cover", "HiGHS")):
        cover = clique_cover(graph, 60.0, method=method)
        assert (cover.n_cliques, cover.is_minimum) == (14, True)
        assert cover.certificate.solver.startswith(solver)
    assert clique_cover(graph, method="heuristic").lower_bound == 10
