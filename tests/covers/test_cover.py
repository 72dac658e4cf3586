"""CliqueCover: a cover that exists is valid, and says so in arrays that agree with each other."""

from __future__ import annotations

import pickle
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import verifiers
from allworlds import covers, graphs
from allworlds.covers import CliqueCover
from allworlds.foundation.errors import InvalidCover
from allworlds.graphs import FeedbackGraph
from problems import GRAPHS

TRIANGLE_AND_TAIL = FeedbackGraph(4, [(0, 1), (1, 2), (0, 2), (2, 3)])


@st.composite
def partitions(draw):
    """A random matrix and a random grouping of its arms, in random order; often no cover."""
    n = draw(st.integers(1, 7))
    if draw(st.booleans()):
        home = np.array(draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)))
        matrix = home[:, None] == home[None, :]
    else:
        chance = draw(st.integers(1, 9))
        dice = draw(st.lists(st.integers(0, 9), min_size=n * n, max_size=n * n))
        upper = np.triu(np.array(dice).reshape(n, n) < chance, 1)
        matrix = upper | upper.T | np.eye(n, dtype=bool)
    owner = draw(st.lists(st.integers(0, n - 1), min_size=n, max_size=n))
    groups = [[arm for arm in range(n) if owner[arm] == group] for group in draw(st.permutations(sorted(set(owner))))]
    return matrix, groups


@given(partitions())
def test_a_partition_is_accepted_exactly_when_every_group_is_a_clique(problem):
    matrix, groups = problem
    graph = FeedbackGraph.from_adjacency(matrix)
    owner = np.empty(len(matrix), dtype=int)
    for number, group in enumerate(groups):
        owner[group] = number
    if verifiers.is_clique_cover(matrix, groups):
        cover = CliqueCover(graph, groups)
        assert [clique.tolist() for clique in cover.cliques] == groups
        assert cover == CliqueCover.from_owner(graph, owner)
        return
    for build in (lambda: CliqueCover(graph, groups), lambda: CliqueCover.from_owner(graph, owner)):
        with pytest.raises(InvalidCover, match="share clique") as caught:
            build()
        words = str(caught.value).split()
        one, other, clique = int(words[1]), int(words[3]), int(words[6])
        assert not matrix[one, other]
        assert owner[one] == owner[other] == clique


def test_the_arrays_agree_with_the_cliques_and_keep_their_order():
    cover = CliqueCover(TRIANGLE_AND_TAIL, [[3], [2, 0, 1]], lower_bound=2, method="by hand")
    assert [clique.tolist() for clique in cover.cliques] == [[3], [0, 1, 2]]
    assert cover.owner.tolist() == [1, 1, 1, 0]
    assert cover.order.tolist() == [3, 0, 1, 2]
    assert cover.starts.tolist() == [0, 1, 4]
    assert cover.sizes.tolist() == [1, 3]
    assert (cover.n_arms, cover.n_cliques, len(cover)) == (4, 2, 2)
    assert cover.graph is TRIANGLE_AND_TAIL
    assert (cover.lower_bound, cover.is_minimum, cover.method) == (2, True, "by hand")
    assert all(array.dtype == np.int64 for array in (cover.owner, cover.order, cover.starts, cover.sizes))


def test_a_cover_without_a_matching_bound_is_not_known_to_be_minimum():
    cliques = [[0, 1], [2], [3]]
    assert not CliqueCover(TRIANGLE_AND_TAIL, cliques).is_minimum
    assert CliqueCover(TRIANGLE_AND_TAIL, cliques).lower_bound is None
    assert not CliqueCover(TRIANGLE_AND_TAIL, cliques, lower_bound=2).is_minimum


@pytest.mark.parametrize("known", GRAPHS, ids=str)
def test_singletons_cover_every_graph(known):
    graph = known.make()
    cover = CliqueCover.singletons(graph)
    assert verifiers.is_clique_cover(graph.adjacency(), cover.cliques)
    assert cover.n_cliques == graph.n_arms
    assert cover.owner.tolist() == cover.order.tolist() == list(range(graph.n_arms))


def test_no_array_can_be_written_to_even_after_pickling():
    cover = CliqueCover(TRIANGLE_AND_TAIL, [[0, 1], [2, 3]], lower_bound=2)
    for copy in (cover, pickle.loads(pickle.dumps(cover))):
        assert copy == cover
        assert (copy.lower_bound, copy.method) == (2, "given")
        for array in (copy.owner, copy.order, copy.starts, copy.sizes, *copy.cliques):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 9


def test_the_array_of_the_caller_stays_writable_and_apart():
    owner = np.array([0, 0, 1, 1])
    cover = CliqueCover.from_owner(TRIANGLE_AND_TAIL, owner)
    owner[:] = 0
    assert cover.owner.tolist() == [0, 0, 1, 1]


