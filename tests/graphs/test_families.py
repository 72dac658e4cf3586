"""The families: numbers by brute force, edges by networkx or by definition; random ones have the right law."""

from __future__ import annotations

import tracemalloc

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import verifiers
from allworlds import graphs
from allworlds.foundation.errors import InvalidGraph
from allworlds.graphs import FeedbackGraph
from allworlds.graphs.families import successes
from problems import GRAPHS, SMALL_GRAPHS


def same_as_networkx(graph, other):
    relabelled = nx.convert_node_labels_to_integers(other, ordering="sorted")
    return nx.utils.graphs_equal(nx.Graph(graph.to_networkx().edges), nx.Graph(relabelled.edges)) and (
        graph.n_arms == other.number_of_nodes()
    )


def milp_independence_number(graph):
    from scipy.optimize import Bounds, LinearConstraint, milp

    rows = np.zeros((graph.n_edges, graph.n_arms))
    for row, edge in enumerate(graph.edges()):
        rows[row, edge] = 1
    answer = milp(-np.ones(graph.n_arms), integrality=1, bounds=Bounds(0, 1), constraints=LinearConstraint(rows, ub=1))
    assert answer.success
    return round(-answer.fun)


def cover_program(graph, integrality):
    """The fewest maximal cliques that reach every arm, whole or fractional."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    cliques = list(nx.find_cliques(graph.to_networkx()))
    reach = np.zeros((graph.n_arms, len(cliques)))
    for column, clique in enumerate(cliques):
        reach[clique, column] = 1
    answer = milp(
        np.ones(len(cliques)),
        integrality=integrality,
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(reach, lb=1),
    )
    assert answer.success
    return answer.fun


@pytest.mark.parametrize("known", SMALL_GRAPHS, ids=str)
def test_alpha_and_theta_are_as_the_docstrings_say(known):
    matrix = known.make().adjacency()
    assert verifiers.independence_number(matrix) == known.alpha
    assert verifiers.clique_cover_number(matrix) == known.theta


def test_only_the_gadgets_are_beyond_brute_force():
    assert [known.name for known in GRAPHS if known not in SMALL_GRAPHS] == ["lu-gadgets"]


def test_the_gadgets_have_the_degrees_of_their_definition():
    graph = graphs.lu_gadgets()
    degrees = [graph.degree(arm) for arm in range(30)]
    assert degrees == [7, 4, 4, 4, 4, 4, 5] * 4 + [2, 2]
    for base in (0, 7, 14, 21):
        ring = list(range(base + 1, base + 6))
        assert nx.is_isomorphic(graph.to_networkx().subgraph(ring), nx.cycle_graph(5))
        assert not graph.are_neighbours(base, base + 6)
        assert all(graph.are_neighbours(hub, arm) for hub in (base, base + 6) for arm in ring)
    assert graph.sees(28).tolist() == [0, 7, 28]
    assert graph.sees(29).tolist() == [14, 21, 29]
    assert graph.are_neighbours(0, 14)
    assert graph.are_neighbours(7, 21)


def test_the_gadgets_separate_alpha_from_theta():
    graph = graphs.lu_gadgets()
    assert milp_independence_number(graph) == 10
    assert round(cover_program(graph, integrality=1)) == 14
    assert cover_program(graph, integrality=0) == pytest.approx(12)


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5, 6])
def test_mycielski_complements_are_complements_of_mycielski_graphs(k):
    graph = graphs.mycielski_complement(k)
    other = nx.complement(graph.to_networkx())
    assert nx.is_isomorphic(other, nx.mycielski_graph(k))
    assert sum(nx.triangles(other).values()) == 0  # so no three arms are independent


@pytest.mark.parametrize(
    ("graph", "other"),
    [
        (graphs.bandit(5), nx.empty_graph(5)),
        (graphs.full_information(5), nx.complete_graph(5)),
        (graphs.disjoint_cliques([2, 1, 3]), nx.disjoint_union_all(map(nx.complete_graph, [2, 1, 3]))),
        (graphs.star(6), nx.star_graph(5)),
        (graphs.star(1), nx.empty_graph(1)),
        (graphs.path(6), nx.path_graph(6)),
        (graphs.path(1), nx.empty_graph(1)),
        (graphs.cycle(6), nx.cycle_graph(6)),
        (graphs.grid(3, 4), nx.grid_2d_graph(3, 4)),
        (graphs.grid(1, 4), nx.path_graph(4)),
    ],
    ids=lambda value: f"{len(value)} nodes" if isinstance(value, nx.Graph) else repr(value),
)
def test_plain_families_are_those_of_networkx(graph, other):
    assert same_as_networkx(graph, other)


def test_equal_cliques_can_be_named_in_two_ways():
    assert graphs.disjoint_cliques(3, 2) == graphs.disjoint_cliques([2, 2, 2])


points = st.floats(-10, 10, allow_nan=False).map(lambda x: round(x, 1))


@given(st.lists(st.tuples(points, points).map(sorted), min_size=1, max_size=8))
def test_intervals_are_neighbours_exactly_when_they_meet_and_are_perfect(intervals):
    graph = graphs.interval(intervals)
    matrix = [[max(a, c) <= min(b, d) for c, d in intervals] for a, b in intervals]
    np.testing.assert_array_equal(graph.adjacency(), matrix)
    assert verifiers.independence_number(matrix) == verifiers.clique_cover_number(matrix)


@given(st.lists(st.tuples(points, points, points), min_size=1, max_size=8), st.floats(0, 15))
def test_points_are_neighbours_exactly_when_they_are_near(places, radius):
    graph = graphs.unit_disk(places, radius)
    array = np.array(places)
    near = np.linalg.norm(array[:, None] - array[None, :], axis=2) <= radius
    np.testing.assert_array_equal(graph.adjacency(), near)


@pytest.mark.parametrize("square", range(1, 40))
def test_points_at_exactly_the_radius_see_each_other(square):
    places = [(0.0, 0.0, 0.0), (float(square) ** 0.5, 0.0, 0.0)]
    assert graphs.unit_disk(places, float(square) ** 0.5).n_edges == 1
    assert graphs.unit_disk(places, np.nextafter(float(square) ** 0.5, 0.0)).n_edges == 0


@pytest.mark.parametrize(
    ("build", "sentence"),
    [
        (lambda: graphs.bandit(0), "n is .*; expected an integer of at least 1"),
        (lambda: graphs.full_information(2.5), "n is .*; expected an integer"),
        (lambda: graphs.disjoint_cliques(3), r"disjoint_cliques\(3\) lacks the size of a clique"),
        (lambda: graphs.disjoint_cliques(3, 0), "size is .*; expected an integer of at least 1"),
        (lambda: graphs.disjoint_cliques(True, 2), "n_cliques is .*; expected an integer"),
        (lambda: graphs.disjoint_cliques([1, 2], 3), "n_cliques is .*; expected an integer"),
        (lambda: graphs.disjoint_cliques([1, 0]), "sizes is .*; expected a list of positive integers"),
        (lambda: graphs.disjoint_cliques([]), "sizes is .*; expected a list of positive integers"),
        (lambda: graphs.disjoint_cliques([1.5]), "sizes is .*; expected integers"),
        (lambda: graphs.star(-2), "n is .*; expected an integer"),
        (lambda: graphs.path("4"), "n is .*; expected an integer"),
        (lambda: graphs.cycle(2), "n is .*; expected an integer of at least 3"),
        (lambda: graphs.grid(0, 3), "rows is .*; expected an integer"),
        (lambda: graphs.grid(3, 0), "columns is .*; expected an integer"),
        (lambda: graphs.mycielski_complement(0), "k is .*; expected an integer"),
        (lambda: graphs.mycielski_complement(40), "k is 40, .*; expected at most 14"),
        (lambda: graphs.interval([(2, 1)]), "interval 0 runs from 2.0 to 1.0"),
        (lambda: graphs.interval([(0, np.nan)]), "row 0 of intervals is .*; expected finite numbers"),
        (lambda: graphs.interval([(0, 1, 2)]), r"intervals has shape \(1, 3\); expected pairs"),
        (lambda: graphs.interval([]), "at least one row"),
        (lambda: graphs.interval("ab"), "intervals is .*; expected numbers in a regular shape"),
        (lambda: graphs.unit_disk([1, 2, 3], 1), r"points has shape \(3,\); expected \(n, d\)"),
        (lambda: graphs.unit_disk([(0, 0)], -1), "radius is -1; expected a finite number of at least 0"),
        (lambda: graphs.unit_disk([(0, 0)], np.inf), "radius is .*; expected a finite number"),
        (lambda: graphs.unit_disk([(0, 0)], "near"), "radius is .*; expected a finite number"),
    ],
)
def test_bad_sizes_are_refused(build, sentence):
    with pytest.raises(InvalidGraph, match=sentence):
        build()


def test_every_family_is_a_public_name_of_the_room():
    names = [name for name in graphs.__all__ if name != "AnyGraph"]
    assert all(callable(getattr(graphs, name)) for name in names)
    assert isinstance(graphs.bandit(2), FeedbackGraph)


def test_more_arms_than_any_memory_holds_are_refused_before_anything_is_made():
    with pytest.raises(InvalidGraph, match="999,999,999 cliques of 999,999,999 arms are too many"):
        graphs.disjoint_cliques(999_999_999, 999_999_999)


# Random families

RANDOM = {
    "erdos_renyi": lambda seed: graphs.erdos_renyi(30, 0.3, seed),
    "stochastic_blocks": lambda seed: graphs.stochastic_blocks([10, 20], 0.7, 0.1, seed),
    "random_interval": lambda seed: graphs.random_interval(30, 0.1, seed),
    "random_unit_disk": lambda seed: graphs.random_unit_disk(30, 0.3, seed),
    "barabasi_albert": lambda seed: graphs.barabasi_albert(30, 2, seed),
}


@pytest.mark.parametrize("make", RANDOM.values(), ids=RANDOM)
def test_a_seed_decides_the_graph(make):
    assert make(4) == make(4) == make(np.random.default_rng(4))
    assert make(4) != make(5)


@pytest.mark.parametrize("make", RANDOM.values(), ids=RANDOM)
@pytest.mark.parametrize("seed", [-1, 1.5, "a", None, True])
def test_a_bad_seed_is_refused(make, seed):
    with pytest.raises(InvalidGraph, match=r"seed is .*; expected an integer of at least 0"):
        make(seed)


@pytest.mark.parametrize("p", [0.02, 0.3, 0.9])
def test_every_pair_is_an_edge_equally_often(p):
    n, draws = 8, 4000
    rng = np.random.default_rng(11)
    counts = sum(graphs.erdos_renyi(n, p, rng).adjacency().astype(int) for _ in range(draws))
    share = counts[np.triu_indices(n, 1)] / draws
    deviation = np.sqrt(p * (1 - p) / draws)
    assert np.abs(share - p).max() < 4.5 * deviation
    assert abs(share.mean() - p) < 4.5 * deviation / np.sqrt(len(share))


def test_the_number_of_edges_varies_as_a_binomial_does():
    counts = [graphs.erdos_renyi(20, 0.5, seed).n_edges for seed in range(1000)]
    # Binomial(190, 1/2): variance 47.5, of which a sample of 1000 strays by about 2.1.
    assert abs(np.var(counts, ddof=1) - 47.5) < 9


def testsuccesses_are_drawn_to_the_end_however_small_the_gaps():
    class AlwaysNext:
        def geometric(self, p, size):
            return np.ones(size, dtype=np.int64)

    assert successes(1000, 0.01, AlwaysNext()).tolist() == list(range(1000))


def test_certain_and_impossible_edges():
    assert graphs.erdos_renyi(7, 0.0, seed=1) == graphs.bandit(7)
    assert graphs.erdos_renyi(7, 1.0, seed=1) == graphs.full_information(7)
    assert graphs.erdos_renyi(1, 0.5, seed=1) == graphs.bandit(1)
    assert graphs.erdos_renyi(7, 1e-300, seed=1) == graphs.bandit(7)
    assert graphs.stochastic_blocks([2, 1, 3], 1.0, 0.0, seed=1) == graphs.disjoint_cliques([2, 1, 3])


def test_without_edges_inside_the_blocks_make_a_multipartite_graph():
    graph = graphs.stochastic_blocks([2, 1, 3], 0.0, 1.0, seed=1)
    assert nx.utils.graphs_equal(graph.to_networkx(), nx.Graph(nx.complete_multipartite_graph(2, 1, 3).edges))


def test_blocks_have_their_two_densities():
    matrix = graphs.stochastic_blocks([300, 200, 100], 0.4, 0.1, seed=2).adjacency()
    block = np.repeat([0, 1, 2], [300, 200, 100])
    upper = np.triu(np.ones_like(matrix), 1)
    same = block[:, None] == block[None, :]
    for where, p in ((same & upper, 0.4), (~same & upper, 0.1)):
        assert abs(matrix[where].mean() - p) < 4.5 * np.sqrt(p * (1 - p) / where.sum())


def test_a_sparse_graph_of_many_arms_takes_memory_for_its_edges_only():
    tracemalloc.start()
    try:
        graph = graphs.erdos_renyi(20_000, 1e-4, seed=3)  # a matrix would take 400 MB
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert abs(graph.n_edges - 20_000) < 4.5 * np.sqrt(20_000)
    assert peak < 10e6


def test_popular_arms_get_the_links():
    graph = graphs.barabasi_albert(2000, 3, seed=4)
    assert graph.n_edges == 3 * (2000 - 3)
    assert nx.is_connected(graph.to_networkx())
    degrees = np.array([graph.degree(arm) for arm in range(2000)])
    assert degrees[4:].min() == 3
    assert degrees[:20].mean() > 5 * degrees[-1000:].mean()


def test_one_link_each_makes_a_tree():
    assert nx.is_tree(graphs.barabasi_albert(50, 1, seed=5).to_networkx())


def test_the_densest_attachment_is_a_star():
    assert graphs.barabasi_albert(5, 4, seed=6) == graphs.star(5)


def test_random_points_and_intervals_reach_their_extremes():
    assert graphs.random_interval(6, 0.0, seed=7) == graphs.bandit(6)
    assert graphs.random_interval(6, 1.0, seed=7) == graphs.full_information(6)
    assert graphs.random_unit_disk(6, 0.0, seed=7) == graphs.bandit(6)
    assert graphs.random_unit_disk(6, 1.5, seed=7) == graphs.full_information(6)


@pytest.mark.parametrize(
    ("build", "sentence"),
    [
        (lambda: graphs.erdos_renyi(0, 0.5, 1), "n is .*; expected an integer"),
        (lambda: graphs.erdos_renyi(5, 1.5, 1), "p is 1.5; expected a number from 0 to 1"),
        (lambda: graphs.erdos_renyi(5, float("nan"), 1), "p is nan; expected a number from 0 to 1"),
        (lambda: graphs.stochastic_blocks([], 0.5, 0.5, 1), "sizes is .*; expected a list of positive integers"),
        (lambda: graphs.stochastic_blocks([2], -0.1, 0.5, 1), "p_in is -0.1; expected a number from 0 to 1"),
        (lambda: graphs.stochastic_blocks([2], 0.1, 2, 1), "p_out is 2; expected a number from 0 to 1"),
        (lambda: graphs.random_interval(3, -1, 1), "length is -1; expected a finite number of at least 0"),
        (lambda: graphs.random_unit_disk(0, 1, 1), "n is .*; expected an integer"),
        (lambda: graphs.barabasi_albert(3, 3, 1), "m is 3 with n = 3 arms; expected m below n"),
        (lambda: graphs.barabasi_albert(3, 0, 1), "m is .*; expected an integer of at least 1"),
    ],
)
def test_bad_parameters_of_random_graphs_are_refused(build, sentence):
    with pytest.raises(InvalidGraph, match=sentence):
        build()
