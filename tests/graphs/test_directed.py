"""Directed graphs and graphs without self-loops: everything against the matrix of who sees whom."""

from __future__ import annotations

import itertools
import pickle

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import verifiers
from allworlds import graphs
from allworlds.covers import clique_cover, weak_domination
from allworlds.foundation.errors import InvalidGraph
from allworlds.graphs import FeedbackGraph
from allworlds.graphs.storage import Arcs, DisjointCliques, Neighbours
from allworlds.learners import Exp3IX

MATRICES = st.integers(1, 7).flatmap(lambda n: arrays(np.bool_, (n, n)))


def level_by_definition(sees):
    """Strong, weak or none, and the arms that make it so [Alon et al. 2015, Definition 1]."""
    n = len(sees)
    hidden = [j for j in range(n) if not any(sees[i][j] for i in range(n))]
    weak = [j for j in range(n) if not sees[j][j] and not all(sees[i][j] for i in range(n) if i != j)]
    return ("none", hidden) if hidden else ("weak", weak) if weak else ("strong", [])


@given(MATRICES)
def test_a_directed_graph_is_its_matrix(sees):
    graph, n = FeedbackGraph.from_adjacency(sees, directed=True), len(sees)
    off = sees & ~np.eye(n, dtype=bool)
    assert np.array_equal(graph.adjacency(), sees)
    assert graph.self_loops.tolist() == np.diagonal(sees).tolist()
    assert graph.is_directed == (not np.array_equal(sees, sees.T))
    for i in range(n):
        assert graph.sees(i).tolist() == np.flatnonzero(sees[i]).tolist()
        assert graph.seen_by(i).tolist() == np.flatnonzero(sees[:, i]).tolist()
        assert graph.degree(i) == off[i].sum()
        for j in range(n):
            assert graph.are_neighbours(i, j) == (sees[i, j] and sees[j, i])
    mutual = np.array_equal(sees, sees.T) and np.diagonal(sees).all()
    assert isinstance(graph._storage, Arcs) != mutual
    assert graph.n_edges == (off.sum() // 2 if mutual else off.sum())
    assert graph.edges().tolist() == np.argwhere(np.triu(off) if mutual else off).tolist()
    assert graph.mutual() == FeedbackGraph.from_adjacency(off & off.T)
    assert graph.symmetrised() == FeedbackGraph.from_adjacency(off | off.T)


@given(MATRICES)
def test_observability_and_demands_follow_their_definitions(sees):
    graph = FeedbackGraph.from_adjacency(sees, directed=True)
    level, arms = level_by_definition(sees.tolist())
    assert (graph.observability, list(graph.observability.arms)) == (level, arms)
    demands = graph.demands()
    assert ("directed" in demands) == (not np.array_equal(sees, sees.T))
    assert ("loopless" in demands) == (not np.diagonal(sees).all())
    assert ("weak" in demands) == (level == "weak")
    if "directed" in demands:
        i, j = np.argwhere(sees & ~sees.T)[0]
        assert demands["directed"] == f"arm {i} sees arm {j} but not the other way round"


@given(MATRICES)
def test_cliques_are_arms_that_all_see_each_other(sees):
    graph = FeedbackGraph.from_adjacency(sees, directed=True)
    for size in range(min(4, len(sees) + 1)):
        for arms in itertools.combinations(range(len(sees)), size):
            expected = all(sees[i, j] for i in arms for j in arms if i != j)
            assert graph.is_clique(arms) == expected


@given(MATRICES, st.booleans())
def test_equal_graphs_are_stored_alike_however_they_were_built(sees, labelled):
    n = len(sees)
    labels = [f"a{i}" for i in range(n)] if labelled else None
    one = FeedbackGraph.from_adjacency(sees, labels, directed=True)
    pairs = np.argwhere(sees)[::-1]
    other = FeedbackGraph(n, np.concatenate([pairs, pairs]), labels, directed=True, self_loops=False)
    third = FeedbackGraph(n, pairs, labels, directed=True, self_loops=np.flatnonzero(np.diagonal(sees)))
    for same in (other, third, pickle.loads(pickle.dumps(one))):
        assert same == one
        assert hash(same) == hash(one)
        assert same.digest() == one.digest()
        assert type(same._storage) is type(one._storage)


def test_a_graph_and_its_reverse_differ():
    one, other = (FeedbackGraph(2, [pair], directed=True) for pair in ((0, 1), (1, 0)))
    assert one != other
    assert one.digest() != other.digest()


def test_mutual_feedback_is_stored_as_before():
    assert isinstance(FeedbackGraph(3, [(0, 1), (1, 0)], directed=True)._storage, DisjointCliques)
    assert isinstance(FeedbackGraph(3, [(0, 1), (1, 0), (1, 2), (2, 1)], directed=True)._storage, Neighbours)
    assert FeedbackGraph(3, [(0, 1), (1, 0)], directed=True) == FeedbackGraph(3, [(0, 1)])


def test_arrays_of_a_directed_graph_cannot_be_written():
    graph = graphs.first_price_bids(3)
    for array in (graph.sees(0), graph.seen_by(2)):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: FeedbackGraph(2, [(0, 1)], directed="yes"), "directed is 'yes'"),
        (lambda: FeedbackGraph(2, [(0, 1)], self_loops=[2]), "self_loops contains 2"),
        (lambda: FeedbackGraph.from_adjacency([[0, 1], [0, 0]]), "arm 0 sees arm 1 but not the other way round"),
        (
            lambda: FeedbackGraph.from_adjacency([[0, 2], [0, 0]], directed=True),
            r"entry \(0, 1\) .* is 2; expected 0 or 1",
        ),
        (
            lambda: clique_cover(graphs.first_price_bids(3)),
            "arm 0 sees arm 1 but not .*; graph.mutual\\(\\) is the one",
        ),
        (lambda: clique_cover(graphs.loopless_clique(3)), "arm 0 does not see itself; expected an undirected graph"),
        (
            lambda: Exp3IX(FeedbackGraph(2, [], self_loops=[0])),
            "no arm sees arm 1; expected that some arm sees each arm",
        ),
        (
            lambda: graphs.noisy([[1, 0.5], [1.5, 1]]),
            "the weight with which arm 1 sees arm 0 is 1.5; expected 0 to 1; use 0 where it sees nothing and 1 where",
        ),
        (lambda: graphs.noisy([[1, 0.5]]), r"weights has shape \(1, 2\); expected a square matrix"),
        (lambda: graphs.noisy([[1.0]], noise=-1), "noise is -1"),
        (lambda: graphs.directed_cycle(2), "n is 2; expected an integer of at least 3"),
        (lambda: graphs.loopless_clique(1), "n is 1; expected an integer of at least 2"),
        (lambda: graphs.clique_with_a_gap(2), "n is 2; expected an integer of at least 3"),
        (lambda: graphs.random_directed(3, 0.5, 2, seed=0), "loops is 2.*; expected a number from 0 to 1"),
        (lambda: graphs.bipartite(2, 0), "right is 0; expected an integer of at least 1"),
    ],
)
def test_what_is_wrong_is_named_with_its_arm(make, sentence):
    with pytest.raises(InvalidGraph, match=sentence):
        make()


