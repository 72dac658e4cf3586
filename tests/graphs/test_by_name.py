"""Graphs by name are the graphs that the families make."""

from __future__ import annotations

import pytest

from allworlds import graphs
from allworlds.foundation.errors import AllWorldsError
from allworlds.graphs.by_name import GRAPHS, make_graph


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("disjoint-cliques:2x3", graphs.disjoint_cliques(2, 3)),
        ("disjoint-cliques:1,2,4", graphs.disjoint_cliques([1, 2, 4])),
        ("disjoint-cliques:sizes=1/2/4", graphs.disjoint_cliques([1, 2, 4])),
        ("disjoint-cliques:n_cliques=2,size=3", graphs.disjoint_cliques(2, 3)),
        ("bandit:4", graphs.bandit(4)),
        ("full-information:n=4", graphs.full_information(4)),
        ("grid:2x3", graphs.grid(2, 3)),
        ("grid:2,3", graphs.grid(2, 3)),
        ("lu-gadgets", graphs.lu_gadgets()),
        ("erdos-renyi:10,p=0.5,seed=3", graphs.erdos_renyi(10, 0.5, 3)),
        ("erdos-renyi:10,0.5,3", graphs.erdos_renyi(10, 0.5, 3)),
        ("stochastic-blocks:2,3,p_in=1,p_out=0,seed=1", graphs.disjoint_cliques([2, 3])),
        ("barabasi-albert:10,m=2,seed=1", graphs.barabasi_albert(10, 2, 1)),
        ("apple-tasting", graphs.apple_tasting()),
        ("revealing-action:4", graphs.revealing_action(4)),
        ("label-efficient:4", graphs.label_efficient(4)),
        ("loopy-star:4", graphs.loopy_star(4)),
        ("first-price-bids:4", graphs.first_price_bids(4)),
        ("total-order:4,self_loops=false", graphs.total_order(4, self_loops=False)),
        ("directed-cycle:4,self_loops=false", graphs.directed_cycle(4, self_loops=False)),
        ("loopless-clique:4", graphs.loopless_clique(4)),
        ("clique-with-a-gap:4", graphs.clique_with_a_gap(4)),
        ("bipartite:2x3", graphs.bipartite(2, 3)),
        ("bipartite:2x3,p=0.5,seed=2", graphs.bipartite(2, 3, 0.5, seed=2)),
        ("tournament:5,seed=3", graphs.tournament(5, 3)),
        ("random-directed:5,p=0.5,loops=0.5,seed=3", graphs.random_directed(5, 0.5, 0.5, seed=3)),
        ("random-edges:5,p=0.5,told=before", graphs.random_edges(5, 0.5, told="before")),
        ("alternating-cliques:12,sizes=3/4,period=10", graphs.alternating_cliques(12, [3, 4], 10)),
        ("noisy-grid:2x3,noise=0.25", graphs.noisy_grid(2, 3, noise=0.25)),
    ],
)
def test_a_spec_makes_the_graph_of_its_family(spec, expected):
    assert make_graph(spec) == expected


@pytest.mark.parametrize("name", [name for name in GRAPHS if name not in ("changing-file", "cover", "file")])
def test_every_listed_example_makes_a_graph(name):
    assert GRAPHS[name].example.partition(":")[0] == name
    assert make_graph(GRAPHS[name].example).n_arms >= 1


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("disjoint-clique:2x2", "the nearest are disjoint-cliques"),
        ("zzz:3", "there is no graph 'zzz'; the nearest are .*, .*, .*; 'allworlds graphs' lists all"),
        ("bandti:3", "the nearest are bandit.*; 'allworlds graphs' lists all"),
        ("g.json", "file:g.json reads a graph from a file"),
        ("./x.edges", "file:./x.edges reads a graph from a file"),
        ("data/x", "file:data/x reads a graph from a file"),
        ("disjoint-cliques", "takes a number of cliques and their size"),
        ("disjoint-cliques:n_cliques=2", "takes a number of cliques and their size"),
        ("bandit:0", "n is 0; expected an integer of at least 1"),
        ("erdos-renyi:10", "lacks p and seed"),
        ("erdos-renyi:10,p=2,seed=0", "p is 2.0; expected a number from 0 to 1"),
        ("file:/nowhere/graph.txt", "there is no file '/nowhere/graph.txt'"),
        ("changing-file:/nowhere/graphs.jsonl", "cannot read '/nowhere/graphs.jsonl': No such file"),
        ("random-edges:5,p=0.5,told=never", "told is 'never'; expected 'before' or 'after' the choice"),
        ("random-edges:5,p=1.5", "p is 1.5; expected a number from 0 to 1"),
        ("alternating-cliques:5", "lacks sizes; expected graphs such as 'alternating-cliques:12,sizes=3/4,period=10'"),
    ],
)
def test_a_spec_that_makes_no_graph_says_why(spec, sentence):
    with pytest.raises(AllWorldsError, match=sentence):
        make_graph(spec)


def test_a_file_of_graphs_is_named_by_its_path(tmp_path):
    (tmp_path / "turns.jsonl").write_text('{"n_arms": 3, "period": 2, "told": "before"}\n[[0, 1]]\n[]\n')
    graph = make_graph(f"changing-file:{tmp_path}/turns.jsonl")
    assert graph == graphs.changing([graphs.FeedbackGraph(3, [(0, 1)]), graphs.bandit(3)], 2, told="before")
