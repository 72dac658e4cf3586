"""The random families: the right law, the same graph for the same seed, and no memory beyond the edges."""

from __future__ import annotations

import tracemalloc

import networkx as nx
import numpy as np
import pytest

from allworlds import graphs
from allworlds.foundation.errors import InvalidGraph
from allworlds.graphs.random_families import _successes

FAMILIES = {
    "erdos_renyi": lambda seed: graphs.erdos_renyi(30, 0.3, seed),
    "stochastic_blocks": lambda seed: graphs.stochastic_blocks([10, 20], 0.7, 0.1, seed),
    "random_interval": lambda seed: graphs.random_interval(30, 0.1, seed),
    "random_unit_disk": lambda seed: graphs.random_unit_disk(30, 0.3, seed),
    "barabasi_albert": lambda seed: graphs.barabasi_albert(30, 2, seed),
}


@pytest.mark.parametrize("make", FAMILIES.values(), ids=FAMILIES)
def test_a_seed_decides_the_graph(make):
    assert make(4) == make(4) == make(np.random.default_rng(4))
    assert make(4) != make(5)


@pytest.mark.parametrize("make", FAMILIES.values(), ids=FAMILIES)
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


def test_successes_are_drawn_to_the_end_however_small_the_gaps():
    class AlwaysNext:
        def geometric(self, p, size):
            return np.ones(size, dtype=np.int64)

    assert _successes(1000, 0.01, AlwaysNext()).tolist() == list(range(1000))


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
        (lambda: graphs.erdos_renyi(0, 0.5, 1), "n must be an integer"),
        (lambda: graphs.erdos_renyi(5, 1.5, 1), "p must be a finite number from 0 to 1, but 1.5 came"),
        (lambda: graphs.erdos_renyi(5, float("nan"), 1), "p must be a finite number"),
        (lambda: graphs.stochastic_blocks([], 0.5, 0.5, 1), "sizes must be a list of positive integers"),
        (lambda: graphs.stochastic_blocks([2], -0.1, 0.5, 1), "p_in is -0.1; expected a number from 0 to 1"),
        (lambda: graphs.stochastic_blocks([2], 0.1, 2, 1), "p_out must be a finite number"),
        (lambda: graphs.random_interval(3, -1, 1), "length must be a finite number of at least 0"),
        (lambda: graphs.random_unit_disk(0, 1, 1), "n must be an integer"),
        (lambda: graphs.barabasi_albert(3, 3, 1), "m must be below n, but m = 3 links and n = 3 arms came"),
        (lambda: graphs.barabasi_albert(3, 0, 1), "m must be an integer of at least 1"),
    ],
)
def test_bad_parameters_are_refused(build, sentence):
    with pytest.raises(InvalidGraph, match=sentence):
        build()
