"""The searches one by one, against brute force, networkx and published numbers."""

from __future__ import annotations

from itertools import combinations

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import verifiers
from allworlds import graphs
from allworlds.covers import clique_cover
from allworlds.covers.budget import Budget
from allworlds.covers.exact import SatSearch, find_smaller_cover, search_smallest
from allworlds.covers.greedy import cover_in_order, dsatur, largest_first, rebalance
from allworlds.covers.independence import independent_set, search_independent
from allworlds.covers.set_cover import choose_cliques, few_maximal_cliques, fractional_packing, maximal_cliques
from allworlds.covers.tabu import improve, strangers_of
from allworlds.foundation.errors import InvalidParameter
from allworlds.graphs import FeedbackGraph

pytestmark = pytest.mark.compiled


@st.composite
def random_graphs(draw, most=11):
    n, p = draw(st.integers(2, most)), draw(st.sampled_from([0.15, 0.5, 0.85]))
    return graphs.erdos_renyi(n, p, seed=draw(st.integers(0, 10**6)))


def groups(owner):
    return [np.flatnonzero(owner == clique) for clique in range(owner.max() + 1)]


def size(owner):
    return int(owner.max()) + 1


@given(random_graphs())
def test_branch_and_bound_finds_and_proves_the_smallest_cover(graph):
    matrix = graph.adjacency()
    found = search_smallest(~matrix, independent_set(graph), np.arange(len(matrix)), 1, Budget(60.0))
    assert found.finished
    assert verifiers.is_clique_cover(matrix, groups(found.owner))
    assert size(found.owner) == verifiers.clique_cover_number(matrix)


@given(random_graphs())
def test_branch_and_bound_says_whether_there_is_a_cover_below_a_number(graph):
    matrix = graph.adjacency()
    theta, start = verifiers.clique_cover_number(matrix), np.arange(len(matrix))
    for fewest in (theta, theta + 1):
        found = search_smallest(~matrix, independent_set(graph), start, 1, Budget(60.0), fewest=fewest)
        assert found.finished
        assert (size(found.owner) < fewest) == (fewest > theta) or fewest > len(matrix)


def test_branch_and_bound_gives_the_same_answer_in_pieces():
    graph = graphs.erdos_renyi(40, 0.4, seed=2)
    start = dsatur(*graph._storage.neighbours())
    whole = search_smallest(~graph.adjacency(), independent_set(graph), start, 1, Budget(60.0))
    small = Budget(60.0)
    small.NODE_WORK = 1  # the smallest pieces there are
    pieces = search_smallest(~graph.adjacency(), independent_set(graph), start, 1, small)
    assert whole.owner.tolist() == pieces.owner.tolist()
    assert search_smallest(~graph.adjacency(), independent_set(graph), start, 1, Budget(), nodes=5).finished is False


@given(random_graphs())
def test_the_largest_independent_set_is_found(graph):
    matrix = graph.adjacency()
    found = search_independent(~matrix, np.zeros(1, dtype=np.int64), len(matrix), Budget(60.0))
    assert found.finished
    assert verifiers.is_independent(matrix, found.arms)
    assert len(found.arms) == verifiers.independence_number(matrix)


def test_independent_sets_of_larger_graphs_agree_with_the_cliques_of_networkx():
    for p in (0.3, 0.7):
        graph = graphs.erdos_renyi(60, p, seed=4)
        found = search_independent(~graph.adjacency(), independent_set(graph), 60, Budget(60.0))
        largest, _ = networkx.max_weight_clique(networkx.complement(graph.to_networkx()), weight=None)
        assert len(found.arms) == len(largest)


@given(random_graphs())
def test_maximal_cliques_are_those_of_networkx(graph):
    expected = sorted(sorted(clique) for clique in networkx.find_cliques(graph.to_networkx()))
    assert sorted(maximal_cliques(graph)) == expected
    assert few_maximal_cliques(graph, len(expected) - 1, Budget()) is None
    assert few_maximal_cliques(graph, len(expected), Budget()) is not None


@given(random_graphs())
def test_strangers_are_the_pairs_that_do_not_see_each_other(graph):
    starts, strangers = strangers_of(*graph._storage.neighbours())
    for arm in range(graph.n_arms):
        expected = np.flatnonzero(~graph.adjacency()[arm])
        assert strangers[starts[arm] : starts[arm + 1]].tolist() == expected.tolist()


@given(random_graphs())
def test_tabu_search_gives_valid_covers_from_the_worst_start(graph):
    budget = Budget()
    budget.TABU_STEPS = 1000
    found = improve(*graph._storage.neighbours(), np.arange(graph.n_arms), 1, budget)
    assert verifiers.is_clique_cover(graph.adjacency(), groups(found))
    assert size(found) <= size(dsatur(*graph._storage.neighbours()))


def test_tabu_search_is_better_than_dsatur_and_the_same_every_time():
    graph = graphs.erdos_renyi(120, 0.5, seed=0)
    lists = graph._storage.neighbours()
    start = dsatur(*lists)
    found = improve(*lists, start, 1, Budget())
    assert size(found) <= size(start) - 3
    assert found.tolist() == improve(*lists, start, 1, Budget()).tolist()
    assert verifiers.is_clique_cover(graph.adjacency(), groups(found))