KNOWN = [  # make, independence number, observability, weak domination number
    (graphs.apple_tasting, 1, "strong", 0),
    (lambda: graphs.revealing_action(5), 4, "weak", 1),
    (lambda: graphs.label_efficient(5), 5, "weak", 1),
    (lambda: graphs.loopy_star(6), 5, "strong", 0),
    (lambda: graphs.first_price_bids(6), 1, "strong", 0),
    (lambda: graphs.total_order(6), 1, "strong", 0),
    (lambda: graphs.total_order(6, self_loops=False), 1, "weak", 1),
    (lambda: graphs.directed_cycle(7), 3, "strong", 0),
    (lambda: graphs.directed_cycle(7, self_loops=False), 3, "weak", 7),
    (lambda: graphs.directed_cycle(3), 1, "strong", 0),
    (lambda: graphs.loopless_clique(5), 1, "strong", 0),
    (lambda: graphs.clique_with_a_gap(5), 1, "weak", 1),
    (lambda: graphs.bipartite(3, 4), 4, "strong", 0),
    (lambda: graphs.bipartite(5, 2), 5, "strong", 0),
    (lambda: graphs.tournament(6, seed=3), 1, "strong", 0),
]


@pytest.mark.parametrize(("make", "alpha", "level", "delta"), KNOWN)
def test_families_have_the_numbers_that_they_are_known_for(make, alpha, level, delta):
    graph = make()
    sees = graph.adjacency()
    assert verifiers.independence_number(sees | sees.T | np.eye(len(sees), dtype=bool)) == alpha
    assert level_by_definition(sees.tolist())[0] == graph.observability == level
    assert weak_domination(graph).upper == delta


