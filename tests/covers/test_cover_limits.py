"""What a search may spend, and what it gives when it may spend no more."""

from __future__ import annotations

import numpy as np
import pytest

import verifiers
from allworlds import graphs
from allworlds.covers import clique_cover, searching
from allworlds.covers.budget import Budget
from allworlds.foundation.errors import InvalidParameter

pytestmark = pytest.mark.compiled


HARD = graphs.mycielski_complement(7)


def test_a_search_that_cannot_end_gives_its_best_with_a_bound_that_holds():
    cover = clique_cover(HARD, time_limit=1.0)
    assert verifiers.is_clique_cover(HARD.adjacency(), cover.cliques)
    assert 2 <= cover.lower_bound < cover.n_cliques == 7
    assert verifiers.proved_bound(HARD.adjacency(), cover.certificate.to_data()) == cover.lower_bound


def test_control_c_gives_the_best_so_far(monkeypatch):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(searching, "_raise_bound", interrupted)
    cover = clique_cover(HARD)
    assert cover.method.endswith(", interrupted")
    assert verifiers.is_clique_cover(HARD.adjacency(), cover.cliques)
    assert cover.n_cliques == 7


def test_without_its_extra_a_search_goes_on_with_the_rest(monkeypatch):
    monkeypatch.setattr("allworlds.covers.exact.sat_is_installed", lambda: False)
    cover = clique_cover(graphs.lu_gadgets(), time_limit=10.0)
    assert (cover.n_cliques, cover.is_minimum) == (14, True)


def test_without_a_limit_two_covers_of_one_graph_are_equal_to_the_last_clique():
    for graph in (graphs.erdos_renyi(150, 0.4, seed=0), HARD):
        one, other = clique_cover(graph), clique_cover(graph)
        assert np.array_equal(one.owner, other.owner)
        assert (one.lower_bound, one.method, one.certificate) == (other.lower_bound, other.method, other.certificate)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"method": "magic"}, "there is no method 'magic'; there are auto, heuristic, branch, sat, set-cover"),
        ({"method": "sat"}, "time_limit is None; expected a number of seconds for method 'sat'"),
        ({"method": "set-cover"}, "time_limit is None; expected a number of seconds for method 'set-cover'"),
    ],
)
def test_a_method_that_is_none_or_lacks_a_limit_is_refused(options, sentence):
    with pytest.raises(InvalidParameter, match=sentence):
        clique_cover(graphs.lu_gadgets(), **options)


def test_budgets_count_time_or_work():
    assert Budget().passes() == Budget(5.0).counting().passes() < Budget(5.0).passes()
    assert Budget(0.0).spent()
    assert Budget(0.0).share(0.5).spent()
    assert not Budget().spent()


def test_a_large_sparse_graph_is_covered_with_memory_for_its_edges():
    graph = graphs.random_unit_disk(20_000, 0.018, seed=1)
    cover = clique_cover(graph)
    assert cover.lower_bound <= cover.n_cliques < 0.2 * graph.n_arms
    cover.certificate.check(graph)