def test_greedy_in_the_order_of_a_cover_never_needs_more_cliques():
    rng = np.random.default_rng(0)
    graph = graphs.erdos_renyi(80, 0.4, seed=1)
    lists = graph._storage.neighbours()
    owner = dsatur(*lists)
    for _ in range(10):
        again = cover_in_order(*lists, largest_first(owner, np.bincount(owner).astype(float), rng))
        assert verifiers.is_clique_cover(graph.adjacency(), groups(again))
        assert size(again) <= size(owner)
        owner = again


@given(random_graphs())
def test_sat_finds_a_cover_exactly_where_there_is_one(graph):
    pytest.importorskip("pysat")
    matrix = graph.adjacency()
    theta = verifiers.clique_cover_number(matrix)
    there = SatSearch(~matrix, independent_set(graph), theta).wait(Budget(60.0))
    assert verifiers.is_clique_cover(matrix, groups(np.unique(there.owner, return_inverse=True)[1]))
    if theta > 1:
        assert SatSearch(~matrix, independent_set(graph), theta - 1).wait(Budget(60.0)) == (None, True)


@pytest.mark.parametrize("installed", [True, False])
def test_a_smaller_cover_is_found_with_and_without_a_sat_solver(monkeypatch, installed):
    if not installed:
        monkeypatch.setattr("allworlds.covers.exact.sat_is_installed", lambda: False)
    for seed in range(5):
        graph = graphs.erdos_renyi(11, 0.5, seed=seed)
        theta = verifiers.clique_cover_number(graph.adjacency())
        assert find_smaller_cover(graph, theta) is None
        assert verifiers.is_clique_cover(graph.adjacency(), groups(find_smaller_cover(graph, theta + 1)))


def test_a_stopped_sat_solver_says_neither():
    pytest.importorskip("pysat")
    graph = graphs.erdos_renyi(90, 0.3, seed=0)
    assert SatSearch(~graph.adjacency(), independent_set(graph), 20).wait(Budget(0.0)) == (None, False)


@given(random_graphs())
def test_set_cover_finds_the_smallest_cover_and_fractions_prove_a_bound(graph):
    matrix, cliques = graph.adjacency(), list(maximal_cliques(graph))
    theta = verifiers.clique_cover_number(matrix)
    owner, bound = choose_cliques(graph.n_arms, cliques, Budget(60.0))
    assert verifiers.is_clique_cover(matrix, groups(owner))
    assert (size(owner), bound) == (theta, theta)
    packing = fractional_packing(graph.n_arms, cliques, Budget())
    assert verifiers.independence_number(matrix) <= packing.bound <= theta
    assert verifiers.proved_bound(matrix, packing.to_data()) == packing.bound


def cost(owner, of_size):
    return sum(of_size(len(group)) for group in groups(owner))


@given(random_graphs(), st.sampled_from([0.3, 1.0, 1.5, 2.0]))
def test_rebalancing_lowers_the_cost_until_no_single_step_does(graph, power):
    matrix, lists = graph.adjacency(), graph._storage.neighbours()
    start = dsatur(*lists)
    found = rebalance(*lists, start, lambda size: 1.0 + size**power)
    here = cost(found, lambda size: 1.0 + size**power)
    assert verifiers.is_clique_cover(matrix, groups(found))
    assert here <= cost(start, lambda size: 1.0 + size**power) + 1e-9
    for arm in range(graph.n_arms):
        for target in range(found.max() + 2):
            moved = found.copy()
            moved[arm] = target
            moved = np.unique(moved, return_inverse=True)[1]
            if verifiers.is_clique_cover(matrix, groups(moved)):
                assert cost(moved, lambda size: 1.0 + size**power) >= here - 1e-6
    for one, other in combinations(range(found.max() + 1), 2):
        joined = np.unique(np.where(found == other, one, found), return_inverse=True)[1]
        if verifiers.is_clique_cover(matrix, groups(joined)):
            assert cost(joined, lambda size: 1.0 + size**power) >= here - 1e-6


def test_an_objective_is_a_word_or_a_function():
    graph = graphs.lu_gadgets()
    cover = clique_cover(graph, objective=lambda size: float(size**3))
    assert cover.n_cliques == 30  # cubes make every arm stay alone
    assert (cover.lower_bound, cover.is_minimum) == (14, False)
    assert cover.method.endswith("rebalanced")
    for wrong, sentence in (("penalty", "expected 'cliques' or a function"), (lambda size: float("nan"), "not finite")):
        with pytest.raises(InvalidParameter, match=sentence):
            clique_cover(graph, objective=wrong)


def test_disjoint_cliques_stay_as_they_are_under_any_objective():
    graph = FeedbackGraph._from_sizes(np.full(1000, 1000))
    assert clique_cover(graph, objective=lambda size: float(size**3)).n_cliques == 1000
