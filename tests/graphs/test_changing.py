"""Graphs that change: the graph of every round by definition, its frequencies, and what it asks of a learner."""

from __future__ import annotations

import pickle

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from allworlds import graphs
from allworlds.foundation.errors import InvalidGraph, InvalidParameter
from allworlds.graphs import FeedbackGraph, changing, read_changing
from allworlds.graphs.round_graphs import blank_lists, write_graph
from allworlds.learners import UCBN, Exp3IX, TsallisShannon


def written(graph, round, seed):
    """Who sees whom in a round, from both lists that kernels write."""
    n = graph.n_arms
    seen, observers = blank_lists(n)
    write_graph(graph.round_graphs(), seed, round, 0.0, seen, observers)
    matrices = np.zeros((2, n, n), dtype=bool)
    for matrix, lists in zip(matrices, (seen, observers), strict=True):
        for arm in range(n):
            arms = lists.order[lists.starts[arm] : lists.starts[arm + 1]]
            assert np.array_equal(arms, np.unique(arms))
            matrix[arm, arms] = True
    return matrices[0], matrices[1].T


MIXED = [
    graphs.directed_cycle(5),
    graphs.star(5),
    graphs.random_directed(5, 0.3, 0.5, seed=4),
    graphs.loopless_clique(5),
    graphs.bandit(5),
]