def test_covers_are_equal_when_graph_and_numbered_cliques_are():
    cover = CliqueCover(TRIANGLE_AND_TAIL, [[0, 1], [2, 3]])
    same = CliqueCover(TRIANGLE_AND_TAIL, [[1, 0], [3, 2]], lower_bound=2)
    swapped = CliqueCover(TRIANGLE_AND_TAIL, [[2, 3], [0, 1]])
    elsewhere = CliqueCover(FeedbackGraph(4, [(0, 1), (2, 3)]), [[0, 1], [2, 3]])
    assert cover == same
    assert hash(cover) == hash(same)
    assert cover.digest() == same.digest()
    assert cover != swapped
    assert cover != elsewhere
    assert len({cover.digest(), swapped.digest(), elsewhere.digest()}) == 3
    assert cover != [[0, 1], [2, 3]]


def test_the_repr_is_short():
    assert repr(CliqueCover.singletons(FeedbackGraph(1))) == "CliqueCover(1 arm in 1 clique, singletons)"
    cover = CliqueCover(TRIANGLE_AND_TAIL, [[0, 1], [2, 3]], lower_bound=2)
    assert repr(cover) == "CliqueCover(4 arms in 2 cliques, at least 2 needed, given)"


@pytest.mark.parametrize(
    ("cliques", "sentence"),
    [
        ([[0, 1], [2]], "arm 3 is in no clique"),
        ([], "arm 0 is in no clique"),
        ([[0, 1], [2, 3], [1]], "arm 1 is in cliques 0 and 2; expected each arm in exactly one clique"),
        ([[0, 1, 1], [2, 3]], "arm 1 is twice in clique 0"),
        ([[0, 1], [], [2, 3]], "clique 1 is empty"),
        ([[0, 1], [2, 4]], "clique 1 contains 4; expected arms from 0 to 3"),
        ([[0, 1], [2, -1]], "clique 1 contains -1; expected arms"),
        ([[0, 1], [2.0, 3.0]], "clique 1 is .*, of type float64; expected integers"),
        ([0, 1, 2, 3], "clique 0 is 0; expected integers"),
        (None, "cliques is None; expected a list of lists of arms"),
        (
            [[2], [0, 1, 3]],
            "^arms 0 and 3 share clique 1 but are not neighbours; "
            r"allworlds.clique_cover\(graph\) computes a valid cover$",
        ),
    ],
)
def test_groups_that_are_no_cover_are_refused(cliques, sentence):
    with pytest.raises(InvalidCover, match=sentence):
        CliqueCover(TRIANGLE_AND_TAIL, cliques)


@pytest.mark.parametrize(
    ("owner", "sentence"),
    [
        ([0, 0, 1], r"owner has shape \(3,\); expected a clique for each of 4 arms"),
        ([[0, 0, 1, 1]], r"owner has shape \(1, 4\); expected"),
        ([0, 0, 2, 2], "clique 1 is empty; expected cliques numbered 0 to K - 1 without gaps"),
        ([0, 0, -1, 1], "owner contains -1; expected cliques from 0 to 3"),
        ([0, 0, 1, 10**12], "owner contains 1000000000000; expected cliques from 0 to 3"),
        ([0.0, 0.0, 1.0, 1.0], "owner is .*; expected integers"),
        ([0, 0, 0, 0], "arms 0 and 3 share clique 0 but are not neighbours"),
    ],
)
def test_owners_that_are_no_cover_are_refused(owner, sentence):
    with pytest.raises(InvalidCover, match=sentence):
        CliqueCover.from_owner(TRIANGLE_AND_TAIL, owner)


@pytest.mark.parametrize("bound", [0, -1, 1.0, True, "2"])
def test_a_lower_bound_must_be_a_positive_integer(bound):
    with pytest.raises(InvalidCover, match=r"lower_bound is .*; expected an integer"):
        CliqueCover(TRIANGLE_AND_TAIL, [[0, 1], [2, 3]], lower_bound=bound)


def test_a_lower_bound_above_the_cover_is_refused():
    with pytest.raises(InvalidCover, match="lower_bound is 3; expected an integer from 1 to 2"):
        CliqueCover(TRIANGLE_AND_TAIL, [[0, 1], [2, 3]], lower_bound=3)


def test_a_cover_needs_a_feedback_graph():
    for build in (lambda: CliqueCover([[0]], [[0]]), lambda: CliqueCover.from_owner(3, [0])):
        with pytest.raises(InvalidCover, match=r"graph is of type \w+; expected a FeedbackGraph"):
            build()
    with pytest.raises(InvalidCover, match="graph is of type NoneType; expected a FeedbackGraph"):
        CliqueCover.singletons(None)


def test_half_a_billion_edges_and_their_cover_take_less_than_fifty_megabytes():
    tracemalloc.start()
    try:
        graph = graphs.disjoint_cliques(1000, 1000)
        cover = covers.clique_cover(graph)
        cover.digest()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert graph.n_edges == 499_500_000
    assert cover.is_minimum
    assert cover.sizes.tolist() == [1000] * 1000
    assert peak < 50e6


def test_a_broken_pair_is_found_among_a_million_arms():
    graph = graphs.disjoint_cliques(1000, 1000)
    owner = covers.clique_cover(graph).owner.copy()
    owner[999_999] = 0
    with pytest.raises(InvalidCover, match="arms 999 and 999999 share clique 0"):
        CliqueCover.from_owner(graph, owner)
