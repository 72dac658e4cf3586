"""Independent sets, arms that do not see each other: greedily, and the largest one by branch and bound.

An independent set has at most one arm of each clique. So the search can leave a branch as soon as the arms taken and
the cliques that cover the candidates are together no more than the arms of the best set known [Tomita and Seki 2003].
"""

from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from allworlds.covers.budget import Budget
from allworlds.foundation.checks import Ints
from allworlds.graphs.graph import FeedbackGraph, check_graph
from allworlds.graphs.storage import DisjointCliques
from allworlds.kernels.jit import jit

MOST_ARMS = 1500


class Apart(NamedTuple):
    """Independent arms, and whether the search proved that no set is larger."""

    arms: Ints
    finished: bool


class Levels(NamedTuple):
    """The state of the search: candidates and their bounds at every depth, and the arms taken so far."""

    stranger: NDArray[np.bool_]
    candidates: NDArray[np.int32]
    bounds: NDArray[np.int32]
    left: Ints
    taken: Ints
    place: Ints
    """The depth, and the size of the best set."""


def independent_set(graph: FeedbackGraph) -> Ints:
    """Arms of which no two see each other, many but not always as many as possible.

    Their number is a lower bound on the independence number and on the cliques of every cover. Greedy: take the arm
    with the fewest neighbours left, drop its neighbours, repeat. Exact for disjoint cliques: one arm of each.

    Returns the sorted arms, (size,).

    >>> independent_set(FeedbackGraph(4, [(0, 1), (1, 2), (2, 3)]))
    array([0, 2])
    """
    check_graph(graph)
    storage = graph._storage
    if isinstance(storage, DisjointCliques):
        return np.sort(storage.order[storage.starts[:-1]])
    return np.flatnonzero(fewest_neighbours_first(*storage.neighbours()))


def search_independent(stranger: NDArray[np.bool_], arms: Ints, upper: int, budget: Budget) -> Apart:
    """The most arms of which no two see each other, beginning with such a set; ``upper`` of them end it.

    >>> ring = np.array([[(i - j) % 5 in (2, 3) for j in range(5)] for i in range(5)])
    >>> search = search_independent(ring, np.array([0]), 5, Budget())
    >>> len(search.arms), search.finished
    (2, True)
    """
    n_arms = len(stranger)
    depth = upper + 2
    levels = Levels(
        stranger,
        np.zeros((depth, n_arms), dtype=np.int32),
        np.zeros((depth, n_arms), dtype=np.int32),
        np.zeros(depth, dtype=np.int64),
        np.zeros(depth, dtype=np.int64),
        np.array([0, len(arms)]),
    )
    best = np.zeros(n_arms, dtype=np.int64)
    best[: len(arms)] = arms
    order = np.argsort(-stranger.sum(axis=1), kind="stable").astype(np.int32)
    levels.left[0] = _bound_by_cliques(stranger, order, n_arms, levels.candidates[0], levels.bounds[0])
    finished = any(_grow(levels, best, upper, chunk) for chunk in budget.node_chunks(n_arms))
    return Apart(np.sort(best[: levels.place[1]]), finished)


@jit
def _bound_by_cliques(
    stranger: NDArray[np.bool_],
    arms: NDArray[np.int32],
    count: int,
    sorted_arms: NDArray[np.int32],
    bounds: NDArray[np.int32],
) -> int:
    """Cover ``arms[:count]`` greedily by cliques; write them clique by clique, with the number of the clique."""
    rest = arms[:count].copy()
    n_rest, written, n_cliques = count, 0, 0
    while n_rest > 0:
        n_cliques += 1
        first, kept = written, 0
        for place in range(n_rest):
            arm = rest[place]
            fits = True
            for other in range(first, written):
                if stranger[arm, sorted_arms[other]]:
                    fits = False
                    break
            if fits:
                sorted_arms[written], bounds[written] = arm, n_cliques
                written += 1
            else:
                rest[kept] = arm
                kept += 1
        n_rest = kept
    return written


@jit
def _grow(levels: Levels, best: Ints, upper: int, nodes: int) -> bool:
    """Continue for so many nodes; True if the search is finished."""
    n_arms = len(best)
    depth, size = levels.place[0], levels.place[1]
    fitting = np.empty(n_arms, dtype=np.int32)
    while nodes > 0 and depth >= 0 and size < upper:
        nodes -= 1
        # The last candidate has the highest bound; if that is too low, all are.
        place = levels.left[depth] - 1
        if place < 0 or depth + levels.bounds[depth, place] <= size:
            depth -= 1
            continue
        levels.left[depth] = place
        arm = levels.candidates[depth, place]
        levels.taken[depth] = arm
        # The candidates that go with it.
        count = 0
        for other in levels.candidates[depth, :place]:
            if levels.stranger[arm, other]:
                fitting[count] = other
                count += 1
        if depth + 1 > size:
            size = depth + 1
            best[:size] = levels.taken[:size]
        if count > 0 and size < upper:
            row, bounds = levels.candidates[depth + 1], levels.bounds[depth + 1]
            levels.left[depth + 1] = _bound_by_cliques(levels.stranger, fitting, count, row, bounds)
            depth += 1
    levels.place[0], levels.place[1] = depth, size
    return bool(depth < 0 or size >= upper)


@jit
def fewest_neighbours_first(indptr: Ints, indices: Ints) -> Ints:
    """1 for each arm taken and 0 for the others, (n_arms,), in O((arms + edges) log arms).

    The number of neighbours left only falls. Each fall adds a heap entry, which is popped before the older ones of the
    same arm; those find the arm taken or dropped.
    """
    n_arms = len(indptr) - 1
    left = indptr[1:] - indptr[:-1] - 1
    state = np.full(n_arms, -1)  # -1 left, 0 dropped, 1 taken
    heap = [(left[arm], arm) for arm in range(n_arms)]
    heapq.heapify(heap)
    while len(heap) > 0:
        _, arm = heapq.heappop(heap)
        if state[arm] >= 0:
            continue
        state[arm] = 1
        for neighbour in indices[indptr[arm] : indptr[arm + 1]]:
            if state[neighbour] >= 0:
                continue
            state[neighbour] = 0
            for other in indices[indptr[neighbour] : indptr[neighbour + 1]]:
                if state[other] < 0:
                    left[other] -= 1
                    heapq.heappush(heap, (left[other], other))
    return state