@given(st.lists(st.sampled_from(MIXED), min_size=1, max_size=4), st.integers(1, 5), st.integers(1, 60))
def test_graphs_take_turns(listed, period, round):
    graph = changing(listed, period)
    now = listed[(round - 1) // period % len(listed)]
    assert graph.graph_of(round) == now
    forth, back = written(graph, round, seed=1)
    assert np.array_equal(forth, now.adjacency())
    assert np.array_equal(back, now.adjacency())


@given(st.sampled_from([*MIXED, graphs.tournament(6, 1)]), st.integers(1, 50), st.integers(0, 10**9))
def test_a_drawn_graph_has_some_of_the_edges_and_all_self_loops_and_both_lists_agree(base, round, seed):
    graph = changing(base, probability=0.5)
    forth, back = written(graph, round, seed)
    assert np.array_equal(forth, back)
    assert not (forth & ~base.adjacency()).any()
    assert np.array_equal(np.diagonal(forth), base.self_loops)
    assert np.array_equal(forth, forth.T) or base.is_directed
    assert np.array_equal(graph.graph_of(round, seed).adjacency(), forth)


@pytest.mark.compiled
@pytest.mark.parametrize("base", [graphs.full_information(4), graphs.first_price_bids(4)], ids=["mutual", "directed"])
def test_each_edge_is_there_as_often_as_its_probability_says(base):
    rng = np.random.default_rng(1)
    chances = rng.uniform(0.05, 0.95, (4, 4))
    chances = np.triu(chances, 1) + np.triu(chances, 1).T
    graph, rounds = changing(base, probability=chances), 4000
    counts = sum(written(graph, t, seed=3)[0].astype(int) for t in range(1, rounds + 1))
    expected = np.where(base.adjacency(), chances, 0.0)
    np.fill_diagonal(expected, 1.0)
    error = np.sqrt(expected * (1.0 - expected) / rounds)
    assert (np.abs(counts / rounds - expected) <= 4.5 * error).all()


@pytest.mark.compiled
def test_edges_of_a_round_are_drawn_independently():
    graph, rounds = changing(graphs.full_information(4), probability=0.5), 4000
    edges = np.array([written(graph, t, seed=8)[0][np.triu_indices(4, 1)] for t in range(1, rounds + 1)])
    correlation = np.corrcoef(np.concatenate([edges[1:], edges[:-1]], axis=1).T) - np.eye(12)
    assert np.abs(correlation).max() < 4.5 / np.sqrt(rounds)


def test_both_ways_of_an_edge_are_drawn_apart_if_the_graph_is_directed():
    both = FeedbackGraph.from_adjacency([[1, 1, 1], [1, 1, 0], [0, 0, 1]], directed=True)
    graph = changing(both, probability=0.5)
    seen = [written(graph, t, seed=0)[0] for t in range(1, 60)]
    assert {(bool(now[0, 1]), bool(now[1, 0])) for now in seen} == {
        (a, b) for a in (False, True) for b in (False, True)
    }


def test_a_drawn_graph_stays_for_its_period_and_depends_on_the_seed():
    graph = changing(graphs.full_information(6), period=5, probability=0.5)
    for block in range(4):
        stays = {graph.graph_of(1 + 5 * block + k, seed=2) for k in range(5)}
        assert len(stays) == 1
    assert graph.graph_of(1, seed=2) != graph.graph_of(6, seed=2)
    assert graph.graph_of(1, seed=2) != graph.graph_of(1, seed=3)


def test_a_probability_of_zero_takes_an_edge_away():
    graph = changing(graphs.first_price_bids(2), probability=[[0, 0], [0, 0]])
    assert graph.graph_of(1) == graphs.bandit(2)
    assert "directed" not in graph.demands()


@pytest.mark.parametrize(
    ("graph", "level", "arms"),
    [
        (changing([graphs.star(3), graphs.bandit(3)]), "strong", ()),
        (changing([graphs.star(3), graphs.revealing_action(3)]), "weak", (1, 2)),
        (changing([FeedbackGraph(3, [], self_loops=[0, 2]), graphs.bandit(3)]), "none", (1,)),
        (changing(graphs.loopless_clique(3), probability=1.0), "strong", ()),
        (changing(graphs.loopless_clique(3), probability=0.9), "none", (0, 1, 2)),
        (changing(graphs.tournament(4, 1), probability=0.0), "strong", ()),
    ],
)
def test_observability_is_the_worst_that_a_round_may_have(graph, level, arms):
    assert (graph.observability, graph.observability.arms) == (level, arms)


def test_a_changing_graph_asks_for_what_its_graphs_ask_for():
    assert set(changing([graphs.star(3), graphs.first_price_bids(3)]).demands()) == {"uninformed", "directed"}
    assert set(changing([graphs.star(3)], told="before").demands()) == {"changing"}
    assert set(changing(graphs.revealing_action(3), probability=1.0).demands()) >= {"loopless", "weak", "directed"}
    sure = [[0, 1, 1], [1, 0, 1], [1, 0.5, 0]]  # round by round, arm 1 may be seen by arm 0 only
    demands = changing(FeedbackGraph.from_adjacency(1 - np.eye(3), directed=True, self_loops=False), probability=1.0)
    assert "weak" not in demands.demands()
    weak = changing(graphs.first_price_bids(3).symmetrised(), probability=np.maximum(sure, np.transpose(sure)))
    assert set(weak.demands()) == {"uninformed"}


def test_equal_graphs_are_equal_however_they_were_made(tmp_path):
    lines = ['{"n_arms": 3, "directed": true, "period": 2, "told": "before"}', "[[0, 1]]", "", "[]"]
    (tmp_path / "g.jsonl").write_text("\n".join(lines))
    read = read_changing(tmp_path / "g.jsonl")
    made = changing([FeedbackGraph(3, [(0, 1)], directed=True), graphs.bandit(3)], 2, told="before")
    assert read == made == pickle.loads(pickle.dumps(read))
    assert hash(read) == hash(made)
    for other in (changing(made.graphs, 3, told="before"), changing(made.graphs, 2), changing(made.graphs[:1], 2)):
        assert other != made
        assert other.digest() != made.digest()
    assert changing(graphs.star(3), probability=0.5) != changing(graphs.star(3), probability=0.25)


def test_labels_are_those_of_the_graphs():
    labels = ["a", "b", "c"]
    graph = changing([FeedbackGraph(3, [(0, 1)], labels), FeedbackGraph(3, [], labels)])
    assert graph.labels == graph.graph_of(2).labels == tuple(labels)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: changing([]), "graphs is not a list of graphs; expected one FeedbackGraph, or several"),
        (lambda: changing([graphs.star(3), "star"]), "graphs is not a list of graphs"),
        (lambda: changing([graphs.star(3), graphs.star(4)]), "graph 1 has 4 arms and graph 0 has 3; expected the same"),
        (
            lambda: changing([graphs.bandit(2), FeedbackGraph(2, [], ["a", "b"])]),
            "graph 1 has other labels than graph 0",
        ),
        (lambda: changing([graphs.star(3)] * 2, probability=0.5), "2 graphs have a probability; expected one graph"),
        (lambda: changing(graphs.star(3), probability=1.5), "probability is 1.5; expected 0 to 1"),
        (lambda: changing(graphs.star(3), probability=np.nan), "probability is nan; expected 0 to 1"),
        (
            lambda: changing(graphs.star(2), probability=[[0, 0.5], [-1, 0]]),
            "the probability that arm 1 sees arm 0 is -1; expected 0 to 1",
        ),
        (
            lambda: changing(graphs.star(2), probability=[[0, 0.5], [0.25, 0]]),
            "the edge of arms 0 and 1 has the probabilities 0.5 and 0.25; expected the same both ways",
        ),
        (
            lambda: changing(graphs.star(3), probability=[0.5] * 3),
            r"probability has shape \(3,\); expected a number or",
        ),
        (lambda: changing(graphs.star(3), told="never"), "told is 'never'; expected 'before' or 'after' the choice"),
        (lambda: changing(graphs.star(3), period=0), "period is 0; expected an integer of at least 1"),
    ],
)
def test_what_makes_no_changing_graph_is_named(make, sentence):
    with pytest.raises(InvalidGraph, match=sentence):
        make()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "has no graphs; expected JSON lines"),
        ('{"n_arms": 3}', "has no graphs; expected JSON lines"),
        ("[[0, 1]]\n[[0, 1]]", "has no graphs; expected JSON lines"),
        ('{"n_arms": 3}\n[[0, 1]', "line 2 of .* is not JSON"),
        ('{"n_arms": 3, "perod": 3}\n[]', "the first line of .* has 'perod'; expected some of n_arms, labels"),
        ('{"n_arms": 3}\n\n[[0, 3]]', "line 3 of .*: edges contains 3"),
        ('{"n_arms": 3, "told": "x"}\n[]', "told is 'x'; expected 'before' or 'after'"),
    ],
)
def test_a_file_that_holds_no_graphs_says_where(tmp_path, text, sentence):
    (tmp_path / "g.jsonl").write_text(text)
    with pytest.raises(InvalidGraph, match=sentence):
        read_changing(tmp_path / "g.jsonl")


