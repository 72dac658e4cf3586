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
    ],
)
def test_a_spec_makes_the_graph_of_its_family(spec, expected):
    assert make_graph(spec) == expected


@pytest.mark.parametrize("name", [name for name in GRAPHS if name not in ("cover", "file")])
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
    ],
)
def test_a_spec_that_makes_no_graph_says_why(spec, sentence):
    with pytest.raises(AllWorldsError, match=sentence):
        make_graph(spec)