def test_families_are_the_matrices_that_their_names_say():
    order = np.triu(np.ones((5, 5), dtype=bool))
    assert np.array_equal(graphs.first_price_bids(5).adjacency(), order)
    assert np.array_equal(
        graphs.total_order(5, self_loops=False).adjacency(), np.triu(order, 1) | np.diag([1, 0, 0, 0, 0])
    )
    assert np.array_equal(graphs.loopless_clique(5).adjacency(), ~np.eye(5, dtype=bool))
    star = np.eye(4, dtype=bool)
    star[0] = True
    assert np.array_equal(graphs.loopy_star(4).adjacency(), star)
    assert np.array_equal(graphs.revealing_action(4).adjacency(), star & ~np.diag([0, 1, 1, 1]).astype(bool))
    ring = networkx.to_numpy_array(networkx.cycle_graph(6, create_using=networkx.DiGraph)) == 1
    assert np.array_equal(graphs.directed_cycle(6, self_loops=False).adjacency(), ring)
    assert networkx.is_tournament(networkx.DiGraph(graphs.tournament(8, 2).edges().tolist()))
    assert graphs.label_efficient(3) == graphs.revealing_action(4)


def test_bids_are_transitive():
    sees = graphs.first_price_bids(6).adjacency()
    assert not ((sees.astype(int) @ sees > 0) & ~sees).any()


@given(st.integers(1, 5), st.integers(1, 5), st.integers(0, 1000))
def test_independent_arms_of_a_bipartite_graph_are_those_without_a_matching(left, right, seed):
    sees = graphs.bipartite(left, right, 0.4, seed=seed).adjacency()
    assert not sees[left:, :left].any()
    graph = networkx.Graph([(i, left + j) for i, j in np.argwhere(sees[:left, left:]).tolist()])
    matching = len(networkx.bipartite.maximum_matching(graph, top_nodes=[i for i in graph if i < left])) // 2
    assert verifiers.independence_number(sees | sees.T) == left + right - matching


@pytest.mark.parametrize(("p", "loops"), [(0.3, 1.0), (0.7, 0.25)])
def test_random_graphs_have_edges_and_self_loops_as_often_as_told(p, loops):
    n, draws = 6, 600
    sees = np.array([graphs.random_directed(n, p, loops, seed=seed).adjacency() for seed in range(draws)])
    expected = np.where(np.eye(n, dtype=bool), loops, p)
    assert (np.abs(sees.mean(axis=0) - expected) <= 4.5 * np.sqrt(expected * (1 - expected) / draws)).all()
    assert graphs.random_directed(n, p, loops, seed=3) == graphs.random_directed(n, p, loops, seed=3)


def test_random_families_turn_edges_as_often_as_not():
    turns = np.array([graphs.tournament(5, seed).adjacency() for seed in range(600)])
    assert (np.abs(turns.mean(axis=0) - 0.5)[~np.eye(5, dtype=bool)] <= 4.5 * 0.5 / np.sqrt(600)).all()
    across = np.array([graphs.bipartite(2, 3, 0.3, seed).adjacency()[:2, 2:] for seed in range(600)])
    assert (np.abs(across.mean(axis=0) - 0.3) <= 4.5 * np.sqrt(0.21 / 600)).all()


def test_the_noisy_grid_weighs_by_the_squared_distance():
    graph = graphs.noisy_grid(5, 5)
    for i, j in itertools.product(range(25), range(25)):
        squared = (i // 5 - j // 5) ** 2 + (i % 5 - j % 5) ** 2
        assert graph.weights[i, j] == (1.0 if squared <= 3 else 3.0 / squared)
    assert graph.observability == "strong"
    assert list(graph.demands()) == ["noisy"]
    assert graph == graphs.noisy(graph.weights) == pickle.loads(pickle.dumps(graph))
    assert graph != graphs.noisy_grid(5, 5, noise=0.25)