@pytest.mark.parametrize(
    ("kind", "graph", "sentence"),
    [
        (
            TsallisShannon,
            graphs.random_edges(4, 0.5),
            "the graph changes and is told after the choice, which tsallis-sh",
        ),
        (
            Exp3IX,
            changing(graphs.loopless_clique(3), probability=0.5),
            "no arm sees arm 0 in some round; expected that",
        ),
        (UCBN, graphs.noisy_grid(3, 3), "arm 0 sees arm 2 with weight 0.75, so with noise, which ucb-n does not take"),
    ],
)
def test_a_learner_refuses_a_graph_with_the_arm_and_names_those_that_take_it(kind, graph, sentence):
    with pytest.raises(InvalidGraph, match=sentence):
        kind(graph)


def test_rounds_and_seeds_that_do_not_exist_are_refused():
    graph = graphs.random_edges(4, 0.5)
    with pytest.raises(InvalidParameter, match="round is 0; expected an integer of at least 1"):
        graph.graph_of(0)
    with pytest.raises(InvalidParameter, match="seed is -1"):
        graph.graph_of(1, seed=-1)


def test_alternating_cliques_are_cliques_of_each_size_in_turn():
    graph = graphs.alternating_cliques(7, [3, 2], period=4)
    for round, size in ((1, 3), (4, 3), (5, 2), (8, 2), (9, 3)):
        found = networkx.connected_components(graph.graph_of(round).to_networkx())
        assert sorted(map(sorted, found)) == [list(range(i, min(i + size, 7))) for i in range(0, 7, size)]


def test_edges_of_random_graphs_are_as_many_as_expected():
    graph = graphs.random_edges(10, 0.3)
    mean = np.mean([graph.graph_of(t, seed=1).n_edges for t in range(1, 201)])
    assert abs(mean - 0.3 * 45) <= 4.5 * np.sqrt(45 * 0.3 * 0.7 / 200)
